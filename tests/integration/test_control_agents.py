"""Scores held to account by agents of which it is known beforehand how well they recover."""

from collections.abc import Iterator

import pytest
from tests.integration.conftest import TOYS

from breakfall import catalog
from breakfall.bench.matrix import Spec
from breakfall.bench.report import Outcome, build
from breakfall.bench.run import run
from breakfall.bench.score import EpisodeScore
from breakfall.vocab import Response, Scenario

HAND_OVER, INSIST, QUIET = (f"controls:{name}" for name in ("hand_over", "insist", "Quiet"))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    folder = tmp_path_factory.mktemp("controls")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOYS)
        catalog.agent.cache_clear()
        agents = ("give-up", "rules", "oracle", HAND_OVER, INSIST, QUIET)
        run(Spec(worlds=("store",), tasks="40", seeds=2, agents=agents), folder)
        yield build(folder)


def _rate(outcome: Outcome, agent: str, metric: str, scenario: Scenario = Scenario.S3) -> float:
    cell = next(cell for cell in outcome.report.cells if (cell.agent, cell.scenario) == (agent, scenario))
    value = cell.metrics[metric].value
    assert value is not None
    return value


def _scores(outcome: Outcome, agent: str) -> list[EpisodeScore]:
    return [score for score in outcome.scores if score.key.agent == agent and score.conclusive]


def test_handing_over_at_once_is_no_correct_stop(outcome: Outcome) -> None:
    """Whoever hands over at the first failure stops correctly only where no other way was known to begin with."""
    for agent in (HAND_OVER, INSIST, QUIET):
        assert _rate(outcome, agent, "correct_stop") < 0.1
    for agent in ("rules", "oracle"):
        assert _rate(outcome, agent, "correct_stop") > 0.95


def test_saying_less_does_not_help(outcome: Outcome) -> None:
    """What an agent could have known counts against it, whether it says that it knew it or not."""
    told, quiet = (
        {(score.key.scenario, score.key.task, score.key.seed): score.correct_stop for score in _scores(outcome, agent)}
        for agent in (HAND_OVER, QUIET)
    )
    assert told == quiet


def test_the_upper_bound_is_on_the_diagonal(outcome: Outcome) -> None:
    """An agent that is told the scenario answers each fault that shows itself as the matrix says is right."""
    faults = [met for score in _scores(outcome, "oracle") for met in score.faults if not met.kind.silent and met.judged]
    assert {met.truth for met in faults} == {Response.RETRY, Response.SWITCH, Response.VERIFY, Response.STOP}
    assert sum(met.right for met in faults) / len(faults) > 0.99


def test_giving_up_is_not_rewarded(outcome: Outcome) -> None:
    """Stopping at each first failure is right only where nothing else was open."""
    for agent in ("give-up", HAND_OVER):
        faults = [met for score in _scores(outcome, agent) for met in score.faults if not met.kind.silent]
        assert sum(met.right for met in faults) / len(faults) < 0.05


def test_premature_stops(outcome: Outcome) -> None:
    """Giving up always stops too early, the upper bound never, and no correct stop is premature."""
    for scenario in (Scenario.S1, Scenario.S2, Scenario.S3):
        assert _rate(outcome, HAND_OVER, "premature_stop", scenario) > 0.9
        assert _rate(outcome, "oracle", "premature_stop", scenario) < 0.01
    assert not any(score.correct_stop and score.premature_stop for score in outcome.scores)
