"""Root variables: which identify a run, which types they have, and the one form of each value."""

import pytest

from rdlc.core.canonical import Json
from rdlc.core.infra.hcl import parse_hcl
from rdlc.core.infra.variables import Variable, VariableType, canonical_value, read_variables
from rdlc.errors import InputError
from tests.core.infra.roots import VARIABLES


def variable(type_: str, *, more: str = "") -> Variable:
    text = f'variable "a" {{\n  type = {type_}\n  description = "A. (identity)"\n  {more}\n}}\n'
    return read_variables(iter(parse_hcl(text.encode(), name="x.tf").blocks))["a"]


def refusal(text: str) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_variables(iter(parse_hcl(text.encode(), name="x.tf").blocks))
    return caught.value.message, caught.value.file, caught.value.field


def test_variables_are_read_with_role_type_and_default() -> None:
    found = read_variables(iter(parse_hcl(VARIABLES, name="variables.tf").blocks))

    assert {name: (held.role, str(held.type), held.has_default, held.default) for name, held in found.items()} == {
        "addon_versions": ("identity", "map(string)", False, None),
        "gpu_ami_id": ("identity", "string", True, None),
        "gpu_ami_type": ("identity", "string", True, "AL2023_x86_64_NVIDIA"),
        "gpu_count": ("identity", "number", True, 2),
        "gpu_release_version": ("identity", "string", False, None),
        "kubernetes_version": ("identity", "string", False, None),
        "name": ("binding", "string", False, None),
        "region": ("identity", "string", False, None),
        "tags": ("binding", "map(string)", True, {}),
        "zones": ("binding", "list(string)", False, None),
    }


def test_a_variable_knows_its_type_description_and_whether_it_may_be_nothing() -> None:
    assert variable("set(number)", more="nullable = false") == Variable(
        name="a",
        type=VariableType(element="number", collection="set"),
        is_binding=False,
        has_default=False,
        default=None,
        is_nullable=False,
        description="A.",
    )


@pytest.mark.parametrize(
    ("type_", "value", "canonical"),
    [
        ("string", "1.34", "1.34"),
        ("string", "", ""),
        ("string", None, None),
        ("number", 3, 3),
        ("number", "0.50", "0.50"),
        ("number", "-1e-3", "-1e-3"),
        ("bool", True, True),
        ("list(string)", ["b", "a", "b"], ["b", "a", "b"]),
        ("set(string)", ["b", "a", "b"], ["a", "b"]),
        ("set(number)", [10, 9, "1.5", 10], [9, 10, "1.5"]),
        ("map(number)", {"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ],
)
def test_a_value_has_one_form(type_: str, value: Json, canonical: Json) -> None:
    found = canonical_value(variable(type_), value)

    assert (found, list(found) if isinstance(found, dict) else None) == (
        canonical,
        sorted(found) if isinstance(found, dict) else None,
    )


@pytest.mark.parametrize(
    ("type_", "value", "message"),
    [
        ("string", 3, "must be a text, not the number 3"),
        ("string", True, "must be a text, not `true`"),
        ("string", "a\x07", "holds a control character"),
        ("number", "3", 'must be a number, not the text "3"'),
        ("number", True, "must be a number, not `true`"),
        ("number", "1." + "0" * 50, 'must be a number, not the text "1.' + "0" * 50 + '"'),
        ("bool", "true", 'must be `true` or `false`, not the text "true"'),
        ("list(string)", "a", 'must be a `list(string)`, not the text "a"'),
        ("list(string)", ["a", None], "must be a `list(string)`, not nothing"),
        ("set(string)", {"a": "b"}, "must be a `set(string)`, not a mapping"),
        ("map(string)", ["a"], "must be a `map(string)`, not a list"),
        ("map(string)", {"a": ["b"]}, "must be a `map(string)`, not a list"),
    ],
)
def test_a_value_of_another_type_is_refused(type_: str, value: Json, message: str) -> None:
    with pytest.raises(ValueError, match=r"^\S") as caught:
        canonical_value(variable(type_), value)

    assert str(caught.value) == message


def test_nothing_is_a_value_only_where_the_variable_allows_it() -> None:
    with pytest.raises(ValueError, match=r"^must have a value$"):
        canonical_value(variable("string", more="nullable = false"), None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'variable "a" {\n  type = string\n  description = "A."\n}',
            ("the description must end with `(identity)` or `(binding)`", "x.tf:1", "variable.a"),
        ),
        (
            'variable "a" {\n  type = string\n}',
            ("has no description: it must end with `(identity)` or `(binding)`", "x.tf:1", "variable.a"),
        ),
        (
            'variable "a" {\n  type = string\n  description = "${b} (identity)"\n}',
            (
                'must be a literal value, without functions or references, not `"${b} (identity)"`',
                "x.tf:3",
                "variable.a.description",
            ),
        ),
        (
            'variable "a" {\n  type = object({ b = string })\n  description = "A. (identity)"\n}',
            (
                (
                    "the type must be `string`, `number` or `bool`, or a `list`, `set` or `map` of one of them: "
                    "root variables are flat"
                ),
                "x.tf:2",
                "variable.a.type",
            ),
        ),
        (
            'variable "a" {\n  description = "A. (identity)"\n}',
            (
                (
                    "the type must be `string`, `number` or `bool`, or a `list`, `set` or `map` of one of them: "
                    "root variables are flat"
                ),
                "x.tf:1",
                "variable.a",
            ),
        ),
        (
            'variable "a" {\n  type = string\n  sensitive = true\n  description = "A. (identity)"\n}',
            (
                "a root variable cannot be secret: it stands in the lock and the state",
                "x.tf:3",
                "variable.a.sensitive",
            ),
        ),
        (
            'variable "a" {\n  type = number\n  default = "b"\n  description = "A. (identity)"\n}',
            ('must be a number, not the text "b"', "x.tf:3", "variable.a.default"),
        ),
        (
            'variable "a" {\n  type = string\n  default = null\n  nullable = false\n  description = "A. (identity)"\n}',
            ("must have a value", "x.tf:3", "variable.a.default"),
        ),
        (
            'variable "a" {\n  type = string\n  nullable = "no"\n  description = "A. (identity)"\n}',
            ("must be `true` or `false`", "x.tf:3", "variable.a.nullable"),
        ),
        (
            'variable "a" {\n  tipe = string\n}',
            ("`tipe` is not known in a variable", "x.tf:2", "variable.a.tipe"),
        ),
        ("variable {\n}", ("a variable has one name of letters, digits, `_` and `-`", "x.tf:1", "variable")),
        (
            'variable "a" {\n  type = string\n  description = "(identity)"\n}\n' * 2,
            ("the variable `a` is declared twice", "x.tf:5", "variable.a"),
        ),
    ],
)
def test_a_variable_that_no_lock_can_hold_is_named_with_its_line(
    text: str, expected: tuple[str, str | None, str | None]
) -> None:
    assert refusal(text) == expected
