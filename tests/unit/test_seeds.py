"""Randomness belongs to a place: same place, same numbers, in every process."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from breakfall import seeds

PLACES = st.lists(st.one_of(st.text(max_size=4), st.integers(0, 99)), max_size=4).map(tuple)


@given(PLACES, PLACES)
def test_addresses_are_unique(a: tuple[seeds.Place, ...], b: tuple[seeds.Place, ...]) -> None:
    """Two places share an address only if they are the same place."""
    same = len(a) == len(b) and all(type(x) is type(y) and x == y for x, y in zip(a, b, strict=True))
    assert (seeds.address(*a) == seeds.address(*b)) == same


@given(st.integers(0, 2**31), PLACES, st.integers(0, 1000))
def test_uniforms_lie_in_the_unit_interval(seed: int, place: tuple[seeds.Place, ...], nth: int) -> None:
    """Every draw lies in [0, 1)."""
    assert all(0.0 <= u < 1.0 for u in seeds.uniforms(seeds.address(seed, *place), nth))


def test_known_numbers() -> None:
    """The numbers of a place never change: stored reports depend on them."""
    assert round(seeds.stream(7, "noise", "store", 3).uniform(), 12) == 0.413668359874
    assert seeds.stream(7, "order").shuffled("abcdef") == ["a", "d", "b", "e", "c", "f"]


def test_same_in_another_process() -> None:
    """Another process with another hash seed draws the same numbers."""
    code = "from breakfall import seeds; print(seeds.stream(1, 'a', 2).sample(list(range(100)), 10))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": str(n)}, capture_output=True, text=True, check=True
        ).stdout
        for n in (1, 2)
    }
    assert len(runs) == 1


def test_draws_are_even() -> None:
    """Ten thousand draws of six sides differ from even by less than five standard errors."""
    stream = seeds.stream(3, "dice")
    counts = [0] * 6
    for _ in range(12000):
        counts[stream.below(6)] += 1
    assert all(abs(count - 2000) < 5 * (12000 * 5 / 36) ** 0.5 for count in counts)


def test_weighted_follows_weights() -> None:
    """A weight of zero is never drawn, and the others in proportion."""
    stream = seeds.stream(4, "weights")
    drawn = [stream.weighted("abc", [1, 0, 3]) for _ in range(4000)]
    assert drawn.count("b") == 0
    assert 850 < drawn.count("a") < 1150
