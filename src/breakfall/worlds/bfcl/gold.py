"""BFCL's gold calls: parsed without running anything, and replayed once per task for what they lead to."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from inspect import signature
from typing import Any

from msgspec import Struct

from breakfall.errors import UsageError
from breakfall.vocab import Applied, Settlement
from breakfall.worlds.bfcl import facts, state
from breakfall.worlds.bfcl.effects import effect_of
from breakfall.worlds.bfcl.package import Package
from breakfall.worlds.bfcl.readers import READERS
from breakfall.worlds.gold.effects import EffectKey


class GoldCall(Struct, frozen=True, kw_only=True):
    """One gold call, as data."""

    tool: str
    arguments: dict[str, Any]
    turn: int


class Replay(Struct, frozen=True, kw_only=True):
    """What the gold calls lead to."""

    values: tuple[Any, ...]
    """What each call answered."""
    texts: tuple[tuple[str, ...], ...]
    """The same as BFCL writes it, turn by turn."""
    states: tuple[dict[str, Any], ...]
    """The instances by class after each turn; unchanged ones are shared, so nobody may call them."""
    effects: Counter[EffectKey]
    """How often each effect is applied."""
    settlements: tuple[Settlement | None, ...]
    """What the reader of each write says after it."""
    untold: frozenset[str]
    """Writes whose reader is wrong for at least one of the calls, so that this task has none for them."""


class Case:
    """One row of BFCL's data with its gold calls: what a task and its episodes are made of.

    Args:
        package: The installed package.
        split: The row's category.
        row: The task as the package writes it.
        answer: Its gold calls, turn by turn.
    """

    def __init__(self, package: Package, split: str, row: dict[str, Any], answer: list[list[str]]) -> None:
        self.id: str = row["id"]
        self.split = split
        self.messages: list[str] = [
            turn[0]["content"] if turn else package.held_out_message for turn in row["question"]
        ]
        self.classes: tuple[str, ...] = tuple(row["involved_classes"])
        self.owner: dict[str, str] = {doc["name"]: name for name in self.classes for doc in package.docs[name]}
        self.excluded: frozenset[str] = frozenset(row.get("excluded_function", ()))
        methods = {tool: getattr(package.apis[name], tool) for tool, name in self.owner.items()}
        self.calls: tuple[GoldCall, ...] = tuple(
            parse(text, methods, turn, self.id) for turn, texts in enumerate(answer) for text in texts
        )
        first_use: dict[str, int] = {}
        for call in self.calls:
            first_use.setdefault(call.tool, call.turn)
        self.held_out: dict[str, int] = {  # one row's gold uses a function before the row hands it out
            tool: min(int(turn), first_use.get(tool, int(turn)))
            for turn, tools in row.get("missed_function", {}).items()
            for tool in tools
        }
        self.needed: frozenset[str] = frozenset(call.tool for call in self.calls)
        self._package = package
        self._config: dict[str, Any] = row["initial_config"]

    @cached_property
    def pristine(self) -> dict[str, Any]:
        """The instances in the initial state, by class; nobody may call them, only clones of them."""
        long_context = self.split == "long_context"
        return {
            name: state.load(self._package, name, self._config.get(name, {}), long_context) for name in self.classes
        }

    @cached_property
    def initial(self) -> dict[str, Any]:
        """The frozen initial state by class."""
        return {name: state.frozen(instance) for name, instance in self.pristine.items()}

    @cached_property
    def replay(self) -> Replay:
        """What the gold calls lead to, from one run of them."""
        return _replayed(self)


def parse(text: str, methods: Mapping[str, Any], turn: int, where: str) -> GoldCall:
    """Read a gold call such as ``cd(folder='temp')``; its arguments must be literals.

    Args:
        text: The call as the package writes it.
        methods: The functions by name, for the names of positional arguments.
        turn: The user's turn that it belongs to.
        where: Which task it stands in, for the message.

    Raises:
        UsageError: It is not one call of a known function with literal arguments.
    """
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in methods:
            raise ValueError("not a call of a function of the task's classes")
        names = list(signature(methods[call.func.id]).parameters)[1:]
        arguments = {name: ast.literal_eval(value) for name, value in zip(names, call.args, strict=False)}
        arguments |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"{where}: gold call {text!r} cannot be read ({error}), must be one call with literal arguments; "
            "install the version that breakfall knows: pip install --no-deps bfcl-eval==2026.3.23"
        ) from None
    return GoldCall(tool=call.func.id, arguments=arguments, turn=turn)


def _replayed(case: Case) -> Replay:
    live = {name: state.clone(instance) for name, instance in case.pristine.items()}
    held = dict(case.initial)
    shown = dict(case.pristine)
    values: list[Any] = []
    settlements: list[Settlement | None] = []
    untold: set[str] = set()
    effects: Counter[EffectKey] = Counter()
    texts: list[list[str]] = [[] for _ in case.messages]
    states: list[dict[str, Any]] = []
    for turn, said in enumerate(texts):
        for call in case.calls:
            if call.turn != turn:
                continue
            name = case.owner[call.tool]
            before = _ask(live[name], call)
            key = effect_of(name, call.tool, call.arguments, state.folder_of(live[name]))
            ran = state.run(live[name], call.tool, call.arguments)
            after = _ask(live[name], call)
            values.append(ran.value)
            said.append(ran.text)
            settlements.append(after)
            if not (before and after and before.applied is Applied.NO and after.applied is Applied.YES):
                untold.add(call.tool)
            if call.tool in facts.WRITES or call.tool in facts.IRREVERSIBLE:
                now = state.frozen(live[name])
                if now != held[name]:
                    effects[key] += 1
                    held[name] = now
                    shown[name] = None
        for name, instance in live.items():
            shown[name] = shown[name] or state.clone(instance)
        states.append(dict(shown))
    return Replay(
        values=tuple(values),
        texts=tuple(map(tuple, texts)),
        states=tuple(states),
        effects=effects,
        settlements=tuple(settlements),
        untold=frozenset(untold),
    )


def _ask(instance: Any, call: GoldCall) -> Settlement | None:
    """Ask the reader of a write, if it has one, on the instance itself: readers draw nothing and change nothing."""
    reader = READERS.get(call.tool)
    arguments = reader.arguments(call.arguments, {}) if reader else None
    if reader is None or arguments is None:
        return None
    ran = state.run(instance, reader.tool, arguments)
    return None if ran.error else reader.judge(ran.value, call.arguments, 0.0)
