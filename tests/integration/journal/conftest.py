"""Both kinds of journal: a SQLite file and a private PostgreSQL server."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

WHAT_TO_INSTALL = (
    "the journal's tests run against a real PostgreSQL server and found none to start: install the server's binaries "
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
    schema = f"journal_{os.getpid()}_{next(_NUMBERS)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return f"{server}?options=-csearch_path%3D{schema}"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new journal can be opened: one of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.sqlite")
    address: str = request.getfixturevalue("postgres")
    return address


class Nursery:
    """Other processes that run writes through one journal; see `worker.py`."""

    def __init__(self, where: str, effects: Path) -> None:
        self.effects = effects
        command = [sys.executable, str(Path(__file__).parent / "worker.py"), where, str(effects)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the worker process ended"
        assert not line.startswith("failed"), line
        return line.strip()

    def order(self, keys: list[str], seconds: float = 0.0, death: str = "-") -> None:
        """Start a process that runs these writes."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{','.join(keys)} {seconds} {death}\n")
        self.process.stdin.flush()

    def happened(self) -> list[str]:
        """The keys of the effects, in order."""
        lines = self.effects.read_text().splitlines() if self.effects.exists() else []
        return [line.split(" by ")[0] for line in lines]

    def close(self) -> None:
        self.process.communicate(timeout=60)


@pytest.fixture
def nursery(where: str, tmp_path: Path) -> Iterator[Callable[[], Nursery]]:
    """Start processes over the journal at `where`."""
    made: list[Nursery] = []

    def make() -> Nursery:
        made.append(Nursery(where, tmp_path / "effects"))
        return made[-1]

    yield make
    for one in made:
        one.close()
