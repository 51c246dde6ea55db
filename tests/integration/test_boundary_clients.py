"""Real clients against a server that misbehaves: each exception is classified for what really happened."""

import asyncio
import logging
import socket
import sqlite3
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import anyio
import botocore.config
import botocore.session
import httpx
import openai
import pytest
import requests
import sqlalchemy
import urllib3
from mcp import Client
from mcp.server.mcpserver import MCPServer
from tests.integration.rude_server import RudeServer

from breakfall.recovery.classify import classify, diagnose
from breakfall.runtime.boundary import failed_from, outcome_of
from breakfall.vocab import Applied, Failed, FaultKind, Ok

WAIT_S = 0.4
TIMEOUT, RATE, SERVER, MALFORMED = (
    FaultKind.TIMEOUT,
    FaultKind.RATE_LIMIT,
    FaultKind.SERVER_ERROR,
    FaultKind.MALFORMED_RESPONSE,
)
AUTH, DRIFT = FaultKind.AUTH_ERROR, FaultKind.SCHEMA_DRIFT


@pytest.fixture(scope="module")
def server() -> Iterator[RudeServer]:
    server = RudeServer()
    yield server
    server.close()


def by_httpx(url: str) -> Any:
    with httpx.Client(timeout=WAIT_S, trust_env=False) as client:
        response = client.post(url, content=b"{}")
        response.raise_for_status()
        return response.json()


def by_httpx_async(url: str) -> Any:
    async def post() -> Any:
        async with httpx.AsyncClient(timeout=WAIT_S, trust_env=False) as client:
            response = await client.post(url, content=b"{}")
            response.raise_for_status()
            return response.json()

    return anyio.run(post)


def by_requests(url: str) -> Any:
    with requests.Session() as session:
        session.trust_env = False
        response = session.post(url, data=b"{}", timeout=WAIT_S)
        response.raise_for_status()
        return response.json()


def by_urllib3(url: str) -> Any:
    with urllib3.PoolManager(timeout=WAIT_S, retries=False) as pool:
        return pool.request("POST", url, body=b"{}").json()


def by_aiohttp(url: str) -> Any:
    async def post() -> Any:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=WAIT_S, sock_read=WAIT_S)
        async with aiohttp.ClientSession(timeout=limits) as session, session.post(url, data=b"{}") as response:
            response.raise_for_status()
            return await response.json()

    return asyncio.run(post())


def by_openai(url: str) -> Any:
    with openai.OpenAI(api_key="x", base_url=url, max_retries=0, timeout=WAIT_S) as client:
        return client.models.list()


AWS = botocore.session.Session()
AWS.set_credentials("a", "b")


def by_botocore(url: str) -> Any:
    config = botocore.config.Config(
        connect_timeout=WAIT_S, read_timeout=WAIT_S, retries={"max_attempts": 0}, proxies={}
    )
    client = AWS.create_client("dynamodb", region_name="us-east-1", endpoint_url=url, config=config)
    try:
        return client.list_tables()
    finally:
        client.close()


def by_urllib(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, data=b"{}", timeout=WAIT_S) as response:
        return response.read()


CLIENTS: dict[str, Callable[[str], Any]] = {
    "httpx": by_httpx,
    "httpx-async": by_httpx_async,
    "requests": by_requests,
    "urllib3": by_urllib3,
    "aiohttp": by_aiohttp,
    "openai": by_openai,
    "botocore": by_botocore,
    "urllib": by_urllib,
}
PARSING = tuple(name for name in CLIENTS if name not in ("botocore", "urllib"))
"""Clients that parse or unpack an answer: botocore takes a broken one for an empty one, urllib returns its bytes."""
RAISING = tuple(name for name in CLIENTS if name != "urllib3")
"""Clients that raise for a status."""
BODIES = tuple(name for name in RAISING if name not in ("aiohttp", "urllib"))
"""Clients whose exception has the body that came with a status."""


def raised(client: str, url: str) -> Failed:
    """Call as a tool would, and note what it raised."""
    try:
        value = CLIENTS[client](url)
    except Exception as error:
        return failed_from(error)
    raise AssertionError(f"{client} returned {value!r}")


def holds(failed: Failed, kind: FaultKind | None, *, sent: bool, in_doubt: bool) -> None:
    """Check kind, whether it was sent, doubt and evidence."""
    found = diagnose(failed)
    assert (found.kind, found.sent, found.in_doubt) == (kind, sent, in_doubt), (failed, found)
    assert found.evidence
    seen = classify(failed, writes=True)
    assert seen.applied is (Applied.UNKNOWN if in_doubt else Applied.NO)


@pytest.mark.parametrize("client", CLIENTS)
def test_nobody_listens(client: str) -> None:
    """A refused connection sent nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    holds(raised(client, f"http://127.0.0.1:{port}/"), SERVER, sent=False, in_doubt=False)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_unknown_host(client: str) -> None:
    """A name that does not resolve sent nothing."""
    holds(raised(client, "http://no-such-host.invalid/"), SERVER, sent=False, in_doubt=False)


@pytest.fixture
def full() -> Iterator[str]:
    """A server whose queue of connections is full, so that no further one is made."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        waiting.append(one := socket.socket())
        one.setblocking(False)
        one.connect_ex(listener.getsockname())
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    for one in (*waiting, listener):
        one.close()


@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "urllib"])
def test_no_connection_in_time(client: str, full: str) -> None:
    """A connection that is not made in time sent nothing."""
    holds(raised(client, full), TIMEOUT, sent=False, in_doubt=False)


def test_no_free_connection_in_time(server: RudeServer) -> None:
    """A request that waited for a free connection of its pool in vain was not sent."""
    limits = httpx.Limits(max_connections=1)
    transport = httpx.HTTPTransport(limits=limits)
    with httpx.Client(transport=transport, timeout=httpx.Timeout(WAIT_S), trust_env=False) as client:
        with client.stream("GET", server.url("429")), pytest.raises(httpx.PoolTimeout) as caught:
            client.get(server.url("429"))
        holds(failed_from(caught.value), TIMEOUT, sent=False, in_doubt=False)


@pytest.fixture
def plain() -> Iterator[str]:
    """An https address at which no TLS is spoken."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                connection.settimeout(WAIT_S)
                try:
                    while connection.recv(65536):
                        pass
                except OSError:
                    continue

    threading.Thread(target=serve, daemon=True).start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}/"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_no_tls(client: str, plain: str) -> None:
    """A TLS handshake that failed sent nothing."""
    holds(raised(client, plain), SERVER, sent=False, in_doubt=False)


@pytest.mark.parametrize("path", ["reset", "hang-up"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_connection_breaks(client: str, path: str, server: RudeServer) -> None:
    """A connection that broke after the request was sent leaves a write in doubt."""
    holds(raised(client, server.url(path)), SERVER, sent=True, in_doubt=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_no_answer_in_time(client: str, server: RudeServer) -> None:
    """An answer that does not come in time leaves a write in doubt."""
    holds(raised(client, server.url("stall")), TIMEOUT, sent=True, in_doubt=True)


@pytest.mark.parametrize("path", ["cut", "chunk"])
@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "botocore"])
def test_the_answer_breaks_off(client: str, path: str, server: RudeServer) -> None:
    """An answer that breaks off is malformed, and leaves a write in doubt."""
    holds(raised(client, server.url(path)), MALFORMED, sent=True, in_doubt=True)


@pytest.mark.parametrize("client", CLIENTS)
def test_an_answer_that_is_no_http(client: str, server: RudeServer) -> None:
    """Garbage leaves a write in doubt, also where the client calls it a 400."""
    kind = MALFORMED if client in ("aiohttp", "urllib") else SERVER
    holds(raised(client, server.url("garbage")), kind, sent=True, in_doubt=True)


@pytest.mark.parametrize("path", ["gzip", "broken-json"])
@pytest.mark.parametrize("client", PARSING)
def test_an_unreadable_answer(client: str, path: str, server: RudeServer) -> None:
    """An answer that cannot be unpacked or parsed is malformed, and leaves a write in doubt."""
    holds(raised(client, server.url(path)), MALFORMED, sent=True, in_doubt=True)


@pytest.mark.parametrize("client", ["httpx", "requests", "urllib3"])
def test_a_login_page(client: str, server: RudeServer) -> None:
    """A login page under a 200 is refused credentials."""
    holds(raised(client, server.url("page")), AUTH, sent=True, in_doubt=False)


@pytest.mark.parametrize(
    ("status", "kind", "in_doubt"),
    [(401, AUTH, False), (404, None, False), (425, SERVER, False), (429, RATE, False), (500, SERVER, True)],
)
@pytest.mark.parametrize("client", RAISING)
def test_a_status(client: str, status: int, kind: FaultKind | None, in_doubt: bool, server: RudeServer) -> None:
    """A status means the same whichever client raised it; 429 brings its wait."""
    failed = raised(client, server.url(str(status)))
    assert failed.status == status
    assert failed.retry_after_s == (7.0 if status == 429 else None)
    holds(failed, kind, sent=True, in_doubt=in_doubt)


@pytest.mark.parametrize("client", RAISING)
def test_a_date_to_wait_for(client: str, server: RudeServer) -> None:
    """A Retry-After date is a wait, measured from the server's own date."""
    failed = raised(client, server.url("503"))
    assert failed.retry_after_s == 120.0
    holds(failed, SERVER, sent=True, in_doubt=True)


@pytest.mark.parametrize("client", [name for name in BODIES if name != "botocore"])
def test_a_status_that_its_body_explains(client: str, server: RudeServer) -> None:
    """The body tells the tool's own refusal from refused credentials, and a changed form from a wrong value."""
    own = raised(client, server.url("403"))
    assert "approval_required" in (own.body or "")
    holds(own, None, sent=True, in_doubt=False)
    holds(raised(client, server.url("422")), DRIFT, sent=True, in_doubt=False)


def test_codes_of_aws() -> None:
    """Errors of botocore are read by the service's own codes."""

    def error(status: int, code: str) -> Failed:
        answer = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        return failed_from(botocore.exceptions.ClientError(answer, "PutItem"))

    holds(error(400, "ThrottlingException"), RATE, sent=True, in_doubt=False)
    holds(error(400, "ExpiredTokenException"), AUTH, sent=True, in_doubt=False)
    holds(error(400, "TransactionConflictException"), SERVER, sent=True, in_doubt=False)
    holds(error(400, "ConditionalCheckFailedException"), None, sent=True, in_doubt=False)
    holds(error(503, "SlowDown"), RATE, sent=True, in_doubt=False)
    holds(error(500, "InternalServerError"), SERVER, sent=True, in_doubt=True)
    holds(failed_from(botocore.exceptions.NoCredentialsError()), AUTH, sent=False, in_doubt=False)
    holds(failed_from(botocore.exceptions.ParamValidationError(report="r")), None, sent=False, in_doubt=False)


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    def refund(amount: int) -> dict[str, int]:
        if amount < 0:
            raise RuntimeError("the ledger is gone")
        return {"amount": amount}

    @server.tool()
    async def slow() -> str:
        await anyio.sleep(WAIT_S * 5)
        return "late"

    return server


def test_tools_of_mcp() -> None:
    """Results and errors of the MCP SDK: a value, a crash, refused arguments, an unknown tool, a timeout."""
    logging.disable(logging.CRITICAL)

    async def ask() -> tuple[list[Any], BaseException]:
        async with Client(shop()) as client:
            calls = (("refund", {"amount": 3}), ("refund", {"amount": -3}), ("refund", {}), ("nothing", {}))
            results = [await client.call_tool(name, arguments) for name, arguments in calls]
            try:
                await client.call_tool("slow", {}, read_timeout_seconds=WAIT_S)
            except Exception as error:
                return results, error
        raise AssertionError("it did not time out")

    try:
        results, error = anyio.run(ask)
    finally:
        logging.disable(logging.NOTSET)
    good, crash, refused, unknown = (
        outcome_of(result, schema=None, expect=(), arguments={}, now_s=0.0, writes=True) for result in results
    )
    assert isinstance(good, Ok)
    assert isinstance(crash, Failed)
    assert isinstance(refused, Failed)
    assert isinstance(unknown, Failed)
    holds(crash, SERVER, sent=True, in_doubt=True)
    holds(refused, None, sent=True, in_doubt=False)
    holds(unknown, DRIFT, sent=True, in_doubt=False)
    holds(failed_from(error), TIMEOUT, sent=True, in_doubt=True)


def test_a_locked_database(tmp_path: Path) -> None:
    """A database that another holds did nothing, seen through sqlite3 and through SQLAlchemy."""
    path = tmp_path / "shop.db"
    holder = sqlite3.connect(path, isolation_level=None)
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    engine = sqlalchemy.create_engine(f"sqlite:///{path}", connect_args={"timeout": 0})
    try:
        holder.execute("CREATE TABLE orders (id TEXT UNIQUE)")
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as plain:
            other.execute("INSERT INTO orders VALUES ('O1')")
        with pytest.raises(sqlalchemy.exc.OperationalError) as wrapped, engine.begin() as connection:
            connection.execute(sqlalchemy.text("INSERT INTO orders VALUES ('O1')"))
        holder.execute("INSERT INTO orders VALUES ('O1')")
        holder.execute("COMMIT")
        with pytest.raises(sqlite3.IntegrityError) as twice:
            other.execute("INSERT INTO orders VALUES ('O1')")
        with pytest.raises(sqlite3.OperationalError) as absent:
            other.execute("INSERT INTO orders (sku) VALUES ('O1')")
    finally:
        holder.close()
        other.close()
        engine.dispose()
    holds(failed_from(plain.value), SERVER, sent=True, in_doubt=False)
    assert failed_from(wrapped.value).exception == "sqlite3.OperationalError[SQLITE_BUSY]"
    holds(failed_from(wrapped.value), SERVER, sent=True, in_doubt=False)
    holds(failed_from(twice.value), None, sent=True, in_doubt=False)
    holds(failed_from(absent.value), DRIFT, sent=True, in_doubt=False)


def test_a_call_that_was_given_up() -> None:
    """A timeout around the whole call leaves a write in doubt, in anyio as in asyncio."""

    async def too_slow() -> None:
        with anyio.fail_after(0.01):
            await anyio.sleep(5)

    async def also_too_slow() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(5)

    for act in (too_slow, also_too_slow):
        with pytest.raises(TimeoutError) as caught:
            anyio.run(act)
        holds(failed_from(caught.value), TIMEOUT, sent=True, in_doubt=True)


def test_a_task_group_of_refused_connections() -> None:
    """What happened in the tasks of a task group is told one by one."""

    async def connect() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.connect_tcp, "127.0.0.1", port)

    with pytest.raises(ExceptionGroup) as caught:
        anyio.run(connect)
    holds(failed_from(caught.value), SERVER, sent=False, in_doubt=False)
