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
      breakfall show runs/default store/native/S2/refund-3/0/retry
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.ledger import index
    from breakfall.ledger.line import encode_episode

    with index.opened(run) as opened:
        if episode is None:
            upper = None if scenario is None else scenario.upper()
            entries = index.entries(opened, agent=agent, scenario=upper, failed=failed)
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

    replay(steps, end, Console(), task=task_of(run, end.key))


def _list(entries: list[Entry]) -> None:
    width = max((len(entry.name) for entry in entries), default=len("episode"))
    print(f"{'episode':<{width}}  passed  {'ending':<13}  steps  faults")
    for entry in entries:
        passed = "yes" if entry.passed else "no"
        print(f"{entry.name:<{width}}  {passed:<6}  {entry.ending:<13}  {entry.steps:>5}  {entry.faults:>6}")
    print(f"{len(entries)} episodes")
