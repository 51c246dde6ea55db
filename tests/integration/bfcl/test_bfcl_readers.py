"""Every reader of the BFCL world, and every write that may be repeated, proved on the package."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.integration.bfcl.player import Player, facts_of, run

from breakfall.vocab import NATIVE, Applied, Failed, IdempotencyKind, Ok, Settlement
from breakfall.worlds.bfcl import BfclWorld, facts
from breakfall.worlds.bfcl.readers import READERS

BY_HAND: dict[str, tuple[str, list[tuple[str, dict[str, Any]]], dict[str, Any]]] = {
    "follow_user": ("TwitterAPI", [], {"username_to_follow": "zoe"}),
    "unfollow_user": (
        "TwitterAPI",
        [("follow_user", {"username_to_follow": "zoe"})],
        {"username_to_unfollow": "zoe"},
    ),
    "logout": ("TicketAPI", [("ticket_login", {"username": "u", "password": "p"})], {}),
    "trading_login": ("TradingBot", [("trading_logout", {})], {"username": "u", "password": "p"}),
    "adjustClimateControl": ("VehicleControlAPI", [], {"temperature": 72, "unit": "fahrenheit", "mode": "cool"}),
    "releaseBrakePedal": ("VehicleControlAPI", [("pressBrakePedal", {"pedalPosition": 0.5})], {}),
}
"""Writes that no gold call makes: class, calls before it, arguments."""


def _ask(player: Player, write: str, arguments: dict[str, Any]) -> Settlement | None:
    reader = player.env.tools[write].reader
    assert reader is not None
    given = reader.arguments(arguments, {})
    assert given is not None, (write, arguments)
    outcome = run(player.env.call(reader.tool, given))
    return reader.judge(outcome.value, arguments, 0.0) if isinstance(outcome, Ok) else None


def _close(told: Any, answered: Any) -> bool:
    """Whether what a reader told of the answer is a part of it; ids that it cannot know are left out."""
    if isinstance(told, dict) and isinstance(answered, dict):
        return all(name in answered and (told[name] == answered[name] or told[name] == {}) for name in told)
    return bool(told == answered)


def test_readers_tell_before_from_after(world: BfclWorld) -> None:
    """For every gold write whose tool has a reader in its task: NO right before, YES right after, with the answer."""
    told: Counter[str] = Counter()
    for split in world.splits:
        for task in world.tasks(split, None):
            player = Player(world, task)
            for tool, arguments in player.calls():
                reads = player.env.tools[tool].reader is not None
                before = _ask(player, tool, arguments) if reads else None
                player.note(player.call(tool, arguments))
                if not reads:
                    continue
                after = _ask(player, tool, arguments)
                assert before is not None
                assert after is not None
                assert (before.applied, after.applied) == (Applied.NO, Applied.YES), (task.id, tool, arguments)
                assert _close(after.value, player.resolver.results[player.step].value), (task.id, tool, after)
                told[tool] += 1
    assert set(told) == set(READERS) - set(BY_HAND) - {"add_contact"}
    assert all(told[tool] >= 4 for tool in told)


def test_the_reader_that_no_task_can_use(world: BfclWorld) -> None:
    """A new contact's id cannot be looked up in one read, and each plan that adds one needs it: no reader there."""
    adding = [task for task in world.tasks("base", None) if any(step.tool == "add_contact" for step in task.plan)]
    assert adding
    for task in adding:
        player = Player(world, task)
        assert player.env.tools["add_contact"].reader is None
        reader = READERS["add_contact"]
        for name, applied in (("Nobody Yet", Applied.NO), ("Nobody Yet", Applied.YES)):
            listed = run(player.env.call(reader.tool, {})).value
            assert reader.judge(listed, {"user_name": name}, 0.0).applied is applied
            run(player.env.call("add_contact", {"user_name": name}))


@pytest.mark.parametrize("write", BY_HAND)
def test_readers_of_writes_outside_gold(world: BfclWorld, write: str) -> None:
    """The readers of the other writes tell before from after too."""
    owner, first, arguments = BY_HAND[write]
    shown = 0
    for task in world.tasks("base", None):
        if owner not in task.template:
            continue
        player = Player(world, task)
        if any(isinstance(run(player.env.call(tool, given)), Failed) for tool, given in first):
            continue
        before = _ask(player, write, arguments)
        outcome = run(player.env.call(write, arguments))
        if not isinstance(outcome, Ok):
            continue  # nobody is logged in
        after = _ask(player, write, arguments)
        assert before is not None
        assert after is not None
        assert (before.applied, after.applied) == (Applied.NO, Applied.YES)
        assert after.value == outcome.value
        shown += 1
    assert shown


def test_only_told_writes_keep_their_reader(world: BfclWorld) -> None:
    """A task in which an equal record stands already, or the read is refused, has no reader for that write."""
    dropped: Counter[str] = Counter()
    for task in world.tasks("base", None):
        env = Player(world, task).env
        dropped.update({s.tool for s in task.plan if s.tool in READERS and env.tools[s.tool].reader is None})
    assert set(dropped) == {
        "cd",  # up to the parent
        "authenticate_twitter",  # logged in already
        "message_login",
        "activateParkingBrake",  # engaged already
        "add_to_watchlist",  # listed already, or not logged in
        "create_ticket",  # the list of tickets breaks on records without an owner
        "add_contact",
    }


def test_natural_repeats_change_nothing(world: BfclWorld) -> None:
    """Every write marked as naturally idempotent may be repeated: the second changes nothing and is not refused."""
    assert {
        name for name, tool in world.tools(NATIVE).items() if tool.idempotency.kind is IdempotencyKind.NATURAL
    } == facts.NATURAL
    seen = set()
    for split in world.splits:
        for task in world.tasks(split, None):
            player = Player(world, task)
            for tool, arguments in player.calls():
                player.note(player.call(tool, arguments))
                if tool in facts.NATURAL:
                    _repeat(world, player, tool, arguments)
                    seen.add(tool)
    for write, (owner, first, arguments) in BY_HAND.items():
        task = next(
            task for task in world.tasks("base", None) if owner in task.template and _opens(world, task, first, write)
        )
        player = Player(world, task)
        for tool, given in [*first, (write, arguments)]:
            player.call(tool, given)
        _repeat(world, player, write, arguments)
        seen.add(write)
    assert seen == facts.NATURAL


def _opens(world: BfclWorld, task: Any, first: list[tuple[str, dict[str, Any]]], write: str) -> bool:
    player = Player(world, task)
    calls = [*first, (write, BY_HAND[write][2])]
    return all(isinstance(run(player.env.call(tool, given)), Ok) for tool, given in calls)


def _repeat(world: BfclWorld, player: Player, tool: str, arguments: dict[str, Any]) -> None:
    owner = world._case(player.task.id).owner[tool]
    before = facts_of(player.env, owner)
    logged = len(player.env.effects)
    assert isinstance(run(player.env.call(tool, arguments)), Ok), (player.task.id, tool)
    assert facts_of(player.env, owner) == before
    assert len(player.env.effects) == logged
