"""Runs whose agents have a memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from breakfall.bench.matrix import Spec
from breakfall.bench.repro import repro
from breakfall.bench.run import run
from breakfall.errors import UsageError
from breakfall.memory import store
from breakfall.memory.beliefs import Memory, Retries
from breakfall.vocab import Scenario

Lines = Callable[[Path], dict[str, bytes]]
KINDS = ("timeout", "rate_limit", "server_error", "malformed_response", "auth_error", "schema_drift")
MEMORY = Memory(
    retries={"find_customer_by_email": {kind: Retries(recovered=n, stayed=1) for n, kind in enumerate(KINDS)}}
)


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    store.write(tmp_path / "memory.json", MEMORY)
    return Spec(
        tasks="6",
        seeds=2,
        scenarios=(Scenario.S1, Scenario.S2),
        agents=("rules", "rules+off", "rules+posterior", "rules+shuffled"),
        memory=str(tmp_path / "memory.json"),
    )


def test_same_bytes_with_two_workers(spec: Spec, tmp_path: Path, lines: Lines) -> None:
    """With a memory, too, the same spec gives the same episodes in one process and in two."""
    run(spec, tmp_path / "one", jobs=1)
    run(spec, tmp_path / "two", jobs=2)
    assert lines(tmp_path / "one") == lines(tmp_path / "two")


def test_off_is_the_agent_as_it_is(spec: Spec, tmp_path: Path, lines: Lines) -> None:
    """An agent with its memory off does, byte for byte but for its name, what it does without one."""
    run(spec, tmp_path / "run")
    found = lines(tmp_path / "run")
    plain = {name: raw for name, raw in found.items() if name.endswith("/rules")}
    assert plain
    for name, raw in plain.items():
        off = found[f"{name}+off"].replace(b"/rules+off", b"/rules").replace(b'"rules+off"', b'"rules"')
        assert off == raw
    assert any(found[f"{name}+posterior"].count(b"\n") != raw.count(b"\n") for name, raw in plain.items())


def test_a_run_keeps_the_memory_that_it_began_with(spec: Spec, tmp_path: Path, lines: Lines) -> None:
    """An episode is reproduced with the memory of its run; a run is not continued with another one."""
    run(spec, tmp_path / "run")
    name = next(name for name in lines(tmp_path / "run") if name.endswith("posterior") and "/S1/" in name)
    store.write(Path(spec.memory), Memory())
    assert repro(tmp_path / "run", name).same
    with pytest.raises(UsageError, match="holds another run: memory's content"):
        run(spec, tmp_path / "run")
    with pytest.raises(UsageError, match="no memory is stored here"):
        run(replace(spec, memory=str(tmp_path / "none")), tmp_path / "other")
