"""Korean particles: which form follows a word depends on whether its last sound is a consonant."""

from __future__ import annotations

_AFTER_CONSONANT = {"을": "를", "은": "는", "이": "가", "과": "와", "으로": "로"}
"""Form after a consonant -> form after a vowel."""

_DIGITS = {"0": "ng", "1": "l", "2": "", "3": "m", "4": "", "5": "", "6": "k", "7": "l", "8": "l", "9": ""}
_LETTERS = {"l": "l", "m": "m", "n": "n", "r": "l"}
"""How the names of letters and digits end when read aloud in Korean, where they end in a consonant."""

_HANGUL_FIRST, _HANGUL_LAST, _FINALS = 0xAC00, 0xD7A3, 28
_FINAL_L = 8


def final_sound(word: str) -> str:
    """Return the consonant that a word ends in when read aloud, "" for a vowel."""
    last = word[-1:].lower()
    if last and _HANGUL_FIRST <= ord(last) <= _HANGUL_LAST:
        final = (ord(last) - _HANGUL_FIRST) % _FINALS
        return "l" if final == _FINAL_L else "other" if final else ""
    return _DIGITS.get(last) or _LETTERS.get(last, "")


class Noun(str):
    """A word that takes its particle in a format string: ``f"{Noun('주문'):을}"`` is ``주문을``."""

    __slots__ = ()

    def __format__(self, particle: str) -> str:
        """Return the word with the right form of `particle`, given in its form after a consonant."""
        if not particle:
            return str(self)
        after_vowel = _AFTER_CONSONANT[particle]
        sound = final_sound(self)
        vowel = not sound or (particle == "으로" and sound == "l")
        return str(self) + (after_vowel if vowel else particle)
