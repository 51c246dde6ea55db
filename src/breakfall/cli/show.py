"""`breakfall show`: list the episodes of a run, or replay one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from breakfall.ledger.index import Entry


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str | None, typer.Argument(help="Name of an episode, or a part that no other has.")] = None,
    agent: Annotated[str | None, typer.Option(help="Only episodes of this agent.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Only episodes of this scenario.")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only episodes that did not pass.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: a list, or the episode's lines.")] = False,
) -> None:
    """List the episodes of a run, or replay one step by step.

    A replay shows each call, the fault that struck it with its true kind, what the agent saw, and what it did to the
    world.

    \b
    Examples:
      breakfall show runs/default --agent retry --failed
      breakfall show runs/default store/alternatives/S2/held-out-0004-damaged_refund/0/retry
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.cli.aside import stdout_aside
    from breakfall.ledger import index
    from breakfall.ledger.line import encode_episode

    with index.opened(run) as opened:
        if episode is None:
            upper = None if scenario is None else scenario.upper()
            entries = index.entries(opened, agent=agent, scenario=upper, failed=failed)
            if not entries:
                _require_known(index.entries(opened), agent, upper)
            if json:
                sys.stdout.buffer.write(msgspec.json.encode(entries) + b"\n")
            else:
                _list(entries)
            return
        steps, end = index.load(run, index.find(opened, episode))
    if json:
        sys.stdout.buffer.write(encode_episode(steps, end))
        return
    from rich.console import Console

    from breakfall.bench.repro import task_of
    from breakfall.cli.replay import replay

    with stdout_aside():
        task = task_of(run, end.key)
    replay(steps, end, Console(), task=task)


def _require_known(entries: list[Entry], agent: str | None, scenario: str | None) -> None:
    """Refuse to list the episodes of an agent or a scenario that the run does not have."""
    from breakfall.errors import unknown_name
    from breakfall.vocab import Scenario

    agents = {entry.agent for entry in entries}
    if agent is not None and agent not in agents:
        raise unknown_name("agent", agent, agents, "agents of this run")
    if scenario is not None and scenario not in Scenario.__members__:
        raise unknown_name("scenario", scenario, Scenario.__members__, "breakfall show RUN lists all episodes")


def _list(entries: list[Entry]) -> None:
    width = max((len(entry.name) for entry in entries), default=len("episode"))
    print(f"{'episode':<{width}}  passed  {'ending':<13}  steps  faults")
    for entry in entries:
        passed = "yes" if entry.passed else "no"
        print(f"{entry.name:<{width}}  {passed:<6}  {entry.ending:<13}  {entry.steps:>5}  {entry.faults:>6}")
    print(f"{len(entries):,} episode{'' if len(entries) == 1 else 's'}")
