"""Export to Parquet: a row a step, names and numbers in columns, arguments and outcomes whole as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from breakfall.errors import UsageError
from breakfall.ledger.export import Count, Part, as_json, lines, replaced
from breakfall.ledger.severity import rule
from breakfall.ledger.source import Source
from breakfall.vocab import Ok, Step

try:
    import pyarrow
    import pyarrow.parquet
except ImportError as missing:
    raise UsageError(
        f"Parquet needs pyarrow, which cannot be imported ({missing}); pip install 'breakfall[parquet]'"
    ) from None

_GROUP = 5000
_TEXT, _WHOLE, _REAL, _FLAG = pyarrow.string(), pyarrow.int64(), pyarrow.float64(), pyarrow.bool_()
SCHEMA = pyarrow.schema(
    {
        "run": _TEXT, "episode": _TEXT, "n": _WHOLE, "call": _TEXT, "tool": _TEXT, "intent": _TEXT, "agent": _TEXT,
        "agent_version": _TEXT, "unix_s": _REAL, "at_s": _REAL, "took_s": _REAL, "attempt": _WHOLE, "purpose": _TEXT,
        "strategy": _TEXT, "path_of": _TEXT, "effect": _TEXT, "key": _TEXT, "expected_outcome": _TEXT,
        "arguments": _TEXT, "ok": _FLAG, "outcome": _TEXT, "http_status": _WHOLE, "observed_outcome": _TEXT,
        "verification": _TEXT, "verified_by": _TEXT, "verification_method": _TEXT, "evidence": _WHOLE,
        "uncertainty_signal": _TEXT, "severity": _TEXT, "reason": _TEXT, "tokens_in": _WHOLE, "tokens_cached": _WHOLE,
        "tokens_out": _WHOLE, "usd": _REAL, "incomplete": _TEXT, "scrubbed": _TEXT,
    }
)  # fmt: skip


def to_parquet(source: Source, path: Path, part: Part) -> Count:
    """Write the steps of a part; the file is there whole or not at all.

    Raises:
        StoreError: A line is damaged, or the file cannot be written.
    """
    count = Count()
    with (
        replaced(path) as unfinished,
        pyarrow.parquet.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer,
    ):
        for group in _groups(source, part):
            writer.write_table(pyarrow.Table.from_pylist(group, SCHEMA))
            count.steps += len(group)
    return count


def _groups(source: Source, part: Part) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    for line in lines(source, part):
        if isinstance(line, Step):
            group.append(_row(line))
            if len(group) >= _GROUP:
                yield group
                group = []
    if group:
        yield group


def _row(step: Step) -> dict[str, Any]:
    outcome, looked, cost, ruling = step.observed_outcome, step.verification, step.cost, rule(step)
    return {
        "run": step.run or step.episode,
        "episode": step.episode,
        "n": step.n,
        "call": step.call,
        "tool": step.tool,
        "intent": step.intent,
        "agent": step.agent,
        "agent_version": step.agent_version,
        "unix_s": step.unix_s,
        "at_s": step.at_s,
        "took_s": step.took_s,
        "attempt": step.attempt,
        "purpose": step.purpose,
        "strategy": step.strategy and step.strategy.value,
        "path_of": step.path_of,
        "effect": step.effect and step.effect.value,
        "key": step.key,
        "expected_outcome": str(step.expected_outcome),
        "arguments": as_json(step.arguments),
        "ok": isinstance(outcome, Ok),
        "outcome": "ok" if isinstance(outcome, Ok) else outcome.failure_class,
        "http_status": outcome.status,
        "observed_outcome": as_json(outcome),
        "verification": looked.status.value,
        "verified_by": looked.by,
        "verification_method": looked.method,
        "evidence": looked.evidence,
        "uncertainty_signal": step.uncertainty_signal.value,
        "severity": ruling.severity.value,
        "reason": ruling.reason,
        "tokens_in": cost and cost.tokens_in,
        "tokens_cached": cost and cost.tokens_cached,
        "tokens_out": cost and cost.tokens_out,
        "usd": cost and cost.usd,
        "incomplete": " ".join(step.incomplete),
        "scrubbed": " ".join(step.scrubbed),
    }
