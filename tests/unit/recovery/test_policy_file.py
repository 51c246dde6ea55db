"""A policy file is read strictly: what it says is taken, and what is wrong is named by its path."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from breakfall.errors import UsageError
from breakfall.recovery.policy import BALANCED, CAUTIOUS, PRESETS, Policy
from breakfall.recovery.policy_file import load


def refused(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        load(text, "policy.toml")
    return str(caught.value)


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_base_alone_is_the_preset(name: str) -> None:
    """A file that overrides nothing is its preset under the file's name."""
    assert load(f'base = "{name}"', "conf/mine.toml") == replace(PRESETS[name], name="mine")


def test_without_a_base() -> None:
    """The base is balanced where the file names none."""
    assert load("attempts = 2", "p.toml") == replace(BALANCED, name="p", attempts=2)


def test_overrides() -> None:
    """Single costs and probabilities are overridden, the rest stays as the base has it."""
    policy = load(
        """
        base = "cautious"
        name = "night"
        attempts = 5
        cooldown_s = 30
        switch = false
        storm = 3
        [costs]
        person = 200
        [persistence]
        timeout = 0.5
        """,
        "p.toml",
    )
    assert policy == replace(
        CAUTIOUS,
        name="night",
        attempts=5,
        cooldown_s=30.0,
        switch=False,
        storm=3,
        costs=replace(CAUTIOUS.costs, person=200.0),
        persistence={**CAUTIOUS.persistence, "timeout": 0.5},
    )
    assert type(policy.cooldown_s) is float


def test_no_storm_limit() -> None:
    """`storm = false` takes the limit away, because TOML has no null."""
    assert load("storm = false", "p.toml").storm is None


BAD = [
    ("costs.person = -3", "policy.toml: costs.person is -3, must be at least 0"),
    ("attempts = 0", "policy.toml: attempts is 0, must be at least 1"),
    ("attempts = 2.5", "policy.toml: attempts is 2.5, must be a whole number"),
    ("attempts = true", "policy.toml: attempts is true, must be a whole number"),
    ('attempts = "four"', "policy.toml: attempts is 'four', must be a whole number"),
    ("storm = 0", "policy.toml: storm is 0, must be at least 1"),
    ("storm = true", "policy.toml: storm is true, must be a whole number, or false for none"),
    ("switch = 1", "policy.toml: switch is 1, must be true or false"),
    ("switch_works = 1.5", "policy.toml: switch_works is 1.5, must be between 0 and 1"),
    ("strikes_again = 0", "policy.toml: strikes_again is 0, must be above 0 and below 1"),
    ("strikes_again = 1", "policy.toml: strikes_again is 1, must be above 0 and below 1"),
    ("half_life_s = 0.0", "policy.toml: half_life_s is 0, must be above 0"),
    ("base_s = nan", "policy.toml: base_s is nan, must be a number"),
    ("cap_s = inf", "policy.toml: cap_s is inf, must be a number"),
    ("cooldown_s = -1", "policy.toml: cooldown_s is -1, must be at least 0"),
    ("cap_s = 0.1", "policy.toml: cap_s is 0.1, must be at least base_s (0.5)"),
    (
        "lookups = 1",
        "policy.toml: lookups is 1, must be at least agreeing (2): so many reads must agree before a write is sent "
        "again",
    ),
    ("persistence.timeout = 2", "policy.toml: persistence.timeout is 2, must be between 0 and 1"),
    (
        "persistence.timeuot = 0.5",
        "policy.toml: persistence.timeuot is no fault kind that a caller can tell; did you mean 'timeout'?",
    ),
    ("costs.persn = 3", "policy.toml: costs.persn is no cost; did you mean 'person'?"),
    ("costs = 3", "policy.toml: costs is 3, must be a table, as in [costs]"),
    ("atempts = 3", "policy.toml: atempts is no field of a policy; did you mean 'attempts'?"),
    (
        'base = "balance"',
        "policy.toml: base is 'balance', must be one of give-up, retry, cautious, balanced, eager, confirming; "
        "did you mean 'balanced'?",
    ),
    ('name = ""', "policy.toml: name is empty, must say how reports call the policy"),
    ("name = 3", "policy.toml: name is 3, must be a text"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text for text, _ in BAD])
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    """A bad file is refused with its path, the field's path, what was read and what would be right."""
    assert refused(text) == message


def test_not_toml() -> None:
    """A file that is no TOML is refused with the place."""
    assert refused("attempts 3").startswith("policy.toml: not TOML: ")


@given(
    st.sampled_from([info for info in msgspec.structs.fields(Policy) if info.type in (int, float, int | None)]),
    st.one_of(st.integers(-3, 3), st.floats(allow_nan=True, allow_infinity=True, width=16)),
)
def test_every_number_is_in_range_or_refused(info: msgspec.structs.FieldInfo, value: float) -> None:
    """Whatever number a field is given, the policy takes it finite and not below 0, or the file is refused."""
    try:
        policy = load(f"{info.name} = {value}", "policy.toml")
    except UsageError:
        return
    assert getattr(policy, info.name) == value
    assert 0 <= value < float("inf")


def test_the_documented_file_is_read() -> None:
    """The file that docs/handoff.md shows is a policy."""
    page = (Path(__file__).parents[3] / "docs" / "handoff.md").read_text(encoding="utf-8")
    policy = load(page.split("```toml\n")[1].split("```")[0], "mine.toml")
    assert (policy.attempts, policy.storm, policy.costs.person, policy.persistence["timeout"]) == (5, None, 200.0, 0.5)
