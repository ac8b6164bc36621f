"""The words for transports, and which of them a network's name and its libfabric provider mean."""

from collections.abc import Iterable

TCP = frozenset({"socket", "ofi-tcp"})
INTRA_NODE = "intra-node"

_EXTERNAL = "external:"
_LIBFABRIC = frozenset({"libfabric", "aws libfabric", "ofi"})
# Providers that are neither EFA nor TCP: they are named, and not mistaken for either.
_RDMA_PROVIDERS = ("verbs", "cxi", "psm", "opx", "ucx", "gni", "usnic")


def transport_of(network: str, providers: Iterable[str]) -> frozenset[str]:
    """What a network is; empty where it is libfabric's and no line names its provider."""
    name = network.strip().lower()
    if name == "socket":
        return frozenset({"socket"})
    if name == "ib" or name.startswith("ibext"):
        return frozenset({"ib"})
    if name in _LIBFABRIC:
        return frozenset(map(_of_provider, providers))
    return frozenset({f"{_EXTERNAL}{network.strip()}"})


def is_external(transport: str) -> bool:
    """Whether it is the network of a plugin that is not known here."""
    return transport.startswith(_EXTERNAL)


def _of_provider(provider: str) -> str:
    name = provider.lower()
    if name.startswith("efa"):
        return "efa"
    return f"{_EXTERNAL}{provider}" if name.startswith(_RDMA_PROVIDERS) else "ofi-tcp"


def joined(transports: Iterable[str]) -> str:
    """Several transports as one word, `efa+socket`."""
    return "+".join(sorted(set(transports)))
