"""Which values of a pod's environment are kept: never a secret, and every name."""

from collections.abc import Mapping

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.secrets import find_secret
from rdlc.core.text import one_line
from rdlc.core.variables import MATTERS

NOT_KEPT = "(not kept)"
AS_ASKED = "(not kept, as asked for)"
_LIMIT = 1000
# They move a run's results, its network or its Ray; the others may be anybody's.
_KEPT = (
    *MATTERS, "EFA_", "FQ_RAY_", "HF_HUB_", "HYDRA_", "LANG", "LC_", "MALLOC_", "NVIDIA_", "OFI_", "OMPI_", "OPENBLAS_",
    "PYTHON", "RDMAV_", "TOKENIZERS_", "TRANSFORMERS_", "TRITON_", "TZ", "UCX_",
)  # fmt: skip
_TELLING = ("AUTH", "CREDENTIAL", "KEY", "PASS", "SECRET", "TOKEN")


def read_environment(container: Fields, *, clear: Mapping[str, str]) -> dict[str, str]:
    """The variables of a container as they are kept, by name; `clear` are values that were asked for.

    A value that comes from elsewhere is told by where it comes from, in round brackets.
    """
    kept: dict[str, str] = {}
    for number, item in enumerate(container.each("envFrom")):
        kept[f"(envFrom {number})"] = _source(item, ("secretRef", "configMapRef"))
    for item in container.each("env"):
        # Kubernetes takes almost any character in a name, and the last of two.
        name = one_line(item.text("name"), limit=_LIMIT)
        if item.has("valueFrom"):
            kept[name] = _source(
                item.below("valueFrom"),
                ("secretKeyRef", "configMapKeyRef", "fieldRef", "resourceFieldRef", "fileKeyRef"),
            )
        else:
            kept[name] = _kept_value(name, item.remark("value"), clear)
    return kept


def _kept_value(name: str, value: str, clear: Mapping[str, str]) -> str:
    is_asked = clear.get(name) == value
    if any(word in name.upper() for word in _TELLING) or find_secret(value) is not None:
        # Equal ones are told from others without being kept.
        return AS_ASKED if is_asked else NOT_KEPT
    return one_line(value, limit=_LIMIT) if is_asked or name.startswith(_KEPT) else NOT_KEPT


def _source(fields: Fields, kinds: tuple[str, ...]) -> str:
    for kind in kinds:
        if fields.has(kind):
            below = fields.below(kind)
            parts = [str(_plain(below.values.get(key))) for key in ("name", "key", "fieldPath", "resource", "path")]
            return one_line(f"({kind} {' '.join(part for part in parts if part)})", limit=_LIMIT)
    return "(from elsewhere)"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else ""
