"""What moved between two images, and what kind of rebuild that is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from rdlc.core.contents.inventory import Distribution, Inventory, OsPackage

RebuildKind = Literal[
    "same",
    "index-only",
    "metadata-only",
    "same-components",
    "os-packages",
    "components-changed",
    "not-known",
]

KIND_WORDS: Mapping[RebuildKind, str] = {
    "same": "the same digest",
    "index-only": "another index around the same image",
    "metadata-only": "the same layers and runtime config, built at another date",
    "same-components": "other layers or labels, and every component and package has the same version",
    "os-packages": "only packages of the operating system moved",
    "components-changed": "components, Python packages or their settings moved",
    "not-known": "other layers or settings, and not all that is in the layers was read",
}

GROUPS = ("transport stack", "CUDA", "framework", "Python packages", "OS packages", "files and environment")
_GROUP_OF = {
    **dict.fromkeys(("nccl", "efa-installer", "libfabric", "aws-ofi-nccl", "gdrcopy", "openmpi"), GROUPS[0]),
    **dict.fromkeys(("cuda", "cuda-runtime", "cuda-compat", "cudnn"), GROUPS[1]),
    # Its version moves with every update of the packages: by itself that says nothing of the stack.
    "os": GROUPS[4],
}
_RISKS = {
    "nccl": "other algorithms and defaults: speed, and the bits of sums, can change",
    "efa-installer": "brings libfabric and aws-ofi-nccl: the transport can change",
    "libfabric": "the transport can change",
    "aws-ofi-nccl": "the plugin that NCCL reaches EFA through: transport and speed can change",
    "cuda-compat": "whether it is used depends on the driver of the nodes",
    "torch": "other kernels: bits and speed can change",
    "ray": "scheduling, start-up and runtime_env can change",
}


class ImageIdentity(Protocol):
    """The digests that tell an image from another; a resolved and a locked image both are one."""

    @property
    def digest(self) -> str:
        """What the reference names: the index if there is one, else the manifest."""

    @property
    def manifest_digest(self) -> str:
        """The manifest of the platform."""

    @property
    def content_id(self) -> str:
        """The layers and the runtime config, without dates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """One thing that is not the same; None on the side that lacks it. `place` is where it stands."""

    group: str
    name: str
    place: str
    old: str | None
    new: str | None
    risk: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageMoves:
    """The kind of rebuild and every move, in the order of `GROUPS`."""

    kind: RebuildKind
    moves: tuple[Move, ...]

    @property
    def risks(self) -> tuple[Move, ...]:
        """The moves that can change transport, speed or bits."""
        return tuple(move for move in self.moves if move.risk)


def compare_images(
    old: ImageIdentity, new: ImageIdentity, before: Inventory, after: Inventory, *, has_packages: bool = True
) -> ImageMoves:
    """What moved from one image to the other, as far as both inventories tell.

    `has_packages` is False where the inventories hold components alone: then that no package moved is
    not known.
    """
    moves = sorted(_find_moves(before, after), key=lambda move: (GROUPS.index(move.group), move.name, move.place))
    is_read = before.complete and after.complete
    is_listed = has_packages and before.is_os_read and after.is_os_read
    kind = kind_by_digest(old, new) or _kind_by_moves(moves, is_read=is_read, is_listed=is_listed)
    return ImageMoves(kind=kind, moves=tuple(moves))


def kind_by_digest(old: ImageIdentity, new: ImageIdentity) -> RebuildKind | None:
    """The kind of rebuild if digests alone tell it: None where layers or settings are not the same."""
    if old.digest == new.digest and old.manifest_digest == new.manifest_digest:
        return "same"
    if old.manifest_digest == new.manifest_digest:
        return "index-only"
    return "metadata-only" if old.content_id == new.content_id else None


def _kind_by_moves(moves: list[Move], *, is_read: bool, is_listed: bool) -> RebuildKind:
    # Without its layers an image has only hints of components; its environment is certain.
    certain = {move.group for move in moves if is_read or move.place == "environment"}
    if certain - {"OS packages"}:
        return "components-changed"
    if not (is_read and is_listed):
        return "not-known"
    return "os-packages" if certain else "same-components"


def _find_moves(before: Inventory, after: Inventory) -> Iterator[Move]:
    yield from _moved("", _components(before), _components(after))
    yield from _moved("Python packages", _distributions(before), _distributions(after))
    if before.is_os_read and after.is_os_read:
        yield from _moved("OS packages", _packages(before), _packages(after))
    texts = ({("/etc/nccl.conf", "file"): side.nccl_conf or ""} for side in (before, after))
    yield from _moved("files and environment", *({k: v for k, v in side.items() if v} for side in texts))
    variables = ({(name, "environment"): value for name, value in side.environment.items()} for side in (before, after))
    yield from _moved("files and environment", *variables)


def _moved(group: str, before: Mapping[tuple[str, str], str], after: Mapping[tuple[str, str], str]) -> Iterator[Move]:
    for name, place in sorted(before.keys() | after.keys()):
        old, new = before.get((name, place)), after.get((name, place))
        if old != new:
            yield Move(
                group=group or _GROUP_OF.get(name, "framework"),
                name=name,
                place=place,
                old=old,
                new=new,
                risk=None if group else _RISKS.get(name),
            )


def _components(inventory: Inventory) -> dict[tuple[str, str], str]:
    # The copy that is found first at run time; others stand among the distributions with their place.
    found: dict[tuple[str, str], str] = {}
    for item in inventory.components:
        found.setdefault((item.name, "component"), item.version)
    return found


def _distributions(inventory: Inventory) -> dict[tuple[str, str], str]:
    return {_key(item): item.version for item in inventory.distributions}


def _key(item: Distribution) -> tuple[str, str]:
    return item.name, item.site


def _packages(inventory: Inventory) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    for item in inventory.os_packages:
        key = (item.name, _place(item))
        found[key] = f"{found[key]}, {item.version}" if key in found else item.version
    return found


def _place(item: OsPackage) -> str:
    return f"{item.kind} {item.architecture}"
