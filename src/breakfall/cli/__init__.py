"""The command line: parse, call one function, render what it returned."""

from __future__ import annotations

import sys

from breakfall.errors import BreakfallError


def main() -> None:
    """Run `breakfall`; errors of ours become one line and their exit code."""
    from breakfall.cli.app import app

    try:
        app()
    except BreakfallError as error:
        print(f"breakfall: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
