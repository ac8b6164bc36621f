"""What a run asks of its network: the transport that its collectives use, and what a fallback does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields

# In the words of a verdict. `intra-node` is a run on one node, which needs no network.
TRANSPORTS = ("efa", "ib", "socket", "intra-node")
ON_FALLBACK = ("stop", "warn")
_EXTERNAL = re.compile(r"external:[A-Za-z0-9_.-]{1,64}")
# NCCL takes no other network than the named one, and libfabric no other provider: where they are
# missing the job ends within seconds. Source: NCCL's init.cc, and aws-ofi-nccl's platform-aws.cpp.
_PLUGIN = "aws-ofi-nccl"
_GUARDED_FROM = (1, 13)
GUARD = {"FI_PROVIDER": "efa", "NCCL_NET": "Libfabric"}


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkRequest:
    """The transport that a run must use, "" for any that is no fallback; `on_fallback` is `stop` or `warn`.

    `is_strict` lets NCCL refuse every other network by itself.
    """

    transport: str
    is_strict: bool
    on_fallback: str

    def payload(self) -> Mapping[str, Json]:
        """Version 1."""
        return {"transport": self.transport, "strict": self.is_strict, "on_fallback": self.on_fallback}

    @property
    def guard(self) -> Mapping[str, str]:
        """The environment variables that let the job fail where it would have fallen back."""
        return GUARD if self.is_strict else {}


def read_network_request(fields: Fields, key: str) -> NetworkRequest | None:
    """The `network` part of a spec or of a lock's request; None if there is none."""
    if not fields.has(key):
        return None
    part = fields.below(key)
    transport = part.remark("transport")
    if transport not in ("", *TRANSPORTS) and not _EXTERNAL.fullmatch(transport):
        # For its message, with the closest word.
        part.text("transport", choices=(*TRANSPORTS, "external:NAME"))
    request = NetworkRequest(
        transport=transport,
        is_strict=part.flag("strict", default=False),
        on_fallback=part.text("on_fallback", default="stop", choices=ON_FALLBACK),
    )
    part.finish()
    if request.is_strict and request.transport != "efa":
        raise part.error("strict", "guards EFA only", "`transport: efa` beside it")
    return request


def refuse_old_plugin(request: NetworkRequest | None, components: Mapping[str, str]) -> str | None:
    """Why the guard would end every run with that image's plugin; None if it would not, or its version is not known.

    Until 1.12 the plugin's network has another name (source: aws-ofi-nccl, tags 1.12.1 and 1.13.2).
    """
    found = components.get(_PLUGIN, "")
    version = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", found)
    if request is None or not request.is_strict or version is None:
        return None
    if (int(version[1]), int(version[2])) >= _GUARDED_FROM:
        return None
    wanted = ".".join(map(str, _GUARDED_FROM))
    return f"the image has {_PLUGIN} {found}, and `{GUARD['NCCL_NET']}` is the name of its network from {wanted} on"


def find_network_mistakes(request: NetworkRequest | None, *, gpus_per_worker: int) -> Iterator[tuple[str, str]]:
    """What cannot be asked of workers like these: the field, and what is wrong."""
    if request is not None and request.transport and gpus_per_worker == 0:
        yield (
            "network.transport",
            f"`{request.transport}` needs NCCL, and with `cluster.gpus_per_worker: 0` the workers use gloo",
        )
