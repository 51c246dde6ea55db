"""Agents that do what no agent should, for the tests of running: each hurts nobody but itself."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
import threading
import time
from typing import Any

from toys import Honest

from breakfall.vocab import Answer, Task, Toolbox


class Rude(Honest):
    """Does its worst where the task is n1, and is honest elsewhere."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        if task.id == "n1":
            await self.worst(task, toolbox)
        return await super().run(task, toolbox)

    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        raise NotImplementedError


class Exits(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        sys.exit(0)


class OsExits(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        os._exit(0)


class Segfaults(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        ctypes.string_at(0)


class RaisesBase(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        raise BaseException("base")


class RaisesGeneratorExit(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        raise GeneratorExit


class RaisesCancelled(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        raise asyncio.CancelledError


class CancelsItself(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        await asyncio.sleep(0)


class CancelsAll(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        for one in asyncio.all_tasks():
            one.cancel()
        await asyncio.sleep(0)


class Interrupts(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        raise KeyboardInterrupt


class ExitsLater(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        asyncio.get_running_loop().call_soon(sys.exit, 0)
        await asyncio.sleep(0.1)


class StopsLoop(Rude):
    async def worst(self, task: Task, toolbox: Toolbox) -> None:
        asyncio.get_running_loop().stop()
        await asyncio.sleep(0.1)


class Talks(Honest):
    """Writes to standard output in every way there is."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        print("said by Python")
        os.write(1, b"said by the system\n")
        subprocess.run(["echo", "said by a process"], check=True)
        return await super().run(task, toolbox)


class Meddles(Honest):
    """Changes everything that it is handed."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        task.details["number"] = -1
        task.facts["seen"] = True
        for step in task.plan:
            step.arguments["extra"] = 1
        for tool in toolbox.tools.values():
            tool.parameters["required"] = ["nonsense"]
            tool.returns.clear()
        return await super().run(task, toolbox)


class Moves(Honest):
    """Changes the current directory."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        os.chdir("/")
        return await super().run(task, toolbox)


class LeavesThread(Honest):
    """Leaves a thread behind that never ends."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        threading.Thread(target=threading.Event().wait, daemon=False).start()
        return await super().run(task, toolbox)


class LeavesTask(Honest):
    """Leaves a task behind that fails."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        async def fail() -> None:
            raise ValueError("nobody waits for me")

        self.left: Any = asyncio.create_task(fail())
        await asyncio.sleep(0)
        del self.left
        return await super().run(task, toolbox)


class Sleeps:
    """Waits for ever, as it should."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        await asyncio.sleep(3600)
        return Answer()


class SleepsDeeply:
    """Waits for ever and cannot be woken."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                continue
