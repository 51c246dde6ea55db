"""What the commands of `breakfall ledger` share: their options, times in words, and how answers are printed."""

from __future__ import annotations

import csv
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from breakfall.ledger.questions import Filter
    from breakfall.ledger.store import Ledger

Where = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger: a folder, or a postgresql:// address.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many rows.")]
Agent = Annotated[str | None, typer.Option(help="Only steps of this agent.")]
Version = Annotated[str | None, typer.Option(help="Only steps of this agent version.")]
Tool = Annotated[str | None, typer.Option(help="Only steps of this tool.")]
Intent = Annotated[str | None, typer.Option(help="Only steps of this intent.")]
Run = Annotated[str | None, typer.Option(help="Only steps of this run.")]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Only steps from then on: 30m, 24h, 7d, or 2026-11-30T12:00 (UTC).")
]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only steps before then.")]

_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def seconds(text: str, option: str) -> float:
    """Read a span of time such as ``30d``.

    Raises:
        UsageError: It is none.
    """
    from breakfall.errors import UsageError

    found = _AGO.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{option} is {text!r}; write a number and s, m, h, d or w, such as 30d")
    return float(found[1]) * _SECONDS[found[2]]


def moment(text: str | None, option: str) -> float | None:
    """Read a time: a span before now, or a date with or without a time of day; UTC unless it says otherwise.

    Raises:
        UsageError: It is none.
    """
    from breakfall.errors import UsageError

    if text is None:
        return None
    if _AGO.fullmatch(text.strip()):
        return time.time() - seconds(text, option)  # noqa: TID251 - the reader's own now
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"{option} is {text!r}; write 24h, 7d, or a date such as 2026-11-30T12:00") from None
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def chosen(
    *,
    run: str | None = None,
    agent: str | None = None,
    version: str | None = None,
    tool: str | None = None,
    intent: str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> Filter:
    """Build the filter of a question."""
    from breakfall.ledger.questions import Filter

    return Filter(
        run=run,
        agent=agent,
        version=version,
        tool=tool,
        intent=intent,
        since_s=moment(since, "--since"),
        until_s=moment(until, "--until"),
    )


@contextmanager
def opened(where: str) -> Iterator[Ledger]:
    """Open a ledger; bringing its index up is shown where it takes long, and damaged lines are told of."""
    from breakfall.ledger.store import open_ledger

    with open_ledger(where, counted("indexed {:,} lines")) as ledger:
        damaged = ledger.damaged
        if damaged:
            say(f"{damaged:,} damaged lines are not in these answers; `breakfall ledger verify` names them")
        yield ledger


def counted(text: str) -> Callable[[int], None]:
    """Return something that counts on the terminal, once it takes long."""
    begun_s, total = time.monotonic(), 0

    def count(more: int) -> None:
        nonlocal total
        total += more
        if sys.stderr.isatty() and time.monotonic() - begun_s > 1.0:
            print(f"\r{text.format(total)}", end="\r", file=sys.stderr, flush=True)

    return count


def say(line: str) -> None:
    """Print a line beside the answer."""
    print(line, file=sys.stderr)


def give(rows: Sequence[Any], *, json: bool, csv: bool, show: Callable[[], None]) -> None:
    """Print an answer as it was asked for.

    Args:
        rows: Its structs.
        json: As JSON.
        csv: As CSV: one line per row, structs within flattened.
        show: Prints it for a person.

    Raises:
        UsageError: Both were asked for.
    """
    import msgspec

    from breakfall.errors import UsageError

    if json and csv:
        raise UsageError("--json and --csv exclude each other; choose one")
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(rows) + b"\n")
    elif csv:
        write_csv([_flat(msgspec.to_builtins(row)) for row in rows], _columns(rows))
    else:
        show()


def write_csv(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    """Print rows as CSV with a line of names."""
    writer = csv.DictWriter(sys.stdout, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def _columns(rows: Sequence[Any]) -> list[str]:
    import msgspec

    return list(dict.fromkeys(name for row in rows for name in _flat(msgspec.to_builtins(row))))


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Flatten structs within a row; what is still no plain value becomes JSON."""
    import msgspec

    found: dict[str, Any] = {}
    for name, value in row.items():
        if name in _WITHIN and isinstance(value, dict):
            for inner, part in _flat(value).items():
                found.setdefault(f"{_WITHIN[name]}{inner}", part)
        elif isinstance(value, dict | list | tuple):
            found[name] = msgspec.json.encode(value).decode()
        elif name not in _WITHIN or value is not None:
            found[name] = value
    return found


_WITHIN = {"line": "", "step": "", "a": "a_", "b": "b_"}
"""Fields that hold a struct, and what its fields are called in a flat row."""


def clock(unix_s: float | None) -> str:
    """Show a time; empty where none is known."""
    if unix_s is None:
        return ""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%d %H:%M:%S")
