"""Where a world of an MCP server comes from: its own list of tools, and the file's facts and tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from breakfall.errors import UsageError
from breakfall.vocab import Arguments, Settlement
from breakfall.vocab import pointer as pointers
from breakfall.worlds.gold.case import Case
from breakfall.worlds.gold.criteria import DatabaseCriteria
from breakfall.worlds.gold.domain import Domain, GoldCall
from breakfall.worlds.gold.mapping import renamed
from breakfall.worlds.gold.readers import Tell, reader, yes
from breakfall.worlds.gold.tools import Doc
from breakfall.worlds.mcp.file import Expect, Look, McpFile, ToolFacts, load
from breakfall.worlds.mcp.server import Server
from breakfall.worlds.mcp.session import McpSession, McpStates

_SPLIT = "tasks"


class McpSource:
    """A server and a file.

    Args:
        path: The TOML file.

    Raises:
        UsageError: The file is not of the form, names a tool that the server does not have, or the server cannot start.
    """

    splits = (_SPLIT,)

    def __init__(self, path: str) -> None:
        self._file, self._tasks, self._raw = load(path)
        self.name = self._file.name
        self._server = Server(self._file.command, self._file.environment)
        listed = {tool.name: tool for tool in self._server.tools()}
        used = {*self._file.tools, *self._file.hide, *(tool for task in self._tasks for tool, _ in task.calls)}
        used |= {tool for tool in (self._file.state.tool, self._file.state.probe) if tool}
        for name in sorted(used - listed.keys()):
            raise UsageError(f"{path}: tool {name!r} is not on the server, which has: {', '.join(sorted(listed))}")
        self._listed = {name: tool for name, tool in listed.items() if name not in self._file.hide}
        self.domain = _domain(self._file, self._listed)
        bare = [doc.name for doc in self.docs() if self._reads(doc.name) and not doc.parameters.get("required")]
        probe = self._file.state.probe or next(iter(bare), "")
        if self._file.state.file and not probe:
            raise UsageError(
                f"{path}: state.file needs state.probe, a read without arguments, so that the file is there"
            )
        self._states = McpStates(self._server, self._file, lambda tool: not self._reads(tool), probe)

    def docs(self) -> Sequence[Doc]:
        """Describe the tools as the server does, without the argument that names the state."""
        return [_doc(tool, self._file.state.argument) for tool in self._listed.values()]

    def cases(self, split: str) -> Sequence[Case]:
        """Make the cases."""
        return [
            Case(
                id=task.id,
                split=split,
                template=task.template,
                instruction=task.instruction,
                calls=[GoldCall(tool=tool, arguments=arguments) for tool, arguments in task.calls],
                said=task.said,
                initial=McpSession(self._states, task.id),
                criteria=DatabaseCriteria(task.said),
                domain=self.domain,
            )
            for task in self._tasks
        ]

    def tables(self) -> Mapping[str, Any]:
        """Nothing is known of the server's database."""
        return {}

    def data_hash(self) -> str:
        """Hash the file, its tasks, and what the server says of itself and of its tools."""
        digest = blake2b(self._raw, digest_size=16)
        digest.update(self._server.name().encode())
        for doc in self.docs():
            digest.update(msgspec.json.encode(doc))
        return digest.hexdigest()

    def _reads(self, tool: str) -> bool:
        return tool not in self.domain.writes and tool not in self.domain.irreversible


def _domain(file: McpFile, listed: dict[str, Any]) -> Domain:
    """Take effects from the annotations, and the file's word where it has one.

    A tool without either is irreversible, as the protocol says.
    """
    facts = {name: file.tools.get(name, ToolFacts()) for name in listed}
    effects = {name: facts[name].effect or _annotated(tool) for name, tool in listed.items()}
    services: dict[str, str] = {}
    for name in listed:
        service = facts[name].domain or f"{file.name}/{name}"
        services[service] = f"{services.get(service, '')} {name}"
    return Domain(
        services=services,
        writes=frozenset(name for name, effect in effects.items() if effect == "write"),
        irreversible=frozenset(name for name, effect in effects.items() if effect == "irreversible"),
        natural=frozenset(name for name, tool in listed.items() if _natural(facts[name], tool)),
        unseen=frozenset(name for name, fact in facts.items() if fact.unseen),
        readers={name: _reader(fact.reader) for name, fact in facts.items() if fact.reader is not None},
    )


def _annotated(tool: Any) -> str:
    told = tool.annotations
    if told is not None and told.read_only_hint:
        return "read"
    return "write" if told is not None and told.destructive_hint is False else "irreversible"


def _natural(fact: ToolFacts, tool: Any) -> bool:
    if fact.natural is not None:
        return fact.natural
    return bool(tool.annotations is not None and tool.annotations.idempotent_hint)


def _reader(look: Look) -> Any:
    return reader(look.tool, _tell(look.expect), renamed(**look.arguments))


def _tell(expected: Sequence[Expect]) -> Tell:
    def tell(value: Any, write: Arguments) -> Settlement | None:
        for each in expected:
            wanted = write[each.argument] if each.argument else each.value
            if pointers.get(value, pointers.parse(each.at)) != wanted:
                return None
        return yes(value, "the record shows it")

    return tell


def _doc(tool: Any, state: str) -> Doc:
    parameters = dict(tool.input_schema)
    fields = {name: part for name, part in parameters.get("properties", {}).items() if name != state}
    required = [name for name in parameters.get("required", ()) if name != state]
    return Doc(
        name=tool.name,
        description=tool.description or tool.name,
        parameters={**parameters, "properties": fields, "required": required},
        returns=dict(tool.output_schema or {}),
    )
