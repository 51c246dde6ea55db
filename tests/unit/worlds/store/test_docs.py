"""The page about the store says what is in it."""

from pathlib import Path

from breakfall.vocab import ALTERNATIVES
from breakfall.worlds.store.templates import TEMPLATES

PAGE = Path(__file__).parents[4] / "docs" / "store.md"


def test_every_tool_and_template_stands_in_the_page(world):
    """The page names every tool with its domain and every kind of task."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    for tool in world.tools(ALTERNATIVES).values():
        assert any(line.startswith(f"| `{tool.name}` |") and tool.fault_domain in line for line in lines), tool.name
    for template in TEMPLATES:
        assert any(line.startswith(f"| `{template.name}` |") for line in lines), template.name
