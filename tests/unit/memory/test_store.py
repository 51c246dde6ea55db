"""The file of a memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from breakfall.errors import StoreError, UsageError
from breakfall.memory import store
from breakfall.memory.beliefs import Memory, Retries

MEMORY = Memory(episodes=3, retries={"get": {"timeout": Retries(recovered=2.5)}}, learned={"s": 4})

_WRITER = """
import sys
from pathlib import Path
from breakfall.memory import store
from breakfall.memory.beliefs import Memory, Retries
tools = [f"tool{n}" for n in range(3000)]
versions = [Memory(episodes=e, retries={tool: {"timeout": Retries(stayed=e)} for tool in tools}) for e in (1, 2)]
while True:
    for version in versions:
        store.write(Path(sys.argv[1]), version)
        print("written", flush=True)
"""

_ADDER = """
import sys
from pathlib import Path
from breakfall.memory import store
from breakfall.memory.beliefs import Memory, merged
path = Path(sys.argv[1])
for _ in range(20):
    with store.held(path):
        store.write(path, merged(store.read(path), Memory(episodes=1)))
"""


def test_there_and_back(tmp_path: Path) -> None:
    """What is written is read back, and equal memories are equal bytes."""
    path = tmp_path / "deep" / "memory.json"
    store.write(path, MEMORY)
    assert store.read(path) == MEMORY
    assert path.read_bytes() == store.encode(MEMORY)
    assert [file.name for file in path.parent.iterdir()] == ["memory.json"]


def test_a_kill_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """A writer that is killed at any moment leaves a whole memory."""
    path = tmp_path / "memory.json"
    for n in range(12):
        writer = subprocess.Popen([sys.executable, "-c", _WRITER, path], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.004 * n)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        found = store.read(path)
        assert len(found.retries) == 3000
        assert {row["timeout"].stayed for row in found.retries.values()} == {found.episodes}


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    """Changes that two processes make at once under `held` are both kept."""
    path = tmp_path / "memory.json"
    store.write(path, Memory())
    adders = [subprocess.Popen([sys.executable, "-c", _ADDER, path]) for _ in range(2)]
    assert [adder.wait() for adder in adders] == [0, 0]
    assert store.read(path).episodes == 40


def test_nothing_there(tmp_path: Path) -> None:
    """A missing file says how one is made."""
    with pytest.raises(UsageError, match="no memory is stored here; `breakfall memory learn"):
        store.read(tmp_path / "none.json")


@pytest.mark.parametrize("raw", [b"", b"{}x", b'{"retries": {"get": {"timeout": {"recovered": "x"}}}}'])
def test_damaged(tmp_path: Path, raw: bytes) -> None:
    """A damaged file is named, with the place of the damage."""
    path = tmp_path / "memory.json"
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="not a memory, or damaged"):
        store.read(path)


def test_newer_format(tmp_path: Path) -> None:
    """A file of a newer breakfall is refused, not misread."""
    path = tmp_path / "memory.json"
    store.write(path, Memory(format=2))
    with pytest.raises(StoreError, match="format 2, this breakfall reads up to 1"):
        store.read(path)


def test_cannot_be_written(tmp_path: Path) -> None:
    """A place that cannot be written is named, and nothing is left there."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be written"):
        store.write(tmp_path / "file" / "memory.json", MEMORY)
    with pytest.raises(StoreError, match="cannot be locked"), store.held(tmp_path / "file" / "memory.json"):
        pass
    with pytest.raises(StoreError, match="cannot be read"):
        store.read(tmp_path)
