"""Registries in memory: what their names give, which of them answer, and what is in their images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rdlc.core.contents.inventory import Distribution, Evidence, Inventory
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.image.known_issues import KnownIssue
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.image.oci_platform import Platform
from rdlc.core.image.reference import ImageReference, parse_reference
from rdlc.errors import OutsideError, RdlcError
from tests.image_samples import make_inventory, resolve_pushed
from tests.registry.images import Blob, Image, Index

ISSUE = KnownIssue(
    id="efa-hangs",
    title="it hangs",
    effect="no step is made",
    fix="take another",
    source="a page",
    components={"efa-installer": ("1.47.0",)},
    digests=(),
)
NOTHING = make_inventory(evidence="config-only")


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeContents:
    """Contents without layers."""

    inventory: Inventory
    known: Mapping[str, LayerFacts] = field(default_factory=dict)
    read_bytes: int = 0

    def requirements(self, distribution: Distribution) -> tuple[str, ...]:
        return ()


@dataclass(kw_only=True)
class FakeRegistries:
    """All registries there are.

    `tags` maps a name with its tag to what was pushed there; `kept` maps a name without tag to what
    it has by digest too. `contents` maps a manifest digest to an inventory; `down` and `closed` are
    hosts that do not answer, and those that list no tags. `wanted_evidence` is that of the route.
    """

    tags: dict[str, Image | Index] = field(default_factory=dict)
    kept: dict[str, list[Image | Index]] = field(default_factory=dict)
    contents: dict[str, Inventory] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    region: str | None = None
    issues: tuple[KnownIssue, ...] = (ISSUE,)
    asked: list[str] = field(default_factory=list)
    wanted_evidence: Evidence = "config-only"

    def push(self, pushed: Image | Index, *names: str) -> None:
        for name in names:
            self.tags[name] = pushed
            self.kept.setdefault(parse_reference(name).name, []).append(pushed)

    def resolve(self, reference: ImageReference, *, platform: Platform) -> ResolvedImage:
        found = self._find(reference)
        if found is None:
            raise RdlcError(f"no such image: {reference}")
        tagged = self.tags.get(f"{reference.name}:{reference.tag}")
        tag_digest = tagged.digest if tagged and reference.digest else None
        image = resolve_pushed(found, str(reference), tag_digest=tag_digest)
        if str(image.platform) != str(platform):
            raise RdlcError(f"no image for {platform}")
        return image

    def read_contents(self, image: ResolvedImage, *, known: Mapping[str, LayerFacts]) -> FakeContents:
        return FakeContents(inventory=self.contents.get(image.manifest_digest, NOTHING))

    def known_issues(self) -> Sequence[KnownIssue]:
        return self.issues

    def find_digest(self, reference: ImageReference) -> str | None:
        found = self._find(reference)
        return found.digest if found else None

    def aws_region(self) -> str | None:
        return self.region

    def list_tags(self, reference: ImageReference) -> tuple[str, ...]:
        self._answer(reference)
        if reference.registry in self.closed:
            raise OutsideError("tags are not listed")
        return tuple(sorted(name.rpartition(":")[2] for name in self.tags if name.startswith(f"{reference.name}:")))

    def find_missing(
        self, reference: ImageReference, *, manifests: Sequence[str], blobs: Sequence[str]
    ) -> tuple[str, ...]:
        self._answer(reference)
        held = {pushed.digest for pushed in self.kept.get(reference.name, [])}
        held |= {child.digest for pushed in self.kept.get(reference.name, []) for child in children(pushed)}
        held |= {blob.digest for pushed in self.kept.get(reference.name, []) for blob in blobs_of(pushed)}
        return tuple(digest for digest in (*manifests, *blobs) if digest not in held)

    def _find(self, reference: ImageReference) -> Image | Index | None:
        self._answer(reference)
        if reference.digest:
            held = self.kept.get(reference.name, [])
            return next((pushed for pushed in held if pushed.digest == reference.digest), None)
        return self.tags.get(f"{reference.name}:{reference.selector}")

    def _answer(self, reference: ImageReference) -> None:
        self.asked.append(str(reference))
        if reference.registry in self.down:
            raise OutsideError(f"`{reference.registry}` does not answer")


def children(pushed: Image | Index) -> tuple[Image | Index, ...]:
    return pushed.children if isinstance(pushed, Index) else ()


def blobs_of(pushed: Image | Index) -> tuple[Blob, ...]:
    if isinstance(pushed, Index):
        return tuple(blob for child in pushed.children for blob in blobs_of(child))
    return pushed.blobs
