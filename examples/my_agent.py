"""An agent of your own: anything with ``async def run(task, toolbox) -> Answer``.

Run it with::

    breakfall bench --agent examples.my_agent:Stubborn --tasks 20 --seeds 2

Yours would ask a model what to do next. This one reads the task's plan instead, so that it needs no key, and recovers
in the way most agents do: it tries everything five times.
"""

from __future__ import annotations

from breakfall.vocab import Answer, Ok, Outcome, Task, Toolbox
from breakfall.vocab.binding import Resolver, Result, Unbound


class Stubborn:
    """Repeats whatever fails, whatever it was."""

    async def run(self, task: Task, toolbox: Toolbox) -> Answer:
        """Do the task and return the answer."""
        known = Resolver(task.facts)
        try:
            for step in task.plan:
                if all(known.holds(condition) for condition in step.when):
                    arguments, _ = known.arguments(step.arguments)
                    outcome = await self.insist(toolbox, step.tool, arguments)
                    if isinstance(outcome, Ok):
                        known.results[step.id] = Result(toolbox.last_call, outcome.value)
            facts, sources = known.arguments(task.answer)
        except Unbound as missing:
            return Answer(text=f"Sorry, I could not finish: {missing}")
        return Answer(text="Done.", facts=facts, sources=sources)

    async def insist(self, toolbox: Toolbox, tool: str, arguments: dict[str, object]) -> Outcome:
        """Call a tool up to five times."""
        for _ in range(5):
            outcome = await toolbox.call(tool, arguments)
            if isinstance(outcome, Ok):
                break
        return outcome
