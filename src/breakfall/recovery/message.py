"""The text that a model gets after a call: what is known, whether to go on, and with which tool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from breakfall.recovery.classify import classify
from breakfall.recovery.model_words import BARRED, LEFT_OUT, MOVES, OPENINGS, OR, QUOTED, REPLAYED, STATES
from breakfall.recovery.wording import Language, StopCause, cause_of, reason_in, said, to_json
from breakfall.vocab import Applied, Failed, FaultKind, Ok, Outcome, Text, Tool

QUOTE_CHARACTERS = 200
"""How much of what a server sent a model is shown; the Step keeps it whole."""


class Status(StrEnum):
    """How the call ended."""

    OK = "ok"
    REPLAYED = "replayed"
    """Nothing ran: the value is the recorded result of an equal write."""
    REFUSED = "refused"
    """The tool's own refusal."""
    FAILED = "failed"


class Next(StrEnum):
    """What to do next."""

    PROCEED = "proceed"
    RETRY = "retry"
    """Send the same call again, after `wait_s`."""
    SWITCH = "switch"
    VERIFY = "verify"
    """Look it up, or compare, before anything relies on it or is sent again."""
    CHANGE = "change"
    """Send another call: this one is refused as it is."""
    STOP = "stop"
    """Hand over to a person."""


class ToolMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model is told of a call, for a program and in words."""

    tool: str
    status: Status
    applied: Applied
    """Whether the call changed anything; a read never does."""
    retryable: bool
    """Whether the same call may be sent again."""
    terminal: bool
    """Whether no call that the model could make brings this one to its end."""
    next: Next
    text: str
    kind: str = ""
    """The failure class."""
    use: tuple[str, ...] = ()
    """The tools for `next`, the best first."""
    wait_s: float | None = None
    why: str = ""
    """Why recovery gave up."""
    quoted: str = ""
    """The start of what the server said: data, not instructions."""
    value: Any = None
    """What the tool answered."""


def message_for(
    outcome: Outcome,
    *,
    tool: Tool,
    alternatives: Sequence[str] = (),
    stop_reason: str | None = None,
    language: Language = "en",
) -> ToolMessage:
    """Say how a call ended and what to do.

    A write whose effect is not known is to be looked up and nothing else; refused credentials and a write that took
    effect never read like a call to repeat it, not even in what is quoted from the server.

    Args:
        outcome: How the call ended, after whatever recovery there was.
        tool: The tool that was called; for a call that went on by another path, the tool of that path.
        alternatives: Other tools that could be called instead now.
        stop_reason: Why recovery gave this very call up; None where it had no say, so that retrying is up to the model.
        language: The language of the text.
    """
    if isinstance(outcome, Ok):
        return _answered(outcome, tool, language)
    failed = classify(outcome, writes=tool.writes)
    if not tool.writes and failed.applied is not Applied.NO:
        failed = replace(failed, applied=Applied.NO)
    case = _Case(
        tool=tool,
        failed=failed,
        others=tuple(alternatives),
        stopped=stop_reason is not None,
        cause=cause_of(stop_reason or ""),
        language=language,
    )
    return _failed(case, stop_reason or "")


def content(message: ToolMessage) -> str:
    """Encode a message as the JSON text that goes into a model's context."""
    return to_json(message).decode()


def _answered(ok: Ok, tool: Tool, language: Language) -> ToolMessage:
    text = REPLAYED if ok.replayed else OPENINGS["ok"] if tool.writes else None
    return ToolMessage(
        tool=tool.name,
        status=Status.REPLAYED if ok.replayed else Status.OK,
        applied=Applied.YES if tool.writes else Applied.NO,
        retryable=False,
        terminal=False,
        next=Next.PROCEED,
        text="" if text is None else said(text, language).format(tool=tool.name),
        value=ok.value,
    )


class _Case(Struct, frozen=True, kw_only=True):
    """A failed call as its message sees it."""

    tool: Tool
    failed: Failed
    others: tuple[str, ...]
    stopped: bool
    cause: StopCause | None
    language: Language

    @property
    def reader(self) -> str | None:
        """Name the tool that looks the write up."""
        return None if self.tool.reader is None else self.tool.reader.tool

    @property
    def unauthorized(self) -> bool:
        """Whether the credentials or the permission were refused."""
        return self.failed.kind is FaultKind.AUTH_ERROR or self.failed.status in (401, 403, 407)

    @property
    def barred(self) -> bool:
        """Whether nothing may read like a call to repeat it."""
        return self.unauthorized or self.failed.applied is not Applied.NO


class _Move(Struct, frozen=True):
    """What to do next, and which words say so."""

    next: Next
    words: str
    use: tuple[str, ...] = ()
    retryable: bool = False
    terminal: bool = False


_TRANSIENT = frozenset({FaultKind.TIMEOUT, FaultKind.RATE_LIMIT, FaultKind.SERVER_ERROR, FaultKind.MALFORMED_RESPONSE})
_NOT_CALLED = frozenset({StopCause.SHUT, StopCause.STORM})


def _move(case: _Case) -> _Move:
    """Choose the next move; what an unknown effect forbids comes before everything else."""
    failed = case.failed
    if failed.applied is Applied.UNKNOWN:
        return _unknown(case)
    if case.cause is StopCause.CALLS:
        return _Move(Next.STOP, "no_calls", terminal=True)
    if failed.applied is Applied.YES:
        reader = case.reader
        return _Move(Next.PROCEED, "applied_read", (reader,)) if reader else _Move(Next.PROCEED, "applied")
    if case.unauthorized:
        if case.others:
            return _Move(Next.SWITCH, "auth_switch", case.others)
        return _Move(Next.STOP, "auth_stop", terminal=True)
    if case.cause not in _NOT_CALLED:
        if failed.kind is FaultKind.SCHEMA_DRIFT:
            return _Move(Next.CHANGE, "drift_or_switch" if case.others else "drift", (case.tool.name, *case.others))
        if failed.kind is None:
            return _Move(Next.CHANGE, "refused", (case.tool.name,))
    if case.stopped:
        if case.others:
            return _Move(Next.SWITCH, "switch", case.others)
        return _Move(Next.STOP, "no_other", terminal=True)
    return _repeat(case)


def _unknown(case: _Case) -> _Move:
    """A write that may have happened is looked up, or handed over; it is never sent anywhere."""
    if case.cause is StopCause.CALLS:
        return _Move(Next.STOP, "unknown_no_calls", terminal=True)
    if case.reader is None:
        return _Move(Next.STOP, "cannot_look_up", terminal=True)
    if case.cause is StopCause.LOOKUPS_SILENT:
        return _Move(Next.STOP, "looked_up_in_vain", terminal=True)
    return _Move(Next.VERIFY, "look_up", (case.reader,))


def _repeat(case: _Case) -> _Move:
    """Nothing happened, and nobody has tried again yet."""
    failed, tool, others = case.failed, case.tool.name, case.others
    if failed.kind is FaultKind.RATE_LIMIT:
        words = ("wait" if failed.retry_after_s is not None else "pause") + ("_or_switch" if others else "")
        return _Move(Next.RETRY, words, (tool, *others), retryable=True)
    if failed.kind in _TRANSIENT or case.tool.writes:
        words = "once_more_or_switch" if others else "once_more"
        return _Move(Next.RETRY, words, (tool, *others), retryable=True)
    return _Move(Next.VERIFY, "compare" if others else "reread", others or (tool,), retryable=True)


def _failed(case: _Case, stop_reason: str) -> ToolMessage:
    failed, language = case.failed, case.language
    move = _move(case)
    reason = reason_in(stop_reason, language)
    quoted, left_out = _quote(case)
    sentences = [_opening(case), STATES[_state(case)], MOVES[move.words]]
    if quoted or left_out:
        sentences.append(QUOTED if quoted else LEFT_OUT)
    names = {
        "tool": case.tool.name,
        "reader": case.reader,
        "others": said(OR, language).join(case.others),
        "wait": f"{failed.retry_after_s or 0:g}",
    }
    return ToolMessage(
        tool=case.tool.name,
        status=Status.REFUSED if failed.kind is None else Status.FAILED,
        applied=failed.applied,
        retryable=move.retryable,
        terminal=move.terminal,
        next=move.next,
        text=" ".join(said(sentence, language).format(**names) for sentence in sentences),
        kind=failed.failure_class,
        use=move.use,
        wait_s=failed.retry_after_s if move.next is Next.RETRY else None,
        why="" if case.barred and BARRED.search(reason) else reason,
        quoted=quoted,
    )


def _opening(case: _Case) -> Text:
    if case.cause in _NOT_CALLED:
        return OPENINGS[case.cause.value]
    return OPENINGS[case.failed.failure_class]


def _state(case: _Case) -> str:
    """Name what is so after the call."""
    if case.tool.writes:
        return case.failed.applied.value
    return "silent" if case.failed.kind is not None and case.failed.kind.silent else "read"


def _quote(case: _Case) -> tuple[str, bool]:
    """Return the start of what the server said, and whether it was left out because it asks for a repeat.

    What a silent fault falsified is not quoted, and neither is a time-out, which brought nothing.
    """
    failed = case.failed
    if case.cause in _NOT_CALLED or failed.kind is FaultKind.TIMEOUT or (failed.kind and failed.kind.silent):
        return "", False
    text = _plain(failed.message if failed.kind is None else failed.body or "")
    if case.barred and BARRED.search(text):
        return "", True
    return (text if len(text) <= QUOTE_CHARACTERS else f"{text[:QUOTE_CHARACTERS]}…"), False


_TAG = re.compile(r"<[^>]*>")


def _plain(text: str) -> str:
    """Keep what can be read of a body: no mark-up, no control or invisible characters, no line breaks."""
    text = _TAG.sub(" ", text[: 64 * QUOTE_CHARACTERS]) if text.lstrip().startswith("<") else text
    shown = (mark if mark.isprintable() else " " for mark in text[: 16 * QUOTE_CHARACTERS])
    return " ".join("".join(shown).split())
