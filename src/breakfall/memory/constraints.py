"""The constraints: what holds whatever was learned."""

from __future__ import annotations

from msgspec import Struct

from breakfall.vocab import Text


class Constraint(Struct, frozen=True, kw_only=True):
    """One rule of conduct."""

    name: str
    text: Text


RETRY_FIRST = Constraint(
    name="retry_before_giving_up",
    text=Text(
        en="Repeat a failed call once before you give it up, unless it may have taken effect, or the tool asks for "
        "other credentials or arguments and nothing below says that a retry works.",
        ko="실패한 호출은 포기하기 전에 한 번 다시 시도한다. 단, 이미 반영되었을 수 있는 호출과, 도구가 다른 인증이나 "
        "인수를 요구하는데 아래에 재시도가 성공한다는 기록이 없는 호출은 제외한다.",
    ),
)
VERIFY_FIRST = Constraint(
    name="verify_before_the_irreversible",
    text=Text(
        en="Look up whether a write took effect before you repeat it or do anything that cannot be undone.",
        ko="쓰기를 반복하거나 되돌릴 수 없는 일을 하기 전에 그 쓰기가 반영되었는지 조회한다.",
    ),
)
EVERY_PATH = Constraint(
    name="every_path_before_handing_over",
    text=Text(
        en="Try every other path to the same result before you hand over to a person.",
        ko="사람에게 넘기기 전에 같은 결과를 얻는 다른 경로를 모두 시도한다.",
    ),
)
CONSTRAINTS = (RETRY_FIRST, VERIFY_FIRST, EVERY_PATH)
