"""The commands of `breakfall`; each imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

from typing import Annotated

import typer

import breakfall
from breakfall.cli.bench import bench
from breakfall.cli.demo import demo
from breakfall.cli.journal import journal
from breakfall.cli.ledger import ledger
from breakfall.cli.ledger_keep import export, import_, prune, verify
from breakfall.cli.memory import memory
from breakfall.cli.repro import repro
from breakfall.cli.show import show
from breakfall.cli.study import study
from breakfall.cli.watch import watch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(bench)
app.command()(show)
app.command()(repro)
app.command()(watch)
app.add_typer(journal, name="journal")
ledger.command()(verify)
ledger.command()(prune)
ledger.command("import")(import_)
ledger.command()(export)
app.add_typer(ledger, name="ledger")
app.add_typer(memory, name="memory")
app.add_typer(study, name="study")
app.add_typer(demo, name="demo")


def _version(asked: bool) -> None:
    if asked:
        print(f"breakfall {breakfall.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Break an agent's tools on purpose and measure how the agent falls.

    \b
    Example:
      breakfall bench --tasks 20 --seeds 2
    """  # noqa: D301 - the terminal needs the escape itself
