"""A project with a small Terraform root, an AWS and a Terraform that answer what they are told to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from rdlc.adapters.terraform_tree import TerraformFolder
from rdlc.core.infra.offers import AddonOffer, AddonQuery, ReleaseQuery
from rdlc.core.infra.offline import MissingPlan, OfflinePlan
from rdlc.core.infra.request import InfraRequest
from rdlc.errors import RdlcError
from rdlc.operations.infra_floating import InfraAsked
from rdlc.operations.infra_ports import InfraTools
from rdlc.operations.lock_infra import LockedInfra, resolve_infra
from tests.core.infra.roots import ADDONS, FILES
from tests.operations.scripted import Voice

REQUEST = InfraRequest(root="terraform", profile="small", variables={"region": "us-east-2", "gpu_count": 4})
EXACT = replace(
    REQUEST, variables={**REQUEST.variables, "addon_versions": ADDONS, "gpu_release_version": "1.34.2-20261120"}
)
SHOWN = json.dumps({"format_version": "1.2", "planned_values": {}, "resource_changes": []}).encode()


@dataclass(kw_only=True)
class FakeOffers:
    """What AWS offers: releases (the last is recommended) and add-on versions (the last is the default)."""

    published: tuple[str, ...] = ("1.34.2-20261110", "1.34.2-20261120")
    versions: Mapping[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "coredns": ("v1.12.4-eksbuild.1",),
            "kube-proxy": ("v1.34.1-eksbuild.2",),
            "vpc-cni": ("v1.20.3-eksbuild.1", "v1.20.4-eksbuild.2"),
        }
    )
    missing: str | None = None
    failure: RdlcError | None = None
    asked: list[object] = field(default_factory=list)

    def describe_missing(self) -> str | None:
        return self.missing

    def source(self) -> str:
        return "AWS"

    def recommended_release(self, query: ReleaseQuery) -> str | None:
        return next(reversed(self.releases(query)), None)

    def releases(self, query: ReleaseQuery) -> tuple[str, ...]:
        self._note(query)
        return self.published

    def addon_versions(self, query: AddonQuery) -> tuple[AddonOffer, ...]:
        self._note(query)
        versions = self.versions.get(query.addon, ())
        return tuple(AddonOffer(version=version, is_default=version == versions[-1]) for version in versions)

    def _note(self, query: object) -> None:
        if self.failure is not None:
            raise self.failure
        self.asked.append(query)


class UnaskedOffers(FakeOffers):
    """For locks without infrastructure: whoever asks it fails."""

    def describe_missing(self) -> str | None:
        raise AssertionError("AWS was asked")


@dataclass(kw_only=True)
class FakePlanner:
    """Keeps what it was asked to plan."""

    answer: OfflinePlan | MissingPlan = field(default_factory=lambda: OfflinePlan(shown=SHOWN))
    failure: RdlcError | None = None
    planned: list[Mapping[str, object]] = field(default_factory=list)
    configured: tuple[str, ...] = ()

    def plan(
        self, files: Mapping[str, bytes], variables: bytes, *, configured: tuple[str, ...]
    ) -> OfflinePlan | MissingPlan:
        if self.failure is not None:
            raise self.failure
        self.configured = configured
        self.planned.append(json.loads(variables))
        return self.answer


@dataclass(kw_only=True)
class Outside:
    """Everything outside, in one hand."""

    offers: FakeOffers = field(default_factory=FakeOffers)
    planner: FakePlanner = field(default_factory=FakePlanner)

    @property
    def tools(self) -> InfraTools:
        return InfraTools(files=TerraformFolder(), offers=self.offers, planner=self.planner)


def make_root(project: Path) -> Path:
    """The small root below a project, with a profile and stand-ins for bindings."""
    root = project / "terraform"
    for path, data in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    (root / "profiles").mkdir()
    (root / "profiles/small.tfvars.json").write_text('{"kubernetes_version": "1.34", "gpu_count": 2}')
    (root / "placeholders.json").write_text('{"name": "offline", "zones": ["{region}a"]}')
    return root


def lock(
    project: Path,
    outside: Outside,
    request: InfraRequest = EXACT,
    *,
    voice: Voice | None = None,
    previous: LockedInfra | None = None,
    is_upgrade: bool = False,
    bind: Path | None = None,
) -> LockedInfra:
    """What the request resolves to in the project."""
    asked = InfraAsked(
        project=project,
        bind=bind,
        previous=previous.section if previous else None,
        previous_origin=previous.origin if previous else None,
        is_upgrade=is_upgrade,
    )
    return resolve_infra(request, asked, tools=outside.tools, reporter=voice or Voice())


def refusal(project: Path, outside: Outside, request: InfraRequest = EXACT) -> tuple[str, str | None, str | None]:
    """Message, field and hint of the error that the request gives."""
    with pytest.raises(RdlcError) as caught:
        lock(project, outside, request)
    return caught.value.message, caught.value.field, caught.value.hint
