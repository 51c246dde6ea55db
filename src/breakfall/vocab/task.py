"""Tasks: what is asked, the plan that solves it, and what must and must not come out."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct


class Given(Struct, frozen=True, tag="given"):
    """A value that the user stated: `Task.facts[name]`."""

    name: str


class Found(Struct, frozen=True, tag="found"):
    """A value of an earlier step's result: the part that `pointer` (RFC 6901) names.

    A pointer may hold one selector per part, ``[field=value]``, for the first item of a list whose field has that
    value; `value` may be ``{name}`` of a stated fact.
    """

    step: str
    pointer: str = ""


class Built(Struct, frozen=True, tag="built"):
    """A text made of other values: `template` in `str.format` form over `parts`."""

    template: str
    parts: dict[str, Any]


Binding: TypeAlias = Given | Found | Built
"""Stands inside arguments wherever a plain JSON value could."""


class Condition(Struct, frozen=True, kw_only=True):
    """Holds when the found value compares so; a step whose conditions do not all hold is passed over."""

    left: Any
    is_: Literal["==", "!=", "<", "<=", ">", ">=", "in", "not in"]
    right: Any


class PlanStep(Struct, frozen=True, kw_only=True):
    """One call of the plan; arguments and context may hold bindings at any depth."""

    id: str
    tool: str
    arguments: dict[str, Any] = {}
    context: dict[str, Any] = {}
    expected: str = ""
    when: tuple[Condition, ...] = ()
    turn: int = 0
    """Which of the user's turns it belongs to."""


class Text(Struct, frozen=True, kw_only=True):
    """The same text in both languages."""

    en: str
    ko: str = ""


class Task(Struct, frozen=True, kw_only=True):
    """One task of a world."""

    id: str
    world: str
    template: str
    split: str
    """"train" or "held-out" (or the world's own split names)."""
    instruction: Text
    turns: tuple[Text, ...] = ()
    """The user's further messages, one per turn after the instruction."""
    facts: dict[str, Any] = {}
    """What the user states or knows."""
    plan: tuple[PlanStep, ...]
    answer: dict[str, Any] = {}
    """Bindings of the facts that the answer must give; the world's checker knows the right values."""
    feasible: bool = True
    details: dict[str, Any] = {}
    """The world's own data for this task: expected values, forbidden effects, initial state."""


class AppliedEffect(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of the world's own effect log: a write that was really applied, whatever the agent was told."""

    name: str
    """The effect, the same for equivalent paths: "order.cancelled"."""
    target: str
    """What it was done to: "order:O1042"."""
    details: dict[str, Any] = {}
    tool: str = ""


class Verdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the world's checker says of a finished episode, from the final state, the effect log and the answer."""

    passed: bool
    state_ok: bool
    answer_ok: bool
    missing_effects: tuple[str, ...] = ()
    duplicate_effects: tuple[str, ...] = ()
    """Effects that stand in the log more often than the task calls for, once per extra time."""
    wrong_effects: tuple[str, ...] = ()
    """Effects that the task does not call for."""
    forbidden_effects: tuple[str, ...] = ()
    """Effects that the policy forbids in this task (also counted as wrong)."""
    notes: tuple[str, ...] = ()
