"""Bindings come from a file of their own, and profiles hold none."""

import pytest

from rdlc.core.infra.bindings import complete_bindings, read_bindings, read_profile
from rdlc.core.infra.root import read_root
from rdlc.errors import InputError
from tests.core.infra.roots import FILES

VARIABLES = read_root(FILES, name="terraform").variables


def refusal(text: str, *, is_profile: bool = False) -> tuple[str, str | None, str | None, str | None]:
    read = read_profile if is_profile else read_bindings
    with pytest.raises(InputError) as caught:
        read(text.encode(), name="bind.yaml", variables=VARIABLES)
    error = caught.value
    return error.message, error.file, error.field, error.hint


@pytest.mark.parametrize(
    "text",
    [
        'zones: [us-east-2a]\nname: mine\ntags: {b: "1", a: "2"}\n',
        '{"tags":{"a":"2","b":"1"},"zones":["us-east-2a"],"name":"mine"}',
    ],
)
def test_bindings_are_read_from_yaml_and_json(text: str) -> None:
    found = read_bindings(text.encode(), name="bind.yaml", variables=VARIABLES)

    assert list(found.items()) == [("name", "mine"), ("tags", {"a": "2", "b": "1"}), ("zones", ["us-east-2a"])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "name: mine\nzone: [a]\n",
            ("is no variable of this root", "bind.yaml:2", "zone", "did you mean `zones`?"),
        ),
        (
            "gpu_count: 3\n",
            (
                "identifies the run: it is locked, and cannot be bound",
                "bind.yaml:1",
                "gpu_count",
                "`rdlc lock` with `--set infra.variables.gpu_count=VALUE`",
            ),
        ),
        ("name: 3\n", ("must be a text, not the number 3", "bind.yaml:1", "name", None)),
        ("name:\n", ("must have a value", "bind.yaml:1", "name", None)),
        (
            "zones: [{a: b}]\n",
            ("must be a text, a number, `true` or `false`, not a mapping", "bind.yaml:1", "zones", None),
        ),
        ("- a\n", ("must be a mapping of `key: value` lines, not a list", "bind.yaml:1", None, None)),
    ],
)
def test_what_is_no_binding_is_refused_with_its_line(
    text: str, expected: tuple[str, str | None, str | None, str | None]
) -> None:
    assert refusal(text) == expected


def test_a_binding_in_a_profile_is_refused() -> None:
    assert refusal('{"zones": ["a"]}', is_profile=True) == (
        "places the run and does not identify it: it has no place in a profile or a spec",
        "bind.yaml:1",
        "zones",
        "write `zones` into a file and give it with `--bind FILE`",
    )


def test_a_profile_gives_canonical_identity() -> None:
    assert read_profile(b'{"gpu_count": 3, "gpu_ami_id": null}', name="p.json", variables=VARIABLES) == {
        "gpu_ami_id": None,
        "gpu_count": 3,
    }


def test_bindings_are_completed_with_defaults() -> None:
    given = {"name": "mine", "zones": ["a"]}

    assert complete_bindings(VARIABLES, given) == {"name": "mine", "tags": {}, "zones": ["a"]}


def test_a_binding_that_a_lock_holds_is_not_believed() -> None:
    with pytest.raises(InputError) as caught:
        complete_bindings(VARIABLES, {"name": "mine", "zones": "a", "unknown": 1})

    assert (caught.value.message, caught.value.field, caught.value.hint) == (
        'must be a `list(string)`, not the text "a"',
        "zones",
        "`--bind FILE` takes the place of bindings in a lock",
    )


def test_every_binding_without_a_value_is_named() -> None:
    with pytest.raises(InputError) as caught:
        complete_bindings(VARIABLES, {})

    assert (caught.value.message, caught.value.field, caught.value.hint) == (
        "`name`, `zones`: without a value; they place the run and are not in the lock",
        "name",
        "`--bind FILE`, with lines such as `name: VALUE`",
    )
