"""Retail-3I and Airline-3I: τ² tasks in a folder, among them requests that are to be refused.

A folder holds a subfolder per split with `tasks.json`, or `tasks_<kind>.json`, or both; `db.json` beside them takes the
place of the package's database. An infeasible task names calls that must not be made and calls that must; what really
ran is judged, and what was asked for and never ran is reported apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.worlds.gold.case import Case, Ended, Finding
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.effects import target_of
from breakfall.worlds.gold.fork import tables_of
from breakfall.worlds.gold.tools import Doc
from breakfall.worlds.gold.world import GoldWorld
from breakfall.worlds.tau2.airline import AIRLINE
from breakfall.worlds.tau2.criteria import Tau2Criteria
from breakfall.worlds.tau2.package import Package
from breakfall.worlds.tau2.retail import RETAIL
from breakfall.worlds.tau2.session import Tau2Session
from breakfall.worlds.tau2.source import case_of, initial_state

_FORBIDDEN = ("actions_should_not_taken", "actions_should_not_be_taken")
_WANTED = ("actions_should_taken", "actions_should_be_taken")
_TRANSFER = "transfer_to_human_agents"


def retail(folder: str = "") -> GoldWorld:
    """Load a Retail-3I folder.

    Raises:
        UsageError: There is no such folder, or a file in it is not of that form.
    """
    return GoldWorld(ThreeISource(Package("retail"), RETAIL, folder))


def airline(folder: str = "") -> GoldWorld:
    """Load an Airline-3I folder; see `retail`."""
    return GoldWorld(ThreeISource(Package("airline"), AIRLINE, folder))


class Rule(Struct, frozen=True, kw_only=True):
    """A call that must or must not be made; empty arguments stand for any."""

    tool_name: str
    arguments: dict[str, Any] = {}

    def meets(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a call is of this kind."""
        same = all(name in arguments and arguments[name] == value for name, value in self.arguments.items())
        return tool == self.tool_name and same

    def __str__(self) -> str:
        """Read like ``cancel_pending_order {"order_id":"#W1"}``."""
        return f"{self.tool_name} {target_of(self.arguments)}" if self.arguments else self.tool_name


class InfeasibleCriteria:
    """The rule of an infeasible task, beside whatever τ² judges.

    Args:
        forbidden: Calls that must not be made.
        wanted: Calls that must be made.
        rest: The task's other criteria.
    """

    def __init__(self, forbidden: Sequence[Rule], wanted: Sequence[Rule], rest: Tau2Criteria) -> None:
        self._forbidden = tuple(forbidden)
        self._wanted = tuple(wanted)
        self._rest = rest

    def find(self, ended: Ended) -> Finding:
        """Judge a finished episode."""
        rest = self._rest.find(ended)
        return Finding(
            state=(*rest.state, *self._broken(ended)),
            answer=rest.answer,
            forbidden=tuple(
                f"{effect.name} {effect.target}"
                for effect in ended.effects
                if self._forbids(effect.name, effect.details)
            ),
            notes=(*rest.notes, *self._issued(ended)),
        )

    def _broken(self, ended: Ended) -> Iterator[str]:
        for call in ended.executed:
            if self._forbids(call.tool, call.arguments):
                refused = f", and was refused: {call.ran.error}" if call.ran.error is not None else ""
                yield f"{call.tool} {target_of(call.arguments)} ran, which must not be called{refused}"
        for rule in self._wanted:
            if not any(rule.meets(call.tool, call.arguments) for call in ended.executed):
                yield f"no call ran that matches {rule}"

    def _issued(self, ended: Ended) -> Iterator[str]:
        for call in ended.issued:
            if self._forbids(call.tool, call.arguments):
                yield f"issued, and never ran: {call.tool} {target_of(call.arguments)}, which must not be called"

    def _forbids(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        return any(rule.meets(tool, arguments) for rule in self._forbidden)


class ThreeISource:
    """A folder of tasks over a τ² domain.

    Args:
        package: The installed package.
        domain: What breakfall says of the domain's tools.
        folder: The folder.

    Raises:
        UsageError: There is no such folder, or it holds no tasks.
    """

    def __init__(self, package: Package, domain: Domain, folder: str) -> None:
        self.package = package
        self.domain = domain
        self.name = f"{package.domain}-3i"
        if not folder:
            raise UsageError(f"the world {self.name!r} needs its folder of tasks: --world {self.name}=FOLDER")
        self._folder = Path(folder)
        self._files = dict(sorted(_task_files(self._folder), key=lambda found: (found[0] != "test", found[0])))
        if not self._files:
            raise UsageError(f"{folder}: found no SPLIT/tasks.json and no SPLIT/tasks_KIND.json, must hold one of them")

    @property
    def splits(self) -> tuple[str, ...]:
        """One split per subfolder, and one per file of a kind: ``test``, ``test-infeasible``; `test` comes first."""
        return tuple(self._files)

    def docs(self) -> Sequence[Doc]:
        """Describe the domain's tools."""
        return self.package.docs(self._base.environment)

    def cases(self, split: str) -> Sequence[Case]:
        """Load a split.

        Raises:
            UsageError: A file is not of the published form; the message names the place.
        """
        return [self._case(raw, split, file) for file in self._files[split] for raw in _read(file)]

    def tables(self) -> Mapping[str, Any]:
        """Return the tables of the database as it was loaded."""
        return tables_of(self._base.environment.tools.db)

    def data_hash(self) -> str:
        """Hash the package's data and sources and the folder's files, wherever the folder stands."""
        digest = blake2b(self.package.data_hash().encode(), digest_size=16)
        for file in sorted(self._folder.rglob("*.json")):
            digest.update(file.relative_to(self._folder).as_posix().encode())
            digest.update(file.read_bytes())
        return digest.hexdigest()

    @cached_property
    def _base(self) -> Tau2Session:
        environment = self.package.environment()
        own = self._folder / "db.json"
        if own.exists():
            try:
                environment.tools.db = self.package.database(msgspec.json.decode(own.read_bytes()))
            except ValueError as error:
                raise UsageError(f"{own}: is no database of {self.package.domain!r}: {_brief(error)}") from None
        return Tau2Session(environment)

    @cached_property
    def _kinds(self) -> dict[str, str]:
        """The kind of each task that a file of its kind lists."""
        kinds: dict[str, str] = {}
        for files in self._files.values():
            for file in files:
                _, _, kind = file.stem.partition("_")
                kinds.update({str(raw.get("id")): kind for raw in _read(file) if kind})
        return kinds

    def _case(self, raw: dict[str, Any], split: str, file: Path) -> Case:
        where = f"{file}: task {raw.get('id')!r}"
        try:
            task = self.package.task(raw)
            scenario = raw["user_scenario"]["instructions"]
            forbidden, wanted = _rules(scenario, _FORBIDDEN), _rules(scenario, _WANTED)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise UsageError(f"{where} is not of τ²'s form: {_brief(error)}") from None
        template = self._kinds.get(task.id, "task")
        initial = initial_state(self._base, task)
        if not forbidden and not wanted:
            return case_of(task, split, self.domain, initial, template)
        reason = str(scenario.get("infeasible_reason") or "The request cannot be granted.")
        own = case_of(task, split, self.domain, initial, template)
        return Case(
            id=task.id,
            split=split,
            template=template,
            instruction=own.instruction,
            calls=[*own.calls, *(_call(rule, reason) for rule in wanted)],
            said=own.said,
            initial=initial,
            criteria=InfeasibleCriteria(forbidden, wanted, Tau2Criteria(task.evaluation_criteria)),
            domain=self.domain,
            feasible=False,
        )


def _call(rule: Rule, reason: str) -> GoldCall:
    """Make the call that a rule wants; whom a request is handed to is told why it cannot be granted."""
    summary = {"summary": reason} if rule.tool_name == _TRANSFER else {}
    return GoldCall(tool=rule.tool_name, arguments=summary | rule.arguments)


def _rules(scenario: Any, spellings: Sequence[str]) -> list[Rule]:
    if not isinstance(scenario, dict):
        return []
    return [rule for name in spellings for rule in msgspec.convert(scenario.get(name) or [], list[Rule])]


def _task_files(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield the splits of a folder with their files."""
    for part in sorted(folder.iterdir()) if folder.is_dir() else ():
        if part.is_dir():
            whole, kinds = part / "tasks.json", sorted(part.glob("tasks_*.json"))
            if whole.exists() or kinds:
                yield part.name, [whole] if whole.exists() else kinds
            for file in kinds:
                yield f"{part.name}-{file.stem.partition('_')[2]}", [file]


def _read(file: Path) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[dict[str, Any]])
    except (OSError, msgspec.DecodeError) as error:
        raise UsageError(f"{file}: is no list of tasks: {error}") from None


def _brief(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
