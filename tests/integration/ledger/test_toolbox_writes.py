"""A toolbox that writes into a ledger: what is on disk before a call that nothing undoes."""

import pytest

from breakfall.errors import StoreError
from breakfall.ledger import file as files
from breakfall.ledger.source import FolderSource, read_steps
from breakfall.ledger.writer import LedgerWriter
from breakfall.runtime.declare import natural, tool
from breakfall.runtime.wrap import Toolbox


def test_everything_before_an_irreversible_call_is_on_disk(tmp_path, monkeypatch):
    """When the function that cannot be undone begins, the steps before it are synced; its own step is after it."""
    synced: list[int] = []
    seen: list[int] = []
    monkeypatch.setattr(files, "_sync", synced.append)

    def look(name: str) -> str:
        return name

    def fire(name: str) -> str:
        seen.append(len(synced))
        return f"fired {name}"

    looked, fired = tool("read")(look), tool("irreversible", idempotency=natural())(fire)
    with LedgerWriter(tmp_path) as ledger, Toolbox(looked, fired, ledger=ledger) as box:
        synced.clear()
        box.call(looked, {"name": "a"})
        assert synced == []
        box.call(fired, {"name": "a"})
        assert seen == [1]
        assert len(synced) == 2
    assert [step.tool for step in read_steps(FolderSource(tmp_path))] == ["look", "fire"]


def test_without_the_disk_nothing_irreversible_is_done(tmp_path, monkeypatch):
    """If the steps before it cannot be put on disk, the call does not go out."""
    done: list[str] = []

    def fire(name: str) -> None:
        done.append(name)

    def look(name: str) -> str:
        return name

    def refuse(file: int) -> None:
        raise OSError(5, "Input/output error")

    looked, fired = tool("read")(look), tool("irreversible", idempotency=natural())(fire)
    ledger = LedgerWriter(tmp_path)
    with Toolbox(looked, fired, ledger=ledger) as box:
        box.call(looked, {"name": "a"})
        monkeypatch.setattr(files, "_sync", refuse)
        with pytest.raises(StoreError, match="refused to store"):
            box.call(fired, {"name": "a"})
    assert done == []
