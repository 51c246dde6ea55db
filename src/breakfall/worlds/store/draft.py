"""A task in the making: what a template fills in, before the plan is run on clean state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from breakfall.seeds import Stream
from breakfall.vocab import Condition, Found, Given, PlanStep, Text
from breakfall.worlds.store.cast import Cast
from breakfall.worlds.store.korean import Noun
from breakfall.worlds.store.records import Customer


class Draft(Struct, frozen=True, kw_only=True):
    """One task's content: facts, plan, answer, and what must not happen."""

    facts: dict[str, Any]
    plan: tuple[PlanStep, ...]
    answer: dict[str, Any]
    owner: str | None
    """Whose records may be touched."""
    forbidden: tuple[str, ...] = ()
    """Names of effects that must not happen to anything."""


class Template(Struct, frozen=True, kw_only=True):
    """A kind of task."""

    name: str
    feasible: bool
    en: tuple[str, ...]
    ko: tuple[str, ...]
    """Phrasings over the facts; Korean ones may add a particle, ``{order_id:을}``."""
    draft: Callable[[Cast, Stream], Draft]
    introduced: bool = True
    """Whether the user says who they are."""


INTRODUCTIONS_EN = (
    "Hi, I'm {name} ({email}, postcode {postcode}).",
    "Hello, this is {name}. My e-mail is {email} and my postcode is {postcode}.",
    "My name is {name}, you have me under {email}, postcode {postcode}.",
)
INTRODUCTIONS_KO = (
    "안녕하세요, {name}입니다. 이메일은 {email}, 우편번호는 {postcode}입니다.",
    "제 이름은 {name}, 등록된 이메일은 {email}, 우편번호는 {postcode}입니다.",
    "{name}입니다. 메일 주소 {email}, 우편번호 {postcode} 고객입니다.",
)


REASONS = {
    "changed_mind": ("changed my mind", "단순 변심"),
    "ordered_by_mistake": ("ordered by mistake", "주문 실수"),
    "found_cheaper": ("found it cheaper elsewhere", "더 저렴한 곳 발견"),
    "takes_too_long": ("it takes too long", "배송 지연"),
    "damaged": ("damaged", "파손"),
    "wrong_item": ("it's the wrong item", "오배송"),
    "does_not_fit": ("it does not fit", "사이즈 불일치"),
}
"""How a user words a reason."""


def instruction(template: Template, facts: dict[str, Any], draw: Stream) -> Text:
    """Write the user's request in both languages."""
    shown = {name: f"{value:.2f}" if isinstance(value, float) else str(value) for name, value in facts.items()}
    nouns = {name: Noun(REASONS.get(value, (value, value))[1]) for name, value in shown.items()}
    shown = {name: REASONS.get(value, (value, value))[0] for name, value in shown.items()}
    en, ko = draw.choice(template.en).format(**shown), draw.choice(template.ko).format(**nouns)
    if template.introduced:
        en = f"{draw.choice(INTRODUCTIONS_EN).format(**shown)} {en}"
        ko = f"{draw.choice(INTRODUCTIONS_KO).format(**nouns)} {ko}"
    return Text(en=en, ko=ko)


def who(customer: Customer) -> dict[str, Any]:
    """Return what every customer says of themselves."""
    return {"email": customer.email, "name": customer.name, "postcode": customer.address.postcode}


IDENTITY = {"email": Given("email"), "name": Given("name"), "postcode": Given("postcode")}
CUSTOMER_ID = Found("customer", "/customer_id")
ORDER_ID = Given("order_id")
KNOWN = IDENTITY | {"customer_id": CUSTOMER_ID}
"""What is known of the customer once they are looked up."""


def find_customer(draw: Stream) -> PlanStep:
    """Look the customer up, by e-mail or by name and postcode."""
    if draw.uniform() < 0.6:
        tool, arguments = "find_customer_by_email", {"email": Given("email")}
    else:
        tool, arguments = "find_customer_by_name", {"name": Given("name"), "postcode": Given("postcode")}
    return PlanStep(id="customer", tool=tool, arguments=arguments, context=IDENTITY, expected="the customer's record")


def read_order(order_id: Any = ORDER_ID, step: str = "order") -> PlanStep:
    """Read an order."""
    return PlanStep(
        id=step,
        tool="get_order",
        arguments={"order_id": order_id},
        context=KNOWN,
        expected="the order, with its status and items",
    )


def holds(
    step: str, pointer: str, is_: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"], right: Any
) -> Condition:
    """Compare a found value."""
    return Condition(left=Found(step, pointer), is_=is_, right=right)


def theirs(step: str = "order") -> Condition:
    """The order belongs to the customer who asks."""
    return holds(step, "/customer_id", "==", CUSTOMER_ID)


def message(topic: str, text: str, after: Condition, order_id: Any = ORDER_ID, step: str = "message") -> PlanStep:
    """Tell the customer about a change."""
    return PlanStep(
        id=step,
        tool="send_message",
        arguments={"customer_id": CUSTOMER_ID, "topic": topic, "text": text, "order_id": order_id},
        context=KNOWN,
        expected="the customer has one message about it",
        when=(after,),
    )


def hand_over(reason: str, summary: str, *when: Condition, step: str = "transfer") -> PlanStep:
    """Hand the customer to a person."""
    return PlanStep(
        id=step,
        tool="transfer_to_human",
        arguments={"customer_id": CUSTOMER_ID, "reason": reason, "summary": summary},
        context=KNOWN,
        expected="a person has the case",
        when=when,
    )
