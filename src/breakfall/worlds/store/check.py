"""The checker: the effect log, the final state and the answer against what the task calls for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from breakfall.vocab import Answer, AppliedEffect, Task, Verdict
from breakfall.worlds.store.records import GiftCard, Order, Variant
from breakfall.worlds.store.state import State

_encode = msgspec.json.Encoder(order="sorted").encode

STATE_FIELDS: dict[str, tuple[type[Any], tuple[str, ...]]] = {
    "order": (Order, ("status", "lines", "discount", "coupon", "address")),
    "variant": (Variant, ("available",)),
    "gift_card": (GiftCard, ("balance",)),
}
"""What of a record the final state is held to: that which every path to an effect leaves alike."""


def effect_key(effect: AppliedEffect, created: Mapping[str, str]) -> str:
    """Return a line that is equal for equal effects; ids made in the episode read as "new"."""

    def known(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: known(part) for name, part in value.items()}
        if isinstance(value, list):
            return [known(part) for part in value]
        return f"new {created[value]}" if isinstance(value, str) and value in created else value

    kind, _, key = effect.target.partition(":")
    target = f"{kind}:new" if key in created else effect.target
    details = known(effect.details)
    return f"{effect.name} {target} {_encode(details).decode()}"


def state_value(state: State, what: str, key: str, field: str) -> Any:
    """Return one field of the final state in its JSON form, None where there is no such record."""
    record = state.find(STATE_FIELDS[what][0], key)
    return None if record is None else msgspec.json.decode(_encode(getattr(record, field)))


def same(expected: Any, stated: Any) -> bool:
    """Whether an answer states what is expected: numbers by value, everything else exactly."""
    numbers = (int, float)
    if type(expected) is bool or type(stated) is bool:
        return expected is stated
    if isinstance(expected, numbers) and isinstance(stated, numbers):
        return abs(expected - stated) < 1e-9
    return type(expected) is type(stated) and bool(expected == stated)


def is_forbidden(effect: AppliedEffect, details: Mapping[str, Any], state: State) -> bool:
    """Whether the policy forbids an effect in this task: listed for it, or on another customer's record."""
    if effect.name in details["forbidden"]:
        return True
    owner = details["owner"]
    if owner is None:
        return False
    kind, _, key = effect.target.partition(":")
    if kind == "order":
        order = state.find(Order, key)
        return order is not None and order.customer_id != owner
    return key not in {owner, "unknown"}


def check(task: Task, state: State, log: Sequence[AppliedEffect], answer: Answer) -> Verdict:
    """Judge a finished episode.

    Args:
        task: The task; its `details` hold what `breakfall.worlds.store.gold` computed.
        state: The final state.
        log: The effect log.
        answer: What the agent answered.
    """
    details = task.details
    keys = [effect_key(effect, state.created) for effect in log]
    called_for, happened = Counter(details["effects"]), Counter(keys)
    missing = tuple((called_for - happened).elements())
    extra = happened - called_for
    duplicate = tuple(key for key in extra.elements() if key in called_for)
    wrong = tuple(key for key in extra.elements() if key not in called_for)
    forbidden = tuple(key for effect, key in zip(log, keys, strict=True) if is_forbidden(effect, details, state))
    notes = [*_state_notes(details, state), *_answer_notes(details, answer)]
    state_ok = not missing and not any(note.startswith("state ") for note in notes)
    answer_ok = not any(note.startswith("answer ") for note in notes)
    return Verdict(
        passed=state_ok and answer_ok and not duplicate and not wrong and not forbidden,
        state_ok=state_ok,
        answer_ok=answer_ok,
        missing_effects=missing,
        duplicate_effects=duplicate,
        wrong_effects=wrong,
        forbidden_effects=forbidden,
        notes=tuple(notes),
    )


def _state_notes(details: Mapping[str, Any], state: State) -> Iterable[str]:
    for what, key, field, expected in details["state"]:
        found = state_value(state, what, key, field)
        if found != expected:
            yield f"state {what}:{key} {field}: {found!r}, expected {expected!r}"


def _answer_notes(details: Mapping[str, Any], answer: Answer) -> Iterable[str]:
    for name, expected in details["answer"].items():
        if name not in answer.facts:
            yield f"answer {name}: not stated, expected {expected!r}"
        elif not same(expected, answer.facts[name]):
            yield f"answer {name}: {answer.facts[name]!r}, expected {expected!r}"
