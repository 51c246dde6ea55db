"""One write whose answer is lost after the commit: how often does it happen, and does the task finish?

    python benchmarks/lost_response.py [--json]

Each library wraps the same function, sync and async, and may try three times. *Unkeyed*: each request is one more
effect, and what happened can be looked up. *Keyed*: the service answers a repeat with the same key with the first
one's result; the function takes a key and makes one if it is given none, as HTTP functions do. Whoever passes a key
made outside the retries is safe with any library; here nobody does, and breakfall fills it in from the operation.

A library that is not installed is named with the reason. The peers: ``pip install --group lost-response-peers``.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

ATTEMPTS, WAIT_S = 3, 0.01
Cell = dict[str, Any]


class Service:
    """Does what it is asked, and loses its first answer."""

    def __init__(self, *, keyed: bool) -> None:
        self.keyed = keyed
        self.effects: list[str] = []
        self._known: dict[str, str] = {}

    def order(self, item: str, key: str | None = None) -> str:
        """Order something; the answer to the first request is lost."""
        if key is not None and key in self._known:
            return self._known[key]
        self.effects.append(item)
        made = f"O{len(self.effects)}"
        if key is not None:
            self._known[key] = made
        if len(self.effects) == 1:
            raise ConnectionResetError("connection reset by peer")
        return made

    def once(self) -> str:
        """Order a hat, as a function of an application would."""
        return self.order("hat", uuid4().hex if self.keyed else None)

    async def aonce(self) -> str:
        """Do the same, async."""
        await asyncio.sleep(0)
        return self.once()


class Breakfall:
    """A toolbox; the write has a reader, or a parameter for its key."""

    package = "breakfall"

    def sync(self, service: Service) -> Any:
        """Make the write."""
        from breakfall.runtime.declare import key, look_up, tool
        from breakfall.runtime.wrap import Toolbox

        @tool("read")
        def made(item: str) -> list[str]:
            return service.effects

        @tool("write", reader=look_up(made, judge=_judge))
        def order(item: str) -> str:
            return service.order(item)

        @tool("write", idempotency=key("key"))
        def order_with_key(item: str, key: str | None = None) -> str:
            return service.order(item, key or uuid4().hex)

        with (
            tempfile.TemporaryDirectory() as folder,
            Toolbox(made, order, order_with_key, journal=Path(folder) / "writes.db") as box,
        ):
            return box[order_with_key if service.keyed else order]("hat")

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        from breakfall.runtime.declare import key, look_up, tool
        from breakfall.runtime.wrap import Toolbox

        @tool("read")
        async def made(item: str) -> list[str]:
            return service.effects

        @tool("write", reader=look_up(made, judge=_judge))
        async def order(item: str) -> str:
            return service.order(item)

        @tool("write", idempotency=key("key"))
        async def order_with_key(item: str, key: str | None = None) -> str:
            return service.order(item, key or uuid4().hex)

        with (
            tempfile.TemporaryDirectory() as folder,
            Toolbox(made, order, order_with_key, journal=Path(folder) / "writes.db") as box,
        ):
            return await box[order_with_key if service.keyed else order]("hat")


def _judge(value: Any, arguments: Any, sent_s: float) -> Any:
    from breakfall.vocab import Applied, Settlement

    return Settlement(applied=Applied.YES if value else Applied.NO, value="O1")


class Tenacity:
    """`tenacity.retry`."""

    package = "tenacity"

    def sync(self, service: Service) -> Any:
        """Make the write."""
        return self._retry()(service.once)()

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        return await self._retry()(service.aonce)()

    def _retry(self) -> Any:
        import tenacity

        return tenacity.retry(stop=tenacity.stop_after_attempt(ATTEMPTS), wait=tenacity.wait_fixed(WAIT_S))


class Stamina:
    """`stamina.retry`."""

    package = "stamina"

    def sync(self, service: Service) -> Any:
        """Make the write."""
        return self._retry()(service.once)()

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        return await self._retry()(service.aonce)()

    def _retry(self) -> Any:
        import stamina

        return stamina.retry(on=ConnectionError, attempts=ATTEMPTS, wait_initial=WAIT_S, wait_jitter=0)


class Redress:
    """`redress.RetryPolicy` and `AsyncRetryPolicy` with its default classifier."""

    package = "redress"

    def sync(self, service: Service) -> Any:
        """Make the write."""
        import redress

        return redress.RetryPolicy(**self._how()).call(service.once)

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        import redress

        return await redress.AsyncRetryPolicy(**self._how()).call(service.aonce)

    def _how(self) -> dict[str, Any]:
        import redress

        return {
            "classifier": redress.default_classifier,
            "strategy": lambda context: WAIT_S,
            "max_attempts": ATTEMPTS,
        }


class Hyx:
    """`hyx.retry.retry`; async only."""

    package = "hyx"
    sync = None

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        from hyx.retry import retry

        return await retry(on=ConnectionError, attempts=ATTEMPTS, backoff=WAIT_S)(service.aonce)()


class PyFailsafe:
    """`failsafe.Failsafe`; async only."""

    package = "pyfailsafe"
    sync = None

    async def async_(self, service: Service) -> Any:
        """Make the write, async."""
        from datetime import timedelta

        from failsafe import Delay, Failsafe, RetryPolicy

        policy = RetryPolicy(allowed_retries=ATTEMPTS - 1, backoff=Delay(timedelta(seconds=WAIT_S)))
        return await Failsafe(retry_policy=policy).run(service.aonce)


class Dbos:
    """A DBOS workflow of one step with `retries_allowed`, over SQLite."""

    package = "dbos"

    def sync(self, service: Service) -> Any:
        """Run the workflow."""
        from dbos import DBOS

        step = DBOS.step(name="order", **self._how())(lambda: service.once())

        @DBOS.workflow(name="buy")
        def buy() -> Any:
            return step()

        with _launched():
            return buy()

    async def async_(self, service: Service) -> Any:
        """Run the async workflow."""
        from dbos import DBOS

        @DBOS.step(name="aorder", **self._how())
        async def step() -> Any:
            return await service.aonce()

        @DBOS.workflow(name="abuy")
        async def buy() -> Any:
            return await step()

        with _launched():
            return await buy()

    def _how(self) -> dict[str, Any]:
        return {"retries_allowed": True, "max_attempts": ATTEMPTS, "interval_seconds": WAIT_S}


@contextmanager
def _launched() -> Iterator[None]:
    from dbos import DBOS

    with tempfile.TemporaryDirectory() as folder:
        config = {"name": "lost", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "ERROR"}
        DBOS(config={**config, "run_admin_server": False})
        DBOS.launch()
        try:
            yield
        finally:
            DBOS.destroy()


class LangChain:
    """An agent with `ToolRetryMiddleware`, and a scripted model that calls the tool once."""

    package = "langchain"

    def sync(self, service: Service) -> Any:
        """Run the agent."""
        from langchain_core.tools import StructuredTool

        tool = StructuredTool.from_function(lambda: service.once(), name="order", description="Order a hat.")
        return self._answer(self._agent(tool).invoke({"messages": ["order a hat"]}))

    async def async_(self, service: Service) -> Any:
        """Run the agent, async."""
        from langchain_core.tools import StructuredTool

        async def order() -> str:
            return await service.aonce()

        tool = StructuredTool.from_function(coroutine=order, name="order", description="Order a hat.")
        return self._answer(await self._agent(tool).ainvoke({"messages": ["order a hat"]}))

    def _agent(self, tool: Any) -> Any:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ToolRetryMiddleware
        from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
        from langchain_core.messages import AIMessage

        class Scripted(FakeMessagesListChatModel):
            def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
                return self

        call = AIMessage("", tool_calls=[{"name": "order", "args": {}, "id": "c1"}])
        model = Scripted(responses=[call, AIMessage("done")])
        retries = ToolRetryMiddleware(max_retries=ATTEMPTS - 1, initial_delay=WAIT_S, jitter=False)
        return create_agent(model, [tool], middleware=[retries])

    def _answer(self, state: dict[str, Any]) -> Any:
        answer = next(message for message in state["messages"] if message.type == "tool")
        if answer.status == "error":
            raise RuntimeError(answer.content)
        return answer.content


CONTESTANTS = {
    "breakfall": Breakfall,
    "tenacity": Tenacity,
    "stamina": Stamina,
    "redress": Redress,
    "hyx": Hyx,
    "pyfailsafe": PyFailsafe,
    "DBOS steps": Dbos,
    "LangChain": LangChain,
}


def cell(run: Callable[[Service], Any], *, keyed: bool) -> Cell:
    """Run one library once: the effects, and whether the task got its order number."""
    service = Service(keyed=keyed)
    try:
        value = run(service)
    except Exception as error:
        return {"effects": len(service.effects), "finished": False, "error": f"{type(error).__name__}: {error}"}
    return {"effects": len(service.effects), "finished": value in ("O1", "O2")}


def one(name: str) -> dict[str, Any]:
    """Measure one library, in a process of its own."""
    logging.disable(logging.CRITICAL)
    made = CONTESTANTS[name]()
    try:
        version = importlib.metadata.version(made.package)
    except importlib.metadata.PackageNotFoundError:
        return {"library": name, "why": "not installed"}
    cells: dict[str, Cell] = {}
    for keyed in (False, True):
        kind = "keyed" if keyed else "unkeyed"
        if made.sync is not None:
            cells[f"sync {kind}"] = cell(made.sync, keyed=keyed)
        cells[f"async {kind}"] = cell(lambda service: asyncio.run(made.async_(service)), keyed=keyed)
    return {"library": name, "version": version, "cells": cells}


def main() -> None:
    """Measure every library and print."""
    if "--one" in sys.argv:
        print(json.dumps(one(sys.argv[-1])))
        return
    told = []
    for name in CONTESTANTS:
        ran = subprocess.run([sys.executable, __file__, "--one", name], capture_output=True, text=True, timeout=120)
        lines = ran.stdout.splitlines()
        failed = {"library": name, "why": (ran.stderr.strip().splitlines() or ["it ended without a word"])[-1]}
        told.append(json.loads(lines[-1]) if ran.returncode == 0 and lines else failed)
    if "--json" in sys.argv:
        print(json.dumps(told))
        return
    kinds = ("sync unkeyed", "sync keyed", "async unkeyed", "async keyed")
    print(f"effects of one write whose answer was lost, and whether the task finished ({ATTEMPTS} attempts)\n")
    print(f"{'':<20}" + "".join(f"{kind:>18}" for kind in kinds))
    for library in told:
        title = f"{library['library']} {library.get('version', '')}"
        if "why" in library:
            print(f"{title:<20}{library['why']}")
        else:
            print(f"{title:<20}" + "".join(f"{_shown(library['cells'].get(kind)):>18}" for kind in kinds))


def _shown(cell: Cell | None) -> str:
    if cell is None:
        return "-"
    return f"{cell['effects']}, {'finished' if cell['finished'] else 'stopped'}"


if __name__ == "__main__":
    main()
