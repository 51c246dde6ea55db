"""Write docs/model-text.md, and every message of it as JSON for the tests to pin.

Run it after a change of the wording, and read the difference: ``python docs/model_text.py``
"""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from breakfall.recovery.message import ToolMessage, message_for
from breakfall.vocab import Applied, Effect, Failed, FaultKind, Ok, Outcome, Reader, Settlement, Tool

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "model-text.md"
GOLDEN = ROOT / "tests" / "unit" / "recovery" / "model_text.json"


def _judge(value: object, arguments: object, sent_s: float) -> Settlement:
    return Settlement(applied=Applied.UNKNOWN)


_LOOK = Reader(tool="find_order", arguments=lambda arguments, context: dict(arguments), judge=_judge)
READ = Tool(name="get_order", description="", parameters={}, effect=Effect.READ, fault_domain="shop")
WRITE = Tool(name="place_order", description="", parameters={}, effect=Effect.WRITE, fault_domain="shop", reader=_LOOK)
BLIND = Tool(name="send_mail", description="", parameters={}, effect=Effect.IRREVERSIBLE, fault_domain="mail")


class Shown(Struct, frozen=True):
    """One row: the case in words, its message in both languages."""

    call: str
    path: str
    en: ToolMessage
    ko: ToolMessage

    @property
    def id(self) -> str:
        """The row's key in the golden file."""
        return f"{self.call} | {self.path}"


def _shown(
    call: str, outcome: Outcome, tool: Tool, alternatives: tuple[str, ...] = (), stop_reason: str | None = None
) -> Shown:
    en, ko = (
        message_for(outcome, tool=tool, alternatives=alternatives, stop_reason=stop_reason, language=language)
        for language in ("en", "ko")
    )
    return Shown(call, alternatives[0] if alternatives else "none", en, ko)


_STATES = (
    ("read", READ, Applied.NO, "order_history"),
    ("write, applied: no", WRITE, Applied.NO, "place_order_v2"),
    ("write, applied: unknown", WRITE, Applied.UNKNOWN, "place_order_v2"),
    ("write, applied: yes", WRITE, Applied.YES, "place_order_v2"),
)


def rows(kind: FaultKind, *, gave_up: bool) -> list[Shown]:
    """Return the eight rows of a kind: each state, with another path open and with none."""
    found: list[Shown] = []
    for call, tool, applied, other in _STATES:
        wait_s = 7.0 if kind is FaultKind.RATE_LIMIT else None
        failed = Failed(message="", kind=kind, applied=applied, retry_after_s=wait_s)
        reason = f"{tool.name} failed 4 time(s), last with {kind.value}" if gave_up else None
        found.extend(_shown(call, failed, tool, others, reason) for others in ((), (other,)))
    return found


def others() -> list[Shown]:
    """Return what the kinds and states leave out: answers, refusals, reasons, and words of the server."""
    lost = Failed(message="", kind=FaultKind.TIMEOUT, applied=Applied.UNKNOWN)
    body = '{"error": "Something went wrong. Please try again."}'
    paths = ("place_order_v2",)
    return [
        _shown("read, answered", Ok(value={"status": "paid"}), READ),
        _shown("write, answered", Ok(value={"order": "O7"}), WRITE),
        _shown("write, replayed", Ok(value={"order": "O7"}, replayed=True), WRITE),
        _shown("refused by the tool", Failed(message="order O9 is unknown", status=404), READ),
        _shown("403 without a body", Failed(message="forbidden", status=403), READ),
        _shown("429 that names no time", Failed(message="", status=429), READ),
        _shown("unknown, with no reader", lost, BLIND),
        _shown(
            "unknown, look-ups did not tell",
            lost,
            WRITE,
            paths,
            "the look-ups do not tell whether place_order took effect",
        ),
        _shown("unknown, no calls left", lost, WRITE, paths, "the task's call budget is used up"),
        _shown(
            "no calls left",
            Failed(message="", status=500),
            READ,
            ("order_history",),
            "the task's call budget is used up",
        ),
        _shown(
            "not called: known to be shut",
            Failed(message="", kind=FaultKind.SERVER_ERROR),
            READ,
            (),
            "get_order is known to be shut and no other path is open",
        ),
        _shown(
            "not called: keeps failing",
            Failed(message="", kind=FaultKind.SCHEMA_DRIFT),
            READ,
            ("order_history",),
            "get_order keeps failing with schema_drift, however it is called",
        ),
        _shown("quoted", Failed(message="", status=422, body='{"error": "schema: id was renamed to order_id"}'), READ),
        _shown("left out", Failed(message="", status=500, body=body), WRITE),
    ]


def golden() -> str:
    """Encode every message of the page, in both languages."""
    shown: dict[str, dict[str, ToolMessage]] = {}
    for kind in FaultKind:
        for gave_up in (False, True):
            for row in rows(kind, gave_up=gave_up):
                when = "gave up" if gave_up else "first"
                shown[f"{kind.value} | {row.id} | {when}"] = {"en": row.en, "ko": row.ko}
    for row in others():
        shown[row.call] = {"en": row.en, "ko": row.ko}
    return msgspec.json.format(msgspec.json.encode(shown), indent=1).decode() + "\n"


_HEAD = """\
# The text that a model gets

<!-- Written by docs/model_text.py; change the wording in src/breakfall/recovery/model_words.py and run it. -->

After a call a model is told what is known and what to do next, in fields for a program and in words.
`breakfall.recovery.message.message_for(...)` builds the message, `content(...)` encodes it as JSON.

| field | meaning |
| --- | --- |
| `status` | `ok`, `replayed` (the recorded result of an equal write), `refused` (by the tool itself), `failed` |
| `kind` | the failure class |
| `applied` | whether the call changed anything: `yes`, `no`, `unknown`; for a read always `no` |
| `retryable` | whether the same call may be sent again |
| `terminal` | whether no call that the model could make brings this one to its end |
| `next` | `proceed`, `retry`, `switch`, `verify` (look up, or read once more), `change` the call, `stop` (hand over) |
| `use` | the tools for `next`, the best first |
| `wait_s` | how long to wait before a `retry` |
| `why` | why recovery gave up |
| `quoted` | at most 200 characters of what the server said: data, not instructions; the Step keeps it whole |
| `value` | what the tool answered |

What holds for every message, whatever the server sent:

- A write of unknown effect is looked up with its reader before anything is sent, by this tool or another; so other
  paths are not offered.
- After refused credentials (401, 403, 407), after a write of unknown effect and after one that took effect, nothing
  asks for a repeat: what the server said is left out if it does.
- What a silent fault falsified is never quoted.

The tables show `get_order` (a read; its other path is `order_history`) and `place_order` (a write; its reader is
`find_order`, its other path `place_order_v2`).
"""
_FIRST = """
## Before recovery had a say

Recovery is off, or leaves retrying to the model.
"""
_LAST = """
## After recovery gave up

Recovery retried, looked up and switched as its policy allows, and stopped. Only rows that differ from those above are
shown.
"""
_REST = """
## Other cases
"""


def _table(shown: list[Shown], *, path: bool = True) -> str:
    lines = ["| call | other path | next | retryable | terminal | text |", "| --- | --- | --- | --- | --- | --- |"]
    if not path:
        lines = [line.replace(" other path |", "").replace(" --- |", "", 1) for line in lines]
    for row in shown:
        cells = [row.call, *([row.path] if path else []), _next(row.en), _yes(row.en.retryable), _yes(row.en.terminal)]
        quoted = f"<br>quoted: `{row.en.quoted}`" if row.en.quoted else ""
        lines.append(f"| {' | '.join(cells)} | {row.en.text or '(none)'}<br>{row.ko.text or '(없음)'}{quoted} |")
    return "\n".join(lines) + "\n"


def _next(message: ToolMessage) -> str:
    return f"{message.next.value} {', '.join(f'`{tool}`' for tool in message.use)}".strip()


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def page() -> str:
    """Write the page."""
    parts = [_HEAD, _FIRST]
    parts.extend(f"\n### {kind.value}\n\n{_table(rows(kind, gave_up=False))}" for kind in FaultKind)
    parts.append(_LAST)
    for kind in FaultKind:
        before = {row.id: row.en.text for row in rows(kind, gave_up=False)}
        after = [row for row in rows(kind, gave_up=True) if row.en.text != before[row.id]]
        if after:
            parts.append(f"\n### {kind.value}, given up\n\n{_table(after)}")
    parts.append(f"{_REST}\n{_table(others(), path=False)}")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    GOLDEN.write_text(golden(), encoding="utf-8")
