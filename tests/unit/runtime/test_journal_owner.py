"""Locks that show who is alive."""

import pytest

from breakfall.errors import StoreError
from breakfall.runtime.journal.owner import Life, lives


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_an_owner_lives_until_its_end(tmp_path):
    """A life shows until it ends; then its lock is gone, and ending twice is allowed."""
    life = Life(tmp_path / "owners")
    assert lives(tmp_path / "owners", life.owner)
    life.end()
    life.end()
    assert not lives(tmp_path / "owners", life.owner)
    assert names(tmp_path / "owners") == set()


def test_the_locks_of_the_dead_are_cleared_away(tmp_path):
    """A new owner removes what the dead left and keeps what the living hold."""
    dead, living = Life(tmp_path), Life(tmp_path)
    dead.forget()
    assert not lives(tmp_path, dead.owner)
    new = Life(tmp_path)
    assert names(tmp_path) == {living.owner.id, new.owner.id}
    for life in (living, new):
        life.end()


def test_a_lock_that_cannot_be_looked_at_is_an_error(tmp_path):
    """Not knowing whether an owner lives is neither life nor death."""
    life = Life(tmp_path / "owners")
    life.end()
    (tmp_path / "owners").rmdir()
    (tmp_path / "owners").write_text("")
    with pytest.raises(StoreError, match=r"cannot see whether process .* is alive"):
        lives(tmp_path / "owners", life.owner)
