"""The page on noise profiles: its example is a profile, and it tells what the code does."""

import re
from pathlib import Path

from breakfall.bench import preflight
from breakfall.bench.matrix import Spec
from breakfall.faults.profile import PROFILES, Burst, Profile, load
from breakfall.vocab import FaultKind

PAGE = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text()


def test_the_example_loads_as_the_page_says():
    """The file on the page is read, holds what its comments promise, and fits the store world."""
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    profile = load(text, "example.toml")
    assert profile == Profile(
        name="warehouse week",
        kinds={**PROFILES["paper"].kinds, FaultKind.TIMEOUT: 0.10, FaultKind.SCHEMA_DRIFT: 0.0},
        tools={"get_stock": {FaultKind.STALE_VALUE: 0.25, FaultKind.PARTIAL_DATA: 0.05}},
        max_total=4,
        max_in_row=1,
        sticky=True,
        burst=Burst(kinds=(FaultKind.TIMEOUT, FaultKind.SERVER_ERROR)),
    )
    preflight.check_profile(profile, Spec(profile="example.toml"))


def test_the_page_names_every_profile_kind_and_field():
    """Nothing that a file may say is missing from the page."""
    for name in (*PROFILES, *(kind.value for kind in FaultKind)):
        assert f"`{name}`" in PAGE
    for field in (*Profile.__struct_fields__, *Burst.__struct_fields__):
        assert re.search(rf"\b{field}\b", PAGE), field
