"""What is to stand there, and what is set aside on purpose."""

from dataclasses import replace

import pytest

from rdlc.core.infra.order import Deviation, substitute
from rdlc.errors import InputError
from tests.core.infra.stacks import ORDER

KNOWN = "known: `infra.addons.dns`, `infra.ami`, `infra.name`, `infra.region`, `infra.release`"


def test_equal_orders_have_one_digest_and_each_file_and_value_moves_it() -> None:
    same = replace(ORDER, lock_id="another", variables=dict(sorted(ORDER.variables.items(), reverse=True)))

    others = {
        replace(ORDER, files={**ORDER.files, "main.tf": b"#"}).digest,
        replace(ORDER, variables={**ORDER.variables, "count": 3}).digest,
    }

    assert same.digest == ORDER.digest
    assert len({ORDER.digest, *others}) == 3


def test_one_of_several_versions_can_be_substituted() -> None:
    order = substitute(ORDER, {"infra.addons.dns": "v2"}, reason="withdrawn")

    assert order.variables["addons"] == {"dns": "v2"}
    assert order.deviations == (Deviation(path="infra.addons.dns", locked="v1", used="v2", reason="withdrawn"),)


def test_a_substitute_is_used_and_recorded_with_its_reason() -> None:
    order = substitute(ORDER, {"infra.release": "2", "infra.ami": "ami-1"}, reason="withdrawn")

    assert (order.variables["release"], order.variables["ami"]) == ("2", "ami-1")
    assert order.deviations == (
        Deviation(path="infra.release", locked="1", used="2", reason="withdrawn"),
        Deviation(path="infra.ami", locked="not set", used="ami-1", reason="withdrawn"),
    )


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        (
            "infra.relaese",
            "`--substitute infra.relaese` names no infra variable",
            KNOWN,
        ),
        (
            "code.release",
            "`--substitute code.release` names no infra variable",
            KNOWN,
        ),
        ("infra.addons", "`infra.addons` is no version, release or id, and cannot be substituted", None),
        ("infra.addons.web", "`--substitute infra.addons.web` names no infra variable", KNOWN),
        ("infra.release.x", "`--substitute infra.release.x` names no infra variable", KNOWN),
        ("infra.count", "`infra.count` is no version, release or id, and cannot be substituted", None),
    ],
)
def test_what_cannot_be_substituted_is_refused(path: str, message: str, hint: str | None) -> None:
    with pytest.raises(InputError) as caught:
        substitute(ORDER, {path: "2"}, reason="r")

    assert (caught.value.message, caught.value.hint) == (message, hint)
