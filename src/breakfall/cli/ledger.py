"""`breakfall ledger`: what the log of an agent answers to an on-call engineer and to a cost owner."""

from __future__ import annotations

from typing import Annotated

import typer

from breakfall.cli.ledger_options import (
    Agent,
    Csv,
    Intent,
    Json,
    Limit,
    Run,
    Since,
    Tool,
    Until,
    Version,
    Where,
    chosen,
    give,
    opened,
)

ledger = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Ask the ledger: runs, errors, cost, unverified writes, retries, certainty; check it; let old segments go.",
    epilog="Example: breakfall ledger counts ledger --by tool --since 24h",
)


@ledger.command()
def runs(
    where: Where,
    agent: Agent = None,
    version: Version = None,
    since: Since = None,
    until: Until = None,
    grave: Annotated[bool, typer.Option("--grave", help="Only runs with errors, warnings or alarms.")] = False,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List runs, the latest first.

    \b
    Example:
      breakfall ledger runs ledger --agent shop --grave
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions

    with opened(where) as asked:
        which = chosen(agent=agent, version=version, since=since, until=until)
        rows = questions.runs(asked, which, grave=grave, limit=limit)
    give(rows, json=json, csv=csv, show=lambda: tables.runs(Console(), rows))


@ledger.command()
def timeline(
    where: Where,
    run: Annotated[str, typer.Argument(help="A run, or a part of its name that no other has.")],
    last: Annotated[int | None, typer.Option(min=1, help="Only the last so many steps.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Shorten nothing.")] = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show a run step by step: expected, observed, verification and uncertainty side by side.

    \b
    Example:
      breakfall ledger timeline ledger run-17
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_run, questions_trouble

    with opened(where) as asked:
        moments = questions_run.timeline(asked, run, limit=last)
        name = moments[-1].line.run if moments else run
        said = questions_trouble.verdicts(asked, chosen(run=name))

    def show() -> None:
        tables.timeline(Console(), name, moments, full=full)
        if said:
            tables.verdicts(Console(), said)

    give(moments, json=json, csv=csv, show=show)


@ledger.command()
def counts(
    where: Where,
    by: Annotated[str, typer.Option(help="tool, intent, agent, version or hour.")] = "tool",
    agent: Agent = None,
    version: Version = None,
    tool: Tool = None,
    intent: Intent = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Count errors and warnings by tool, intent, agent, agent version or hour.

    \b
    Example:
      breakfall ledger counts ledger --by version --since 7d
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.errors import unknown_name
    from breakfall.ledger import questions

    if by not in [one.value for one in questions.By]:
        raise unknown_name("--by", by, [one.value for one in questions.By], "breakfall ledger counts --help")
    with opened(where) as asked:
        which = chosen(agent=agent, version=version, tool=tool, intent=intent, since=since, until=until)
        rows = questions.counts(asked, questions.By(by), which, limit=limit)
    give(rows, json=json, csv=csv, show=lambda: tables.counts(Console(), questions.By(by), rows))


@ledger.command()
def cost(
    where: Where,
    outliers: Annotated[bool, typer.Option("--outliers", help="List the steps that cost far more than usual.")] = False,
    times: Annotated[float, typer.Option(min=1.0, help="How many times the median is far more.")] = 3.0,
    agent: Agent = None,
    version: Version = None,
    intent: Intent = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Sum tokens and dollars by intent, and find the steps that cost far more than others of their intent.

    \b
    Example:
      breakfall ledger cost ledger --outliers --since 7d
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_cost

    with opened(where) as asked:
        which = chosen(agent=agent, version=version, intent=intent, run=run, since=since, until=until)
        if outliers:
            far = questions_cost.outliers(asked, which, times=times, limit=limit)
            give(far, json=json, csv=csv, show=lambda: tables.outliers(Console(), far))
            return
        rows = questions_cost.spending(asked, which, times=times, limit=limit)
    give(rows, json=json, csv=csv, show=lambda: tables.spending(Console(), rows, times))


@ledger.command()
def unverified(
    where: Where,
    agent: Agent = None,
    version: Version = None,
    tool: Tool = None,
    intent: Intent = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List the writes that nobody verified, the latest first.

    \b
    Example:
      breakfall ledger unverified ledger --tool refund
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_trouble

    with opened(where) as asked:
        which = chosen(run=run, agent=agent, version=version, tool=tool, intent=intent, since=since, until=until)
        rows = questions_trouble.unverified(asked, which, limit=limit)
    title = f"{len(rows)} writes that nobody verified, the latest first"
    give(rows, json=json, csv=csv, show=lambda: tables.steps(Console(), title, rows))


@ledger.command()
def grave(
    where: Where,
    warnings: Annotated[bool, typer.Option("--warnings", help="Warnings instead of errors.")] = False,
    agent: Agent = None,
    version: Version = None,
    tool: Tool = None,
    intent: Intent = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List the steps that are errors, or warnings, the latest first.

    \b
    Example:
      breakfall ledger grave ledger --since 24h
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_trouble

    severity = "warning" if warnings else "error"
    with opened(where) as asked:
        which = chosen(run=run, agent=agent, version=version, tool=tool, intent=intent, since=since, until=until)
        rows = questions_trouble.grave(asked, which, severity, limit=limit)
    give(
        rows,
        json=json,
        csv=csv,
        show=lambda: tables.steps(Console(), f"{len(rows)} {severity}s, the latest first", rows),
    )


@ledger.command()
def verdicts(
    where: Where,
    every: Annotated[bool, typer.Option("--all", help="Confirmed claims, too.")] = False,
    agent: Agent = None,
    tool: Tool = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List what the watchdog contradicts or noticed otherwise, the latest first.

    \b
    Example:
      breakfall ledger verdicts ledger --since 24h
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_trouble

    with opened(where) as asked:
        which = chosen(run=run, agent=agent, tool=tool, since=since, until=until)
        rows = questions_trouble.verdicts(asked, which, every=every, limit=limit)
    give(rows, json=json, csv=csv, show=lambda: tables.verdicts(Console(), rows))


@ledger.command()
def retries(
    where: Where,
    agent: Agent = None,
    version: Version = None,
    tool: Tool = None,
    intent: Intent = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """List the calls that were tried most often, and how each try ended.

    \b
    Example:
      breakfall ledger retries ledger --tool charge_card
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_trouble

    with opened(where) as asked:
        which = chosen(agent=agent, version=version, tool=tool, intent=intent, since=since, until=until)
        rows = questions_trouble.retries(asked, which, limit=limit)
    give(rows, json=json, csv=csv, show=lambda: tables.retries(Console(), rows))


@ledger.command()
def uncertainty(
    where: Where,
    parts: Annotated[int, typer.Option(min=1, max=100, help="Into how many parts tasks are cut.")] = 10,
    agent: Agent = None,
    version: Version = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Show how certain the model said it was over the length of its tasks.

    \b
    Example:
      breakfall ledger uncertainty ledger --version 2.1
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_trouble

    with opened(where) as asked:
        which = chosen(run=run, agent=agent, version=version, since=since, until=until)
        rows = questions_trouble.drift(asked, which, parts=parts)
    give(rows, json=json, csv=csv, show=lambda: tables.drift(Console(), rows))


@ledger.command()
def diff(
    where: Where,
    a: Annotated[str, typer.Argument(help="A run.")],
    b: Annotated[str, typer.Argument(help="Another run.")],
    every: Annotated[bool, typer.Option("--all", help="Show the steps that are the same, too.")] = False,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Hold two runs against each other, step by step.

    \b
    Example:
      breakfall ledger diff ledger run-17 run-18
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import questions_run

    with opened(where) as asked:
        compared = questions_run.compare(asked, a, b)
    pairs = compared.pairs if every else compared.differences
    give(pairs, json=json, csv=csv, show=lambda: tables.comparison(Console(), compared, every=every))


@ledger.command()
def search(
    where: Where,
    text: Annotated[str, typer.Argument(help="Words, each of which must begin a word of the step.")],
    agent: Agent = None,
    version: Version = None,
    tool: Tool = None,
    intent: Intent = None,
    run: Run = None,
    since: Since = None,
    until: Until = None,
    limit: Limit = 20,
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Find steps by the words of what they were for, what they sent and what came back.

    \b
    Example:
      breakfall ledger search ledger "card declined" --since 24h
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.cli.ledger_options import counted
    from breakfall.ledger import questions_search

    with opened(where) as asked:
        which = chosen(run=run, agent=agent, version=version, tool=tool, intent=intent, since=since, until=until)
        progress = counted("read the words of {:,} steps")
        rows = questions_search.search(asked, text, which, limit=limit, progress=progress)
    give(rows, json=json, csv=csv, show=lambda: tables.hits(Console(), rows))


@ledger.command()
def query(
    where: Where,
    sql: Annotated[str, typer.Option("--sql", help="SQL over the views steps, runs, episodes and verdicts.")] = "",
    json: Json = False,
    csv: Csv = False,
) -> None:
    """Ask anything else in SQL; without --sql, show what the views hold. Nothing can be changed.

    \b
    Example:
      breakfall ledger query ledger --sql "SELECT tool, avg(took_s) FROM steps GROUP BY tool"
    """  # noqa: D301 - the terminal needs the escape itself
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables

    with opened(where) as asked:
        if sql:
            columns, rows = asked.db.read_only(sql)
        else:
            views = ((view, asked.db.read_only(f"SELECT * FROM {view} WHERE 1 = 0")[0]) for view in _VIEWS)  # noqa: S608
            columns, rows = ["view", "column"], [(view, column) for view, found in views for column in found]
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    give(named, json=json, csv=csv, show=lambda: tables.found(Console(), columns, rows))


_VIEWS = ("steps", "runs", "episodes", "verdicts")
