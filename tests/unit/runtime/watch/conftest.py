"""A ledger, a clock that is moved by hand, and a watchdog over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from breakfall.ledger.line import Line
from breakfall.ledger.source import FolderSource, decode
from breakfall.ledger.verdict import Incident, StepVerdict
from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.watch import Settings, Watch
from breakfall.runtime.watch.place import watched
from breakfall.vocab import (
    Answer,
    Effect,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    Ok,
    Scenario,
    Step,
    Uncertainty,
    Verdict,
    Verification,
    VerificationStatus,
)

START_S = 1_700_000_000.0


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.at_s = START_S

    def __call__(self) -> float:
        return self.at_s

    def wait(self, seconds: float) -> bool:
        self.at_s += max(seconds, 0.001)
        return False


class Scene:
    """One ledger, its writer, and the watchdogs over it, one after the other."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.clock = Hand()
        self.told: list[str] = []
        self._stack = stack
        self.writer = stack.enter_context(LedgerWriter(folder, now=self.clock))

    def step(self, n: int, **fields: Any) -> Step:
        """Write a step."""
        fixed: dict[str, Any] = {
            "episode": "e",
            "n": n,
            "call": f"c{n}",
            "tool": "note",
            "arguments": {"name": "a"},
            "at_s": float(n),
            "expected_outcome": "a note",
            "observed_outcome": Ok(value={}),
            "verification": Verification(status=VerificationStatus.NOT_DONE),
            "uncertainty_signal": Uncertainty.NONE,
            "effect": Effect.WRITE,
            "agent": "writer",
        }
        made = Step(**fixed | fields)
        self.writer.step(made)
        return made

    def read(self, n: int, **fields: Any) -> Step:
        """Write a step that only reads."""
        silent = Verification(status=VerificationStatus.NOT_APPLICABLE)
        return self.step(n, **{"tool": "look", "effect": Effect.READ, "verification": silent, **fields})

    def end(self, text: str = "", episode: str = "e", **answer: Any) -> None:
        """End an episode with an answer."""
        key = EpisodeKey(world="w", condition="c", agent="writer", scenario=Scenario.CLEAN, task="t", seed=0)
        verdict = Verdict(passed=True, state_ok=True, answer_ok=True)
        answered = Answer(text=text, **answer)
        self.writer.end(
            EpisodeEnd(episode=episode, key=key, steps=0, ending=Ending.ANSWERED, answer=answered, verdict=verdict)
        )

    def watch(self, settings: Settings | None = None) -> Watch:
        """Begin a watch; it remembers what earlier ones in this scene did."""
        return Watch(
            watched(str(self.folder)),
            self.folder / "watch.db",
            settings or Settings(),
            now=self.clock,
            tell=self.told.append,
        )

    def ticks(self, settings: Settings | None = None, times: int = 3, seconds: float = 10.0) -> Watch:
        """Begin a watch and let it look a few times, with time between."""
        watch = self._stack.enter_context(self.watch(settings))
        for _ in range(times):
            watch.tick()
            self.clock.at_s += seconds
        return watch

    def lines(self) -> list[Line]:
        """Read everything that stands in the ledger."""
        source = FolderSource(self.folder)
        return [decode(source, name, raw.line) for name in source.segments() for raw in source.lines(name)]

    def said(self) -> list[StepVerdict | Incident]:
        """Read what watchdogs wrote."""
        return [line for line in self.lines() if isinstance(line, StepVerdict | Incident)]

    def verdicts(self) -> list[tuple[str, str, int | None]]:
        """Read the verdicts, shortly."""
        return [(one.judgement, one.rule, one.n) for one in self.said() if isinstance(one, StepVerdict)]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(tmp_path / "ledger", stack)


@pytest.fixture
def note(tmp_path: Path) -> Callable[..., Settings]:
    """Settings with a verifier of the tool `note`, which writes files into the folder `notes`."""
    from breakfall.runtime.verifiers import Registered, file_content

    (tmp_path / "notes").mkdir()

    def make(**fields: Any) -> Settings:
        verify = file_content("{name}", root=tmp_path / "notes")
        return Settings(tools={"note": Registered(verify=verify, settle_s=2.0)}, **fields)

    return make
