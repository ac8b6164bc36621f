"""The `infra` section of a lock: written, read back, and derived again where it can be."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.block import parse_block, write_block
from rdlc.core.canonical import Json, digest
from rdlc.core.fields import Fields
from rdlc.core.infra.origin import InfraOrigin, read_infra_origin
from rdlc.core.infra.providers import LockedProvider
from rdlc.core.infra.request import InfraRequest, read_infra_request
from rdlc.core.infra.section import InfraSection, find_infra_contradictions, read_infra_section
from rdlc.core.infra.tree import tree_hash
from rdlc.errors import InputError
from tests.core.infra.roots import ADDONS, H1, IDENTITY, SECTION, ZH, with_variables
from tests.core.value_strategies import hashes, scalars, texts, words

variables = st.dictionaries(
    words, st.none() | scalars | st.lists(scalars, max_size=2) | st.dictionaries(texts, scalars, max_size=2), max_size=3
)
sections = st.builds(
    InfraSection,
    requested=st.builds(
        InfraRequest,
        root=st.just("terraform"),
        profile=st.sampled_from(["", "g6-12xlarge-x2"]),
        variables=variables,
    ),
    required_version=texts,
    providers=st.dictionaries(
        st.just("hashicorp/aws"),
        st.just(LockedProvider(version="5.100.0", constraints="", hashes=(H1, ZH))),
        max_size=1,
    ),
    files=st.dictionaries(words.map(lambda word: f"modules/{word}.tf"), hashes, max_size=3),
    variables=variables,
)


def read_back(payload: Mapping[str, Json]) -> InfraSection:
    document = parse_block(write_block({"infra": payload}).encode(), name="x.lock.yaml", limit_bytes=1 << 20)
    return read_infra_section(Fields.of(document).below("infra"))


def refusal(changes: Mapping[str, Json]) -> tuple[str, str | None]:
    payload = SECTION.payload()
    resolved = payload["resolved"]
    assert isinstance(resolved, Mapping)
    with pytest.raises(InputError) as caught:
        read_back({**payload, "resolved": {**resolved, **changes}})
    return caught.value.message, caught.value.field


def request(value: Json) -> InfraRequest:
    document = parse_block(write_block({"infra": value}).encode(), name="x.yaml", limit_bytes=1 << 20)
    return read_infra_request(Fields.of(document).below("infra"))


def test_the_payload_of_version_1_never_changes() -> None:
    assert SECTION.payload() == {
        "requested": {"root": "terraform", "profile": "small", "variables": {"gpu_count": 4, "region": "us-east-2"}},
        "resolved": {
            "required_version": ">= 1.11, < 2",
            "providers": {
                "hashicorp/aws": {"version": "5.100.0", "constraints": ">= 5.100.0, < 7.0.0", "hashes": [H1, ZH]}
            },
            "variables": IDENTITY,
            "tree": tree_hash(SECTION.files),
            "files": SECTION.files,
        },
    }
    assert digest(SECTION.payload()) == "sha256:1e152f28ca8d8f1a79887048fb6239a4f009a98c87addef74c3131e7444e009e"


def test_a_section_reads_back_as_it_was_written() -> None:
    assert read_back(SECTION.payload()) == SECTION


@given(sections)
def test_any_section_reads_back_as_it_was_written(section: InfraSection) -> None:
    assert read_back(section.payload()) == section


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.tf", "a/../../x.tf", "a\\b.tf", "a//b.tf", "./a.tf", ""])
def test_a_path_that_leaves_the_root_is_refused(path: str) -> None:
    message, _ = refusal({"files": {path: "1" * 64}})

    assert message == "must be a path below the root, with `/`"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"files": {"a.auto.tfvars": "1" * 64}},
            (
                "`a.auto.tfvars` changes values behind the lock's back: it cannot stand in a locked root",
                'infra.resolved.files["a.auto.tfvars"]',
            ),
        ),
        (
            {"files": {"README.md": "1" * 64}},
            ("is no file that belongs to the tree of a root", 'infra.resolved.files["README.md"]'),
        ),
        ({"files": {"a.tf": "12"}}, ("must be 64 hex digits, not `12`", 'infra.resolved.files["a.tf"]')),
        (
            {"providers": {"registry.example.com/a/b": {}}},
            (
                "must be namespace and type of a provider, as `hashicorp/aws`",
                'infra.resolved.providers["registry.example.com/a/b"]',
            ),
        ),
        (
            {"providers": {"a/b": {"version": "1.0.0", "hashes": []}}},
            (
                "has no hashes: nothing would prove that a download is the locked one",
                "infra.resolved.providers.a/b",
            ),
        ),
        (
            {"variables": {"a": {"b": {"c": 1}}}},
            ("must be a text, a number, `true` or `false`, not a mapping", "infra.resolved.variables.a.b"),
        ),
        ({"variables": {"a": {"b": [1]}}}, ("must be a single value", "infra.resolved.variables.a.b")),
        ({"tree": None}, ("has no value", "infra.resolved.tree")),
        ({"more": 1}, ("this key is not known here", "infra.resolved.more")),
    ],
)
def test_a_damaged_section_is_refused_with_the_address(
    changes: Mapping[str, Json], expected: tuple[str, str | None]
) -> None:
    assert refusal(changes) == expected


def test_a_section_that_follows_from_its_request_has_no_contradiction() -> None:
    assert list(find_infra_contradictions(SECTION)) == []


def test_what_does_not_follow_from_the_request_is_named() -> None:
    asked: dict[str, Json] = {"gpu_count": 4, "region": "us-east-2", "gone": 1, "gpu_ami_type": "x", "flag": True}
    section = replace(
        with_variables(gpu_count=2, flag=1),
        requested=replace(SECTION.requested, variables=asked),
        files={"main.tf": "2" * 64},
    )

    assert list(find_infra_contradictions(section)) == [
        ("infra.resolved.variables.flag", "is not the value that was asked for"),
        ("infra.resolved.variables.gone", "is missing: it was asked for"),
        ("infra.resolved.variables.gpu_ami_type", "is not the value that was asked for"),
        ("infra.resolved.variables.gpu_count", "is not the value that was asked for"),
        ("infra.resolved.files", "`.terraform.lock.hcl` is missing: the providers stand in it"),
    ]


def test_a_set_may_be_sorted_and_add_ons_may_be_more_than_were_asked_for() -> None:
    asked: Mapping[str, Json] = {"subnets": ["b", "a", "b"], "addon_versions": {"coredns": ADDONS["coredns"]}}
    section = replace(with_variables(subnets=["a", "b"]), requested=replace(SECTION.requested, variables=asked))

    assert list(find_infra_contradictions(section)) == []
    assert list(find_infra_contradictions(replace(section, variables={**section.variables, "subnets": ["a"]}))) == [
        ("infra.resolved.variables.subnets", "is not the value that was asked for")
    ]


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("kubernetes_version", "latest", "must be a Kubernetes version such as `1.34`, not `latest`"),
        ("kubernetes_version", None, "must be a Kubernetes version such as `1.34`, not `None`"),
        ("gpu_release_version", "latest", "must be an AMI release such as `1.34.2-20261120`, not `latest`"),
        (
            "gpu_release_version",
            "1.33.9-20261120",
            "must be a release for Kubernetes 1.34, not `1.33.9-20261120`",
        ),
        (
            "addon_versions",
            {"vpc-cni": "latest"},
            "`vpc-cni` must have an exact version such as `v1.20.4-eksbuild.2`, not `latest`",
        ),
    ],
)
def test_a_version_that_is_not_exact_is_named(name: str, value: Json, problem: str) -> None:
    assert (f"infra.resolved.variables.{name}", problem) in list(
        find_infra_contradictions(with_variables(**{name: value}))
    )


def test_a_request_is_read_and_an_existing_cluster_refused() -> None:
    held: Json = {"root": "terraform", "profile": "g6-12xlarge-x2", "variables": {"a": None, "b": {"c": "d"}}}

    with pytest.raises(InputError) as caught:
        request({"kind": "existing", "context": "a"})

    assert request(held) == InfraRequest(
        root="terraform", profile="g6-12xlarge-x2", variables={"a": None, "b": {"c": "d"}}
    )
    assert request({"root": "terraform"}) == InfraRequest(root="terraform", profile="", variables={})
    assert (caught.value.message, caught.value.field, caught.value.hint) == (
        "an existing cluster cannot be locked yet",
        "infra.kind",
        "name a Terraform root instead: `infra: {root: terraform, profile: g6-12xlarge-x2}`",
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"root": "../terraform"}, "must be a path below the folder, without `..`, not `../terraform`"),
        (
            {"root": "terraform", "profile": "../a"},
            "must be a name of letters, digits, `.`, `_`, `-`, not `../a`",
        ),
        ({"profile": "a"}, "is missing"),
        ({"root": "terraform", "context": "a"}, "this key is not known here"),
    ],
)
def test_a_request_that_cannot_be_followed_is_refused(value: Json, message: str) -> None:
    with pytest.raises(InputError) as caught:
        request(value)

    assert caught.value.message == message


@pytest.mark.parametrize(
    "origin",
    [
        InfraOrigin(plan="sha256:" + "1" * 64, plan_missing="", values={"a": "spec"}, bindings={"zones": ["a"]}),
        InfraOrigin(plan="", plan_missing="no Terraform", values={}, bindings={"a": None}),
    ],
)
def test_an_origin_reads_back_as_it_was_written(origin: InfraOrigin) -> None:
    document = parse_block(write_block({"infra": origin.payload()}).encode(), name="x.lock.yaml", limit_bytes=1 << 20)

    assert read_infra_origin(Fields.of(document).below("infra")) == origin
