"""Every native path of the BFCL world, proved on the states of the package's own tasks, and what they allow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from tests.integration.bfcl.player import Clock, Player, run, tasks_with

from breakfall.bench.rehearse import rehearse
from breakfall.vocab import ALTERNATIVES, NATIVE, Answer, Granularity
from breakfall.worlds.bfcl import BfclWorld, facts, state
from breakfall.worlds.bfcl.gold import Case
from breakfall.worlds.bfcl.paths import NATIVE_PATHS

OWNERS = {tool: domain.split("/", 1)[0] for tool, domain in facts.DOMAINS.items()}


def _files(case: Case) -> Iterator[tuple[Any, str, str]]:
    """Each file of a task: a file system that stands in its folder, its name and its content."""
    system = state.clone(case.pristine["GorillaFileSystem"])
    folders = [system.root]
    while folders:
        folder = folders.pop()
        folders += [item for item in folder.contents.values() if hasattr(item, "contents")]
        system._current_dir = folder
        for name, item in folder.contents.items():
            if not hasattr(item, "contents"):
                yield state.clone(system), name, item.content


def _situations(case: Case, tool: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield instances and arguments for a tool: everything of its kind that the task's initial state holds."""
    live = {name: state.clone(instance) for name, instance in case.pristine.items()}
    api = live[OWNERS[tool]]
    if tool in ("cat", "tail", "grep", "sort", "wc"):
        for system, name, content in _files(case):
            word = content.split()[0] if content.split() else "x"
            extras: dict[str, list[dict[str, Any]]] = {
                "tail": [{}, {"lines": 1}, {"lines": 3}],
                "grep": [{"pattern": word}, {"pattern": "no such words"}],
                "wc": [{}, {"mode": "l"}, {"mode": "w"}, {"mode": "c"}],
            }
            for extra in extras.get(tool, [{}]):
                yield {**live, "GorillaFileSystem": system}, {"file_name": name, **extra}
        return
    if tool == "ls":
        for system, _, _ in _files(case):
            yield {**live, "GorillaFileSystem": system}, {}
            yield {**live, "GorillaFileSystem": system}, {"a": True}
        return
    arguments: list[dict[str, Any]] = [{}]
    if tool == "get_credit_card_balance":
        arguments = [{"access_token": api.access_token, "card_id": card} for card in api.credit_card_list]
    elif tool == "retrieve_invoice":
        arguments = [{"access_token": api.access_token, "booking_id": one} for one in api.booking_record]
    elif tool == "pressBrakePedal":
        arguments = [{"pedalPosition": 0}, {"pedalPosition": 0.0}]
    elif tool == "displayCarStatus":
        arguments = [{"option": "fuel"}]
    elif tool == "estimate_drive_feasibility_by_mileage":
        arguments = [{"distance": miles} for miles in (0, 10, 200.0, api.fuelLevel * 20, 1001)]
    elif tool == "liter_to_gallon":
        arguments = [{"liter": liter} for liter in (0, 1, 7.5, 1e6)]
    elif tool == "get_tweet":
        arguments = [{"tweet_id": tweet} for tweet in api.tweets]
    elif tool == "get_user_tweets":
        arguments = [{"username": name} for name in {tweet["username"] for tweet in api.tweets.values()} | {"nobody"}]
    elif tool == "search_messages":
        arguments = [{"keyword": word} for word in ("", "the", "USR", "no such words")]
    elif tool in ("get_ticket", "close_ticket", "edit_ticket"):
        extra = {"updates": {"status": "Closed"}} if tool == "edit_ticket" else {}
        arguments = [{"ticket_id": ticket["id"], **extra} for ticket in api.ticket_queue if "id" in ticket]
    elif tool == "add":
        arguments = [{"a": a, "b": b} for a in (0, -3, 0.1) for b in (2, 0.2, 1e9)]
    for given in arguments:
        yield {name: state.clone(instance) for name, instance in live.items()}, given


SOMETIMES = {
    ("view_messages_sent", "search_messages"): "some inboxes hold what the search cannot read",
    ("trading_get_login_status", "get_account_info"): "it refuses whoever is not logged in",
    ("posting_get_login_status", "list_all_following"): "it refuses whoever is not logged in",
    ("get_ticket", "get_user_tickets"): "only the current user's tickets are listed",
    ("get_watchlist", "add_to_watchlist"): "in the long context the first has more stocks",
    ("displayCarStatus", "fillFuelTank"): "in the long context the first has metadata",
    ("edit_ticket", "close_ticket"): "a closed ticket cannot be closed again",
}
"""Paths that suffice in some states and not in others, and why; all others suffice wherever the original answers."""


ENTRIES = [(tool, nth) for tool, paths in NATIVE_PATHS.items() for nth in range(len(paths))]


@pytest.mark.parametrize(("tool", "nth"), ENTRIES)
def test_native_paths_give_the_same(world: BfclWorld, tool: str, nth: int) -> None:
    """A path's value is the original's to the byte and its effect is the same; where it is not is known and why."""
    path = NATIVE_PATHS[tool][nth]
    assert path.granularity is Granularity.EXACT
    found: Counter[bool] = Counter()
    for split in ("base", "long_context"):  # the other two start in base's states
        for task in world.tasks(split, None):
            case = world._case(task.id)
            if tool not in case.owner or path.tool not in case.owner:
                continue
            for live, arguments in _situations(case, tool):
                other = {name: state.clone(instance) for name, instance in live.items()}
                original = state.run(live[OWNERS[tool]], tool, arguments)
                if original.error is not None:
                    continue
                given = path.arguments(arguments, {})
                assert given is not None
                ran = state.run(other[OWNERS[path.tool]], path.tool, given)
                found[ran.error is None and _same(path, ran.value, arguments, original.value, live, other)] += 1
    assert found[True] >= 2
    if (tool, path.tool) in SOMETIMES:
        assert found[False]
    else:
        assert not found[False]


def _same(path: Any, value: Any, arguments: Any, original: Any, live: Any, other: Any) -> bool:
    try:
        mapped = path.value(value, arguments, {})
    except LookupError:
        return False
    same_state = all(state.frozen(live[name]) == state.frozen(other[name]) for name in live)
    return same_state and json.dumps(mapped) == json.dumps(original)


@pytest.mark.parametrize(
    ("split", "native"), [("base", 115), ("miss_func", 115), ("miss_param", 115), ("long_context", 92)]
)
def test_tasks_with_a_switch(world: BfclWorld, split: str, native: int) -> None:
    """So many of the 200 tasks can be done with one of their tools shut, by native tools; all of them by mirrors."""

    async def count(condition: str) -> int:
        openings = [await rehearse(world, task, condition) for task in world.tasks(split, None)]
        return sum(bool(opening.sufficient) for opening in openings)

    assert anyio.run(count, NATIVE) == native
    assert anyio.run(count, ALTERNATIVES) == 200


def test_mirrors(world: BfclWorld) -> None:
    """Each tool of a plan has one mirror over the same state, first among its paths, which fails on its own."""
    native = world.tools(NATIVE)
    assert not any(tool.mirror for tool in native.values())
    for task in world.tasks("base", None):
        env = world.open(task, ALTERNATIVES, Clock())
        mirrors = {name: tool for name, tool in env.tools.items() if tool.mirror}
        assert {name.removesuffix("_via_gateway") for name in mirrors} == {step.tool for step in task.plan}
        for name, mirror in mirrors.items():
            original = env.tools[name.removesuffix("_via_gateway")]
            assert original.paths[0].tool == name
            assert mirror.paths[0].tool == original.name
            assert mirror.fault_domain != original.fault_domain
            assert (mirror.effect, mirror.parameters, mirror.reader) == (
                original.effect,
                original.parameters,
                original.reader,
            )


def test_a_write_through_its_mirror_is_the_same_effect(world: BfclWorld) -> None:
    """A task done through mirrors alone passes, and a write sent on both ways is a duplicate."""
    for task in world.tasks("base", 60):
        player = Player(world, task, ALTERNATIVES)
        for tool, arguments in player.calls():
            player.note(player.call(f"{tool}_via_gateway", arguments))
        assert player.env.check(Answer(), ()).passed
    player = Player(world, tasks_with(world, "post_tweet")[0], ALTERNATIVES)
    for tool, arguments in player.calls():
        player.note(player.call(tool, arguments))
        if tool == "post_tweet":
            run(player.env.call("post_tweet_via_gateway", arguments))
    assert player.env.check(Answer(), ()).duplicate_effects
