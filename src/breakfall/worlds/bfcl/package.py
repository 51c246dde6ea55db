"""The installed package `bfcl-eval`: its data, API classes and checkers; nothing of it is copied."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from breakfall.errors import UsageError

SPLITS = ("base", "miss_func", "miss_param", "long_context")
"""BFCL's multi-turn categories, as the ends of its names: ``multi_turn_base`` and so on."""

MATH = "MathAPI"
"""The one class without a state of its own."""

CLASSES = (
    "GorillaFileSystem",
    MATH,
    "MessageAPI",
    "TwitterAPI",
    "TicketAPI",
    "TradingBot",
    "TravelAPI",
    "VehicleControlAPI",
)
"""The API classes that the multi-turn tasks use."""

Checker: TypeAlias = Callable[..., dict[str, Any]]

_NEEDED = ("bfcl_eval", "mpmath")


class Package:
    """Reads the package's files on first use and imports its modules on first use.

    Raises:
        UsageError: It is not installed; the message says what to install.
    """

    def __init__(self) -> None:
        for module in _NEEDED:
            if find_spec(module) is None:
                raise UsageError(
                    f"the world 'bfcl' needs the module {module!r}, which is not installed; "
                    "install it with: pip install --no-deps bfcl-eval mpmath"
                )
        spec = find_spec("bfcl_eval")
        assert spec is not None
        self._root = Path(next(iter(spec.submodule_search_locations or ())))

    def rows(self, split: str) -> list[dict[str, Any]]:
        """Read a category's tasks."""
        return _lines(self._data(split))

    def gold(self, split: str) -> list[dict[str, Any]]:
        """Read a category's gold calls, in the order of its tasks."""
        return _lines(self._answers(split))

    @cached_property
    def docs(self) -> dict[str, list[dict[str, Any]]]:
        """The function docs of each class, as the package writes them."""
        return {name: _lines(self._doc(name)) for name in CLASSES}

    @cached_property
    def apis(self) -> dict[str, type]:
        """The executable classes by name."""
        paths = importlib.import_module("bfcl_eval.constants.executable_backend_config").CLASS_FILE_PATH_MAPPING
        return {name: getattr(importlib.import_module(paths[name]), name) for name in CLASSES}

    @cached_property
    def state_checker(self) -> Checker:
        """BFCL's comparison of two sets of instances."""
        checker: Checker = self._checkers.state_checker
        return checker

    @cached_property
    def response_checker(self) -> Checker:
        """BFCL's comparison of what calls answered."""
        checker: Checker = self._checkers.response_checker
        return checker

    @cached_property
    def held_out_message(self) -> str:
        """What BFCL's user says when held-out functions become available."""
        prompts = importlib.import_module("bfcl_eval.constants.default_prompts")
        return str(prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC)

    def data_hash(self) -> str:
        """Hash the version, the data files and the sources of the classes that results depend on."""
        digest = blake2b(version("bfcl-eval").encode(), digest_size=16)
        files = [file for split in SPLITS for file in (self._data(split), self._answers(split))]
        files += [self._doc(name) for name in CLASSES]
        files += sorted((self._root / "eval_checker" / "multi_turn_eval").rglob("*.py"))
        for file in files:
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    @cached_property
    def _checkers(self) -> Any:
        return importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")

    def _data(self, split: str) -> Path:
        return self._only(self._root / "data", f"*_multi_turn_{split}.json")

    def _answers(self, split: str) -> Path:
        return self._only(self._root / "data" / "possible_answer", f"*_multi_turn_{split}.json")

    def _doc(self, name: str) -> Path:
        files = importlib.import_module("bfcl_eval.constants.executable_backend_config")
        return self._root / "data" / "multi_turn_func_doc" / str(files.MULTI_TURN_FUNC_DOC_FILE_MAPPING[name])

    def _only(self, folder: Path, pattern: str) -> Path:
        found = sorted(folder.glob(pattern))
        if len(found) != 1:
            raise UsageError(
                f"{folder}: found {len(found)} files {pattern!r}, must be one; "
                "breakfall knows bfcl-eval 2026.3.23: pip install --no-deps bfcl-eval==2026.3.23"
            )
        return found[0]


def _lines(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = msgspec.json.Decoder().decode_lines(file.read_bytes())
    return rows
