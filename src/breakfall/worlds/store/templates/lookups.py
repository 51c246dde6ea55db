"""Tasks that only look something up."""

from __future__ import annotations

from breakfall.seeds import Stream
from breakfall.vocab import Found, Given, PlanStep
from breakfall.worlds.store.cast import Cast, pick
from breakfall.worlds.store.draft import (
    CUSTOMER_ID,
    KNOWN,
    ORDER_ID,
    Draft,
    Template,
    find_customer,
    read_order,
    theirs,
    who,
)


def _stock_check(cast: Cast, draw: Stream) -> Draft:
    variant = draw.choice(cast.variants)
    step = PlanStep(id="stock", tool="get_stock", arguments={"sku": Given("sku")}, expected="how many can be sold now")
    return Draft(
        facts={"sku": variant.sku}, plan=(step,), answer={"available": Found("stock", "/available")}, owner=None
    )


def _price_check(cast: Cast, draw: Stream) -> Draft:
    variant = draw.choice(cast.variants)
    product = cast.product(variant.product_id)
    step = PlanStep(
        id="product",
        tool="get_product",
        arguments={"product_id": Given("product_id")},
        context={"product_name": Given("product_name")},
        expected="the product with the prices of its variants",
    )
    facts = {"product_id": product.product_id, "product_name": product.name, "option": variant.option}
    price = Found("product", "/variants/[option={option}]/price")
    return Draft(facts=facts, plan=(step,), answer={"price": price}, owner=None)


def _gift_card_balance(cast: Cast, draw: Stream) -> Draft:
    customer = draw.choice(cast.customers)
    card = draw.choice(cast.gift_cards(customer))
    step = PlanStep(
        id="card", tool="get_gift_card", arguments={"code": Given("code")}, context=KNOWN, expected="the card's balance"
    )
    return Draft(
        facts=who(customer) | {"code": card.code},
        plan=(find_customer(draw), step),
        answer={"balance": Found("card", "/balance"), "expires_on": Found("card", "/expires_on")},
        owner=customer.customer_id,
    )


def _order_status(cast: Cast, draw: Stream) -> Draft:
    order = draw.choice(cast.orders)
    customer = cast.customer(order)
    return Draft(
        facts=who(customer) | {"order_id": order.order_id},
        plan=(find_customer(draw), read_order()),
        answer={"status": Found("order", "/status"), "total": Found("order", "/total")},
        owner=customer.customer_id,
    )


def _parcel_arrival(cast: Cast, draw: Stream) -> Draft:
    order = pick(draw, cast.orders, lambda order: order.status in {"shipped", "delivered"})
    customer, shipment = cast.customer(order), cast.shipment(order)
    step = PlanStep(
        id="shipment",
        tool="get_shipment",
        arguments={"order_id": ORDER_ID},
        context={"tracking_number": Given("tracking_number")},
        expected="the parcel's status and dates",
        when=(theirs(),),
    )
    return Draft(
        facts=who(customer) | {"order_id": order.order_id, "tracking_number": shipment.tracking_number},
        plan=(find_customer(draw), read_order(), step),
        answer={"status": Found("shipment", "/status"), "estimated_on": Found("shipment", "/estimated_on")},
        owner=customer.customer_id,
    )


def _newest_order(cast: Cast, draw: Stream) -> Draft:
    customer = draw.choice(cast.customers)
    orders = PlanStep(
        id="orders",
        tool="list_customer_orders",
        arguments={"customer_id": CUSTOMER_ID},
        context=KNOWN,
        expected="all orders, newest first",
    )
    newest = read_order(Found("orders", "/orders/0/order_id"))
    return Draft(
        facts=who(customer),
        plan=(find_customer(draw), orders, newest),
        answer={
            "count": Found("orders", "/count"),
            "status": Found("order", "/status"),
            "total": Found("order", "/total"),
        },
        owner=customer.customer_id,
    )


TEMPLATES = (
    Template(
        name="stock_check",
        feasible=True,
        introduced=False,
        en=(
            "How many of SKU {sku} can I still buy?",
            "Could you check how many pieces of {sku} are available right now?",
            "I need the available stock of item {sku}, please.",
        ),
        ko=(
            "SKU {sku} 상품을 지금 몇 개까지 살 수 있나요?",
            "{sku} 상품의 현재 재고 수량을 확인해 주세요.",
            "{sku:이} 몇 개 남아 있는지 알려 주세요.",
        ),
        draft=_stock_check,
    ),
    Template(
        name="price_check",
        feasible=True,
        introduced=False,
        en=(
            "What does the {product_name} (product {product_id}) cost in {option}?",
            "I'm looking at product {product_id}, the {product_name}. What is the price of the {option} one?",
            "Please tell me the price of {product_name}, option {option}; the page says {product_id}.",
        ),
        ko=(
            "{product_name} 상품({product_id}) 중에서 {option} 옵션은 얼마인가요?",
            "상품 번호 {product_id}, {product_name} 상품의 {option} 옵션 가격을 알려 주세요.",
            "{product_name} 상품의 {option} 옵션 가격이 궁금합니다. 상품 번호는 {product_id}입니다.",
        ),
        draft=_price_check,
    ),
    Template(
        name="gift_card_balance",
        feasible=True,
        en=(
            "How much is left on my gift card {code}, and until when is it good?",
            "Please check the balance and expiry date of gift card {code}.",
            "I'd like to know what remains on {code} and when it expires.",
        ),
        ko=(
            "제 기프트 카드 {code}에 얼마가 남아 있고 언제까지 쓸 수 있나요?",
            "기프트 카드 {code}의 잔액과 만료일을 확인해 주세요.",
            "{code} 카드의 남은 금액과 유효 기간을 알고 싶습니다.",
        ),
        draft=_gift_card_balance,
    ),
    Template(
        name="order_status",
        feasible=True,
        en=(
            "What is the status of my order {order_id}, and what did it come to in total?",
            "Could you tell me how far order {order_id} is, and its total?",
            "Please look up order {order_id}: status and total amount.",
        ),
        ko=(
            "주문 {order_id}의 상태와 총금액을 알려 주세요.",
            "제 주문 {order_id:이} 지금 어떤 상태인지, 총액은 얼마인지 확인 부탁드립니다.",
            "주문 번호 {order_id:을} 조회해서 진행 상태와 합계를 알려 주시겠어요?",
        ),
        draft=_order_status,
    ),
    Template(
        name="parcel_arrival",
        feasible=True,
        en=(
            "Where is the parcel of order {order_id}? The tracking number is {tracking_number}.",
            "When does order {order_id} arrive, and what is the parcel's status? Tracking: {tracking_number}.",
            "My parcel {tracking_number} from order {order_id}: what is its status and its date?",
        ),
        ko=(
            "주문 {order_id}의 택배가 어디쯤 왔나요? 운송장 번호는 {tracking_number}입니다.",
            "주문 {order_id}의 배송 상태와 도착 예정일을 알려 주세요. 운송장 번호: {tracking_number}.",
            "운송장 {tracking_number}, 주문 {order_id}의 배송 상태와 날짜가 궁금합니다.",
        ),
        draft=_parcel_arrival,
    ),
    Template(
        name="newest_order",
        feasible=True,
        en=(
            "How many orders have I placed with you, and what are the status and total of the newest one?",
            "Please count my orders and tell me the newest one's status and total.",
            "I lost track: how many orders do I have, and how far is the latest, for how much?",
        ),
        ko=(
            "제가 지금까지 주문한 건수와, 가장 최근 주문의 상태와 총금액을 알려 주세요.",
            "제 주문이 모두 몇 건인지, 마지막 주문은 어떤 상태이고 얼마였는지 확인해 주세요.",
            "주문 건수와 최근 주문의 진행 상태, 합계 금액이 궁금합니다.",
        ),
        draft=_newest_order,
    ),
)
