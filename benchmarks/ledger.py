"""What the ledger costs: µs and bytes a step beside other ways to log, and how fast a large ledger answers.

    python benchmarks/ledger.py [--json] [--folder DIR] [--steps 1000000] [--skip-peers]

All write the same record of about 1 KB, one call a record, into files of one folder, interleaved in rounds; figures are
medians. *Plain* is what survives a kill of the process, *durable* what survives a kill of the machine. With `--steps` a
ledger of so many steps is written and every question is timed on it. Peers that are not installed are left out:
structlog, orjson, opentelemetry-sdk.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from breakfall.ledger import questions, questions_cost, questions_run, questions_search, questions_trouble
from breakfall.ledger.questions import By, Filter
from breakfall.ledger.store import Ledger, open_folder
from breakfall.ledger.writer import LedgerWriter
from breakfall.seeds import stream
from breakfall.vocab import (
    Applied,
    Cost,
    Effect,
    Failed,
    FaultKind,
    Ok,
    Response,
    Step,
    Uncertainty,
    Verification,
    VerificationStatus,
)

PLANS = ("look up", "compare", "settle")
NOUNS = tuple(f"{a}{b}" for a in ("card", "parcel", "refund", "stock") for b in ("s", "list", "desk", "file", "book"))
ROUNDS = 9
PLAIN = 2000
"""Records of one plain round."""
DURABLE = 40
"""Records of one durable round."""
THREADS = 8
Log = Callable[[int], None]


def record(n: int) -> Step:
    """Return the record of about 1 KB that everything writes."""
    item = {"sku": "JAC127-1", "name": "Merino Jacket, S", "quantity": 3, "unit_price": 15.95}
    return Step(
        episode="conversation-3d9a1f",
        n=n,
        call=f"c{n}",
        tool="get_order",
        arguments={"order_id": f"O{n}", "include": ["items", "payments"]},
        at_s=float(n),
        took_s=0.2,
        expected_outcome="the order, with its status and items",
        observed_outcome=Ok(value={"order_id": f"O{n}", "status": "delivered", "items": [item] * 5}),
        verification=Verification(status=VerificationStatus.NOT_APPLICABLE),
        uncertainty_signal=Uncertainty.NONE,
        effect=Effect.READ,
        agent="shop",
        agent_version="1.2",
        unix_s=1_700_000_000.0 + n,
        cost=Cost(tokens_in=1200, tokens_cached=1000, tokens_out=80, usd=0.004),
    )


RECORDS = [record(n) for n in range(PLAIN)]
FIELDS: list[dict[str, Any]] = [msgspec.to_builtins(one) for one in RECORDS]
LINES = [msgspec.json.encode(one) + b"\n" for one in RECORDS]


@contextmanager
def bare(folder: Path, *, durable: bool) -> Iterator[Log]:
    """One write of a line that is encoded already."""
    file = os.open(folder / f"bare-{durable}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def log(n: int) -> None:
        os.write(file, LINES[n])
        if durable:
            os.fdatasync(file)

    yield log
    os.close(file)


@contextmanager
def ours(folder: Path, *, durable: bool) -> Iterator[Log]:
    """The ledger: encoded, looked through for secrets, chained, appended."""
    with LedgerWriter(folder / f"ledger-{durable}", durable=durable) as writer:
        step = writer.step
        yield lambda n: step(RECORDS[n])


@contextmanager
def stdlib(folder: Path, *, durable: bool) -> Iterator[Log]:
    """The standard library's logging with a JSON formatter."""

    class Formatter(logging.Formatter):
        def format(self, made: logging.LogRecord) -> str:
            return json.dumps({"level": made.levelname, "at": made.created, **made.fields})  # type: ignore[attr-defined]

    handler = logging.FileHandler(folder / f"stdlib-{durable}.jsonl")
    handler.setFormatter(Formatter())
    logger = logging.getLogger(f"ledger-benchmark-{durable}")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)

    def log(n: int) -> None:
        logger.info("step", extra={"fields": FIELDS[n]})
        if durable:
            os.fdatasync(handler.stream.fileno())

    yield log
    logger.removeHandler(handler)
    handler.close()


@contextmanager
def structured(folder: Path, *, durable: bool) -> Iterator[Log]:
    """Log with structlog and orjson, as its documentation advises for speed, into an unbuffered file."""
    import orjson
    import structlog

    stream = (folder / f"structlog-{durable}.jsonl").open("ab", buffering=0)
    logger = structlog.wrap_logger(
        structlog.BytesLogger(stream),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(serializer=orjson.dumps),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        cache_logger_on_first_use=True,
    ).bind()

    def log(n: int) -> None:
        logger.info("step", **FIELDS[n])
        if durable:
            os.fdatasync(stream.fileno())

    yield log
    stream.close()


@contextmanager
def sqlite(folder: Path, *, durable: bool) -> Iterator[Log]:
    """SQLite in WAL mode, one commit a row; durable with synchronous=FULL."""
    connection = sqlite3.connect(folder / f"rows-{durable}.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
    connection.execute("CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, episode TEXT, n INTEGER, line TEXT)")

    def log(n: int) -> None:
        line = msgspec.json.encode(RECORDS[n]).decode()
        connection.execute("INSERT INTO steps (episode, n, line) VALUES (?, ?, ?)", (RECORDS[n].episode, n, line))

    yield log
    connection.close()


@contextmanager
def spans(folder: Path, *, durable: bool) -> Iterator[Log]:
    """The OpenTelemetry SDK: a span a record, exported at once (durable) or by its batch processor, to a JSON file."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor

    stream = (folder / f"spans-{durable}.jsonl").open("a")
    exporter = ConsoleSpanExporter(out=stream, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter) if durable else BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("benchmark")

    def log(n: int) -> None:
        fields = FIELDS[n]
        with tracer.start_as_current_span(f"execute_tool {fields['tool']}") as span:
            for name, value in fields.items():
                plain = value if isinstance(value, str | int | float | bool) else json.dumps(value)
                span.set_attribute(name, plain)
        if durable:
            os.fdatasync(stream.fileno())

    yield log
    provider.shutdown()
    stream.close()


WAYS: dict[str, Callable[..., Any]] = {
    "bare write of the encoded line": bare,
    "breakfall ledger": ours,
    "stdlib logging, JSON": stdlib,
    "structlog with orjson": structured,
    "SQLite, a commit a row": sqlite,
    "OpenTelemetry SDK": spans,
}


def measure(folder: Path, *, durable: bool, names: list[str]) -> dict[str, float]:
    """Interleave rounds of all ways; return the median µs a record of each."""
    count = DURABLE if durable else PLAIN
    times: dict[str, list[float]] = {name: [] for name in names}
    for nth in range(ROUNDS + 1):
        for name in names:
            with WAYS[name](folder, durable=durable) as log:
                log(0)
                start = time.perf_counter()
                for n in range(count):
                    log(n)
                spent = time.perf_counter() - start
            if nth:  # the first round warms up
                times[name].append(spent / count * 1e6)
    return {name: round(statistics.median(spent), 2) for name, spent in times.items()}


def group_commit(folder: Path) -> float:
    """Return µs a durable step where several threads wait for the disk together."""
    with LedgerWriter(folder / "group", durable=True) as writer:

        def work() -> None:
            for n in range(DURABLE):
                writer.step(RECORDS[n])

        threads = [threading.Thread(target=work) for _ in range(THREADS)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return round((time.perf_counter() - start) / (THREADS * DURABLE) * 1e6, 2)


def sizes(folder: Path) -> dict[str, float]:
    """Return bytes a step on disk: the line, the row of its index, and the line once it is packed."""
    from breakfall.ledger.retention import prune

    place = folder / "sizes"
    with LedgerWriter(place) as writer:
        for n in range(PLAIN):
            writer.step(RECORDS[n])
    lines = sum(path.stat().st_size for path in (place / "segments").iterdir())
    with open_folder(place) as ledger:
        ledger.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        index = (place / "index.sqlite").stat().st_size
    prune(place, pack_older_s=0.0)
    packed = sum(path.stat().st_size for path in (place / "segments").iterdir())
    return {
        "encoded_step": round(statistics.mean(map(len, LINES))),
        "line": round(lines / PLAIN),
        "index_row": round(index / PLAIN),
        "packed_line": round(packed / PLAIN),
    }


def story(steps: int) -> Iterator[Step]:
    """Yield the steps of a large ledger: runs of 5 to 60 steps, 20 tools, 60 intents, errors, retries, tokens."""
    random = stream(0, "ledger benchmark")
    written = run = 0
    while written < steps:
        run += 1
        length = random.integer(5, 60)
        version = f"1.{random.below(4)}"
        for n in range(length):
            tool, mark = random.below(20), random.uniform()
            writes = tool >= 14
            retried = mark < 0.04
            status = VerificationStatus.NOT_APPLICABLE
            if writes:
                status = VerificationStatus.NOT_DONE if mark > 0.9 else VerificationStatus.PASSED
                status = VerificationStatus.FAILED if mark < 0.02 else status
            failed = 0.04 <= mark < 0.08
            tokens = int(400 + 800 * random.uniform()) * (20 if mark > 0.9995 else 1)
            yield Step(
                episode=f"conversation-{run:06}",
                n=n,
                call=f"c{n - 1 if retried and n else n}",
                tool=f"tool_{tool:02}",
                arguments={"id": f"O{random.below(100_000)}", "note": f"customer {random.below(50_000)} asked for it"},
                attempt=2 if retried and n else 1,
                strategy=Response.RETRY if retried and n else None,
                at_s=float(n),
                took_s=0.2,
                expected_outcome=f"{PLANS[n % 3]} with {NOUNS[tool]} for order O{random.below(100_000)}",
                observed_outcome=Failed(
                    message="server busy", kind=FaultKind.SERVER_ERROR, status=503, applied=Applied.NO
                )
                if failed
                else Ok(value={"status": "delivered", "total": random.below(10_000) / 100, "by": f"carrier{n % 7}"}),
                verification=Verification(status=status),
                uncertainty_signal=random.choice(
                    (Uncertainty.NONE, Uncertainty.NONE, Uncertainty.LOW, Uncertainty.HIGH)
                ),
                effect=Effect.WRITE if writes else Effect.READ,
                agent="shop",
                agent_version=version,
                unix_s=1_700_000_000.0 + written * 2.6,
                cost=Cost(tokens_in=tokens, tokens_cached=tokens // 2, tokens_out=40, usd=tokens * 3e-6),
            )
            written += 1


def ask(ledger: Ledger) -> dict[str, Callable[[], Any]]:
    """Return every question, over the whole ledger."""
    every = Filter()
    (run,) = questions.runs(ledger, every, limit=1)
    other = questions.runs(ledger, every, limit=2)[1]
    asked: dict[str, Callable[[], Any]] = {
        "runs": lambda: questions.runs(ledger, every),
        "runs with errors or warnings": lambda: questions.runs(ledger, every, grave=True),
        "timeline of a run": lambda: questions_run.timeline(ledger, run.run),
        "cost by intent": lambda: questions_cost.spending(ledger, every),
        "outliers of cost": lambda: questions_cost.outliers(ledger, every),
        "unverified writes": lambda: questions_trouble.unverified(ledger, every),
        "errors, the latest": lambda: questions_trouble.grave(ledger, every, "error"),
        "longest retry chains": lambda: questions_trouble.retries(ledger, every),
        "uncertainty over tasks": lambda: questions_trouble.drift(ledger, every),
        "difference of two runs": lambda: questions_run.compare(ledger, run.run, other.run),
        "search, a rare word": lambda: questions_search.search(ledger, "o31415", every),
        "search, a frequent word": lambda: questions_search.search(ledger, "delivered", every),
        "search, two words": lambda: questions_search.search(ledger, "carrier3 busy", every),
        "search in one tool": lambda: questions_search.search(ledger, "delivered", Filter(tool="tool_07")),
    }
    for by in By:
        asked[f"errors by {by.value}"] = lambda by=by: questions.counts(ledger, by, every)
    asked["errors by tool, of one version"] = lambda: questions.counts(ledger, By.TOOL, Filter(version="1.2"))
    return asked


def large(folder: Path, steps: int) -> dict[str, Any]:
    """Write a large ledger, index it, and time every question; the slower of two calls counts."""
    place = folder / "large"
    start = time.perf_counter()
    with LedgerWriter(place) as writer:
        for step in story(steps):
            writer.step(step)
    written = time.perf_counter() - start
    start = time.perf_counter()
    with open_folder(place):
        indexed = time.perf_counter() - start
    with open_folder(place) as ledger:
        start = time.perf_counter()
        questions_search.bring_up(ledger)
        worded = time.perf_counter() - start
        ledger.db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        answers = {}
        for name, question in ask(ledger).items():
            took = []
            for _ in range(2):
                start = time.perf_counter()
                question()
                took.append(time.perf_counter() - start)
            answers[name] = round(max(took), 3)
    start = time.perf_counter()
    with open_folder(place):
        opened = time.perf_counter() - start
    lines = sum(path.stat().st_size for path in (place / "segments").iterdir())
    return {
        "steps": steps,
        "made_and_written_s": round(written, 1),
        "indexed_s": round(indexed, 1),
        "words_indexed_s": round(worded, 1),
        "opened_again_s": round(opened, 3),
        "line_bytes": round(lines / steps),
        "index_bytes": round((place / "index.sqlite").stat().st_size / steps),
        "answers_s": answers,
        "slowest_s": max(answers.values()),
    }


def installed() -> list[str]:
    """Return the ways whose packages are here."""
    from importlib.util import find_spec

    absent = set()
    if find_spec("structlog") is None or find_spec("orjson") is None:
        absent.add("structlog with orjson")
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        absent.add("OpenTelemetry SDK")
    return [name for name in WAYS if name not in absent]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, default=None, help="where to write; by default a temporary folder")
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--skip-peers", action="store_true")
    options = parser.parse_args()
    names = list(WAYS)[:2] if options.skip_peers else installed()
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        result: dict[str, Any] = {
            "plain_us": measure(folder, durable=False, names=names),
            "durable_us": measure(folder, durable=True, names=names),
            "durable_threads_us": group_commit(folder),
            "bytes": sizes(folder),
        }
        if options.steps:
            result["large"] = large(folder, options.steps)
    finally:
        shutil.rmtree(folder)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        return
    show(result)


def show(result: dict[str, Any]) -> None:
    """Print for a person."""
    print(f"{'µs a record of 1 KB':<34} {'plain':>10} {'durable':>10}")
    for name, plain in result["plain_us"].items():
        print(f"{name:<34} {plain:>10,.1f} {result['durable_us'][name]:>10,.1f}")
    threads = f"the ledger, {THREADS} threads at once"
    print(f"{threads:<34} {'':>10} {result['durable_threads_us']:>10,.1f}")
    ratio = result["durable_us"]["breakfall ledger"] / result["durable_us"]["bare write of the encoded line"]
    print(f"durable, over a bare write and fdatasync: {ratio:.2f} times")
    print(f"bytes a step: {', '.join(f'{name} {value:,}' for name, value in result['bytes'].items())}")
    if "large" in result:
        answers = result["large"].pop("answers_s")
        print(", ".join(f"{name} {value:,}" for name, value in result["large"].items()))
        for name, value in answers.items():
            print(f"  {name:<34} {value:>8.3f} s")


if __name__ == "__main__":
    main()
