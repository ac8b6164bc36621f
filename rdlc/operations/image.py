"""What is in an image, and what moved between two, without pulling either."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rdlc.core.contents.inventory import Distribution, Inventory
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.image.known_issues import KnownIssue, match_issues
from rdlc.core.image.moves import ImageMoves, compare_images
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.image.oci_platform import Platform
from rdlc.core.image.reference import ImageReference


class Contents(Protocol):
    """The contents of an image as they were read."""

    @property
    def inventory(self) -> Inventory:
        """What is in it."""
        ...

    @property
    def known(self) -> Mapping[str, LayerFacts]:
        """Its layers by digest, so that another image need not read them again."""
        ...

    @property
    def read_bytes(self) -> int:
        """Bytes of layers that were read for it."""
        ...

    def requirements(self, distribution: Distribution) -> tuple[str, ...]:
        """What a distribution requires, read now."""
        ...


class ImageSource(Protocol):
    """Registries, and what is in the images they hold."""

    def resolve(self, reference: ImageReference, *, platform: Platform) -> ResolvedImage:
        """The image that the reference names now."""
        ...

    def read_contents(self, image: ResolvedImage, *, known: Mapping[str, LayerFacts]) -> Contents:
        """Its contents; layers in `known` are not read again."""
        ...

    def known_issues(self) -> Sequence[KnownIssue]:
        """The table of known issues."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageView:
    """An image, what is in it, and which known issues it has."""

    image: ResolvedImage
    contents: Contents
    issues: tuple[KnownIssue, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageComparison:
    """Two images and what moved from the first to the second."""

    old: ImageView
    new: ImageView
    moves: ImageMoves


def inspect_image(
    reference: ImageReference,
    *,
    platform: Platform,
    source: ImageSource,
    known: Mapping[str, LayerFacts] | None = None,
) -> ImageView:
    """The image, its contents by the route that the source was set to, and its known issues."""
    return look_into(source.resolve(reference, platform=platform), source=source, known=known)


def look_into(image: ResolvedImage, *, source: ImageSource, known: Mapping[str, LayerFacts] | None = None) -> ImageView:
    """A resolved image with its contents and its known issues."""
    contents = source.read_contents(image, known=known or {})
    return ImageView(image=image, contents=contents, issues=find_issues(image, contents.inventory, source))


def compare_references(
    old: ImageReference, new: ImageReference, *, platform: Platform, source: ImageSource
) -> ImageComparison:
    """Both images; layers that they share are read once."""
    first = inspect_image(old, platform=platform, source=source)
    second = inspect_image(new, platform=platform, source=source, known=first.contents.known)
    moves = compare_images(first.image, second.image, first.contents.inventory, second.contents.inventory)
    return ImageComparison(old=first, new=second, moves=moves)


def find_issues(image: ResolvedImage, inventory: Inventory, source: ImageSource) -> tuple[KnownIssue, ...]:
    """The known issues of an image, by its components and digests."""
    digests = [image.manifest_digest, *([image.index_digest] if image.index_digest else [])]
    components = [(item.name, item.version) for item in inventory.components]
    return match_issues(source.known_issues(), components=components, digests=digests)
