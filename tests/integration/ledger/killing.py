"""Kills writers, a follower and a watchdog of one ledger at random moments, again and again, and checks what is left.

    python tests/integration/ledger/killing.py FOLDER [--seconds 600] [--kills N] [--seed 0]

Two writers append to one ledger, each from two threads; a third process follows it with the index, a fourth is the
watchdog. Each is a fresh process that lives for some milliseconds until SIGKILL. A writer tells through a pipe which
steps were acknowledged. In the end every acknowledged step must be in the lines and once in the index, no verdict may
be there twice, and the chain must be whole.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from breakfall.ledger.line import Line
from breakfall.ledger.repair import repair
from breakfall.ledger.source import FolderSource, decode, read_steps
from breakfall.ledger.store import open_folder
from breakfall.ledger.verdict import StepVerdict
from breakfall.ledger.verify import verify
from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.clock import SystemClock
from breakfall.runtime.watch import Settings, Watch, run_once
from breakfall.runtime.watch.place import state_path, watched
from breakfall.seeds import Stream, stream
from breakfall.vocab import Effect, Ok, Step, Uncertainty, Verification, VerificationStatus


def write(folder: Path, name: str, pipe: int) -> None:
    """Write steps until killed; small segments, some large values, some steps that wait for the disk."""
    writer = LedgerWriter(folder, rotate_bytes=20_000)

    def work(thread: int) -> None:
        for n in range(1_000_000):
            passed = n % 20 == 7
            step = Step(
                episode=f"{name}.{thread}",
                n=n,
                call=f"c{n}",
                tool="get_page",
                arguments={"text": "word " * (8000 if n % 40 == 3 else 10)},
                at_s=0.0,
                expected_outcome="the page",
                observed_outcome=Ok(value={"n": n}),
                verification=Verification(
                    status=VerificationStatus.PASSED if passed else VerificationStatus.NOT_APPLICABLE
                ),
                uncertainty_signal=Uncertainty.NONE,
                effect=Effect.READ,
            )
            writer.step(step)
            os.write(pipe, b"%b %d\n" % (step.episode.encode(), n))

    threading.Thread(target=work, args=(0,), daemon=True).start()
    work(1)


def follow(folder: Path, name: str, pipe: int) -> None:
    """Bring the index up to the lines until killed."""
    while True:
        with open_folder(folder):
            os.write(pipe, b"followed\n")


def watch(folder: Path, name: str, pipe: int) -> None:
    """Judge what the steps claim until killed: each that says passed without evidence gets a verdict."""
    place = watched(str(folder))
    with Watch(place, state_path(str(folder), None), Settings(), now=SystemClock().now) as opened:
        while True:
            opened.tick()


ROLES: tuple[tuple[str, Callable[[Path, str, int], None], float], ...] = (
    ("writer", write, 0.03),
    ("writer", write, 0.03),
    ("follower", follow, 0.03),
    ("watchdog", watch, 0.2),
)
"""What each process does, and how long it lives at most."""


def launch(role: int, folder: Path, name: str) -> tuple[int, int]:
    """Start a process of a role; return its id and the pipe that it tells through."""
    out, into = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(out)
        try:
            ROLES[role][1](folder, name, into)
        except BaseException as error:
            os.write(into, f"failed {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(1)
    os.close(into)
    return process, out


def drain(pipe: int) -> list[str]:
    """Read what a dead process told; a last line that was cut was not acknowledged."""
    raw = b""
    while part := os.read(pipe, 1 << 20):
        raw += part
    os.close(pipe)
    return raw.decode().split("\n")[:-1]


class Listener(threading.Thread):
    """Reads a pipe all the time, so that a writer never waits for it."""

    def __init__(self, pipe: int) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.lines: list[str] = []
        self.start()

    def run(self) -> None:
        """Read until the process is dead."""
        self.lines = drain(self.pipe)


def storm(
    folder: Path, kills: int, seconds: float, random: Stream
) -> tuple[Counter[str], set[tuple[str, int]], list[str]]:
    """Kill until the time or the number is over; return who was killed, what was acknowledged, and what failed."""
    with LedgerWriter(folder):
        pass  # so that there is a ledger to follow
    killed: Counter[str] = Counter()
    acknowledged: set[tuple[str, int]] = set()
    failed: list[str] = []
    running: dict[int, tuple[int, Listener, float]] = {}
    end_s = time.monotonic() + seconds
    born = 0
    while (killed.total() < kills and time.monotonic() < end_s) or running:
        for role, (_, _, longest_s) in enumerate(ROLES):
            if role not in running and killed.total() + len(running) < kills and time.monotonic() < end_s:
                born += 1
                process, pipe = launch(role, folder, f"life-{born}")
                running[role] = process, Listener(pipe), time.monotonic() + random.between(0.002, longest_s)
        for role, (process, listener, until_s) in list(running.items()):
            if time.monotonic() >= until_s:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
                listener.join()
                killed[ROLES[role][0]] += 1
                failed += [line for line in listener.lines if line.startswith("failed")]
                told = [line.split() for line in listener.lines if line.startswith("life")]
                acknowledged.update((name, int(n)) for name, n in told)
                del running[role]
        time.sleep(0.001)
    return killed, acknowledged, failed


def everything(folder: Path) -> Iterator[Line]:
    """Yield every line of a ledger."""
    source = FolderSource(folder)
    for segment in source.segments():
        for raw in source.lines(segment):
            yield decode(source, segment, raw.line)


def check(folder: Path, acknowledged: set[tuple[str, int]]) -> dict[str, object]:
    """Hold the ledger against what was acknowledged."""
    before = verify(FolderSource(folder), None, {})
    repair(folder, every=True)
    with Watch(watched(str(folder)), state_path(str(folder), None), Settings(), now=SystemClock().now) as opened:
        run_once([opened], SystemClock().now, time.sleep)  # undisturbed, it says what is left to say
    after = verify(FolderSource(folder), None, {})
    there = Counter((step.episode, step.n) for step in read_steps(FolderSource(folder)))
    with open_folder(folder) as ledger:
        rows = ledger.db.rows("SELECT episode, n, count(*) FROM steps GROUP BY episode, n")
        runs = ledger.db.rows("SELECT sum(steps) FROM runs")[0][0]
        ledger_says = ledger.db.rows("SELECT count(*) FROM verdicts")[0][0]
    said = [line for line in everything(folder) if isinstance(line, StepVerdict)]
    indexed = Counter({(str(episode), int(n)): int(count) for episode, n, count in rows})
    return {
        "acknowledged": len(acknowledged),
        "stored": there.total(),
        "missing": len(acknowledged - there.keys()),
        "stored_twice": sum(count > 1 for count in there.values()),
        "index_differs": len((indexed - there) + (there - indexed)) + abs(runs - there.total()),
        "verdicts": len(said),
        "verdicts_twice": len(said) - len({(verdict.episode, verdict.n, verdict.rule) for verdict in said}),
        "verdicts_not_indexed": len(said) - ledger_says,
        "torn": sum(not finding.grave for finding in before.findings),
        "grave": [f"{finding.flaw}: {finding.what}: {finding.why}" for finding in before.findings if finding.grave],
        "left_after_repair": len(after.findings),
        "segments": after.segments,
    }


def main() -> None:
    """Kill, check and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--kills", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    killed, acknowledged, failed = storm(
        options.folder, options.kills, options.seconds, stream(options.seed, "killing")
    )
    result = check(options.folder, acknowledged) | {"killed": dict(killed), "failed": failed}
    json.dump(result, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
