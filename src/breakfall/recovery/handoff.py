"""The packet for a person: fold it from the Steps of a task, and write it out in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from breakfall.recovery.classify import classify
from breakfall.recovery.wording import Language, kind_in, reason_in, said, to_json
from breakfall.vocab import (
    Fact,
    Failed,
    FaultKind,
    Handoff,
    IdempotencyKind,
    Ok,
    SafeAction,
    SafeKind,
    Step,
    Text,
    Tool,
    VerificationStatus,
)

MAYBE_TWICE = "sent again without a look-up after its answer was lost: it may have happened more than once"
"""`Fact.note` of a write that a blind repeat may have doubled."""


def build(
    goal: str, reason: str, steps: Sequence[Step], tools: Mapping[str, Tool], settled: Mapping[str, bool]
) -> Handoff:
    """Fold the steps of a task into what is done, what nobody knows, and what was tried.

    A write is done if it was answered, or if its answer was lost and a look-up found it applied; it is unknown if its
    answer was lost and no look-up told. A call is never both, and in neither if nothing of it can have happened. An
    answer also settles the earlier calls of the same idempotency key, and a replayed one names no second write.

    Args:
        goal: What the task was.
        reason: Why a person must take over.
        steps: The task's steps so far.
        tools: The tools by name.
        settled: Call id -> what a look-up said of a write whose answer was lost: applied or not.
    """
    fold = _Fold(settled)
    for step in steps:
        tool = tools.get(step.tool)
        outcome = step.observed_outcome
        if isinstance(outcome, Failed):
            outcome = classify(outcome, writes=tool is not None and tool.writes)
            if not outcome.native:
                fold.tried[step.tool, outcome.failure_class] += 1
        if step.purpose:
            fold.looked_up.add(step.call)
        elif tool is not None and tool.writes:
            if step.verification.status is VerificationStatus.FAILED:
                fold.tried[step.tool, FaultKind.FACTUAL_ERROR.value] += 1  # it said done, and was looked up
            elif isinstance(outcome, Ok):
                fold.answered(step, tool, replayed=outcome.replayed)
            elif outcome.ambiguous:
                fold.lost(step)
    return Handoff(
        goal=goal,
        reason=reason,
        done=tuple(fold.done.values()),
        unknown=tuple(fold.unknown.values()),
        tried=tuple(f"{tool}: {kind} × {count}" for (tool, kind), count in fold.tried.items()),
        safe_next_actions=_safe(fold, tools),
    )


class _Fold:
    """What the steps so far come to."""

    __slots__ = ("done", "keys", "looked_up", "settled", "tried", "unknown")

    def __init__(self, settled: Mapping[str, bool]) -> None:
        self.settled = settled
        self.done: dict[str, Fact] = {}
        self.unknown: dict[str, Fact] = {}
        self.keys: dict[str, str | None] = {}
        self.looked_up: set[str] = set()
        self.tried: Counter[tuple[str, str]] = Counter()

    def answered(self, step: Step, tool: Tool, *, replayed: bool) -> None:
        """Take in a write that was answered."""
        if replayed and any(fact.tool == step.tool and fact.arguments == step.arguments for fact in self.done.values()):
            return
        blind = step.call in self.unknown and step.call not in self.looked_up and step.call not in self.settled
        doubled = blind and tool.idempotency.kind is IdempotencyKind.NONE
        self.done[step.call] = _fact(step, MAYBE_TWICE if doubled else "")
        same = [call for call in self.unknown if step.key is not None and self.keys[call] == step.key]
        for call in (step.call, *same):
            self.unknown.pop(call, None)

    def lost(self, step: Step) -> None:
        """Take in a write whose answer was lost."""
        applied = self.settled.get(step.call)
        if applied:
            self.done[step.call] = _fact(step)
        elif applied is None and step.call not in self.done:
            self.unknown[step.call] = _fact(step)
            self.keys[step.call] = step.key


def _fact(step: Step, note: str = "") -> Fact:
    return Fact(call=step.call, tool=step.tool, arguments=step.arguments, note=note)


def _safe(fold: _Fold, tools: Mapping[str, Tool]) -> tuple[SafeAction, ...]:
    actions = []
    for fact in fold.unknown.values():
        reader = tools[fact.tool].reader
        if reader is None:
            actions.append(SafeAction(do=SafeKind.CHECK_RECORD, tool=fact.tool, call=fact.call))
        else:
            actions.append(SafeAction(do=SafeKind.LOOK_UP, tool=fact.tool, call=fact.call, reader=reader.tool))
    refused = [tool for tool, kind in fold.tried if kind == FaultKind.AUTH_ERROR.value]
    actions.extend(SafeAction(do=SafeKind.RENEW_CREDENTIALS, tool=tool) for tool in refused)
    return (*actions, SafeAction(do=SafeKind.REPEAT_READS))


_LABELS = {
    "title": Text(en="A person must take over", ko="사람의 확인이 필요합니다"),
    "goal": Text(en="Goal", ko="하려던 일"),
    "reason": Text(en="Why it stopped", ko="멈춘 이유"),
    "done": Text(en="Done (do not send again)", ko="완료된 쓰기(다시 보내지 마세요)"),
    "unknown": Text(en="Not known whether it happened", ko="반영 여부를 알 수 없는 쓰기"),
    "tried": Text(en="Tried in vain", ko="시도했지만 실패한 경로"),
    "safe": Text(en="Safe next actions", ko="지금 해도 안전한 일"),
    "none": Text(en="none", ko="없음"),
}
_NOTES = {
    MAYBE_TWICE: Text(
        en=MAYBE_TWICE,
        ko="응답을 받지 못한 뒤 조회 없이 다시 보냈으므로 두 번 이상 반영되었을 수 있습니다",
    )
}
_ACTIONS = {
    SafeKind.LOOK_UP: Text(
        en="Look up with {reader} whether {tool} (call {call}) took effect before anything is sent again.",
        ko="{reader} 도구로 {tool} 호출({call})이 반영되었는지 먼저 조회하고, 그 전에는 아무것도 다시 보내지 마세요.",
    ),
    SafeKind.CHECK_RECORD: Text(
        en="See in the system of record whether {tool} (call {call}) took effect before anything is sent again; "
        "no tool can tell.",
        ko="{tool} 호출({call})의 반영 여부를 원본 시스템에서 먼저 확인하세요. 도구로는 조회할 수 없습니다.",
    ),
    SafeKind.RENEW_CREDENTIALS: Text(
        en="Check the credentials and permissions of {tool}.", ko="{tool} 도구의 인증 정보와 권한을 확인하세요."
    ),
    SafeKind.REPEAT_READS: Text(
        en="Read whatever is needed anew; send no write again that is listed as done.",
        ko="필요한 값은 다시 읽어도 됩니다. 완료된 쓰기는 다시 보내지 마세요.",
    ),
}
_LONGEST = 500
"""Characters of one call's arguments that a person is shown; the packet itself holds them whole."""


def render(handoff: Handoff, language: Language = "en") -> str:
    """Write the packet as plain text for a person; an empty part says so."""
    safe = [_action(action, language) for action in handoff.safe_next_actions]
    parts = [
        said(_LABELS["title"], language),
        "",
        f"{said(_LABELS['goal'], language)}: {_indented(handoff.goal)}",
        f"{said(_LABELS['reason'], language)}: {_indented(reason_in(handoff.reason, language))}",
        *_listed("done", [_worded(fact, language) for fact in handoff.done], language),
        *_listed("unknown", [_worded(fact, language) for fact in handoff.unknown], language),
        *_listed("tried", [_tried(line, language) for line in handoff.tried], language),
        *_listed("safe", safe, language, numbered=True),
    ]
    return "\n".join(parts) + "\n"


def packet(handoff: Handoff) -> bytes:
    """Encode the packet as JSON; `msgspec.json.decode(…, type=Handoff)` gives it back."""
    return to_json(handoff)


def _listed(label: str, lines: Iterable[str], language: Language, *, numbered: bool = False) -> list[str]:
    marked = [f"{f'{n}.' if numbered else '-'} {_indented(line)}" for n, line in enumerate(lines, 1)]
    title = said(_LABELS[label], language)
    return ["", f"{title}:", *marked] if marked else ["", f"{title}: {said(_LABELS['none'], language)}"]


def _worded(fact: Fact, language: Language) -> str:
    note = said(_NOTES[fact.note], language) if fact.note in _NOTES else fact.note
    return f"{fact.tool} ({fact.call}): {_arguments(fact.arguments)}" + (f"; {note}" if note else "")


def _arguments(arguments: dict[str, Any]) -> str:
    text = to_json(arguments).decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _tried(line: str, language: Language) -> str:
    tool, colon, rest = line.rpartition(": ")
    kind, times, count = rest.partition(" × ")
    return f"{tool}: {kind_in(kind, language)} × {count}" if colon and times else line


def _action(action: SafeAction | str, language: Language) -> str:
    if isinstance(action, str):
        return action
    return said(_ACTIONS[action.do], language).format(reader=action.reader, tool=action.tool, call=action.call)


def _indented(text: str) -> str:
    """Keep a text of many lines from looking like a part of the packet."""
    return "\n    ".join(text.splitlines())
