"""Korean particles follow the last sound of the word."""

import pytest

from breakfall.worlds.store.korean import Noun


@pytest.mark.parametrize(
    ("word", "particle", "text"),
    [
        ("주문", "을", "주문을"),
        ("카드", "을", "카드를"),
        ("상품", "은", "상품은"),
        ("카드", "은", "카드는"),
        ("O10013", "이", "O10013이"),
        ("O10014", "이", "O10014가"),
        ("O10018", "과", "O10018과"),
        ("O10019", "과", "O10019와"),
        ("서울", "으로", "서울로"),
        ("부산", "으로", "부산으로"),
        ("47031", "으로", "47031로"),
        ("47030", "으로", "47030으로"),
        ("47035", "으로", "47035로"),
        ("JAC-XL", "을", "JAC-XL을"),
        ("JAC-S", "을", "JAC-S를"),
        ("주문", "", "주문"),
    ],
)
def test_particles(word, particle, text):
    """Each word takes the form that is said aloud."""
    assert f"{Noun(word):{particle}}" == text
