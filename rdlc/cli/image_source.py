"""Registries and image contents as the port of the image operations, with progress on stderr."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import get_args

import click

from rdlc.adapters.image_contents.cache import LayerCache, default_cache_folder
from rdlc.adapters.image_contents.reader import ImageContents, ReadOptions, Route, read_contents
from rdlc.adapters.image_contents.repository_source import RepositorySource
from rdlc.adapters.package_data import known_issues_file
from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.adapters.registry.client import Registry
from rdlc.cli.byte_progress import ByteProgress
from rdlc.cli.edge import Session
from rdlc.core.contents.inventory import Evidence
from rdlc.core.contents.layer_facts import LayerFacts
from rdlc.core.image.known_issues import KnownIssue, read_known_issues
from rdlc.core.image.oci import ResolvedImage
from rdlc.core.image.oci_platform import Platform
from rdlc.core.image.reference import ImageReference

ROUTES = get_args(Route)


def route_named(name: str) -> Route:
    """The route of that name, which click has checked."""
    return next(route for route in ROUTES if route == name)


class RegistryImages:
    """Images of any registry, read by one route."""

    def __init__(
        self, session: Session, *, route: Route, is_verified: bool = False, use_cache: bool = True,
        plain_http: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._session = session
        self._options = ReadOptions(route=route, verify=is_verified)
        self._cache = LayerCache(default_cache_folder()) if use_cache and route != "config" else None
        self._plain_http = plain_http

    @property
    def wanted_evidence(self) -> Evidence:
        """The weakest evidence that the route gives."""
        return self._options.least_evidence

    @cached_property
    def registry(self) -> Registry:
        """The registry client, made when it is first needed; the end of the command closes it."""
        registry = Registry(warn=self._session.warn, plain_http=self._plain_http)
        click.get_current_context().call_on_close(registry.close)
        return registry

    def resolve(self, reference: ImageReference, *, platform: Platform) -> ResolvedImage:
        """The image that the reference names now."""
        return self.registry.resolve(reference, platform=platform)

    def read_contents(self, image: ResolvedImage, *, known: Mapping[str, LayerFacts]) -> ImageContents:
        """Its contents, with progress in bytes; layers in `known` are not read again."""
        blobs = RepositorySource(client=self.registry, reference=image.requested, not_found=ImageNotFoundError)
        with ByteProgress(self._session, f"reading {image.requested.repository}") as progress:
            return read_contents(
                image,
                blobs,
                manifests=blobs,
                tag=image.requested.tag,
                cache=self._cache,
                known=known,
                options=self._options,
                progress=progress.update,
            )

    def known_issues(self) -> Sequence[KnownIssue]:
        """The table that comes with rdlc."""
        path = known_issues_file()
        return read_known_issues(path.read_bytes(), name=path.name)

    def find_digest(self, reference: ImageReference) -> str | None:
        """The digest that the reference names now; None if it is not there."""
        try:
            return self.registry.get_manifest(reference).digest
        except ImageNotFoundError:
            return None

    def aws_region(self) -> str | None:
        """The region that AWS calls of this machine go to, if the environment sets one."""
        return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")

    def find_missing(
        self, reference: ImageReference, *, manifests: Sequence[str], blobs: Sequence[str]
    ) -> tuple[str, ...]:
        """All of these digests that the repository no longer has."""
        return self.registry.find_missing(reference, manifests=manifests, blobs=blobs)

    def list_tags(self, reference: ImageReference) -> tuple[str, ...]:
        """Every tag of the repository."""
        return self.registry.list_tags(reference)
