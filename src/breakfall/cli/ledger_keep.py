"""`breakfall ledger verify`, `prune`, `import`, `export`: keeping the log, and carrying it in and out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from breakfall.cli.ledger_options import Json, Since, Until, Where, moment, say


def verify(
    where: Where,
    against: Annotated[
        Path | None, typer.Option(help="A file that --save wrote earlier: nothing before those ends may have changed.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the ends of the segments in this file, elsewhere.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Close the segments of killed processes first.")] = False,
    json: Json = False,
) -> None:
    """Find every changed, removed, reordered or torn step.

    Exit codes: 0 sound, 1 flaws were found, 2 usage, 3 the ledger cannot be read.

    \b
    Examples:
      breakfall ledger verify ledger --save /elsewhere/ends.json
      breakfall ledger verify ledger --against /elsewhere/ends.json
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.ledger import check

    checked = check.check(where, against=against, mend=repair)
    if save is not None:
        check.save(checked, save)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(checked) + b"\n")
    else:
        tables.checked(Console(), checked)
    raise typer.Exit(0 if checked.sound else 1)


def prune(
    where: Where,
    older_than: Annotated[
        str | None, typer.Option(metavar="SPAN", help="Drop segments all of whose steps are older, such as 90d.")
    ] = None,
    pack_older_than: Annotated[
        str | None, typer.Option(metavar="SPAN", help="Compress closed segments that are older, such as 7d.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Change nothing; say what would be done.")] = False,
    json: Json = False,
) -> None:
    """Let old segments go, and make closed ones small. Only whole closed segments go, and it is noted which.

    \b
    Example:
      breakfall ledger prune ledger --older-than 90d --pack-older-than 7d
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec
    from rich.console import Console

    from breakfall.cli import ledger_tables as tables
    from breakfall.cli.ledger_options import seconds
    from breakfall.errors import UsageError
    from breakfall.ledger import check

    if older_than is None and pack_older_than is None:
        raise UsageError("say what to do: --older-than SPAN drops, --pack-older-than SPAN compresses")
    done = check.prune(
        where,
        older_s=None if older_than is None else seconds(older_than, "--older-than"),
        pack_older_s=None if pack_older_than is None else seconds(pack_older_than, "--pack-older-than"),
        dry=dry_run,
    )
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
    else:
        tables.pruned(Console(), done, dry=dry_run)


def import_(
    where: Where,
    file: Annotated[Path, typer.Argument(help="What is imported.")],
    mapping: Annotated[
        str, typer.Option(metavar="NAME|FILE.toml", help="otlp, langsmith, langfuse, jsonl, or a mapping file.")
    ] = "jsonl",
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="Accept and count steps that lack one of the four fields.")
    ] = False,
    json: Json = False,
) -> None:
    """Import the steps of a file: OpenTelemetry spans, LangSmith or Langfuse exports, or JSON lines. All or none.

    \b
    Example:
      breakfall ledger import ledger traces.json --mapping otlp --incomplete
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.ledger.import_steps import import_file, mapping_of
    from breakfall.ledger.open import open_writer

    read = mapping_of(mapping)
    with open_writer(where) as writer:
        done = import_file(file, read, writer, accept_incomplete=incomplete)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
        return
    print(f"imported {done.steps:,} steps of {done.episodes:,} episodes; {done.passed_over:,} records are no steps")
    if done.incomplete:
        lacking = ", ".join(f"{name} {count:,} times" for name, count in done.lacking.items())
        print(f"{done.incomplete:,} steps are incomplete; missing: {lacking}")


def export(
    where: Where,
    to: Annotated[
        str, typer.Argument(metavar="TO", help="FILE.jsonl, FILE.parquet, - for JSON lines here, or an OTLP address.")
    ],
    run: Annotated[str | None, typer.Option(help="Only this run.")] = None,
    since: Since = None,
    until: Until = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="What the OTLP receiver asks for; may be given again."),
    ] = None,
) -> None:
    """Export steps, whole: as JSON lines, as Parquet, or as OpenTelemetry spans over OTLP/HTTP.

    \b
    Examples:
      breakfall ledger export ledger steps.parquet --since 7d
      breakfall ledger export ledger http://127.0.0.1:4318/v1/traces --header api_key=…
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.errors import UsageError
    from breakfall.ledger.export import Part, jsonl_file, to_jsonl
    from breakfall.ledger.store import open_source

    part = Part(run=run, since_s=moment(since, "--since"), until_s=moment(until, "--until"))
    wrong = [one for one in header or () if "=" not in one]
    if wrong or (header and not to.startswith(("http://", "https://"))):
        raise UsageError(f"--header is {(wrong or header)[0]!r}; write NAME=VALUE, and an http address to send it to")  # type: ignore[index]
    with open_source(where) as source:
        if to.startswith(("http://", "https://")):
            from breakfall.ledger.export_otlp import to_otlp

            count = to_otlp(source, to, part, headers=dict(one.split("=", 1) for one in header or ()))
        elif to == "-":
            count = to_jsonl(source, sys.stdout.buffer, part)
        elif to.endswith(".parquet"):
            from breakfall.ledger.export_parquet import to_parquet

            count = to_parquet(source, Path(to), part)
        elif to.endswith((".jsonl", ".ndjson")):
            count = jsonl_file(source, Path(to), part)
        else:
            raise UsageError(f"cannot tell what {to!r} shall be; write FILE.jsonl, FILE.parquet, -, or an http address")
    say(f"exported {count.steps:,} steps, {count.verdicts:,} verdicts and {count.others:,} other lines to {to}")
