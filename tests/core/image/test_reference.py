"""The grammar of image references."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdlc.core.image.reference import ImageReference, parse_reference
from rdlc.errors import InputError

SHA256 = "sha256:" + "0123456789abcdef" * 4
SHA512 = "sha512:" + "0123456789abcdef" * 8

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
REGISTRIES = st.one_of(
    st.just("localhost"),
    st.builds("localhost:{}".format, st.integers(1, 65535)),
    st.builds("{}.{}".format, LABELS, LABELS),
    st.builds("{}.{}:{}".format, LABELS, LABELS, st.integers(1, 65535)),
    st.builds("[::1]:{}".format, st.integers(1, 65535)),
)
PARTS = st.from_regex(r"[a-z0-9]{1,5}((\.|_|__|-{1,3})[a-z0-9]{1,5}){0,2}", fullmatch=True)
REPOSITORIES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
TAGS = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,12}", fullmatch=True)
DIGESTS = st.from_regex(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}", fullmatch=True)
REFERENCES = st.builds(
    ImageReference,
    registry=REGISTRIES,
    repository=REPOSITORIES,
    tag=st.none() | TAGS,
    digest=st.none() | DIGESTS,
)


@pytest.mark.parametrize(
    ("text", "registry", "repository", "tag", "digest"),
    [
        ("ray", "docker.io", "library/ray", None, None),
        ("ray:2.58.0", "docker.io", "library/ray", "2.58.0", None),
        ("rayproject/ray", "docker.io", "rayproject/ray", None, None),
        ("index.docker.io/ray", "docker.io", "library/ray", None, None),
        ("docker.io/rayproject/ray:x", "docker.io", "rayproject/ray", "x", None),
        ("localhost/ray", "localhost", "ray", None, None),
        ("localhost:5000/ray:x", "localhost:5000", "ray", "x", None),
        ("team:5000/ray", "team:5000", "ray", None, None),
        ("Team/ray", "Team", "ray", None, None),
        ("[::1]:5000/ray", "[::1]:5000", "ray", None, None),
        ("127.0.0.1:80/a/b_c/d__e/f-g/h.i:_x.Y-", "127.0.0.1:80", "a/b_c/d__e/f-g/h.i", "_x.Y-", None),
        (f"r.example/ray@{SHA256}", "r.example", "ray", None, SHA256),
        (f"r.example/ray:v1@{SHA256}", "r.example", "ray", "v1", SHA256),
        (f"r.example/ray@{SHA512}", "r.example", "ray", None, SHA512),
        (f"r.example/{'a' * 255}", "r.example", "a" * 255, None, None),
    ],
)
def test_a_reference_is_read_as_docker_reads_it(
    text: str, registry: str, repository: str, tag: str | None, digest: str | None
) -> None:
    assert parse_reference(text) == ImageReference(registry=registry, repository=repository, tag=tag, digest=digest)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "names no repository"),
        ("r.example/", "names no repository"),
        (":v1", "names no repository"),
        ("docker://r.example/ray", "starts with a scheme: leave out `docker://`"),
        ("Ray", "has capital letters in the repository"),
        ("r.example/a/Ray:v1", "has capital letters in the repository"),
        ("a b", "has a repository that is not allowed, `a b`"),
        ("a//b", "has a repository that is not allowed, `a//b`"),
        ("a/___b", "has a repository that is not allowed, `a/___b`"),
        ("a..b", "has a repository that is not allowed, `a..b`"),
        ("a/-b", "has a repository that is not allowed, `a/-b`"),
        ("-r.example/a", "has a registry that is not allowed, `-r.example`"),
        ("r.example:0/a", "has a registry that is not allowed, `r.example:0`"),
        ("r.example:65536/a", "has a registry that is not allowed, `r.example:65536`"),
        ("r.example:/a", "has a registry that is not allowed, `r.example:`"),
        ("ray:", "has a tag that is not allowed, ``"),
        ("ray:.x", "has a tag that is not allowed, `.x`"),
        ("ray:a:b", "has a tag that is not allowed, `a:b`"),
        ("ray:x\n", "has a tag that is not allowed, `x\\n`"),
        ("ray:\u0661", "has a tag that is not allowed, `\u0661`"),
        ("ray@", "has no `sha256:` and 64 hex digits in lower case behind the `@`"),
        (f"ray@{SHA256[:-1]}", "has no `sha256:` and 64 hex digits in lower case behind the `@`"),
        (f"ray@{SHA256.upper()}", "has no `sha256:` and 64 hex digits in lower case behind the `@`"),
        (f"ray@{SHA256}@{SHA256}", "has no `sha256:` and 64 hex digits in lower case behind the `@`"),
        ("0" * 64, "is the ID of a local image, which a registry does not know"),
        ("a" * 256, "has a repository of more than 255 characters"),
    ],
)
def test_what_is_no_reference_is_refused_with_the_part_that_is_wrong(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_reference(text)

    assert caught.value.message.endswith(f"` {problem}")
    assert caught.value.hint == "write `registry/repository:tag` or `registry/repository@sha256:...`"


@settings(deadline=None)
@given(REFERENCES)
def test_the_canonical_text_of_a_reference_gives_the_same_reference(reference: ImageReference) -> None:
    assert parse_reference(str(reference)) == reference


@settings(deadline=None)
@given(st.text(max_size=80) | st.text(alphabet="aA0._-:/@[]", max_size=30))
def test_any_text_gives_a_reference_that_reads_back_or_an_input_error(text: str) -> None:
    try:
        reference = parse_reference(text)
    except InputError:
        return

    assert parse_reference(str(reference)) == reference


def test_a_registry_is_asked_for_the_digest_before_the_tag_and_for_latest_without_both() -> None:
    both = parse_reference(f"r.example/ray:v1@{SHA256}")

    assert both.selector == SHA256
    assert both.tagged("v2").selector == "v2"
    assert parse_reference("r.example/ray").selector == "latest"
    assert str(both.pinned(SHA512)) == f"r.example/ray@{SHA512}"
    assert both.name == "r.example/ray"
