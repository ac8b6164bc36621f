"""Layers for tests, as facts of few words."""

from collections.abc import Mapping

from rdlc.core.contents.inventory import (
    Evidence,
)
from rdlc.core.contents.layer_facts import FileFact, LayerFacts


def layer(
    *paths: str,
    links: Mapping[str, str] | None = None,
    removed: tuple[str, ...] = (),
    emptied: tuple[str, ...] = (),
    folders: tuple[str, ...] = (),
    evidence: Evidence = "streamed",
    contents: Mapping[str, str] | None = None,
) -> LayerFacts:
    texts = contents or {}
    files = {path: FileFact(size=1) for path in paths}
    files |= {path: FileFact(size=len(text), content=text) for path, text in texts.items()}
    return LayerFacts(
        digest="sha256:" + "0" * 64,
        evidence=evidence,
        files=files,
        links=links or {},
        removed=removed,
        emptied=emptied,
        folders=folders,
    )
