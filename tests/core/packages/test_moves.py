"""What moved between the extras of two locks."""

from dataclasses import replace

from rdlc.core.packages.moves import find_moves
from rdlc.core.packages.section import LockedPackage

PEFT = LockedPackage(
    name="peft", version="0.17.0", file="peft-0.17.0-py3-none-any.whl", size=1, sha256="sha256:" + "a" * 64
)
OTHER_FILE = replace(PEFT, file="peft-0.17.0-1-py3-none-any.whl")


def words(old: LockedPackage | None, new: LockedPackage | None) -> list[str]:
    return [move.words for move in find_moves([old] if old else [], [new] if new else [])]


def test_each_kind_of_move_has_its_words() -> None:
    newer = replace(PEFT, version="0.18.0", file="peft-0.18.0-py3-none-any.whl")

    assert words(PEFT, newer) == ["peft  0.17.0 -> 0.18.0"]
    assert words(None, PEFT) == ["peft  added 0.17.0"]
    assert words(PEFT, None) == ["peft  removed (was 0.17.0)"]
    assert words(PEFT, OTHER_FILE) == [f"peft  0.17.0: another file, {PEFT.file} -> {OTHER_FILE.file}"]
    assert words(PEFT, replace(PEFT, sha256="sha256:" + "b" * 64)) == [f"peft  0.17.0: other bytes in {PEFT.file}"]
    assert words(PEFT, PEFT) == []


def test_moves_come_by_name() -> None:
    trl = replace(PEFT, name="trl")

    assert [move.name for move in find_moves([trl, PEFT], [])] == ["peft", "trl"]
