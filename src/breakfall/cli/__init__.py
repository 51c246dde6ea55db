"""The command line: parse, call one function, render what it returned."""

from __future__ import annotations

import sys
from io import TextIOWrapper

from breakfall.errors import BreakfallError


def main() -> None:
    """Run `breakfall`; errors of ours become one line and their exit code."""
    from breakfall.cli.app import app

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows "?"
    try:
        app()
    except BreakfallError as error:
        print(f"breakfall: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
