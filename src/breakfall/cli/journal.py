"""`breakfall journal`: what a write journal holds, and settling by hand what no look-up could tell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from breakfall.runtime.journal import Entry

journal = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="List, show and resolve the writes of a journal.",
    epilog="Example: breakfall journal list writes.db --state needs_person",
)

Where = Annotated[str, typer.Argument(help="The journal: a file, or a postgresql:// address.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@journal.command("list")
def list_(
    where: Where,
    state: Annotated[list[str] | None, typer.Option(help="Only entries in this state; may be given again.")] = None,
    run: Annotated[str | None, typer.Option(help="Only entries of this run.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only entries of this tool.")] = None,
    json: Json = False,
) -> None:
    """List the writes, the oldest change first.

    \b
    Examples:
      breakfall journal list writes.db
      breakfall journal list writes.db --state unknown --state needs_person --json
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.errors import unknown_name
    from breakfall.runtime.journal import State, open_journal

    known = {one.value: one for one in State}
    for name in state or ():
        if name not in known:
            raise unknown_name("state", name, known, "breakfall journal list --help")
    with open_journal(_existing(where)) as opened:
        entries = opened.entries([known[name] for name in state or ()], run=run, tool=tool)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(entries) + b"\n")
        return
    print(f"{'key':<12}  {'state':<12}  {'tool':<24}  {'sent':>4}  {'run':<20}  what is known")
    for entry in entries:
        told = entry.error or (f"settled by {entry.settled_by}" if entry.settled_by else "")
        operation = entry.operation
        print(
            f"{entry.key[:12]:<12}  {entry.state.value:<12}  {operation.tool[:24]:<24}  {entry.attempts:>4}  "
            f"{operation.run[:20]:<20}  {told}"
        )
    print(f"{len(entries)} entries")


@journal.command("show")
def show(where: Where, key: Annotated[str, typer.Argument(help="A key, or its start.")], json: Json = False) -> None:
    """Show one write: its operation, what was sent, what is known, and the notes.

    \b
    Example:
      breakfall journal show writes.db 9f2c41
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.runtime.journal import open_journal

    with open_journal(_existing(where)) as opened:
        entry = opened.find(key)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(entry) + b"\n")
    else:
        _show(entry)


@journal.command("resolve")
def resolve(
    where: Where,
    key: Annotated[str, typer.Argument(help="A key, or its start.")],
    state: Annotated[str, typer.Argument(help="What is so: succeeded or not_applied.")],
    by: Annotated[str, typer.Option(help="Who says so.")],
    note: Annotated[str, typer.Option(help="How that is known.")],
    value: Annotated[str, typer.Option(help="For succeeded: the write's answer as JSON, for replays.")] = "null",
) -> None:
    """Settle a write by a person's word; the note stays with it.

    \b
    Example:
      breakfall journal resolve writes.db 9f2c41 succeeded --by mina --note "seen in the bank's list" --value '"O17"'
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    from breakfall.errors import UsageError, unknown_name
    from breakfall.runtime.journal import State, open_journal

    known = {one.value: one for one in State}
    if state not in known:
        raise unknown_name("state", state, known, "succeeded or not_applied")
    try:
        answer = msgspec.json.decode(value)
    except msgspec.DecodeError as error:
        raise UsageError(f"--value is {value!r}, which is no JSON: {error}; a text needs quotes: '\"O17\"'") from None
    with open_journal(_existing(where)) as opened:
        entry = opened.resolve(opened.find(key).key, known[state], by=by, note=note, value=answer)
    print(entry)


def _existing(where: str) -> str:
    """Refuse a file that is not there, instead of making an empty journal."""
    from pathlib import Path

    from breakfall.errors import UsageError

    if "://" not in where and not Path(where).is_file():
        raise UsageError(f"no journal at {where!r}; give the file or address that the Toolbox was given as `journal=`")
    return where


def _show(entry: Entry) -> None:
    import msgspec

    operation = entry.operation
    print(f"{operation.tool} {msgspec.json.encode(operation.arguments).decode()}")
    print(f"key     {entry.key}")
    print(f"run     {operation.run}, epoch {operation.epoch}")
    print(f"state   {entry.state.value}" + (f", settled by {entry.settled_by}" if entry.settled_by else ""))
    if entry.owner is not None:
        print(f"held by {entry.owner}")
    if entry.error:
        print(f"error   {entry.error}")
    print(f"value   {msgspec.json.encode(entry.value).decode()}")
    print(f"sent    {entry.attempts} time(s); may have taken effect:" + ("" if entry.sends else " none"))
    for send in entry.sends:
        key = f", key {send.key}" if send.key else ""
        print(f"  {send.n}  {send.at_s:.3f}  {send.tool} {msgspec.json.encode(send.arguments).decode()}{key}")
    for note in entry.notes:
        print(f"note    {note.at_s:.3f}  {note.by}: {note.text}")
