"""Tasks that buy or pay something."""

from __future__ import annotations

from typing import Any

from breakfall.seeds import Stream
from breakfall.vocab import Condition, Found, Given, PlanStep
from breakfall.worlds.store.base import base
from breakfall.worlds.store.cast import Cast, is_unpaid, pick
from breakfall.worlds.store.draft import (
    CUSTOMER_ID,
    KNOWN,
    ORDER_ID,
    Draft,
    Template,
    find_customer,
    holds,
    message,
    read_order,
    theirs,
    who,
)
from breakfall.worlds.store.records import Cart, Customer, Order, Variant

PLACED = Found("place", "/order_id")


def place(items: list[dict[str, Any]], *when: Condition) -> PlanStep:
    """Place an order on the customer's card."""
    return PlanStep(
        id="place",
        tool="place_order",
        arguments={"customer_id": CUSTOMER_ID, "items": items, "payment_method": "card"},
        context=KNOWN,
        expected="one new order",
        when=when,
    )


def confirm() -> PlanStep:
    """Tell the customer about the new order."""
    placed = holds("place", "/customer_id", "==", CUSTOMER_ID)
    return message("order_placed", "Thank you for your order.", placed, PLACED, step="confirm")


def stock(sku: Any, step: str = "stock") -> PlanStep:
    """Read how many are available."""
    return PlanStep(id=step, tool="get_stock", arguments={"sku": sku}, expected="enough are available")


def _buying(cast: Cast, draw: Stream, variant: Variant) -> Draft:
    customer, product = draw.choice(cast.customers), cast.product(variant.product_id)
    facts = who(customer) | {
        "product_id": product.product_id,
        "product_name": product.name,
        "option": variant.option,
        "quantity": draw.integer(1, 3),
    }
    sku = Found("product", "/variants/[option={option}]/sku")
    look = PlanStep(
        id="product",
        tool="search_products",
        arguments={"name": Given("product_name")},
        context={"product_id": Given("product_id")},
        expected="the product with its variants",
    )
    sku = Found("product", "/products/[product_id={product_id}]" + sku.pointer)
    enough = holds("stock", "/available", ">=", Given("quantity"))
    items = [{"sku": sku, "quantity": Given("quantity")}]
    in_stock = variant.available > 0
    return Draft(
        facts=facts,
        plan=(find_customer(draw), look, stock(sku), place(items, enough), confirm()),
        answer={"total": Found("place", "/total")} if in_stock else {"available": Found("stock", "/available")},
        owner=customer.customer_id,
        forbidden=() if in_stock else ("order.placed",),
    )


def _buy_item(cast: Cast, draw: Stream) -> Draft:
    return _buying(cast, draw, pick(draw, cast.variants, lambda variant: variant.available >= 3))


def _buy_sold_out(cast: Cast, draw: Stream) -> Draft:
    return _buying(cast, draw, pick(draw, cast.variants, lambda variant: variant.available == 0))


def _checkout_cart(cast: Cast, draw: Stream) -> Draft:
    customer = draw.choice(cast.customers)
    kept: Cart = base().records[Cart][customer.customer_id]
    cart = PlanStep(
        id="cart",
        tool="get_cart",
        arguments={"customer_id": CUSTOMER_ID},
        context=KNOWN,
        expected="everything in the cart",
    )
    skus = [Found("cart", f"/items/{nth}/sku") for nth in range(len(kept.items))]
    wanted = [Found("cart", f"/items/{nth}/quantity") for nth in range(len(kept.items))]
    looks = [stock(sku, f"stock{nth}") for nth, sku in enumerate(skus)]
    enough = [holds(look.id, "/available", ">=", count) for look, count in zip(looks, wanted, strict=True)]
    items = [{"sku": sku, "quantity": count} for sku, count in zip(skus, wanted, strict=True)]
    return Draft(
        facts=who(customer),
        plan=(find_customer(draw), cart, *looks, place(items, *enough), confirm()),
        answer={"total": Found("place", "/total")},
        owner=customer.customer_id,
    )


def _pay_by_gift_card(cast: Cast, draw: Stream) -> Draft:
    def room(order: Order) -> int:
        """Half of what is due or on the best card, in whole units of money."""
        best = max(card.balance for card in cast.gift_cards(cast.customer(order)))
        return min(order.total, best) // 200

    order = pick(draw, cast.orders, lambda order: is_unpaid(order) and room(order) >= 2)
    customer = cast.customer(order)
    card = max(cast.gift_cards(customer), key=lambda card: (card.balance, card.code))
    facts = {"order_id": order.order_id, "code": card.code, "amount": float(draw.integer(1, room(order)))}
    look = PlanStep(
        id="card", tool="get_gift_card", arguments={"code": Given("code")}, context=KNOWN, expected="the card's balance"
    )
    redeem = PlanStep(
        id="redeem",
        tool="redeem_gift_card",
        arguments={"order_id": ORDER_ID, "code": Given("code"), "amount": Given("amount")},
        context=KNOWN,
        expected="the amount is paid",
        when=(
            theirs(),
            holds("card", "/balance", ">=", Given("amount")),
            holds("order", "/balance_due", ">=", Given("amount")),
        ),
    )
    invoice = PlanStep(
        id="invoice",
        tool="get_invoice",
        arguments={"order_id": ORDER_ID},
        context=KNOWN,
        expected="what is still due",
        when=(holds("redeem", "/order_id", "==", ORDER_ID),),
    )
    told = message("payment_received", "Your payment has arrived.", holds("redeem", "/order_id", "==", ORDER_ID))
    return Draft(
        facts=who(customer) | facts,
        plan=(find_customer(draw), read_order(), look, redeem, invoice, told),
        answer={"balance_due": Found("invoice", "/balance_due")},
        owner=customer.customer_id,
    )


def _newest(cast: Cast, customer: Customer) -> Order:
    return max(cast.orders_of(customer), key=lambda order: (order.placed_at, order.order_id))


def _reorder(cast: Cast, draw: Stream) -> Draft:
    def fits(customer: Customer) -> bool:
        line = _newest(cast, customer).lines[0]
        return cast.variant(line.sku).available >= line.quantity

    customer = pick(draw, cast.customers, fits)
    orders = PlanStep(
        id="orders",
        tool="list_customer_orders",
        arguments={"customer_id": CUSTOMER_ID},
        context=KNOWN,
        expected="all orders, newest first",
    )
    sku, count = Found("order", "/items/0/sku"), Found("order", "/items/0/quantity")
    invoice = PlanStep(
        id="invoice",
        tool="get_invoice",
        arguments={"order_id": PLACED},
        context=KNOWN,
        expected="the new order's invoice",
        when=(holds("place", "/customer_id", "==", CUSTOMER_ID),),
    )
    plan = (
        find_customer(draw),
        orders,
        read_order(Found("orders", "/orders/0/order_id")),
        stock(sku),
        place([{"sku": sku, "quantity": count}], holds("stock", "/available", ">=", count)),
        invoice,
        confirm(),
    )
    answer = {"paid": Found("invoice", "/paid")}
    return Draft(facts=who(customer), plan=plan, answer=answer, owner=customer.customer_id)


_BUY_EN = (
    "I'd like to buy {quantity} of the {product_name} ({product_id}) in {option}, on my card. "
    "Tell me the total, or how many you have if there aren't enough.",
    "Please order {quantity} x {product_name}, option {option} (product {product_id}), with my card, "
    "and tell me the total or the available stock.",
)
_BUY_KO = (
    "{product_name} 상품({product_id})의 {option} 옵션을 {quantity}개 카드로 주문해 주세요. "
    "총금액을, 재고가 모자라면 남은 수량을 알려 주세요.",
    "상품 번호 {product_id}, {product_name}, {option} 옵션 {quantity}개를 제 카드로 사고 싶습니다. "
    "합계나 재고 수량을 알려 주세요.",
)

TEMPLATES = (
    Template(name="buy_item", feasible=True, en=_BUY_EN, ko=_BUY_KO, draft=_buy_item),
    Template(name="buy_sold_out", feasible=False, en=_BUY_EN, ko=_BUY_KO, draft=_buy_sold_out),
    Template(
        name="checkout_cart",
        feasible=True,
        en=(
            "Please order everything in my cart, on my card, if it is all in stock, and tell me the total.",
            "Can you check out my cart for me with my card? I need to know what it costs in total.",
        ),
        ko=(
            "재고가 모두 있으면 제 장바구니에 담긴 것을 전부 카드로 주문하고 총금액을 알려 주세요.",
            "제 장바구니의 상품을 모두 카드로 결제해 주세요. 합계 금액도 알려 주세요.",
        ),
        draft=_checkout_cart,
    ),
    Template(
        name="pay_by_gift_card",
        feasible=True,
        en=(
            "Please put {amount} from my gift card {code} towards order {order_id} and tell me what is left to pay.",
            "I want to pay {amount} of order {order_id} with gift card {code}. What remains due then?",
        ),
        ko=(
            "기프트 카드 {code}에서 {amount:을} 주문 {order_id}의 결제에 써 주시고 남은 금액을 알려 주세요.",
            "주문 {order_id}의 금액 중 {amount:을} 기프트 카드 {code:으로} 내고 싶습니다. 얼마가 남나요?",
        ),
        draft=_pay_by_gift_card,
    ),
    Template(
        name="reorder",
        feasible=True,
        en=(
            "I'd like the first item of my newest order once more, the same quantity, on my card. What was I charged?",
            "Please reorder the first line of my latest order, same quantity, by card, and tell me the amount paid.",
        ),
        ko=(
            "가장 최근 주문의 첫 번째 상품을 같은 수량으로 한 번 더 카드로 주문해 주세요. 결제 금액이 얼마인가요?",
            "마지막 주문의 첫 상품을 같은 수량만큼 카드로 재주문하고 결제된 금액을 알려 주세요.",
        ),
        draft=_reorder,
    ),
)
