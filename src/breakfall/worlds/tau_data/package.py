"""The installed `tau-trait`: τ-bench's data, tools and tasks; nothing of it is copied."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from breakfall.errors import UsageError
from breakfall.worlds.gold.tools import Doc

INSTALL = "pip install --no-deps tau-trait && pip install pydantic"
_ROOT = "tau_trait"
_SPLITS = ("test", "train", "dev")
_TODAY = datetime(2025, 1, 15)


class Package:
    """One domain of the package; its modules are imported on first use, apart from any other import of it.

    Args:
        domain: ``retail``, ``airline`` or ``telehealth``.

    Raises:
        UsageError: It is not installed; the message says what to install.
    """

    def __init__(self, domain: str) -> None:
        for module in (_ROOT, "pydantic"):
            if find_spec(module) is None:
                raise UsageError(
                    f"the world 'tau-{domain}' needs the module {module!r}, which is not installed; "
                    f"install it with: {INSTALL}"
                )
        self.domain = domain
        spec = find_spec(_ROOT)
        assert spec is not None
        self._root = Path(next(iter(spec.submodule_search_locations or ())))
        self._folder = self._root / "envs" / domain

    @cached_property
    def tools(self) -> dict[str, Any]:
        """The tools by name: classes with `invoke(data=…, …)`."""
        module = self._module("tools")
        return {tool.get_info()["function"]["name"]: tool for tool in module.ALL_TOOLS}

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """The splits that the domain has, `test` first."""
        return tuple(name for name in _SPLITS if (self._folder / f"tasks_{name}.py").exists())

    def tasks(self, split: str) -> list[Any]:
        """Read a split's tasks."""
        module = self._module(f"tasks_{split}")
        (tasks,) = (value for name, value in vars(module).items() if name.startswith("TASKS"))
        return list(tasks)

    def load(self) -> dict[str, Any]:
        """Read the database anew."""
        data: dict[str, Any] = self._module("data").load_data()
        return data

    def docs(self) -> list[Doc]:
        """Describe the tools."""
        found = [tool.get_info()["function"] for tool in self.tools.values()]
        return [Doc(name=doc["name"], description=doc["description"], parameters=doc["parameters"]) for doc in found]

    def data_hash(self) -> str:
        """Hash the version and the domain's data and sources."""
        digest = blake2b(version("tau-trait").encode(), digest_size=16)
        files = [file for file in self._folder.rglob("*") if file.suffix in (".py", ".json")]
        for file in sorted(files):
            digest.update(file.relative_to(self._folder).as_posix().encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def _module(self, name: str) -> Any:
        """Import a module of the domain without its package, which would import a client for a model and build it."""
        with self._bare():
            module = importlib.import_module(f"{_ROOT}.envs.{self.domain}.{name}")
            today = sys.modules.get(f"{_ROOT}.envs.{self.domain}.tools.cancel_appointment")
            if today is not None:  # the one tool that writes today's date into the database
                vars(today)["datetime"] = _Fixed
            return module

    @contextmanager
    def _bare(self) -> Iterator[None]:
        """Let submodules be imported from packages that are empty, and take everything away again afterwards."""
        before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] == _ROOT}
        for name, folder in (
            (_ROOT, self._root),
            (f"{_ROOT}.envs", self._root / "envs"),
            (f"{_ROOT}.envs.{self.domain}", self._folder),
        ):
            package = ModuleType(name)
            package.__path__ = [str(folder)]
            sys.modules[name] = package
        try:
            yield
        finally:
            for name in [name for name in sys.modules if name.partition(".")[0] == _ROOT]:
                del sys.modules[name]
            sys.modules.update(before)


class _Fixed(datetime):
    """A date that is always the same."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> _Fixed:
        return cls(_TODAY.year, _TODAY.month, _TODAY.day, tzinfo=tz)
