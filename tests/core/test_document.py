"""YAML within bounds: what is refused, with which words, at which line."""

import pytest

from rdlc.core.canonical import Json
from rdlc.core.document import parse_document
from rdlc.errors import InputError


def refusal(data: bytes) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        parse_document(data, name="x.yaml")
    return caught.value.message, caught.value.file, caught.value.field


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ("the file is empty", "x.yaml", None)),
        (b" \n\n", ("the file is empty", "x.yaml", None)),
        (b"a: 1\nb: \0\n", ("the file holds a NUL byte: it is not text", "x.yaml:2", None)),
        (b"a: 1\nb: \xff\n", ("the file is not UTF-8 text", "x.yaml:2", None)),
        (b"a: &x 1\nb: *x\n", ("YAML anchors and aliases are not allowed", "x.yaml:1", "a")),
        (b"a: 1\nb: *x\n", ("YAML anchors and aliases are not allowed", "x.yaml:2", "b")),
        (b"a:\n  - 1\n  - !!python/object:os.system x\n",
         ("the YAML tag `tag:yaml.org,2002:python/object:os.system` is not allowed", "x.yaml:3", "a[1]")),
        (b"a: 1\n---\nb: 2\n", ("holds several YAML documents, one is allowed", "x.yaml:2", None)),
        (b"a: 1\nb: {c: 1, c: 2}\n", ("`c` stands here twice", "x.yaml:2", "b.c")),
        (b"{a: 1}: 2\n", ("a key must be plain text", "x.yaml:1", None)),
        (b'a: "\\x1b[31m"\n', ("the text holds a control character", "x.yaml:1", "a")),
        (b'"\\x1b": 1\n', ("a key holds a control character", "x.yaml:1", None)),
        (b"a: 1\n<<<<<<< HEAD\nb: 2\n", ("the file holds git conflict markers", "x.yaml:2", None)),
        (b"a: 1\n=======\n", ("the file holds git conflict markers", "x.yaml:2", None)),
        (b"a: 1\n>>>>>>> other\n", ("the file holds git conflict markers", "x.yaml:2", None)),
        (b"a: [1\n", ("not YAML: expected ',' or ']', but got '<stream end>'", "x.yaml:2", None)),
        (b"a: 1\n\tb: 2\n", ("not YAML: found character '\\t' that cannot start any token", "x.yaml:2", None)),
        (b"[" * 40 + b"]" * 40, ("nests deeper than 32 levels", "x.yaml:1", None)),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_with_its_place(data: bytes, expected: tuple[str, str | None, str | None]) -> None:
    assert refusal(data) == expected


def test_a_file_over_the_limit_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        parse_document(b"a: 1\n" * 300, name="x.yaml", limit_bytes=1024)

    assert caught.value.message == "the file is larger than 1 KiB"


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    bomb = b'a: &a ["x","x"]\n' + b"".join(b"b%d: &b%d [*a,*a,*a]\n" % (i, i) for i in range(1000))

    assert refusal(bomb) == ("YAML anchors and aliases are not allowed", "x.yaml:1", "a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-1", -1), ("+5", 5), ("0", 0), ("007", "007"), ("1.10", "1.10"), ("1e3", "1e3"), ("0x1F", "0x1F"),
        ("9007199254740992", 1 << 53), ("9007199254740993", "9007199254740993"), ("9" * 30, "9" * 30),
        ("true", True), ("False", False), ("yes", "yes"), ("off", "off"), ("NULL", None), ("~", None), ("", None),
        ("2026-11-30", "2026-11-30"), ("12:30:45", "12:30:45"), (".inf", ".inf"), ('"1"', "1"), ("'true'", "true"),
        ("[1, a, true]", [1, "a", True]), ("{b: {c: d}}", {"b": {"c": "d"}}), ("<<", "<<"), ("=", "="),
    ],
)  # fmt: skip
def test_a_plain_value_is_what_yaml_1_2_says_and_no_number_is_rounded(text: str, value: Json) -> None:
    assert parse_document(f"a: {text}\n".encode(), name="x.yaml").value == {"a": value}


def test_every_value_knows_its_line() -> None:
    document = parse_document(b"# top\na:\n  b: 1\n  c.d:\n    - x\n    - e: 2\n", name="x.yaml")

    assert document.lines == {
        "": 2, "a": 2, "a.b": 3, 'a["c.d"]': 4, 'a["c.d"][0]': 5, 'a["c.d"][1]': 6, 'a["c.d"][1].e': 6,
    }  # fmt: skip
    assert document.line("a.b.nowhere") == 3
    assert document.line("nowhere") == 2
