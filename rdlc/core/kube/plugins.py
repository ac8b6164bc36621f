"""What serves a cluster: the device plugins and the operator, by the images that really run."""

from collections.abc import Iterable, Mapping

from rdlc.core.canonical import Json
from rdlc.core.document import Document
from rdlc.core.fields import Fields
from rdlc.core.kube.image_ids import digest_of
from rdlc.core.text import one_line

PLUGIN_NAMESPACE = "kube-system"
OPERATOR_SELECTOR = "app.kubernetes.io/name=kuberay-operator"
EFA_PLUGIN, NVIDIA_PLUGIN, OPERATOR = "EFA plugin", "NVIDIA plugin", "KubeRay operator"
# The last part of the image's name, whatever its registry; mirrors keep it.
_IMAGES = {
    "aws-efa-k8s-device-plugin": EFA_PLUGIN,
    "eks-efa-k8s-device-plugin": EFA_PLUGIN,
    "k8s-device-plugin": NVIDIA_PLUGIN,
    "kuberay-operator": OPERATOR,
    "kuberay/operator": OPERATOR,
}


def find_plugins(pods: Iterable[Mapping[str, Json]]) -> dict[str, str]:
    """What serves the cluster, to its image with its digest; several that differ are listed.

    Pods are read, and not what made them: only kubelet knows which digest a tag was.
    """
    found: dict[str, set[str]] = {}
    for pod in pods:
        status = _fields(pod).below("status", default={})
        for held in status.each("containerStatuses"):
            image = held.remark("image")
            if (name := _find_name(_repository(image))) is not None:
                found.setdefault(name, set()).add(_describe(image, held.remark("imageID")))
    return {name: ", ".join(sorted(images)) for name, images in sorted(found.items())}


def _find_name(repository: str) -> str | None:
    parts = repository.split("/")
    return _IMAGES.get(parts[-1]) or _IMAGES.get("/".join(parts[-2:]))


def _describe(image: str, image_id: str) -> str:
    """An image without its registry: `repository:tag`, and the digest that runs if kubelet names one."""
    digest = digest_of(image_id) or digest_of(image)
    tagged = image.partition("@")[0]
    first, slash, rest = tagged.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    name = one_line(rest if is_host else tagged, limit=300)
    return f"{name}@{digest}" if digest else name


def _repository(image: str) -> str:
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _fields(value: Json) -> Fields:
    return Fields(Document(name="pod", value=value, lines={}), value)
