"""`breakfall memory`: learn from runs which failures pass and which paths serve, and look at what was learned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from breakfall.memory.view import Estimate, View

memory = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Learn from runs which failures pass and which paths serve; show, compare, forget and export it.",
    epilog="Example: breakfall memory learn runs/train --out memory.json",
)

File = Annotated[Path, typer.Argument(help="The memory's file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@memory.command("learn")
def learn(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders, or ledgers of production.")],
    out: Annotated[Path, typer.Option(help="The memory's file; what it holds already is kept and added to.")],
    half_life: Annotated[
        float | None, typer.Option(metavar="EPISODES", help="After so many further episodes one counts half.")
    ] = None,
    world: Annotated[
        str | None, typer.Option(help="For ledgers: the world that declares their tools' fault domains and paths.")
    ] = None,
    json: Json = False,
) -> None:
    """Learn from runs and ledgers; what was learned from them before is passed over.

    \b
    Examples:
      breakfall bench --tasks train --agents retry,rules --out runs/train
      breakfall memory learn runs/train --out memory.json
      breakfall memory learn ledger --out memory.json --half-life 5000
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.bench.learn import learn_into
    from breakfall.memory.view import view

    lesson = learn_into(out, runs, half_life=half_life, world=world)
    shown = view(lesson.memory)
    if json:
        _print({"learned": lesson.learned, "known": lesson.known, "memory": shown})
        return
    print(f"{lesson.learned:,} episodes learned, {lesson.known:,} were known")
    print(f"{out}: {len(shown.failures)} beliefs about failures, {len(shown.paths)} about paths")


@memory.command("show")
def show(
    file: File,
    tool: Annotated[str | None, typer.Option(help="Only what concerns this tool.")] = None,
    json: Json = False,
) -> None:
    """Show every belief with its 95 % interval, the fallback map as the evidence leaves it, and the constraints.

    \b
    Example:
      breakfall memory show memory.json --tool get_order
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.memory import store
    from breakfall.memory.view import view

    shown = view(store.read(file), tool)
    if json:
        _print(shown)
    else:
        _show(shown)


@memory.command("diff")
def diff(
    before: Annotated[Path, typer.Argument(help="A memory's file.")],
    after: Annotated[Path, typer.Argument(help="Another one.")],
    json: Json = False,
) -> None:
    """Show the beliefs in which two memories differ, those first whose intervals are apart.

    \b
    Example:
      breakfall memory diff last-week.json memory.json
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.memory import store
    from breakfall.memory.view import changes

    found = changes(store.read(before), store.read(after))
    if json:
        _print(found)
        return
    width = max((len(change.what) for change in found), default=0)
    for change in found:
        mark = "  apart" if change.apart else ""
        print(f"{change.what:<{width}}  {_estimate(change.before)}  →  {_estimate(change.after)}{mark}")
    print(f"{len(found)} beliefs differ, {sum(change.apart for change in found)} of them beyond their intervals")


@memory.command("forget")
def forget(
    file: File,
    tool: Annotated[str | None, typer.Option(help="Forget this tool, such as one whose backend was mended.")] = None,
    kind: Annotated[str | None, typer.Option(help="Forget this fault kind only.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Forget all evidence.")] = False,
) -> None:
    """Forget what was learned of a tool, of a fault kind, or all; what was read is not learned again.

    \b
    Example:
      breakfall memory forget memory.json --tool get_order --kind auth_error
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.errors import UsageError, unknown_name
    from breakfall.memory import store
    from breakfall.memory.beliefs import forgotten, tools_of
    from breakfall.vocab import FaultKind

    if everything == (tool is not None or kind is not None):
        raise UsageError("say what to forget: --tool, --kind or both, or --all by itself")
    if kind is not None and kind not in set(FaultKind):
        raise unknown_name("fault kind", kind, [one.value for one in FaultKind], "breakfall memory show FILE")
    with store.held(file):
        before = store.read(file)
        if tool is not None and tool not in tools_of(before):
            raise unknown_name("tool", tool, tools_of(before), f"breakfall memory show {file}")
        store.write(file, forgotten(before, tool=tool, kind=FaultKind(kind) if kind else None))
    print(f"forgotten in {file}")


@memory.command("export")
def export(
    file: File,
    tokens: Annotated[int, typer.Option(help="The most tokens that the text may take, estimated.")] = 500,
    language: Annotated[str, typer.Option(help="en or ko.")] = "en",
    mode: Annotated[str, typer.Option(help="static, posterior or shuffled.")] = "posterior",
    json: Json = False,
) -> None:
    """Write the memory as context for a model's prompt, the most useful rows first.

    \b
    Example:
      breakfall memory export memory.json --tokens 400 --language ko
    """  # noqa: D301 - the terminal needs the escape itself
    from breakfall.errors import unknown_name
    from breakfall.memory import store
    from breakfall.memory.choose import Mode
    from breakfall.memory.render import LANGUAGES, render

    if language not in LANGUAGES:
        raise unknown_name("language", language, LANGUAGES, "breakfall memory export --help")
    if mode not in set(Mode):
        raise unknown_name("mode of memory", mode, [one.value for one in Mode], "breakfall memory export --help")
    found = render(store.read(file), budget=tokens, mode=Mode(mode), language=LANGUAGES[language])
    if json:
        _print(found)
        return
    print(found.text)
    left = f", {found.left_out} rows found no room" if found.left_out else ""
    print(f"about {found.tokens} tokens, {found.rows} rows{left}", file=sys.stderr)


def _show(shown: View) -> None:
    print(f"learned from {shown.episodes:,.6g} episodes")
    if shown.cold:
        print("cold start: nothing was learned yet, every belief is Beta(1, 1), mean 50 % [2.5, 97.5]")
    if shown.failures:
        print("\na repeat is answered within the episode")
        width = max(len(row.tool) for row in shown.failures)
        for row in shown.failures:
            told = f"answered {row.counts.recovered:g}, stayed {row.counts.stayed:g}"
            print(f"  {row.tool:<{width}}  {row.kind:<18}  {_estimate(row.recovers)}  {told}{_shared(row.recovers)}")
    if shown.paths:
        print("\nanother path answers")
        width = max(len(f"{row.source} → {row.target}") for row in shown.paths)
        for path in shown.paths:
            name, counts = f"{path.source} → {path.target}", path.counts
            told = f"answered {counts.answered:g}, failed {counts.failed:g}, refused or unfit {counts.unfit:g}"
            standing = path.standing.value if path.standing else "not declared"
            print(f"  {name:<{width}}  {standing:<12}  {_estimate(path.works)}  {told}{_shared(path.works)}")
    for pair in shown.proposals:
        print(
            f"\nproposed, not adopted: {pair.target} gave all that {pair.source} gave, "
            f"{pair.agreement.agreed:g} of {pair.agreement.agreed:g} times; declare it as a path if that is meant"
        )
    print("\nconstraints")
    for rule in shown.constraints:
        print(f"  {rule.text.en}")


def _estimate(estimate: Estimate | None) -> str:
    if estimate is None:
        return f"{'no evidence':<22}"
    interval = f"[{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"{100 * estimate.mean:5.1f} % {interval:<14}"


def _shared(estimate: Estimate) -> str:
    return f" (+ {estimate.shared:g} from its fault domain)" if estimate.shared else ""


def _print(value: Any) -> None:
    import msgspec

    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
