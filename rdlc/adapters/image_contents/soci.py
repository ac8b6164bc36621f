"""Finding the zTOCs that were published for an image."""

import threading
from collections.abc import Mapping

from rdlc.adapters.image_contents.ports import ManifestSource
from rdlc.core.contents.soci_index import ZtocBlob, find_soci_manifests, read_soci_manifest, soci_tag
from rdlc.errors import InputError

# An index lists one SOCI manifest for each platform.
_MANIFESTS_LIMIT = 16


class SociIndex:
    """The zTOCs behind the `-soci` twin of a tag, looked up when the first is asked for.

    The `-soci` tag moves by itself. That does no harm: layers are matched by digest, and a zTOC
    holds for every image that has its layer.
    """

    def __init__(self, manifests: ManifestSource | None, tag: str | None) -> None:
        self._manifests = manifests
        self._tag = tag
        self._lock = threading.Lock()
        self._ztocs: Mapping[str, ZtocBlob] | None = None
        self.notes: tuple[str, ...] = ()

    def ztoc(self, layer_digest: str) -> ZtocBlob | None:
        """The zTOC of a layer, None where there is none."""
        with self._lock:
            if self._ztocs is None:
                self._ztocs = self._find()
            return self._ztocs.get(layer_digest)

    def _find(self) -> Mapping[str, ZtocBlob]:
        found: dict[str, ZtocBlob] = {}
        if self._manifests is None or self._tag is None:
            return found
        name = soci_tag(self._tag)
        try:
            index = self._manifests.read_manifest(name)
            digests = find_soci_manifests(index, name=name) if index else ()
            for digest in digests[:_MANIFESTS_LIMIT]:
                if manifest := self._manifests.read_manifest(digest):
                    found |= read_soci_manifest(manifest, name=digest)
        except InputError as error:
            self.notes = (f"the SOCI index `{name}` is not used: {error.message}",)
        return found
