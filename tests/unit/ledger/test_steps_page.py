"""The page about steps says what is there."""

import re
import tomllib
from pathlib import Path

from breakfall.ledger.draft import FIELDS, REQUIRED
from breakfall.ledger.import_known import KNOWN
from breakfall.ledger.import_mapping import load_mapping
from breakfall.ledger.scrub_rules import BUILT_IN, load

PAGE = (Path(__file__).parents[3] / "docs" / "steps.md").read_text(encoding="utf-8")


def test_every_field_rule_and_mapping_stands_in_the_page():
    """Nothing that a user may write is left out."""
    listed = re.search(r"^The fields are .*?\n\n", PAGE, re.DOTALL | re.MULTILINE)[0]
    assert set(re.findall(r"`(\w+)`", listed)) == FIELDS - set(REQUIRED) | {"observed_outcome"}
    for name in (*BUILT_IN, "fields", *KNOWN):
        assert re.search(rf"^\|.*`{name}`.*\|", PAGE, re.MULTILINE), name


def test_the_files_in_the_page_are_right():
    """The mapping and the settings that it shows can be read."""
    mapping, settings = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert load_mapping(mapping, "page", KNOWN).shape == "langfuse"
    assert load(settings, "page").fields == ("iban",)
    assert set(tomllib.loads(settings)) == {"scrub"}
