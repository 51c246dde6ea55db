"""`breakfall watch`: follow ledgers, look again at what steps claim, and say what is not so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from breakfall.runtime.watch import Summary


def watch(
    ledgers: Annotated[list[str], typer.Argument(help="Ledgers: folders, or postgresql:// addresses.")],
    rules: Annotated[Path | None, typer.Option(help="Verifiers, limits and alerts: a TOML file.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Judge what is there, and end.")] = False,
    state: Annotated[
        Path | None, typer.Option(help="Folder of what is remembered; by default it is in each ledger's folder.")
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as JSON; alerts go to standard error.")
    ] = False,
) -> None:
    """Follow ledgers, look again at what steps claim with credentials of one's own, and append verdicts.

    Without a file of rules, steps are judged by their own records: ok over an error, an empty body or a part;
    verifications that name no call that looked; facts from calls that nobody made; loops. With one, what writes
    claim is looked up again, and alerts go to files and webhooks.

    Exit codes: 0 nothing is wrong, 1 something is (with --once: something new), 2 usage, 3 a ledger cannot be
    read or written.

    \b
    Examples:
      breakfall watch ledger/ --rules watch.toml
      breakfall watch ledger/ --rules watch.toml --once --json
    """  # noqa: D301 - the terminal needs the escape itself
    import msgspec

    summary = _run(ledgers, rules, state, once=once, json=json)
    if json:
        sys.stdout.buffer.write(msgspec.json.encode(summary) + b"\n")
    else:
        _show(summary)
    raise typer.Exit(0 if summary.clean else 1)


def _run(ledgers: list[str], rules: Path | None, state: Path | None, *, once: bool, json: bool) -> Summary:
    import signal
    import threading
    from contextlib import ExitStack

    from breakfall.runtime.clock import SystemClock
    from breakfall.runtime.watch import Settings, Watch, load, run, run_once
    from breakfall.runtime.watch.place import state_path, watched

    settings = Settings() if rules is None else load(rules)
    now, stop = SystemClock().now, threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())

    def tell(text: str) -> None:
        print(text, file=sys.stderr if json else sys.stdout, flush=True)

    with ExitStack() as stack:
        watches = []
        for where in ledgers:
            path = state_path(where, state)
            opened = watched(where)
            stack.callback(opened.close)
            watches.append(stack.enter_context(Watch(opened, path, settings, now=now, tell=tell)))
        return run_once(watches, now, stop.wait) if once else run(watches, settings.every_s, stop.wait)


def _show(summary: Summary) -> None:
    """Print what was found and the counts."""
    counts = ", ".join(f"{count} {name}" for name, count in summary.counts.items())
    print(f"{counts or 'nothing to judge'}; {summary.pending} still to be judged")
    if summary.damaged:
        print(f"{summary.damaged} lines could not be read; see `breakfall ledger verify`")
    for problem in summary.undelivered:
        print(f"an alert was not delivered: {problem}")
