"""The page about the ledger says what is there."""

import re
from pathlib import Path

from typer.main import get_command

from breakfall.cli.app import app
from breakfall.ledger.source import FolderSource, read_steps

PAGE = (Path(__file__).parents[3] / "docs" / "ledger.md").read_text(encoding="utf-8")


def test_every_command_stands_in_the_page():
    """No command is left out, and none is named that does not exist."""
    commands = get_command(app).commands["ledger"].commands
    assert set(re.findall(r"breakfall ledger (\w+)", PAGE)) == set(commands)


def test_every_option_in_the_page_exists():
    """An option that the page names is one of some command's."""
    commands = get_command(app).commands["ledger"].commands
    known = {name for command in commands.values() for option in command.params for name in option.opts}
    assert set(re.findall(r"--[a-z][a-z-]+", PAGE)) - {"--steps"} <= known


def test_the_example_runs(tmp_path, monkeypatch):
    """The Python in the page writes a ledger."""
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(code, "ledger.md", "exec"), {})
    (step,) = read_steps(FolderSource(tmp_path / "ledger"))
    assert step.intent == "refund order #"
