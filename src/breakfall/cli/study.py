"""`breakfall study`: what a memory is worth, mode by mode, on tasks that it did not learn from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from breakfall.bench.ablation import Ablation, Row
    from breakfall.bench.study import Result

study = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Studies that need more than one run.",
    epilog="Example: breakfall study paper --world store",
)


@study.callback()
def studies() -> None:
    """Studies that need more than one run."""


@study.command("paper")
def paper(
    world: Annotated[str, typer.Option(help="store, bfcl, tau2-…, or package.module:object.")] = "store",
    agents: Annotated[str, typer.Option(help="Which agents.")] = "give-up,retry,rules,oracle",
    profile: Annotated[str, typer.Option(help="Noise: clean, light, paper, sticky, storm, or FILE.toml.")] = "paper",
    train: Annotated[int, typer.Option(help="Tasks to learn from.")] = 100,
    train_seeds: Annotated[int, typer.Option(help="Injection seeds of the episodes to learn from.")] = 2,
    tasks: Annotated[int, typer.Option(help="Held-out tasks.")] = 100,
    seeds: Annotated[int, typer.Option(help="Injection seeds of the held-out episodes.")] = 5,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; by default one per core.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder, by default runs/study-WORLD-DIGEST. A stopped study goes on in it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the study as JSON, and nothing else.")] = False,
) -> None:
    """Learn a memory, then run every agent with it off, static, posterior and shuffled, in every condition.

    The table's differences are paired: same task, scenario and seed. docs/paper.md explains what is the paper's and
    what is ours.

    \b
    Example:
      breakfall study paper --world bfcl --tasks 50
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.bench.study import Plan, encode
    from breakfall.bench.study import study as carry_out
    from breakfall.cli.progress import bar

    named = tuple(part.strip() for part in agents.split(",") if part.strip())
    plan = Plan(
        world=world, agents=named, profile=profile, train=train, train_seeds=train_seeds, tasks=tasks, seeds=seeds
    )
    try:
        with bar(quiet=json) as progress:
            result = carry_out(plan, out, jobs=_cores() if jobs is None else jobs, progress=progress)
    except KeyboardInterrupt:
        print("stopped; every finished episode is kept, and the same command goes on from there", file=sys.stderr)
        raise typer.Exit(130) from None
    if json:
        sys.stdout.buffer.write(encode(result.study))
    else:
        _show(result)


def _show(result: Result) -> None:
    from rich.console import Console

    found = result.study
    console = Console()
    for condition in found.conditions:
        rows = [row for row in found.ablation.rows if row.condition == condition]
        console.print(_table(f"{found.world}, {condition}: held-out tasks {found.held_out}", rows, found.ablation))
        console.print(_kinds(condition, found.ablation))
    for reading in found.readings:
        console.print(f"• {reading.en}", highlight=False, markup=False)
    learned = found.learned
    standings = ", ".join(f"{count} {standing}" for standing, count in learned.paths.items() if count)
    console.print(
        f"Memory: {learned.episodes:,.0f} episodes of {found.train} by {' and '.join(found.teachers)}; "
        f"{learned.beliefs} beliefs about failures; declared paths: {standings or 'none'}.",
        highlight=False,
    )
    console.print("The paper's own figures, of another agent (a language model) on another data set:", highlight=False)
    for one in found.published:
        figures = " / ".join(map(str, one.figures))
        console.print(f"  {one.what}: {figures} {one.unit}", highlight=False)
    console.print(f"  {found.published_note}", highlight=False)
    console.print(f"Reproduce: {found.command}", highlight=False, markup=False, soft_wrap=True)
    console.print(f"Ran {result.ran:,} of {result.episodes:,} episodes in {result.wall_s:.1f} s.", highlight=False)
    console.print(f"Study: {result.folder / 'study.json'}", highlight=False, soft_wrap=True)


def _table(title: str, rows: Iterable[Row], table: Ablation) -> Table:
    from rich.markup import escape
    from rich.table import Table as Made

    from breakfall.bench.html import mean, share, signed

    gains = {
        (one.condition, one.agent, one.a): one.paired
        for one in table.contrasts
        if one.b == "off" and one.metric == "pass_rate" and len(one.scenarios) == 2 and one.kind is None
    }
    made = Made(title=escape(title), title_justify="left", caption_justify="left")
    made.caption = "passed tasks in % [95 %]; gain in points over off, same task, scenario and seed"
    for name in ("agent", "memory", "S1 + S2", "gain", "S1", "S2", "S3 stop", "early stop", "calls", "context"):
        made.add_column(name, justify="left" if name in ("agent", "memory") else "right")
    for row in rows:
        gain = gains.get((row.condition, row.agent, row.mode))
        told = (
            ""
            if gain is None
            else f"{signed(gain.difference, True)} [{signed(gain.low, True)}, {signed(gain.high, True)}]"
        )
        shares = (share(value).partition(" ")[0] for value in (row.s1, row.s2, row.correct_stop, row.premature_stop))
        made.add_row(
            escape(row.agent),
            row.mode.value,
            escape(share(row.success)),
            escape(told),
            *shares,
            mean(row.tool_calls).partition(" ")[0],
            str(row.context_tokens),
        )
    return made


def _kinds(condition: str, table: Ablation) -> Table:
    """Each kind of fault: what memory gains in the episodes that met it."""
    from rich.markup import escape
    from rich.table import Table as Made

    from breakfall.bench.html import signed

    found = [
        one
        for one in table.contrasts
        if one.kind is not None and one.condition == condition and (one.a, one.b) == ("posterior", "off")
    ]
    agents = list(dict.fromkeys(one.agent for one in found))
    made = Made(title=f"{escape(condition)}: gain of posterior over off by fault kind", title_justify="left")
    made.add_column("kind")
    for agent in agents:
        made.add_column(escape(agent), justify="right")
    for kind in dict.fromkeys(one.kind for one in found):
        by_agent = {one.agent: one.paired for one in found if one.kind is kind}
        cells = (by_agent.get(agent) for agent in agents)
        made.add_row(
            str(kind),
            *(
                ""
                if cell is None
                else escape(f"{signed(cell.difference, True)} [{signed(cell.low, True)}, {signed(cell.high, True)}]")
                for cell in cells
            ),
        )
    return made


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
