"""`breakfall ledger verify` and `prune`: whether the log is as it was written, and letting old parts of it go."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from breakfall.cli.ledger_options import Json, Where


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
