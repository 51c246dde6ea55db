"""Standard output belongs to the command: what code of someone else's writes there goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stdout_aside() -> Iterator[None]:
    """Send what is written to standard output to standard error while the block runs, also by C code and processes."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()  # what was printed in the block and is still on its way
        os.dup2(kept, 1)
        os.close(kept)
