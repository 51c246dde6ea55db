"""The uncertainty line is found wherever and however a model writes it."""

from hypothesis import given
from hypothesis import strategies as st

from breakfall.ledger.uncertainty import PROMPT, parse
from breakfall.vocab import Uncertainty

SAID = st.sampled_from([Uncertainty.NONE, Uncertainty.LOW, Uncertainty.HIGH])
SPACES = st.text(alphabet=" \t\u3000", max_size=3)
PROSE = st.text(max_size=60).filter(lambda text: "uncertainty" not in text.lower())


@st.composite
def written(draw, level):
    """A line that says `level`, as models write it."""
    word = draw(st.sampled_from(["UNCERTAINTY", "uncertainty", "Uncertainty", "UNCERTAINTY"]))
    value = draw(st.sampled_from([level.value, level.value.upper(), level.value.capitalize()]))
    before, after = draw(st.sampled_from([("", ""), ("**", "**"), ("`", "`"), ("> ", ""), ("- ", "."), ("# ", "")]))
    colon = draw(st.sampled_from([":", "\uff1a"]))  # the second is the full-width one
    why = draw(st.sampled_from(["", " ", " because the page was empty", ", as I saw it", " (checked)"]))
    return before + word + draw(SPACES) + colon + draw(SPACES) + value + after + why


@given(PROSE, SAID.flatmap(lambda level: st.tuples(st.just(level), written(level))), PROSE, st.booleans())
def test_the_line_is_found_anywhere(before, said, after, fenced):
    """Prose before and after, a code fence, case, spaces, decoration and colon make no difference."""
    level, line = said
    text = f"```\n{line}\n```" if fenced else line
    assert parse(f"{before}\n{text}\n{after}") is level


@given(st.lists(SAID.flatmap(lambda level: st.tuples(st.just(level), written(level))), min_size=1, max_size=5), PROSE)
def test_the_last_line_counts(lines, between):
    """Of several lines the last one is what the model says."""
    assert parse(f"\n{between}\n".join(line for _, line in lines)) is lines[-1][0]


@given(PROSE)
def test_without_a_line_the_signal_is_missing(text):
    """Nothing is read into a text that has no such line."""
    assert parse(text) is Uncertainty.MISSING


@given(st.text())
def test_no_text_breaks_the_reading(text):
    """Any text is read."""
    assert parse(text) in Uncertainty


def test_the_prompt_itself_says_nothing():
    """A model that repeats the prompt has not answered it, in either language."""
    assert parse(PROMPT.en) is Uncertainty.MISSING
    assert parse(PROMPT.ko) is Uncertainty.MISSING
    assert parse(f"UNCERTAINTY: low\n{PROMPT.ko}") is Uncertainty.LOW
