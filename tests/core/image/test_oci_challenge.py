"""The challenge of a registry that wants credentials."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.image.oci_challenge import Challenge, parse_challenges

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)


def challenge(scheme: str, **parameters: str) -> Challenge:
    return Challenge(scheme=scheme, parameters=parameters)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (
            'Bearer realm="https://public.ecr.aws/token/",service="public.ecr.aws",scope="aws"',
            [challenge("bearer", realm="https://public.ecr.aws/token/", service="public.ecr.aws", scope="aws")],
        ),
        (
            'bearer Realm="https://a/t" , Scope="repository:a/b:pull,push repository:c:pull"',
            [challenge("bearer", realm="https://a/t", scope="repository:a/b:pull,push repository:c:pull")],
        ),
        (
            'Basic realm="https://x.dkr.ecr/",service="ecr.amazonaws.com"',
            [challenge("basic", realm="https://x.dkr.ecr/", service="ecr.amazonaws.com")],
        ),
        ('Basic realm="a", Bearer realm="b"', [challenge("basic", realm="a"), challenge("bearer", realm="b")]),
        ("Negotiate, Basic realm=a", [challenge("negotiate"), challenge("basic", realm="a")]),
        ("Negotiate abc==, Basic realm=a", [challenge("negotiate"), challenge("basic", realm="a")]),
        (r'Bearer realm="a\"b\\c"', [challenge("bearer", realm='a"b\\c')]),
        ('Bearer realm="a",realm="b"', [challenge("bearer", realm="a")]),
        ('Bearer realm = "a"', [challenge("bearer", realm="a")]),
        ('Bearer realm="never ends', [challenge("bearer")]),
        ("", []),
        ("=", []),
        (", ,", []),
    ],
)
def test_a_challenge_is_read_with_its_values_as_they_are(header: str, expected: list[Challenge]) -> None:
    assert list(parse_challenges([header]))[: len(expected) or 1] == expected


def test_several_headers_give_their_challenges_in_order() -> None:
    assert parse_challenges(["Basic realm=a", "Bearer realm=b"]) == (
        challenge("basic", realm="a"),
        challenge("bearer", realm="b"),
    )


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, min_size=1, max_size=3)), max_size=3))
def test_what_is_written_with_quotes_is_read_back(written: list[tuple[str, dict[str, str]]]) -> None:
    def quoted(value: str) -> str:
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    parts = [
        f"{scheme} " + ", ".join(f"{name}={quoted(value)}" for name, value in parameters.items())
        for scheme, parameters in written
    ]

    assert parse_challenges([", ".join(parts)]) == tuple(
        Challenge(scheme=scheme, parameters=parameters) for scheme, parameters in written
    )


@settings(deadline=None)
@given(st.text(max_size=60) | st.text(alphabet='aB =,"\\/~\t', max_size=40))
def test_any_header_is_read_without_an_error(header: str) -> None:
    assert len(parse_challenges([header])) <= len(header)
