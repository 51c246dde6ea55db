from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from breakfall.faults.scenario import Blockade, Openings, plan
from breakfall.vocab import OBSERVABLE, FaultKind, Scenario

OPENINGS = Openings(
    needed=("find", "pay", "send"),
    sufficient={"find": ("search",), "pay": ("credit", "voucher")},
    paths={"find": ("search", "browse"), "pay": ("credit", "voucher"), "send": ()},
)


def planned(scenario, seed, openings=OPENINGS):
    return plan(scenario, openings, seed=seed, world="shop", task="t1")


@pytest.mark.parametrize("scenario", [Scenario.CLEAN, Scenario.S1])
def test_nothing_shut(scenario):
    """CLEAN and S1 shut nothing, whatever the task needs."""
    assert planned(scenario, 1) == Blockade()
    assert planned(scenario, 1, Openings(needed=())) == Blockade()


def test_s2_one_side():
    """S2 shuts exactly one side of a pair of a needed tool and a path that suffices."""
    for seed in range(300):
        blockade = planned(Scenario.S2, seed)
        assert len(blockade.tools) == 1
        assert blockade.for_tool in OPENINGS.sufficient
        assert blockade.tools[0] in (blockade.for_tool, *OPENINGS.sufficient[blockade.for_tool])


def test_s2_even_odds():
    """S2 draws the pairs evenly, and the side 50/50."""
    plans = [planned(Scenario.S2, seed) for seed in range(3000)]
    originals = sum(blockade.tools == (blockade.for_tool,) for blockade in plans)
    assert 0.47 < originals / 3000 < 0.53
    pays = sum(blockade.for_tool == "pay" for blockade in plans)
    assert 0.63 < pays / 3000 < 0.70  # two of the three pairs


def test_s2_not_applicable():
    """S2 does not apply to a task without a path that suffices, though it has paths."""
    openings = Openings(needed=("find",), paths={"find": ("search",)})
    reason = planned(Scenario.S2, 1, openings)
    assert reason == "no tool that the plan needs has a path that suffices on this task's initial state"


@pytest.mark.parametrize("scenario", [Scenario.S2, Scenario.S3])
def test_no_tools(scenario):
    """No blockade applies to a task whose plan calls no tool."""
    assert planned(scenario, 1, Openings(needed=())) == "the plan calls no tool, so there is nothing to shut"


def test_s3_every_side():
    """S3 shuts a needed tool and every path of it, sufficient or not, and draws the tool evenly."""
    drawn = Counter()
    for seed in range(3000):
        blockade = planned(Scenario.S3, seed)
        assert blockade.tools == (blockade.for_tool, *OPENINGS.paths[blockade.for_tool])
        drawn[blockade.for_tool] += 1
    assert set(drawn) == set(OPENINGS.needed)
    assert all(900 < count < 1100 for count in drawn.values())


def test_kinds():
    """Each shut tool has one observable kind, and over seeds all six occur."""
    seen = set()
    for seed in range(200):
        blockade = planned(Scenario.S3, seed)
        assert set(blockade.kinds) == set(blockade.tools)
        seen |= set(blockade.kinds.values())
    assert seen == set(OBSERVABLE)


def test_by_place():
    """The same seed, world and task give the same blockade; another task gives its own."""
    same = [plan(Scenario.S3, OPENINGS, seed=s, world="shop", task="t1") for s in range(50)]
    assert same == [plan(Scenario.S3, OPENINGS, seed=s, world="shop", task="t1") for s in range(50)]
    assert same != [plan(Scenario.S3, OPENINGS, seed=s, world="shop", task="t2") for s in range(50)]


def test_round_trip():
    """A blockade can be stored as JSON and read back."""
    blockade = planned(Scenario.S3, 3)
    assert msgspec.json.decode(msgspec.json.encode(blockade), type=Blockade) == blockade


@pytest.mark.parametrize(
    ("tools", "kinds"),
    [(("pay",), {}), (("pay",), {"pay": FaultKind.STALE_VALUE}), ((), {"pay": FaultKind.TIMEOUT})],
)
def test_refused(tools, kinds):
    """A shut tool without an observable kind, or a kind of a tool that is open, is refused by name."""
    with pytest.raises(ValueError, match=r"kinds\.pay"):
        Blockade(tools=tools, kinds=kinds)
