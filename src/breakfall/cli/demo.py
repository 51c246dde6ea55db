"""`breakfall demo`: proofs on real services that anybody can run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from breakfall.demos.fabrication.play import Report as Fabricated
    from breakfall.demos.orders.play import Report

demo = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Run a proof on a real service.")


@demo.callback()
def options() -> None:
    """Run a proof on a real service, with processes and databases of its own on this machine alone.

    \b
    Example:
      breakfall demo orders
    """  # noqa: D301 - the terminal needs the escape itself


@demo.command()
def orders(
    count: Annotated[int, typer.Option("--orders", min=1, help="Orders that each client places.")] = 2_000,
    kills: Annotated[int, typer.Option(min=0, help="How often the last client is killed with SIGKILL.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of orders, faults and kill times.")] = 0,
    only: Annotated[list[str] | None, typer.Option("--client", help="Run this client only; may be repeated.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Place the same orders bare, with tenacity, with stamina and with breakfall, on a network that loses answers.

    The service is a process with a SQLite database; between it and the clients stands a proxy that loses answers,
    resets connections, delays, answers 500 after the order was taken, and 429. At the end the rows are counted. Then
    breakfall does it once more while its process is killed again and again.

    Exit codes: 0 breakfall placed nothing twice and said nothing false, 1 it did, 2 usage.

    \b
    Example:
      breakfall demo orders --orders 200 --kills 3
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.demos.orders.play import CLIENTS, play

    def tell(text: str) -> None:
        print(text, file=sys.stderr)

    report = play(count=count, kills=kills, seed=seed, clients=only or CLIENTS, tell=tell)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    else:
        _render(report)
    raise typer.Exit(0 if report.holds else 1)


@demo.command()
def fabrication(
    seed: Annotated[int, typer.Option(min=0, help="The task, and which of its steps are fabricated.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Let an agent leave out three steps of fourteen and one look-up, and say that all is done.

    It books payments, writes invoices, sends receipts and closes an issue: in a SQLite file, a folder, a mailbox and a
    small HTTP service. Its own status log says ok fourteen times. The ledger holds the calls that were really made, and
    the watchdog looks at everything again with a token of its own.

    Exit codes: 0 the watchdog named what was fabricated and nothing else, 1 it did not, 2 usage.

    \b
    Example:
      breakfall demo fabrication --seed 7
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.demos.fabrication.play import play

    report = play(seed)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(report) + b"\n")
    else:
        _render_fabrication(report)
    raise typer.Exit(0 if report.exact else 1)


def _render_fabrication(report: Fabricated) -> None:
    """Print the steps side by side, and what the watchdog says."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"The agent says: {report.said!r}", title_justify="left")
    for heading in ("step", "task", "status log", "ledger", "watchdog", "truth"):
        table.add_column(heading, justify="right" if heading == "step" else "left")
    for row in report.rows:
        truth = f"fabricated {row.fabricated}" if row.fabricated else ""
        style = "bold" if row.fabricated else None
        table.add_row(str(row.number), row.task, row.log, row.ledger, row.verdict, truth, style=style)
    console = Console(width=None if sys.stdout.isatty() else 130)
    console.print(table)
    for finding in report.findings:
        console.print(finding, soft_wrap=True, highlight=False, markup=False)
    console.print(
        "Exactly what was fabricated." if report.exact else "This is not what was fabricated.", highlight=False
    )
    console.print(f"Again: {report.command}", highlight=False)


def _render(report: Report) -> None:
    """Print the result as a table and what its columns mean."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{report.orders:,} orders, of which {report.can_be_placed:,} can be placed")
    for heading in ("client", "once", "more than once", "missing", "handed over", "said falsely", "seconds"):
        table.add_column(heading, justify="left" if heading == "client" else "right")
    for one in report.results:
        more = f"{one.more:,} (+{one.extra_rows:,} rows)" if one.more else "0"
        name = f"{one.client} ({one.kills}×)" if one.kills else one.client
        cells = (one.once, more, one.missing, one.handed_over, one.false, f"{one.seconds:.1f}")
        table.add_row(name, *(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells))
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(table)
    for line in _LEGEND:
        console.print(line, highlight=False, soft_wrap=True)
    for one in report.results:
        if one.looked_up:
            console.print(f"{one.client}: {one.looked_up:,} orders were finished by look-up.", highlight=False)
    for name in report.not_installed:
        console.print(f"{name} is not installed; `pip install {name}` adds its row.", highlight=False)
    console.print(f"Again: {report.command}", highlight=False)


_LEGEND = (
    "Once, more than once, missing: rows in the database, for the orders that can be placed.",
    "Handed over: the client says that the order failed, or that nobody knows. Said falsely: what it says is not so.",
    "All meet the same faults and may try five times, up to 0.5 s apart: small real waits, as this network recovers at",
    "once. breakfall also waits as long as a 429 asks, and a second until it believes that a lost order never arrived.",
)
