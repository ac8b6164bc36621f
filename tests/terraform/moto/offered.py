"""What the stand-in for AWS offers: AMI releases as public parameters, versions of add-ons."""

from collections.abc import Mapping

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.eks import urls
from moto.eks.responses import EKSResponse
from moto.ssm.models import Parameter, ParameterDict

KUBERNETES = "1.35"
# Oldest first; the last one is what AWS recommends.
RELEASES = ("1.35.1-20261015", "1.35.2-20261105", "1.35.2-20261120")
ADDON_VERSIONS: Mapping[str, tuple[str, ...]] = {
    "coredns": ("v1.12.3-eksbuild.1", "v1.12.4-eksbuild.1"),
    "kube-proxy": ("v1.35.0-eksbuild.1", "v1.35.0-eksbuild.2"),
    "vpc-cni": ("v1.20.3-eksbuild.1", "v1.20.4-eksbuild.2"),
}
_AMIS = f"/aws/service/eks/optimized-ami/{KUBERNETES}/amazon-linux-2023/x86_64"
_load_others = ParameterDict._check_loading_status


def extend() -> None:
    """Adds the versions of add-ons, and the releases of AMIs."""
    urls.url_paths["{0}/addons/supported-versions$"] = urls.response.dispatch
    setattr(EKSResponse, describe_addon_versions.__name__, describe_addon_versions)
    setattr(ParameterDict, _load_others.__name__, load_releases)


def describe_addon_versions(self: EKSResponse) -> ActionResult:
    """The versions of one add-on; none for another Kubernetes version."""
    name = self._get_param("addonName")
    offered = ADDON_VERSIONS.get(name, ()) if self._get_param("kubernetesVersion") in (None, KUBERNETES) else ()
    versions = [
        {
            "addonVersion": version,
            "architecture": ["amd64", "arm64"],
            "compatibilities": [{"clusterVersion": KUBERNETES, "defaultVersion": version == offered[-1]}],
        }
        for version in reversed(offered)
    ]
    addons = [{"addonName": name, "type": "networking", "addonVersions": versions}] if versions else []
    return ActionResult({"addons": addons})


def load_releases(self: ParameterDict, key: str) -> None:
    """Nothing; the releases are among the parameters once something below their path is asked for."""
    _load_others(self, key)
    if not str(key or "").startswith("/aws/service/eks/optimized-ami") or self.__dict__.get("has_releases"):
        return
    self.__dict__["has_releases"] = True
    for family in ("nvidia", "standard"):
        for release in RELEASES:
            image = f"amazon-eks-node-al2023-x86_64-{family}-{KUBERNETES}-v{release.partition('-')[2]}"
            _add(self, f"{_AMIS}/{family}/{image}/release_version", release)
        _add(self, f"{_AMIS}/{family}/recommended/release_version", RELEASES[-1])


def _add(parameters: ParameterDict, name: str, value: str) -> None:
    made = Parameter(  # type: ignore[abstract]  # moto makes its own so
        account_id=parameters.account_id, name=name, value=value, parameter_type="String", data_type="text",
        description=None, allowed_pattern=None, keyid=None, last_modified_date=utcnow(), version=1,
    )  # fmt: skip
    dict.__setitem__(parameters, name, [made])
