"""What people and models are told, in both languages: fault kinds, reasons for a stop, and values as JSON."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from breakfall.vocab import FaultKind, Text

Language: TypeAlias = Literal["en", "ko"]

KINDS: dict[str, Text] = {
    FaultKind.TIMEOUT.value: Text(en="no answer in time", ko="응답 시간 초과"),
    FaultKind.RATE_LIMIT.value: Text(en="too many calls", ko="호출 한도 초과"),
    FaultKind.SERVER_ERROR.value: Text(en="server error", ko="서버 오류"),
    FaultKind.MALFORMED_RESPONSE.value: Text(en="unreadable answer", ko="해석할 수 없는 응답"),
    FaultKind.AUTH_ERROR.value: Text(en="credentials or permission refused", ko="인증 또는 권한 거부"),
    FaultKind.SCHEMA_DRIFT.value: Text(en="changed arguments", ko="인자 변경"),
    FaultKind.PARTIAL_DATA.value: Text(en="incomplete answer", ko="불완전한 응답"),
    FaultKind.STALE_VALUE.value: Text(en="outdated answer", ko="오래된 값"),
    FaultKind.FACTUAL_ERROR.value: Text(en="false answer", ko="사실과 다른 응답"),
    "native": Text(en="the tool's own refusal", ko="도구 자체의 거절"),
    "unclassified": Text(en="unknown failure", ko="원인을 알 수 없는 실패"),
}
"""Failure class -> its name for a person."""


class StopCause(StrEnum):
    """Why recovery gave a call up, as far as its reason tells."""

    CALLS = "calls"
    DEADLINE = "deadline"
    CANNOT_LOOK_UP = "cannot_look_up"
    LOOKUPS_SILENT = "lookups_silent"
    FAILED = "failed"
    SHUT = "shut"
    STORM = "storm"
    NOBODY_ANSWERED = "nobody_answered"
    AGENT = "agent"
    """A plan that cannot go on says which call failed."""


class _Reason(Struct, frozen=True):
    cause: StopCause
    pattern: re.Pattern[str]
    ko: str


def _reason(cause: StopCause, pattern: str, ko: str) -> _Reason:
    return _Reason(cause, re.compile(pattern, re.DOTALL), ko)


_REASONS = (
    _reason(StopCause.CALLS, r"the task's call budget is used up", "작업에 허용된 호출 횟수를 모두 썼습니다"),
    _reason(
        StopCause.DEADLINE,
        r"the next try of (?P<tool>\S+) would come after the task's deadline",
        "{tool} 도구를 다시 호출할 수 있는 때가 작업 기한보다 늦습니다",
    ),
    _reason(
        StopCause.CANNOT_LOOK_UP,
        r"nobody knows whether (?P<tool>\S+) took effect, and it cannot be looked up",
        "{tool} 도구의 쓰기가 반영되었는지 알 수 없고, 조회할 방법도 없습니다",
    ),
    _reason(
        StopCause.LOOKUPS_SILENT,
        r"the look-ups do not tell whether (?P<tool>\S+) took effect",
        "여러 번 조회했지만 {tool} 도구의 쓰기가 반영되었는지 알 수 없습니다",
    ),
    _reason(
        StopCause.FAILED,
        r"(?P<tool>\S+) failed (?P<times>\d+) time\(s\), last with (?P<kind>\w+)",
        "{tool} 도구가 {times}번 실패했고, 마지막 원인은 {kind}입니다",
    ),
    _reason(
        StopCause.SHUT,
        r"(?P<tool>\S+) is known to be shut and no other path is open",
        "{tool} 도구는 막혀 있고, 대신할 경로도 없습니다",
    ),
    _reason(
        StopCause.STORM,
        r"(?P<tool>\S+) keeps failing with (?P<kind>\w+), however it is called",
        "{tool} 도구는 어떻게 호출해도 계속 실패합니다({kind})",
    ),
    _reason(StopCause.NOBODY_ANSWERED, r"nobody answered: (?P<question>.+)", "질문에 답한 사람이 없습니다: {question}"),
    _reason(StopCause.AGENT, r"(?P<tool>\S+) failed: (?P<message>.+)", "{tool} 도구가 실패했습니다: {message}"),
)


def kind_in(failure_class: str, language: Language) -> str:
    """Name a failure class for a person; one that is not known names itself."""
    known = KINDS.get(failure_class)
    return failure_class if known is None else said(known, language)


def said(text: Text, language: Language) -> str:
    """Return a text in a language."""
    return text.ko if language == "ko" else text.en


def to_json(value: Any) -> bytes:
    """Encode a value for a person or a model; whatever a tool sent, this does not raise.

    What JSON cannot hold is shown as Python writes it, and half a surrogate pair as a question mark.
    """
    try:
        return msgspec.json.encode(value, enc_hook=repr)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        text = json.dumps(msgspec.to_builtins(value, enc_hook=repr), ensure_ascii=False)
    except (TypeError, ValueError, OverflowError):
        text = json.dumps(repr(value))
    return text.encode("utf-8", "replace")


def cause_of(reason: str) -> StopCause | None:
    """Read the cause from a reason that recovery gave; None for one that somebody else worded."""
    found = _found(reason)
    return None if found is None else found[0].cause


def reason_in(reason: str, language: Language) -> str:
    """Say a reason in a language; one that somebody else worded stays as it is."""
    found = _found(reason) if language == "ko" else None
    if found is None:
        return reason
    known, parts = found
    if "kind" in parts:
        parts["kind"] = kind_in(parts["kind"], language)
    if "message" in parts:
        parts["message"] = reason_in(parts["message"], language)
    return known.ko.format(**parts)


def _found(reason: str) -> tuple[_Reason, dict[str, str]] | None:
    for known in _REASONS:
        match = known.pattern.fullmatch(reason)
        if match is not None:
            return known, match.groupdict()
    return None
