"""`breakfall bench`: run the matrix, report it, hold it against a gate."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from breakfall.bench.matrix import Spec
    from breakfall.bench.report import Outcome
    from breakfall.bench.run import RunResult
    from breakfall.vocab import Scenario

_INCONCLUSIVE = 3
_ERRORS_SHOWN = 3


def bench(
    world: Annotated[
        str,
        typer.Option(
            help="Worlds: store, bfcl, tau2-DOMAIN, tau-DOMAIN, retail-3i=FOLDER, airline-3i=FOLDER, mcp=FILE.toml, "
            "or package.module:object."
        ),
    ] = "store",
    tasks: Annotated[str, typer.Option(metavar="N|SPLIT|SPLIT:N", help="How many tasks, or of which split.")] = "100",
    scenarios: Annotated[str, typer.Option(help="Which scenarios.")] = "CLEAN,S1,S2,S3",
    agents: Annotated[str, typer.Option(help="Which agents.")] = "give-up,retry,rules,oracle",
    agent: Annotated[
        list[str] | None,
        typer.Option(metavar="PACKAGE.MODULE:OBJECT", help="An agent of your own, beside those; may be repeated."),
    ] = None,
    profile: Annotated[str, typer.Option(help="Noise: clean, light, paper, sticky, storm, or FILE.toml.")] = "paper",
    seeds: Annotated[int, typer.Option(help="Run every task with the seeds 0 to N - 1.")] = 5,
    jobs: Annotated[int | None, typer.Option(help="Worker processes; by default one per core.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder, by default runs/WORLD-DIGEST. A stopped run goes on in it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON, and nothing else.")] = False,
    gate: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Thresholds that the report must keep.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="condition=NAMES, memory=FILE (what agents named NAME+static, NAME+posterior or NAME+shuffled know), "
            "limits.calls=N, limits.seconds=S, or limits.wall_s=S; may be repeated.",
        ),
    ] = None,
) -> None:
    """Run agents while their tools fail, and report how they fell.

    Lists are separated by commas. Exit codes: 0 pass, 1 fail, 2 usage, 3 inconclusive.

    \b
    Examples:
      breakfall bench --tasks 20 --seeds 2
      breakfall bench --agent my_agent:Agent --scenarios S2,S3 --gate gate.toml
      breakfall bench --set condition=alternatives --set limits.wall_s=5
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.bench import setting
    from breakfall.bench.matrix import Spec

    spec = Spec(
        worlds=_listed(world),
        tasks=tasks,
        scenarios=_scenarios(scenarios),
        agents=(*_listed(agents), *(agent or ())),
        profile=profile,
        seeds=seeds,
        **setting.read(set_ or ()),
    )
    raise typer.Exit(_bench(spec, out=out, jobs=_cores() if jobs is None else jobs, json=json, gate=gate))


def _bench(spec: Spec, *, out: Path | None, jobs: int, json: bool, gate: Path | None) -> int:
    """Run, report and judge; return the exit code."""
    from breakfall.bench import gate as gates
    from breakfall.bench import preflight
    from breakfall.bench import report as reports
    from breakfall.bench.run import run
    from breakfall.cli.aside import stdout_aside
    from breakfall.cli.progress import bar

    home = Path.cwd()
    asked = None if gate is None else gates.read(gate)
    with stdout_aside():
        if asked is not None and gate is not None:
            preflight.check_gate(asked, spec, gate)
        try:
            with bar(quiet=json) as progress:
                result = run(spec, out, jobs=jobs, progress=progress)
        except KeyboardInterrupt:
            _say("stopped; every finished episode is kept, and the same command goes on from there")
            return 130
        outcome = reports.build(result.folder)
        reports.write(outcome, result.folder)
    if json:
        sys.stdout.buffer.write(reports.encode(outcome.report))
    else:
        _show(outcome, result, home)
    _warn(outcome, _from(home, result.folder))
    code = 0
    if asked is not None and gate is not None:
        held = gates.check(outcome.report, asked, home / gate.parent)
        code = held.exit_code
        for line in held.lines:
            _say(line)
    if outcome.report.fired == 0:
        return _nothing_fired(spec, code)
    return code


def _nothing_fired(spec: Spec, code: int) -> int:
    """Say what a run without a fault is worth; return the exit code."""
    if all(scenario == "CLEAN" for scenario in spec.scenarios):
        _say("no fault was asked for: CLEAN alone shows how the agents do while nothing breaks")
        return code
    _say("INCONCLUSIVE: no fault fired in the whole run, so it says nothing about falling")
    return _INCONCLUSIVE


def _show(outcome: Outcome, result: RunResult, home: Path) -> None:
    from rich.console import Console

    from breakfall.cli import table

    console = Console()
    table.render(outcome.report, console)
    ran, kept = result.ran - result.absent, result.episodes - result.ran
    line = f"Ran {_counted(ran, 'episode')}"
    if result.ran:
        line += f" in {result.wall_s:.1f} s, {result.ran / result.wall_s:,.0f} a second"
    line += f"; {result.absent:,} more are not applicable" if result.absent else ""
    line += f"; {kept:,} were settled already" if kept else ""
    console.print(f"{line}.", highlight=False)
    console.print(f"Report: {_from(home, result.folder) / 'report.html'}", highlight=False, soft_wrap=True)


def _warn(outcome: Outcome, folder: Path) -> None:
    """Name the errors that episodes ended with, the most frequent first."""
    from collections import Counter

    errors = Counter((score.key.agent, score.error) for score in outcome.scores if score.error)
    first = {(score.key.agent, score.error): score.key.id for score in reversed(outcome.scores) if score.error}
    for place, count in errors.most_common(_ERRORS_SHOWN):
        agent, error = place
        themselves = "itself" if count == 1 else "themselves"
        _say(
            f"{_counted(count, 'episode')} of {agent} did not end by {themselves}: {error} "
            f"(breakfall show {folder} {first[place]})"
        )
    more = len(errors) - _ERRORS_SHOWN
    if more > 0:
        _say(f"{_counted(more, 'more kind')} of errors: breakfall show {folder} --failed")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _from(home: Path, path: Path) -> Path:
    """Return a path as seen from where the command was given."""
    return path.relative_to(home) if path.is_relative_to(home) else path


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _scenarios(text: str) -> tuple[Scenario, ...]:
    from breakfall.errors import unknown_name
    from breakfall.vocab import Scenario

    found = []
    for name in _listed(text):
        if name.upper() not in Scenario.__members__:
            raise unknown_name("scenario", name, Scenario.__members__, "breakfall bench --help")
        found.append(Scenario[name.upper()])
    return tuple(found)


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
