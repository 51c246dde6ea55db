"""Runs over the small worlds and agents of `toys`, and a private PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from breakfall import catalog
from breakfall.bench.matrix import Spec
from breakfall.ledger.line import encode_episode, segment_paths
from breakfall.ledger.read import Stored, read_all

TOYS = Path(__file__).parent / "toys"


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `toys` importable, as the current directory of a user is."""
    monkeypatch.syspath_prepend(TOYS)
    catalog.world.cache_clear()
    catalog.agent.cache_clear()
    return TOYS


@pytest.fixture
def spec(toys: Path) -> Callable[..., Spec]:
    def make(**fields: object) -> Spec:
        fixed: dict[str, object] = {"worlds": ("toys:Numbers",), "tasks": "6", "seeds": 2, **fields}
        return Spec(**fixed)  # type: ignore[arg-type]

    return make


@pytest.fixture
def lines() -> Callable[[Path], dict[str, bytes]]:
    """Each episode's bytes by its name, wherever they stand, without what seals them."""

    def read(folder: Path) -> dict[str, bytes]:
        found = {}
        for item in read_all(folder):
            if isinstance(item, Stored):
                sealed = item.segment.read_bytes()[item.offset : item.offset + item.length]
                raw = re.sub(rb',"seq":\d+,"chain":"[0-9a-f]{32}"}\n', b"}\n", sealed)
                assert raw == encode_episode(item.steps, item.end)
                found[item.end.episode] = raw
            else:
                found[item.key.id] = item.reason.encode()
        return found

    return read


@pytest.fixture
def segments() -> Callable[[Path], list[str]]:
    return lambda folder: [path.name for path in segment_paths(folder)]


WHAT_TO_INSTALL = (
    "the tests of the journal and the ledger run against a real PostgreSQL server and found none to start: install its "
    "binaries "
    "(Debian: apt-get install postgresql; others: the package that holds initdb and postgres, on PATH)"
)


def _binaries() -> Path:
    found = [Path(path).parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: folder.parent.name, reverse=True)
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    pytest.fail(WHAT_TO_INSTALL)


def _as_other_user() -> list[str]:
    """The server refuses to run as root: become `postgres`, and die with whoever started it."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        pytest.fail(f"{WHAT_TO_INSTALL}; as root, a user named postgres is needed to run it")
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--pdeathsig=QUIT"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Run a private cluster on 127.0.0.1 in a temporary folder; gives its address."""
    binaries, as_user = _binaries(), _as_other_user()
    folder = Path(tempfile.mkdtemp(prefix="breakfall-pg-"))
    if as_user:
        shutil.chown(folder, "postgres", "postgres")
    data, log = folder / "data", folder / "log"
    made = [*as_user, str(binaries / "initdb"), "-D", str(data), "-U", "tests", "-A", "trust", "-E", "UTF8", "-N"]
    subprocess.run(made, check=True, capture_output=True, cwd="/")
    port = _free_port()
    options = {"port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
    started = [*as_user, str(binaries / "postgres"), "-D", str(data)]
    for name, value in options.items():
        started += ["-c", f"{name}={value}"]
    address = f"postgresql://tests@127.0.0.1:{port}/postgres"
    with log.open("wb") as stream, subprocess.Popen(started, stdout=stream, stderr=stream, cwd="/") as process:
        try:
            _wait_for(address, process, log)
            yield address
        finally:
            process.terminate()
            process.wait(30)
            shutil.rmtree(folder, ignore_errors=True)


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(address, connect_timeout=5).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the PostgreSQL server did not start: {error}\n{log.read_text(errors='replace')}")
            time.sleep(0.05)
        else:
            return


_NUMBERS = itertools.count()


@pytest.fixture
def postgres(server: str) -> str:
    """The address of an empty schema of its own."""
    schema = f"tests_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{server}?options=-csearch_path%3D{schema}"
