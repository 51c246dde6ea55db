"""Tables and functions as a session, and small worlds made of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integration.bfcl.player import run

from breakfall.runtime.clock import VirtualClock
from breakfall.vocab import NATIVE, Failed, Ok
from breakfall.worlds.gold.domain import Domain, GoldCall, names
from breakfall.worlds.gold.session import Refused, asking, parsed
from breakfall.worlds.gold.tables import GoldTask, TableSession, TableSource
from breakfall.worlds.gold.tools import Doc
from breakfall.worlds.gold.world import GoldWorld


def put(tables: dict[str, Any], key: str, value: Any) -> Any:
    tables["things"][key] = value
    return value


def take(tables: dict[str, Any], key: str) -> Any:
    return tables["things"][key]


def fail(tables: dict[str, Any]) -> None:
    raise ValueError


def boom(tables: dict[str, Any], *, half: bool) -> None:
    tables["things"]["a"] = "half"
    raise RuntimeError("broke off")


FUNCTIONS = {"put": put, "take": take, "fail": fail, "boom": boom}


@pytest.fixture
def session() -> TableSession:
    return TableSession(FUNCTIONS, {"things": {"a": 1}}).fork()


class TestSession:
    def test_arguments_stay_the_caller_s(self, session: TableSession) -> None:
        """What a tool stores is a copy: the caller's list may change, the record does not."""
        given = [1]
        session.run("put", {"key": "b", "value": given})
        given.append(2)
        assert session.run("take", {"key": "b"}).value == [1]
        answered = session.run("take", {"key": "b"}).value
        answered.append(3)
        assert session.run("take", {"key": "b"}).value == [1]

    @pytest.mark.parametrize(
        ("tool", "arguments", "error", "exception"),
        [
            ("take", {"key": "z"}, "z", "KeyError"),
            ("fail", {}, "ValueError", "ValueError"),
            ("take", {}, "take() missing 1 required positional argument: 'key'", "TypeError"),
        ],
    )
    def test_what_is_raised_is_a_refusal(
        self, session: TableSession, tool: str, arguments: dict[str, Any], error: str, exception: str
    ) -> None:
        """Whatever a tool raises becomes its refusal, with the exception's name."""
        ran = session.run(tool, arguments)
        assert (ran.value, ran.error, ran.exception) == (None, error, exception)

    def test_forks_are_apart(self, session: TableSession) -> None:
        """A fork starts from the present state; changes are told against the loaded tables in both."""
        session.run("put", {"key": "b", "value": 2})
        fork = session.fork()
        fork.run("put", {"key": "a", "value": 9})
        assert session.changes() == {"things": b'{"a":1,"b":2}'}
        assert fork.changes() == {"things": b'{"a":9,"b":2}'}
        assert TableSession(FUNCTIONS, {"things": {"a": 1}}).fork().changes() == {}

    def test_asking_raises_what_is_refused(self, session: TableSession) -> None:
        """A mirror that asks a tool gets its value, or the refusal as an exception."""
        assert asking(session)("take", {"key": "a"}) == 1
        with pytest.raises(Refused, match="z"):
            asking(session)("take", {"key": "z"})

    @pytest.mark.parametrize(
        ("text", "value"), [('{"a": 1}', {"a": 1}), ("[1]", [1]), ("12.0", "12.0"), ("{broken", "{broken"), ("", "")]
    )
    def test_texts_of_records_are_read(self, text: str, value: Any) -> None:
        """A text that is a JSON record or list is one; every other text stays a text."""
        assert parsed(text) == value


def world(calls: tuple[tuple[str, dict[str, Any]], ...], **facts: Any) -> GoldWorld:
    domain = Domain(services={"one": "put take", "two": "fail boom"}, writes=names("put boom"), **facts)
    docs = tuple(Doc(name=name, description=name, parameters={"type": "object"}) for name in FUNCTIONS)
    return GoldWorld(
        TableSource(
            name="small",
            domain=domain,
            described=docs,
            functions=FUNCTIONS,
            loaded={"things": {"a": 1}},
            tasks={"base": (GoldTask(id="t", instruction="Do it.", calls=calls),)},
        )
    )


class TestWorld:
    def test_a_refusal_that_changed_something_says_so(self) -> None:
        """A write that breaks off half-way is refused, applied and in the effect log."""
        small = world(())
        env = small.open(small.tasks("base", None)[0], NATIVE, VirtualClock())
        outcome = run(env.call("boom", {"half": True}))
        assert isinstance(outcome, Failed)
        assert (outcome.applied, [effect.name for effect in env.effects]) == ("yes", ["boom"])

    def test_a_write_that_changes_nothing_is_no_effect(self) -> None:
        """Only a change is an effect: the same value written again is none."""
        small = world(())
        env = small.open(small.tasks("base", None)[0], NATIVE, VirtualClock())
        assert run(env.call("put", {"key": "a", "value": 1})) == Ok(value=1)
        assert not env.effects

    def test_look_ups_that_cannot_be_made_are_left_out(self) -> None:
        """Where gold names something that is not there, the plan is gold alone."""

        def opening(ask: Any, calls: Any, instruction: str) -> list[GoldCall]:
            ask("take", {"key": "not there"})
            return [GoldCall(tool="take", arguments={"key": "a"})]

        small = world((("take", {"key": "a"}),), opening=opening)
        assert [step.tool for step in small.tasks("base", None)[0].plan] == ["take"]

    def test_the_hash_follows_tables_and_tasks(self) -> None:
        """Another task is another hash, the same one the same."""
        assert world(()).data_hash() == world(()).data_hash()
        assert world(()).data_hash() != world((("take", {"key": "a"}),)).data_hash()
