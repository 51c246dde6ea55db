"""The parts of the BFCL world that need no data: parsing, values, effects, schemas."""

from __future__ import annotations

import decimal
import json
import random
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from breakfall.errors import UsageError
from breakfall.vocab import AppliedEffect
from breakfall.vocab.schema import ArgumentSchema
from breakfall.worlds.bfcl import facts, state
from breakfall.worlds.bfcl.effects import compare, effect_of
from breakfall.worlds.bfcl.gold import GoldCall, parse
from breakfall.worlds.bfcl.package import Package
from breakfall.worlds.bfcl.paths import NATIVE_PATHS
from breakfall.worlds.bfcl.readers import READERS
from breakfall.worlds.bfcl.tools import schema
from breakfall.worlds.bfcl.verdict import Executed, _translations, state_problem


class Clerk:
    """A class of the package's kind: a default list that calls share, a generator, answers of every form."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self._random = random.Random(1)

    def note(self, text: str, tags: list[str] = []) -> dict[str, Any]:  # noqa: B006
        entry = {"text": text, "tags": tags}
        self.notes.append(entry)
        return entry

    def tag(self, tag: str) -> list[dict[str, Any]]:
        self.notes[-1]["tags"].append(tag)
        return self.notes

    def draw(self) -> dict[str, int]:
        return {"number": self._random.randint(0, 10**9)}

    def fail(self) -> None:
        raise KeyError("created_by")


METHODS = {"note": Clerk.note, "draw": Clerk.draw}


class TestParse:
    def test_positional_and_named_arguments(self) -> None:
        """A gold call's literals get the names of the function's parameters."""
        call = parse("note('hello', tags=['#a', '#b'])", METHODS, 2, "t")
        assert (call.tool, call.arguments, call.turn) == ("note", {"text": "hello", "tags": ["#a", "#b"]}, 2)

    @pytest.mark.parametrize(
        "text", ["note(open('x'))", "note(text=draw())", "unknown()", "a.note('x')", "note('x'", "note"]
    )
    def test_refuses_what_is_not_a_literal_call(self, text: str) -> None:
        """Nothing is evaluated: any other expression is refused with the task and the call."""
        with pytest.raises(UsageError, match=r"task_7: gold call .* must be one call with literal arguments"):
            parse(text, METHODS, 0, "task_7")


class TestState:
    def test_default_lists_are_not_shared(self) -> None:
        """A list that the class gives as default and changes later stays in its own instance."""
        first, second = Clerk(), Clerk()
        for clerk in (first, second):
            state.run(clerk, "note", {"text": "x"})
        state.run(first, "tag", {"tag": "#mine"})
        assert first.notes[0]["tags"] == ["#mine"]
        assert second.notes[0]["tags"] == []

    def test_arguments_and_answers_are_copies(self) -> None:
        """What the caller sent and what it got back can be changed without touching the state."""
        clerk, sent = Clerk(), {"text": "x", "tags": ["#a"]}
        ran = state.run(clerk, "note", sent)
        sent["tags"].append("#sent")  # type: ignore[attr-defined]
        ran.value["tags"].append("#got")
        assert clerk.notes[0]["tags"] == ["#a"]

    def test_a_clone_draws_the_same_numbers_and_moves_nothing(self) -> None:
        """A clone has the generator's position of its own."""
        clerk = Clerk()
        clone = state.clone(clerk)
        ahead = state.run(clone, "draw", {}).value
        assert state.run(clerk, "draw", {}).value == ahead
        assert state.run(clerk, "draw", {}).value != ahead

    def test_frozen_tells_changes(self) -> None:
        """Two frozen states are equal exactly when nothing was written in between."""
        clerk = Clerk()
        before = state.frozen(clerk)
        state.run(clerk, "draw", {})
        assert state.frozen(clerk) == before
        state.run(clerk, "note", {"text": "x"})
        assert state.frozen(clerk) != before

    def test_raising_becomes_a_value(self) -> None:
        """What a method raises, also for arguments it does not have, is named, never raised."""
        assert state.run(Clerk(), "fail", {}).exception == "KeyError"
        assert state.run(Clerk(), "draw", {"speed": 1}).exception == "TypeError"

    @pytest.mark.parametrize(
        ("value", "error"),
        [
            ({"error": "no such user"}, "no such user"),
            ({"booking_status": False, "error": "Token expired"}, "Token expired"),
            ([{"error": "log in"}], "log in"),
            (["Error: log in first"], "log in first"),
            ({"error": 404}, "404"),
            ({"errors": []}, None),
            ([{"error": "a"}, {"id": 1}], None),
            ({"error": "must be one of {'first', 'economy'}"}, "must be one of {'economy', 'first'}"),
            ({"error": "Invalid fields for update: owner, due"}, "Invalid fields for update: due, owner"),
        ],
    )
    def test_errors_in_every_form(self, value: Any, error: str | None) -> None:
        """Each form in which the classes say "error" is told, with sets in one order on every machine."""
        assert state._refusal(state.jsonable(value)) == error

    def test_values_become_json(self) -> None:
        """Decimals, tuples, sets, integer keys and what is not finite come out as JSON that holds no NaN."""
        value = {1: decimal.Decimal("1.5"), "t": (1, 2), "s": {"b", "a"}, "nan": float("nan"), "none": None}
        assert state.jsonable(value) == {"1": 1.5, "t": [1, 2], "s": ["a", "b"], "nan": "nan", "none": None}
        json.dumps(state.jsonable(value), allow_nan=False)

    @pytest.mark.parametrize(
        ("result", "text"),
        [("x", "x"), ({"a": 1}, '{"a": 1}'), ({"a": {1}}, "{'a': {1}}"), ([1], "[1]"), (None, "None")],
    )
    def test_texts_as_bfcl_writes_them(self, result: Any, text: str) -> None:
        """Texts as they are, records as JSON where that works, else as Python writes them."""
        assert state.text_of(result) == text


class TestEffects:
    def test_equal_effects_of_equivalent_writes_have_one_name(self) -> None:
        """Pressing the pedal to 0 is releasing it; setting a ticket to Closed is closing it."""
        assert effect_of("V", "pressBrakePedal", {"pedalPosition": 0}, "") == effect_of(
            "V", "releaseBrakePedal", {}, ""
        )
        closing = {"ticket_id": 3, "updates": {"status": "Closed"}}
        assert effect_of("T", "edit_ticket", closing, "") == effect_of("T", "close_ticket", {"ticket_id": 3}, "")
        assert effect_of("V", "pressBrakePedal", {"pedalPosition": 1}, "")[0] == "V.pressBrakePedal"

    def test_targets(self) -> None:
        """1 and 1.0 are one target, another folder is another, and a token is none."""
        assert effect_of("T", "fund", {"amount": 1.0}, "") == effect_of("T", "fund", {"amount": 1}, "")
        assert effect_of("G", "touch", {"file_name": "a"}, "x") != effect_of("G", "touch", {"file_name": "a"}, "y")
        assert effect_of("T", "b", {"access_token": "1"}, "") == effect_of("T", "b", {"access_token": "2"}, "")

    def test_compare(self) -> None:
        """Too few is missing, too many is duplicate once per extra time, unknown is wrong; `cd` counts for nothing."""
        gold = Counter({("T.post", "a"): 1, ("T.like", "b"): 1, ("GorillaFileSystem.cd", "c"): 1})
        log = [
            AppliedEffect(name=n, target=t)
            for n, t in [("T.post", "a")] * 3 + [("T.post", "z"), ("GorillaFileSystem.cd", "d")]
        ]
        assert compare(log, gold) == (("T.like b",), ("T.post a", "T.post a"), ("T.post z",))


class TestSchema:
    def test_becomes_valid(self) -> None:
        """Python's type names become JSON Schema's at every depth, and ids are marked."""
        doc = {
            "type": "dict",
            "properties": {
                "id": {"type": "integer", "description": "d"},
                "prices": {"type": "array", "items": {"type": "float"}},
                "pair": {"type": "tuple", "items": {"type": "dict", "properties": {"id": {"type": "string"}}}},
            },
            "required": ["id"],
        }
        made = schema(doc, {"id": "id:ticket"})
        ArgumentSchema(made)
        assert made["type"] == "object"
        assert made["properties"]["id"]["x-kind"] == "id:ticket"
        assert made["properties"]["prices"]["items"]["type"] == "number"
        assert made["properties"]["pair"]["type"] == "array"
        assert made["properties"]["pair"]["items"]["properties"]["id"]["x-kind"] == "id:ticket"
        assert doc["type"] == "dict"

    def test_marks_the_items_of_a_list_of_ids(self) -> None:
        """A list of ids marks its items."""
        made = schema(
            {"type": "dict", "properties": {"history": {"type": "array", "items": {"type": "integer"}}}},
            {"history": "id:order"},
        )
        assert made["properties"]["history"]["items"]["x-kind"] == "id:order"


class TestPackage:
    def test_data_of_another_layout(self, tmp_path: Path) -> None:
        """A package whose data files are named in another way is refused with what was looked for and the version."""
        package = Package()
        package._root = tmp_path
        with pytest.raises(UsageError, match=r"data: found 0 files '\*_multi_turn_base.json', must be one; .*=="):
            package.rows("base")

    def test_missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without one of the two modules there is no world."""
        monkeypatch.setitem(sys.modules, "mpmath", None)
        with pytest.raises(UsageError, match="pip install --no-deps bfcl-eval mpmath"):
            Package()


class TestVerdict:
    def test_folders_without_end(self) -> None:
        """Two states that cannot be compared because a folder contains itself are a problem of the turn."""

        def checker(live: Any, gold: Any) -> dict[str, Any]:
            raise RecursionError

        replay = SimpleNamespace(texts=(("x",),), states=({},))
        case: Any = SimpleNamespace(replay=replay)
        package: Any = SimpleNamespace(state_checker=checker)
        assert state_problem(package, case, {}, 0) == "turn 0: a folder contains itself"

    def test_a_path_without_the_value_stands_in_for_nothing(self) -> None:
        """Where the other tool's answer lacks what was asked, no answer of the shut tool is made up."""
        gold = GoldCall(tool="get_ticket", arguments={"ticket_id": 4}, turn=0)
        case: Any = SimpleNamespace(calls=(gold,))
        tools: Any = {"get_ticket": SimpleNamespace(paths=NATIVE_PATHS["get_ticket"])}
        for tickets, texts in (([{"id": 3}], []), ([{"id": 4}], ['{"id": 4}'])):
            ran = state.Ran(tickets, "")
            call = Executed(tool="get_user_tickets", arguments={}, turn=0, ran=ran)
            assert list(_translations(call, case, frozenset({"get_ticket"}), tools)) == texts


class TestFacts:
    def test_tables_agree(self) -> None:
        """Every tool named in a table exists, readers are reads, and paths lead to another fault domain."""
        for name in (*facts.WRITES, *facts.IRREVERSIBLE, *facts.SHOWS_STATE, *READERS, *NATIVE_PATHS):
            assert name in facts.DOMAINS
        assert not facts.WRITES & facts.IRREVERSIBLE
        assert facts.NATURAL <= facts.WRITES | facts.IRREVERSIBLE
        for name, reader in READERS.items():
            assert name in facts.WRITES | facts.IRREVERSIBLE
            assert reader.tool not in facts.WRITES | facts.IRREVERSIBLE
        for name, paths in NATIVE_PATHS.items():
            assert all(facts.DOMAINS[path.tool] != facts.DOMAINS[name] for path in paths)
