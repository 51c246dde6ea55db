"""The progress bar: how far, how fast, how long still."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from breakfall.bench.run import Progress as Told
from breakfall.bench.run import no_progress


class _Rate(TextColumn):
    """Episodes a second, lately."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} episodes/s" if speed else "")


@contextmanager
def bar(*, quiet: bool) -> Iterator[Told]:
    """Show a bar on standard error while the block runs; nothing where it is no terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield no_progress
        return
    columns = (BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
