"""The table of known issues: how it is read, whom an entry hits, and the one that comes with rdlc."""

import pytest

from rdlc.adapters.package_data import known_issues_file
from rdlc.core.contents.components import COMPONENT_NAMES
from rdlc.core.image.known_issues import KnownIssue, match_issues, read_known_issues
from rdlc.core.image.reference import is_digest
from rdlc.errors import InputError

DIGEST = "sha256:" + "a" * 64
TABLE = f"""\
issues:
  - id: one
    title: it hangs
    effect: no step
    fix: take another
    source: a page
    components: {{nccl: ["2.29.7", 1.10]}}
  - id: two
    title: it is slow
    effect: half the speed
    fix: wait
    source: another page
    digests: [{DIGEST}]
"""
ONE, TWO = read_known_issues(TABLE.encode(), name="issues.yaml")


def test_an_entry_is_read_with_all_its_fields() -> None:
    issue = KnownIssue(
        id="one",
        title="it hangs",
        effect="no step",
        fix="take another",
        source="a page",
        components={"nccl": ("2.29.7", "1.10")},
        digests=(),
    )
    assert issue == ONE
    assert (TWO.components, TWO.digests) == ({}, (DIGEST,))


@pytest.mark.parametrize(
    ("version", "hit"),
    [
        ("2.29.7", (ONE,)),
        ("2.29.7-1.amzn2023", (ONE,)),
        ("1:2.29.7amzn1.0", (ONE,)),
        ("2.29.7+cuda13.0", (ONE,)),
        ("1.10", (ONE,)),
        ("1.1", ()),
        ("2.29.70", ()),
        ("2.29", ()),
        ("unknown", ()),
    ],
)
def test_a_component_is_hit_in_every_build_of_a_listed_version(version: str, hit: tuple[KnownIssue, ...]) -> None:
    assert match_issues((ONE, TWO), components=[("nccl", version)], digests=[]) == hit


def test_another_component_of_a_listed_version_is_not_hit() -> None:
    assert match_issues((ONE, TWO), components=[("ray", "2.29.7")], digests=[]) == ()


def test_an_image_is_hit_by_its_digest_whatever_is_known_of_it() -> None:
    assert match_issues((ONE, TWO), components=[], digests=["sha256:" + "b" * 64, DIGEST]) == (TWO,)


@pytest.mark.parametrize(
    ("old", "new", "message", "field"),
    [
        ("    fix: wait\n", "", "is missing", "issues[1].fix"),
        ("    fix: wait", "    fixes: wait", "is missing", "issues[1].fix"),
        ("    source: a page", "    source: 7", "must be a text, not the number 7", "issues[0].source"),
        ('["2.29.7", 1.10]', '"2.29.7"', 'must be a list, not the text "2.29.7"', "issues[0].components.nccl"),
        ("    digests:", "    digest:", "this key is not known here", "issues[1].digest"),
        ("issues:", "issue:", "this key is not known here", "issue"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_field(old: str, new: str, message: str, field: str) -> None:
    text = TABLE.replace(old, new, 1)
    assert text != TABLE

    with pytest.raises(InputError) as caught:
        read_known_issues(text.encode(), name="issues.yaml")

    assert (caught.value.message, caught.value.field) == (message, field)


def test_the_table_that_comes_with_rdlc_can_hit_something_with_every_entry() -> None:
    path = known_issues_file()

    issues = read_known_issues(path.read_bytes(), name=path.name)

    ids = [issue.id for issue in issues]
    assert len(set(ids)) == len(ids) > 0
    assert {name for issue in issues for name in issue.components} <= set(COMPONENT_NAMES)
    assert [issue.id for issue in issues if not (any(issue.components.values()) or issue.digests)] == []
    assert [digest for issue in issues for digest in issue.digests if not is_digest(digest)] == []


@pytest.mark.parametrize(
    ("components", "hit"),
    [
        ([("aws-ofi-nccl", "1.18.0-1.amzn2023")], ["aws-ofi-nccl-1.18.0-broadcast"]),
        ([("efa-installer", "1.47.0")], ["aws-ofi-nccl-1.18.0-broadcast"]),
        ([("efa-installer", "1.49.0"), ("aws-ofi-nccl", "1.20.0")], []),
    ],
)
def test_the_broadcast_that_hangs_is_known(components: list[tuple[str, str]], hit: list[str]) -> None:
    path = known_issues_file()
    issues = read_known_issues(path.read_bytes(), name=path.name)

    assert [issue.id for issue in match_issues(issues, components=components, digests=[])] == hit
