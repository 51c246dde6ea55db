"""Drawing the people and orders of a task."""

import pytest

from breakfall.seeds import stream
from breakfall.worlds.store.cast import pick


def test_a_rare_option_is_found():
    """An option that a few hundred draws would miss is found all the same."""
    assert pick(stream(1, "rare"), list(range(100_000)), lambda number: number == 77) == 77


def test_no_option_is_an_error():
    """If nothing fits, that is said."""
    with pytest.raises(LookupError, match="no record of the base data fits"):
        pick(stream(1, "none"), [1, 2], lambda number: number > 2)
