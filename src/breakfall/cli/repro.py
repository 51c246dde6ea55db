"""`breakfall repro`: run one stored episode again and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def repro(
    run: Annotated[Path, typer.Argument(help="Run folder.")],
    episode: Annotated[str, typer.Argument(help="Name of an episode, or a part that no other has.")],
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run one episode again and check that it is the same to the byte.

    Exit codes: 0 the same, 1 different, 2 usage, 3 the run folder is damaged.

    \b
    Example:
      breakfall repro runs/default store/alternatives/S2/held-out-0004-damaged_refund/0/retry
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.bench.repro import repro as again
    from breakfall.cli.aside import stdout_aside

    with stdout_aside():
        result = again(run, episode)
    noun = "step" if result.steps == 1 else "steps"
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
    elif result.same:
        print(f"{result.episode}: the same, {result.steps} {noun}, to the byte")
    else:
        print(f"{result.episode}: different. {result.difference}")
    for note in result.notes:
        print(f"changed since the run: {note}", file=sys.stderr)
    raise typer.Exit(0 if result.same else 1)
