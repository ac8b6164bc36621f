"""Identity variables come from spec, profile and defaults; what none of them gives floats or is missing."""

from collections.abc import Mapping

import pytest

from rdlc.core.canonical import Json
from rdlc.core.infra.identity import complete_identity, gather_identity
from rdlc.core.infra.offers import AddonQuery, ReleaseQuery
from rdlc.core.infra.root import read_root
from rdlc.errors import InputError
from tests.core.infra.roots import ADDONS, FILES, IDENTITY

VARIABLES = read_root(FILES, name="terraform").variables
WHERE: Mapping[str, Json] = {"region": "us-east-2", "kubernetes_version": "1.34"}


def addon_query(addon: str) -> AddonQuery:
    return AddonQuery(region="us-east-2", kubernetes="1.34", addon=addon)


def refusal(spec: Mapping[str, Json], profile: Mapping[str, Json]) -> tuple[str, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        gather_identity(VARIABLES, spec=spec, profile=profile)
    return caught.value.message, caught.value.field, caught.value.hint


def test_the_spec_wins_over_the_profile_and_the_profile_over_defaults() -> None:
    exact: dict[str, Json] = {"addon_versions": ADDONS, "gpu_release_version": "1.34.2-20261120"}

    identity = gather_identity(VARIABLES, spec={"gpu_count": 8, **exact}, profile={"gpu_count": 4, **WHERE})

    assert identity.values == {**IDENTITY, "gpu_count": 8}
    assert identity.origins == {
        "addon_versions": "spec",
        "gpu_ami_id": "default",
        "gpu_ami_type": "default",
        "gpu_count": "spec",
        "gpu_release_version": "spec",
        "kubernetes_version": "profile",
        "region": "profile",
    }
    assert (identity.releases, identity.addons) == ({}, {})


def test_releases_and_add_ons_that_nobody_gives_float() -> None:
    identity = gather_identity(VARIABLES, spec={"addon_versions": {"coredns": ADDONS["coredns"]}}, profile=WHERE)

    assert identity.releases == {
        "gpu_release_version": ReleaseQuery(region="us-east-2", kubernetes="1.34", ami_type="AL2023_x86_64_NVIDIA")
    }
    assert identity.addons == {addon: addon_query(addon) for addon in ("kube-proxy", "vpc-cni")}


def test_storage_asks_for_the_driver_that_it_needs() -> None:
    text = b'variable "storage_kind" {\n  type = string\n  description = "Storage. (identity)"\n}\n'
    variables = read_root({**FILES, "storage.tf": text}, name="terraform").variables

    identity = gather_identity(variables, spec={"storage_kind": "fsx"}, profile=WHERE)

    assert list(identity.addons) == ["coredns", "kube-proxy", "vpc-cni", "aws-fsx-csi-driver"]


def test_what_was_found_completes_the_identity() -> None:
    identity = gather_identity(
        VARIABLES, spec={"gpu_count": 4, "addon_versions": {"coredns": ADDONS["coredns"]}}, profile=WHERE
    )
    found = {"coredns": "v9.9.9-eksbuild.9", "vpc-cni": ADDONS["vpc-cni"], "kube-proxy": ADDONS["kube-proxy"]}

    values = complete_identity(identity, VARIABLES, releases={"gpu_release_version": "1.34.2-20261120"}, addons=found)

    assert values == IDENTITY
    assert list(values) == sorted(IDENTITY)


@pytest.mark.parametrize("found", ["latest", "1.33.1-20261120", "1.34.2-20261120\x07"])
def test_a_release_that_is_not_exact_is_not_taken_from_anyone(found: str) -> None:
    identity = gather_identity(VARIABLES, spec={"addon_versions": ADDONS}, profile=WHERE)

    with pytest.raises(InputError) as caught:
        complete_identity(identity, VARIABLES, releases={"gpu_release_version": found}, addons={})

    assert caught.value.field == "infra.variables.gpu_release_version"


@pytest.mark.parametrize(
    ("spec", "profile", "expected"),
    [
        (
            {},
            {},
            (
                (
                    "neither spec, profile nor default gives a value to "
                    "`addon_versions`, `gpu_release_version`, `kubernetes_version`, `region`"
                ),
                "infra.variables.addon_versions",
                "`infra: {variables: {addon_versions: VALUE}}` in the run spec",
            ),
        ),
        (
            {"gpu_counts": 3},
            WHERE,
            ("is no variable of this root", "infra.variables.gpu_counts", "did you mean `gpu_count`?"),
        ),
        (
            {"zones": ["a"]},
            WHERE,
            (
                "places the run and does not identify it: it has no place in a spec",
                "infra.variables.zones",
                "write `zones` into a file and give it with `--bind FILE`",
            ),
        ),
        (
            {"gpu_count": "3"},
            WHERE,
            ('must be a number, not the text "3"', "infra.variables.gpu_count", None),
        ),
        (
            {"gpu_release_version": "latest"},
            WHERE,
            (
                "must be an AMI release such as `1.34.2-20261120`, not `latest`",
                "infra.variables.gpu_release_version",
                None,
            ),
        ),
        (
            {"gpu_ami_type": "CUSTOM", "addon_versions": ADDONS},
            WHERE,
            (
                "neither spec, profile nor default gives a value to `gpu_release_version`",
                "infra.variables.gpu_release_version",
                "`infra: {variables: {gpu_release_version: VALUE}}` in the run spec",
            ),
        ),
    ],
)
def test_what_is_missing_or_does_not_fit_is_named(
    spec: Mapping[str, Json], profile: Mapping[str, Json], expected: tuple[str, str | None, str | None]
) -> None:
    assert refusal(spec, profile) == expected
