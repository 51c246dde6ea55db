"""The tasks: task i of a split is a function of the split and i, on any machine."""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace

from breakfall.seeds import stream
from breakfall.vocab import Task
from breakfall.worlds.store.cast import cast
from breakfall.worlds.store.draft import Template, instruction
from breakfall.worlds.store.gold import expectations
from breakfall.worlds.store.templates import TEMPLATES

NAME = "store"
SEED = 20_260_303
SPLIT_SIZE = 500
"""How many tasks "all of a split" is; more can be asked for."""


def template_of(split: str, number: int) -> Template:
    """Return the template of a task; every run of len(TEMPLATES) tasks has each once, in its own order."""
    block, place = divmod(number, len(TEMPLATES))
    return stream(SEED, "templates", split, block).shuffled(TEMPLATES)[place]


@lru_cache(maxsize=8192)
def task(split: str, number: int) -> Task:
    """Return one task of a split."""
    template = template_of(split, number)
    draft = template.draft(cast(split), stream(SEED, "task", split, number))
    bare = Task(
        id=f"{split}-{number:04d}-{template.name}",
        world=NAME,
        template=template.name,
        split=split,
        instruction=instruction(template, draft.facts, stream(SEED, "words", split, number)),
        facts=draft.facts,
        plan=draft.plan,
        answer=draft.answer,
        feasible=template.feasible,
    )
    return replace(bare, details=expectations(bare, draft.owner, draft.forbidden))
