"""The registry client: tags to digests, and the bytes behind digests."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rdlc.adapters.registry.answers import ImageNotFoundError
from rdlc.adapters.registry.connections import Address, Connections
from rdlc.adapters.registry.digests import check_bytes
from rdlc.adapters.registry.manifests import ManifestReader, RawManifest, Selector
from rdlc.adapters.registry.pace import Pace
from rdlc.adapters.registry.session import Session
from rdlc.adapters.registry.transport import Transport
from rdlc.core.image.oci import Located, ResolvedImage, describe_image
from rdlc.core.image.oci_config import ImageConfig, parse_config
from rdlc.core.image.oci_manifest import Descriptor, Manifest
from rdlc.core.image.oci_platform import LINUX_AMD64, Platform
from rdlc.core.image.reference import ImageReference
from rdlc.errors import OutsideError

if TYPE_CHECKING:
    from rdlc.adapters.registry.authorization import Authorization
    from rdlc.adapters.registry.blobs import BlobStream, RangeRead

RANGE_LIMIT_BYTES = 64 << 20


class Registry:
    """Reads any number of registries; every method may be called from several threads at once.

    `warn` takes one line of text, from any thread. `plain_http` names registries, as `host:port`,
    that are asked without TLS; those on loopback need not be named. `ca_file` replaces the system's
    certificate authorities; `connect_to` sends `host:port` to another address.
    """

    def __init__(
        self,
        *,
        warn: Callable[[str], None],
        plain_http: Collection[str] = (),
        ca_file: str | None = None,
        connect_to: Mapping[str, Address] | None = None,
        timeout_s: float = 30.0,
        pace: Pace | None = None,
    ) -> None:
        self._connections = Connections(timeout_s=timeout_s, ca_file=ca_file, connect_to=connect_to or {})
        transport = Transport(self._connections, pace=pace or Pace(), plain_http=plain_http)
        self._session = Session(
            self._connections,
            transport,
            prepare_authorization=lambda: _prepare_authorization(transport, warn),
        )
        self._manifests = ManifestReader(self._session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept open."""
        self._connections.close()

    def resolve(self, reference: ImageReference, *, platform: Platform = LINUX_AMD64) -> ResolvedImage:
        """The image that the reference names now, down to its layers, without reading those.

        The tag is read once, all else by digest. Raises ImageNotFoundError if the tag or digest is not
        there, RdlcError if not exactly one image fits the platform, OutsideError otherwise.
        """
        top = self._manifests.get(reference)
        located, config = self._locate(reference, top, platform)
        tag_digest = None
        if reference.tag and reference.digest:
            tag_digest = self._manifests.find_digest(reference.tagged(reference.tag))
        return describe_image(reference, located, config, tag_digest=tag_digest)

    def get_manifest(self, reference: ImageReference) -> RawManifest:
        """The index or manifest itself, as bytes and parsed; verified if asked for by digest."""
        return self._manifests.get(reference)

    def find_missing(
        self, reference: ImageReference, *, manifests: Sequence[str] = (), blobs: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """All of these digests that the repository no longer has, in the order given."""
        missing = [name for name in manifests if not self._manifests.find_digest(reference.pinned(name))]
        missing += [name for name in blobs if not self._has_blob(reference, name)]
        return tuple(missing)

    def list_tags(self, reference: ImageReference) -> tuple[str, ...]:
        """Every tag of the repository, sorted; raises OutsideError if there are too many."""
        from rdlc.adapters.registry.tags import list_tags

        return list_tags(self._session, reference)

    def open_blob(self, reference: ImageReference, *, digest: str, size: int) -> "BlobStream":
        """The blob as a stream, to be closed; each stream has its own connection."""
        what = f"blob `{digest}`"
        answer = self._session.get(reference, f"blobs/{digest}", what=what, is_stream=True)
        if answer.status != 200:
            answer.close()
            raise OutsideError(f"the {what} came with status {answer.status}")
        from rdlc.adapters.registry.blobs import BlobStream

        return BlobStream(answer, digest=digest, size=size, what=what)

    def read_range(self, reference: ImageReference, *, digest: str, start: int, length: int) -> "RangeRead":
        """Bytes `start` to `start + length` of a blob, fewer at its end; no digest covers them."""
        if start < 0 or not 0 < length <= RANGE_LIMIT_BYTES:
            raise ValueError(f"not a range: {length} bytes from {start}")
        what = f"blob `{digest}`"
        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        answer = self._session.get(reference, f"blobs/{digest}", what=what, headers=headers, is_stream=True)
        from rdlc.adapters.registry.blobs import range_of

        return range_of(answer, start=start, length=length, what=what)

    def _locate(self, reference: ImageReference, top: RawManifest, platform: Platform) -> tuple[Located, ImageConfig]:
        selector = Selector(self._manifests, reference, platform, self._read_config)
        if isinstance(top.parsed, Manifest):
            return selector.check_single(top.parsed, top.digest)
        return selector.choose(top.parsed, top.digest)

    def _read_config(self, reference: ImageReference, descriptor: Descriptor) -> ImageConfig:
        what = f"config `{descriptor.digest}`"
        answer = self._session.get(reference, f"blobs/{descriptor.digest}", what=what)
        check_bytes(answer.data, digest=descriptor.digest, size=descriptor.size, what=what)
        return parse_config(answer.data, what=what)

    def _has_blob(self, reference: ImageReference, digest: str) -> bool:
        """By the first byte: ECR Public refuses HEAD for blobs that it gives."""
        try:
            answer = self._session.get(
                reference,
                f"blobs/{digest}",
                what=f"blob `{digest}`",
                headers={"Range": "bytes=0-0"},
                is_stream=True,
            )
        except ImageNotFoundError:
            return False
        answer.close()
        return True


def _prepare_authorization(transport: Transport, warn: Callable[[str], None]) -> "Authorization":
    from rdlc.adapters.registry.authorization import Authorization
    from rdlc.adapters.registry.credentials import Credentials

    return Authorization(transport, Credentials(warn=warn), warn=warn)
