"""Score one finished episode: a pure fold over its end and its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from breakfall.bench.adoption import adopted
from breakfall.bench.met import KNOWN_SHUT_AFTER, TELLING_AT_ONCE, FaultMet, handed_over, meet
from breakfall.bench.stopping import StopFlaw, stop_flaw
from breakfall.bench.ways import fired, stays
from breakfall.vocab import (
    Cost,
    Ending,
    EpisodeEnd,
    EpisodeKey,
    FaultSource,
    Ok,
    Response,
    Scenario,
    Step,
    Task,
    Tool,
)
from breakfall.vocab.relation import reads_back


class EpisodeScore(Struct, frozen=True, kw_only=True):
    """What one episode counts for."""

    key: EpisodeKey
    ending: Ending
    conclusive: bool
    """Whether the scenario's fault fired; if not, the episode counts for no one."""
    passed: bool
    handed_over: bool
    faults: tuple[FaultMet, ...]
    stop_flaw: StopFlaw | None
    """For S3: why the stop was not correct, None if it was."""
    futile_calls: int
    duplicate_effects: int
    wrong_effects: int
    forbidden_effects: int
    writes: int
    """Calls whose write took effect or was said to have, and which have a reader."""
    verified_writes: int
    cost: Cost
    error: str = ""

    @property
    def blockades(self) -> tuple[FaultMet, ...]:
        """The faults that came from the scenario's blockade."""
        return tuple(met for met in self.faults if met.source is FaultSource.BLOCKADE)

    @property
    def retry_success(self) -> bool | None:
        """S1: whether every call that a retry would have mended answered on its own path; None if there was none."""
        wanted = [met for met in self.faults if met.truth is Response.RETRY and not met.look_up]
        if self.key.scenario is not Scenario.S1 or not wanted:
            return None
        return all(met.recovered is Response.RETRY for met in wanted)

    @property
    def switch_success(self) -> bool | None:
        """S2: whether every call that met the blockade answered on another path; None if none met it."""
        if self.key.scenario is not Scenario.S2 or not self.blockades:
            return None
        return all(met.recovered is Response.SWITCH for met in self.blockades)

    @property
    def correct_stop(self) -> bool | None:
        """S3: whether the stop was correct; None if the blockade never fired."""
        return self.stop_flaw is None if self.key.scenario is Scenario.S3 and self.conclusive else None

    @property
    def premature_switch(self) -> bool | None:
        """Whether a path that would have come back was left for another; None if no such fault was met."""
        wanted = [met for met in self.faults if met.truth is Response.RETRY]
        return any(Response.SWITCH in met.responses for met in wanted) if wanted else None

    @property
    def premature_stop(self) -> bool | None:
        """Whether the call at which the agent stopped still had a way; None if it met no fault that left one."""
        seen = [met for met in self.faults if not met.kind.silent and not met.look_up]
        if all(met.truth is Response.STOP for met in seen):
            return None
        stopped = [met for met in seen if met.eventual is Response.STOP]
        if self.passed or self.correct_stop or not stopped:
            return False
        last = stopped[-1]
        if last.truth is Response.STOP:
            return False
        return Response.VERIFY not in last.responses or (last.way_left and not last.in_doubt)


def score_episode(
    end: EpisodeEnd, steps: Sequence[Step], tools: Mapping[str, Tool], task: Task | None = None
) -> EpisodeScore:
    """Score an episode.

    Args:
        end: Its end.
        steps: Its steps, in order.
        tools: The tools of its world and condition, by name.
        task: Its task; needed to tell what the user stated, and what else a caller knew who did not say so.
    """
    faults = []
    for at, step in enumerate(steps):
        injection = fired(step)
        if injection is None:
            continue
        met = meet(at, injection, end, steps, tools, task)
        faults.append(replace(met, adopted=adopted(met, end, steps, tools, task)) if injection.kind.silent else met)
    written = _written(steps, tools)
    return EpisodeScore(
        key=end.key,
        ending=end.ending,
        conclusive=_conclusive(end.key.scenario, faults),
        passed=end.verdict.passed,
        handed_over=handed_over(end, steps),
        faults=tuple(faults),
        stop_flaw=stop_flaw(end, steps, tools, task) if end.key.scenario is Scenario.S3 else None,
        futile_calls=_futile(steps),
        duplicate_effects=len(end.verdict.duplicate_effects),
        wrong_effects=len(end.verdict.wrong_effects),
        forbidden_effects=len(end.verdict.forbidden_effects),
        writes=len(written),
        verified_writes=sum(_verified(step, steps, tools) for step in written),
        cost=end.cost,
        error=end.error,
    )


def _conclusive(scenario: Scenario, faults: Sequence[FaultMet]) -> bool:
    """Whether what the scenario is about happened."""
    if scenario is Scenario.CLEAN:
        return True
    source = FaultSource.NOISE if scenario is Scenario.S1 else FaultSource.BLOCKADE
    return any(met.source is source for met in faults)


def _futile(steps: Sequence[Step]) -> int:
    """Count the calls that a shut path refused after it was known to be shut."""
    failures: dict[str, int] = {}
    futile = 0
    for step in steps:
        injection = fired(step)
        if injection is None or not stays(injection):
            continue
        before = failures.get(step.tool, 0)
        futile += before >= (1 if injection.kind in TELLING_AT_ONCE else KNOWN_SHUT_AFTER)
        failures[step.tool] = before + 1
    return futile


def _written(steps: Sequence[Step], tools: Mapping[str, Tool]) -> list[Step]:
    """Return the last attempt of each call whose write took effect, or was said to have, and that has a reader."""
    last: dict[str, Step] = {}
    done: set[str] = set()
    for step in steps:
        tool = tools.get(step.tool)
        if step.purpose or tool is None or not tool.writes or tool.reader is None:
            continue
        outcome = step.observed_outcome
        last[step.call] = step
        if step.effects or (isinstance(outcome, Ok) and not outcome.replayed):
            done.add(step.call)
    return [step for call, step in last.items() if call in done]


def _verified(write: Step, steps: Sequence[Step], tools: Mapping[str, Tool]) -> bool:
    """Whether the write was read back before anything was taken from its answer."""
    for later in steps[write.n + 1 :]:
        if reads_back(write, later, tools) and isinstance(later.observed_outcome, Ok):
            return True
        if any(source.partition("#")[0] == write.call for source in later.sources.values()):
            return False
    return False
