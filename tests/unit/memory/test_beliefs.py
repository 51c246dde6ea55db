"""What follows from counts."""

from __future__ import annotations

from breakfall.memory.beliefs import (
    Agreement,
    Memory,
    Retries,
    Switches,
    comes_back,
    faded,
    forgotten,
    merged,
    works,
    wrong,
)
from breakfall.memory.beta import Beta
from breakfall.memory.choose import Mode, belief
from breakfall.memory.fallbacks import Standing, fallbacks, proposals
from breakfall.vocab import FaultKind

TIMEOUT, AUTH = FaultKind.TIMEOUT, FaultKind.AUTH_ERROR
DOMAINS = {"a": "one", "b": "one", "c": "two", "d": "three"}


def remembered(**more: object) -> Memory:
    return Memory(domains=DOMAINS, **more)  # type: ignore[arg-type]


def test_cold_start() -> None:
    """Before data every belief is Beta(1, 1), and no number is handed to `decide`."""
    memory = remembered(declared={"a": ["c"]})
    assert memory.cold
    assert comes_back(memory, "a", TIMEOUT).beta == Beta(1, 1)
    assert works(memory, "a", "c").beta == Beta(1, 1)
    numbers = belief(memory, Mode.POSTERIOR)
    assert numbers is not None
    assert numbers.persistence("a", TIMEOUT) is None
    assert numbers.switch_works("a", "c") is None


def test_own_evidence() -> None:
    """Each recovery adds one to alpha, each failure that stayed one to beta."""
    memory = remembered(retries={"a": {"timeout": Retries(recovered=6, stayed=2)}})
    assert comes_back(memory, "a", TIMEOUT).beta == Beta(7, 3)
    numbers = belief(memory, Mode.POSTERIOR)
    assert numbers is not None
    assert round(numbers.persistence("a", TIMEOUT) or 0, 12) == 0.3


def test_neighbours_share_evidence() -> None:
    """A neighbour's observation counts for half, all neighbours together for four; a stranger's for nothing."""
    few = remembered(retries={"b": {"timeout": Retries(recovered=3, stayed=1)}})
    assert comes_back(few, "a", TIMEOUT).beta == Beta(1 + 1.5, 1 + 0.5)
    many = remembered(retries={"b": {"timeout": Retries(recovered=300, stayed=100)}})
    assert comes_back(many, "a", TIMEOUT).beta == Beta(1 + 3.0, 1 + 1.0)
    assert comes_back(many, "c", TIMEOUT).beta == Beta(1, 1)
    assert comes_back(many, "a", AUTH).beta == Beta(1, 1)
    assert comes_back(many, "a", TIMEOUT).own == 0


def test_tools_without_a_domain_share_nothing() -> None:
    """Tools of which nobody said what backend they have are no neighbours."""
    memory = Memory(retries={"x": {"timeout": Retries(recovered=9)}})
    assert comes_back(memory, "y", TIMEOUT).shared == 0


def test_pairs_share_evidence() -> None:
    """Pairs between the same two domains share what faults did, not whether a declaration is right."""
    memory = remembered(switches={"b": {"c": Switches(answered=2, failed=2, unfit=50)}})
    assert works(memory, "a", "c").beta == Beta(1 + 1, 1 + 1)
    assert works(memory, "a", "d").beta == Beta(1, 1)


def test_refusals_count_against_a_path_that_never_answered() -> None:
    """Refusals of a path that also answers are the task's; of one that never did they are the path's."""
    serves = remembered(switches={"a": {"c": Switches(answered=5, unfit=5)}})
    never = remembered(switches={"a": {"c": Switches(unfit=5)}})
    assert works(serves, "a", "c").beta == Beta(6, 1)
    assert works(never, "a", "c").beta == Beta(1, 6)


def test_a_wrong_path_is_found_out() -> None:
    """Four refusals without an answer make a path wrong; three, or any number of faults, do not."""
    assert not wrong(remembered(switches={"a": {"c": Switches(unfit=3)}}), "a", "c")
    assert wrong(remembered(switches={"a": {"c": Switches(unfit=4)}}), "a", "c")
    assert not wrong(remembered(switches={"a": {"c": Switches(unfit=400, answered=1)}}), "a", "c")
    assert not wrong(remembered(switches={"a": {"c": Switches(failed=400)}}), "a", "c")


def test_map_is_held_against_evidence() -> None:
    """Each declared path is told to work, to be untried, shut, doubted, or wrong; a wrong one has probability 0."""
    memory = remembered(
        declared={"a": ["b", "c", "d", "e", "f"]},
        switches={
            "a": {
                "b": Switches(answered=1, failed=3),
                "c": Switches(failed=9),
                "d": Switches(unfit=9),
                "e": Switches(unfit=1),
            }
        },
    )
    standings = {path.target: path.standing for path in fallbacks(memory)}
    assert standings == {
        "b": Standing.WORKS,
        "c": Standing.SHUT,
        "d": Standing.WRONG,
        "e": Standing.DOUBTED,
        "f": Standing.UNTRIED,
    }
    numbers = belief(memory, Mode.POSTERIOR)
    assert numbers is not None
    assert numbers.switch_works("a", "d") == 0.0
    assert (numbers.switch_works("a", "c") or 0) > 0


def test_pairs_are_proposed_and_not_adopted() -> None:
    """An undeclared pair of two backends that agreed three times and never differed is proposed, not believed."""
    agreements = {
        "a": {"b": Agreement(agreed=9), "c": Agreement(agreed=3), "d": Agreement(agreed=3)},
        "c": {"a": Agreement(agreed=2), "d": Agreement(agreed=8, differed=1)},
    }
    memory = remembered(declared={"a": ["d"]}, agreements=agreements)
    assert [(pair.source, pair.target) for pair in proposals(memory)] == [("a", "c")]
    numbers = belief(memory, Mode.POSTERIOR)
    assert numbers is not None
    assert numbers.switch_works("a", "c") is None


def test_merged() -> None:
    """Two memories add up; of two domains for a tool the one that sorts first holds, whichever comes first."""
    one = Memory(
        episodes=2, retries={"a": {"timeout": Retries(recovered=1)}}, domains={"a": "x"}, declared={"a": ["c"]},
        learned={"s": 10},
    )  # fmt: skip
    other = Memory(
        episodes=3, retries={"a": {"timeout": Retries(stayed=2), "auth_error": Retries(stayed=1)}}, domains={"a": "w"},
        declared={"a": ["b"]}, learned={"s": 7, "t": 1},
    )  # fmt: skip
    both = merged(one, other)
    assert both == merged(other, one)
    assert both.retries == {
        "a": {"auth_error": Retries(stayed=1), "timeout": Retries(recovered=1, stayed=2)},
    }
    assert (both.episodes, both.domains, both.declared) == (5, {"a": "w"}, {"a": ["b", "c"]})
    assert both.learned == {"s": 10, "t": 1}


def test_faded() -> None:
    """Fading scales every count and leaves the declarations."""
    memory = remembered(episodes=8, retries={"a": {"timeout": Retries(recovered=4)}}, declared={"a": ["c"]})
    assert faded(memory, 0.25).retries == {"a": {"timeout": Retries(recovered=1)}}
    assert faded(memory, 0.25).declared == memory.declared
    assert faded(memory, 0.25).episodes == 2


def test_forgotten() -> None:
    """Forgetting takes out a tool wherever it stands, or one kind, or everything; it stays marked as learned."""
    memory = remembered(
        retries={
            "a": {"timeout": Retries(recovered=1), "auth_error": Retries(stayed=1)},
            "b": {"timeout": Retries(stayed=1)},
        },
        switches={"a": {"c": Switches(answered=1)}, "b": {"a": Switches(failed=1), "c": Switches(failed=1)}},
        learned={"s": 1},
    )
    no_a = forgotten(memory, tool="a")
    assert no_a.retries == {"b": {"timeout": Retries(stayed=1)}}
    assert no_a.switches == {"b": {"c": Switches(failed=1)}}
    no_timeout = forgotten(memory, kind=TIMEOUT)
    assert no_timeout.retries == {"a": {"auth_error": Retries(stayed=1)}}
    assert no_timeout.switches == memory.switches
    assert forgotten(memory, tool="a", kind=TIMEOUT).retries == {
        "a": {"auth_error": Retries(stayed=1)},
        "b": {"timeout": Retries(stayed=1)},
    }
    nothing = forgotten(memory)
    assert nothing.cold
    assert nothing.learned == {"s": 1}


def test_modes_without_numbers() -> None:
    """`off` and `static` believe nothing."""
    memory = remembered(retries={"a": {"timeout": Retries(recovered=1)}})
    assert belief(memory, Mode.OFF) is None
    assert belief(memory, Mode.STATIC) is None


def test_shuffled() -> None:
    """`shuffled` has the same numbers at other places, the same ones for the same seed."""
    rows = {f"t{n}": {"timeout": Retries(recovered=n, stayed=1)} for n in range(12)}
    memory = Memory(retries=rows, switches={f"t{n}": {"x": Switches(answered=n, failed=1)} for n in range(12)})
    true, shuffled, again = (
        belief(memory, mode, seed=seed) for mode, seed in ((Mode.POSTERIOR, 0), (Mode.SHUFFLED, 3), (Mode.SHUFFLED, 3))
    )
    assert true is not None
    assert shuffled is not None
    assert again is not None
    numbers = [[one.persistence(tool, TIMEOUT) for tool in rows] for one in (true, shuffled, again)]
    assert sorted(map(str, numbers[0])) == sorted(map(str, numbers[1]))
    assert numbers[0] != numbers[1]
    assert numbers[1] == numbers[2]
    pairs = [[one.switch_works(tool, "x") for tool in rows] for one in (true, shuffled)]
    assert sorted(map(str, pairs[0])) == sorted(map(str, pairs[1]))
    assert pairs[0] != pairs[1]


def test_a_failure_that_never_passed_is_no_evidence_that_it_passes() -> None:
    """However the counts fall, a persistence below 2/3, which `decide` takes for evidence, takes a recovery seen."""
    for stayed in range(6):
        for near in range(12):
            rows = {"a": {"timeout": Retries(stayed=stayed)}, "b": {"timeout": Retries(stayed=near)}}
            numbers = belief(remembered(retries=rows), Mode.POSTERIOR)
            assert numbers is not None
            persistence = numbers.persistence("a", TIMEOUT)
            assert persistence is None or persistence >= 2 / 3
    rows = {"a": {"timeout": Retries(recovered=1, stayed=2)}}
    numbers = belief(remembered(retries=rows), Mode.POSTERIOR)
    assert numbers is not None
    assert (numbers.persistence("a", TIMEOUT) or 1) < 2 / 3
