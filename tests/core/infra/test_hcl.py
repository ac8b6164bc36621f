"""Terraform files are read within bounds: blocks, attributes and literal values, and one kind of error."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.canonical import Json
from rdlc.core.infra.hcl import parse_hcl
from rdlc.core.infra.hcl_tokens import FILE_LIMIT_BYTES
from rdlc.errors import InputError

FRAGMENTS = st.sampled_from(
    ['"', "{", "}", "[", "]", "(", ")", "=", ",", "\n", "${", "%{", "$${", "\\", "<<EOT\n", "EOT", "a", "1", "#", "/*"]
)


def literal(text: str) -> Json:
    return parse_hcl(f"x = {text}\n".encode(), name="x.tf").attributes["x"].literal()


def read(data: bytes) -> list[Json]:
    return [expression.literal() for expression in parse_hcl(data, name="x.tf").attributes.values()]


def message(text: str | bytes) -> tuple[str, str | None, str | None]:
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InputError) as caught:
        read(data)
    return caught.value.message, caught.value.file, caught.value.field


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", True),
        ("null", None),
        ("-12", -12),
        ("0.50", "0.50"),
        ("1e3", "1e3"),
        ("99999999999999999999", "99999999999999999999"),
        (r'"a\n\t\"\\\u00e9\U0001F600"', 'a\n\t"\\\xe9\U0001f600'),
        ('"$${a} %%{b} $c"', "${a} %{b} $c"),
        ('["a", 1,\n  "b", # why\n]', ["a", 1, "b"]),
        ('{ a = 1, "b c" : [true]\n d = {} }', {"a": 1, "b c": [True], "d": {}}),
        ("[]", []),
    ],
)
def test_a_literal_gives_its_value(text: str, value: Json) -> None:
    assert literal(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '"${var.a}"',
        '"%{ if true }a%{ endif }"',
        "var.a",
        "max(1, 2)",
        "1 + 2",
        "[for a in b : a]",
        "-true",
        "<<E\na\nE",
    ],
)
def test_what_would_have_to_be_evaluated_is_no_literal(text: str) -> None:
    said, file, field = message(f"\nx = {text}\n")

    shown = text.replace(" ", "").replace("\n", "\\n") if not text.startswith('"') else text
    assert (said, file, field) == (
        f"must be a literal value, without functions or references, not `{shown}`",
        "x.tf:2",
        "x",
    )


def test_blocks_keep_labels_attributes_lines_and_what_lies_below() -> None:
    body = parse_hcl(
        b'a = 1\n/* b {\n} */\nouter "x" y { // why\n  t = map(string)\n  inner { c = "{${f("}")}" }\n}\n', name="x.tf"
    )

    outer = body.blocks[0]
    inner = outer.below("inner")[0]
    assert (body.attributes["a"].literal(), outer.type, outer.labels, outer.line) == (1, "outer", ("x", "y"), 4)
    assert outer.attributes["t"].text == "map(string)"
    assert (inner.address, inner.attributes["c"].line, inner.attributes["c"].text) == (
        "outer.x.y.inner",
        6,
        '"{${f("}")}"',
    )


def test_a_text_over_several_lines_is_passed_over_whole() -> None:
    body = parse_hcl(b"a = <<-EOT\n  } not EOT here\n  EOT\nb = f(<<X\n}\nX\n)\nc = 1\n", name="x.tf")

    assert {name: expression.line for name, expression in body.attributes.items()} == {"a": 1, "b": 4, "c": 8}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {\n  b = 1\n", ("a brace is never closed", "x.tf:1", None)),
        ("a = 1\n}\n", ("a brace closes nothing", "x.tf:2", None)),
        ("a = [1\n", ("the value of `a` does not end", "x.tf:1", None)),
        ("a =\nb = 1\n", ("the value of `a` does not end", "x.tf:1", None)),
        ("a = 1\na = 2\n", ("`a` stands here twice", "x.tf:2", None)),
        ("x = { a = 1, a = 2 }\n", ("`a` stands here twice", "x.tf:1", "x")),
        ("\n= 1\n", ("a name is due here, not `=`", "x.tf:2", None)),
        ("a b\n", ("a block is due behind `a`", "x.tf:1", None)),
        ('a = "b\nc"\n', ("a text in quotes does not end on its line", "x.tf:1", None)),
        ('a = "b', ("a text in quotes does not end", "x.tf:1", None)),
        ("a = 1\n/* b\n", ("a comment does not end", "x.tf:2", None)),
        ("a = <<EOT\nb\n", ("the text after `<<EOT` does not end", "x.tf:1", None)),
        ("a = 1\nb = \x00\n", ("cannot be read as Terraform configuration at `\\x00\\n`", "x.tf:2", None)),
        ('x = "\\u0007"\n', ("the text holds a control character", "x.tf:1", "x")),
        (b"a = 1\n\xff", ("the file is not UTF-8 text", "x.tf:2", None)),
        ("a {\n" * 40, ("nests deeper than 32 levels", "x.tf:33", None)),
        ("x = " + "[" * 40 + "]" * 40 + "\n", None),
        (b" " * (FILE_LIMIT_BYTES + 1), (f"is larger than {FILE_LIMIT_BYTES} bytes", "x.tf", None)),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(
    text: str | bytes, expected: tuple[str, str | None, str | None] | None
) -> None:
    shown = "[" * 57 + "..."
    deep = (f"must be a literal value, without functions or references, not `{shown}`", "x.tf:1", "x")

    found = message(text)
    assert found == expected if expected else found[1:] == deep[1:]


@given(st.lists(FRAGMENTS | st.text(max_size=4), max_size=30).map("".join) | st.text(max_size=40))
def test_no_text_gives_any_other_kind_of_error(text: str) -> None:
    with contextlib.suppress(InputError):
        read(text.encode("utf-8", "surrogatepass"))


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20))
def test_a_quoted_text_comes_back_as_it_was(text: str) -> None:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "$${").replace("%{", "%%{")

    assert literal(f'"{quoted}"') == text
