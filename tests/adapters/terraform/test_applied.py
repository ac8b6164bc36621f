"""What was applied, kept beside the stack."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.terraform.applied import keep_order, read_order
from rdlc.errors import InputError
from tests.core.infra.stacks import ORDER, RECORD


def hexadecimal(digest: str) -> str:
    return digest.removeprefix("sha256:")


def test_an_order_reads_back_as_it_was_kept(tmp_path: Path) -> None:
    keep_order(tmp_path, ORDER)

    assert read_order(tmp_path, RECORD) == ORDER


def test_keeping_another_leaves_the_one_that_the_record_names(tmp_path: Path) -> None:
    other = replace(ORDER, variables={"name": "other"})
    keep_order(tmp_path, ORDER)
    keep_order(tmp_path, other)

    assert read_order(tmp_path, RECORD) == ORDER
    assert read_order(tmp_path, replace(RECORD, order_digest=other.digest)) == other


def test_old_orders_go(tmp_path: Path) -> None:
    for count in range(6):
        keep_order(tmp_path, replace(ORDER, variables={"count": count}))

    assert len(list(tmp_path.iterdir())) <= 3


@pytest.mark.parametrize("name", ["files/main.tf", "order.json"])
def test_a_changed_file_is_refused(tmp_path: Path, name: str) -> None:
    keep_order(tmp_path, ORDER)
    path = tmp_path / hexadecimal(ORDER.digest) / name
    path.write_bytes(path.read_bytes().replace(b"nothing", b"evil").replace(b"seed", b"evil"))

    with pytest.raises(InputError) as caught:
        read_order(tmp_path, RECORD)

    assert caught.value.message == "what was applied was changed since: it does not fit the stack's record"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "what was applied is not JSON"),
        ("[]", "is not what rdlc wrote when it applied"),
        ('{"files": ["../../x"], "variables": {}}', "`../../x` is no path below the folder"),
        ('{"files": ["absent"], "variables": {}}', "an applied file does not exist"),
    ],
)
def test_what_rdlc_did_not_write_is_refused(tmp_path: Path, text: str, message: str) -> None:
    keep_order(tmp_path, ORDER)
    (tmp_path / hexadecimal(ORDER.digest) / "order.json").write_text(text, encoding="ascii")

    with pytest.raises(InputError) as caught:
        read_order(tmp_path, RECORD)

    assert caught.value.message == message
