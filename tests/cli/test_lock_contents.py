"""`rdlc lock --contents` of an image that is kept, and other edits that must not move it."""

from pathlib import Path

import pytest

from tests.cli.locked_pair import LockedImages
from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc
from tests.registry.dlc_pair import FIRST, FIXED, MOVING, NEXT, REPOSITORY, push_first, push_next
from tests.registry.logged_out import log_out
from tests.registry.push import delete_manifest
from tests.registry.registries import plain_registry


@pytest.fixture
def images(image_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> LockedImages:
    log_out(monkeypatch, tmp_path)
    return LockedImages(tmp_path, image_registry, rdlc, monkeypatch)


@pytest.mark.parametrize(("route", "evidence"), [("auto", "soci-toc"), ("stream", "streamed")])
def test_a_kept_image_is_looked_into_as_asked_and_only_provenance_changes(
    images: LockedImages, route: str, evidence: str
) -> None:
    path = images.lock(FIXED)
    before = lock_at(path)
    hints, _ = images.origin(path)

    said = images("lock", "run.yaml", "-o", path, "--contents", route, "--json")
    again = images("lock", "run.yaml", "-o", path, "--contents", route, "--json")
    shallow = images("lock", "run.yaml", "-o", path, "--json")

    found, components = images.origin(path)
    assert (hints, found, components["aws-ofi-nccl"]) == ("config-only", evidence, "1.18.0")
    assert (said.document["status"], lock_at(path).id) == ("locked", before.id)
    assert (again.document["status"], shallow.document["status"]) == ("unchanged", "unchanged")
    assert shallow.document["image"]["evidence"] == evidence


def test_the_kept_digest_is_looked_into_and_not_what_the_tag_names_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    storage = tmp_path / "storage"
    storage.mkdir()
    with plain_registry(storage) as address:
        images = LockedImages(tmp_path, address, rdlc, monkeypatch)
        push_first(address)
        path = images.lock(MOVING)
        push_next(address)

        said = images("lock", "run.yaml", "-o", path, "--contents", "stream")

        evidence, components = images.origin(path)
        assert (said.code, evidence, components["efa-installer"]) == (0, "streamed", "1.47.0")
        assert "the lock keeps sha256:FIRST" in said.err

        images.forget("other")
        path = images.lock(FIXED)
        delete_manifest(address, REPOSITORY, FIRST.image.digest)
        lost = images("lock", "run.yaml", "-o", path, "--contents", "stream")

    assert (lost.code, images.origin(path)[0]) == (0, "config-only")
    name = f"registry.example/{REPOSITORY}"
    assert lost.err.splitlines()[:2] == [
        f"warning: `{name}:{FIXED}` is gone; the lock keeps sha256:FIRST",
        (
            "warning: the locked image was not looked into, it stays `config-only`: "
            f'`registry.example` has no image `{name}@sha256:FIRST`: "manifest unknown"'
        ),
    ]


def test_another_reason_for_a_base_keeps_the_digest_though_the_tag_has_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    storage = tmp_path / "storage"
    storage.mkdir()
    with plain_registry(storage) as address:
        images = LockedImages(tmp_path, address, rdlc, monkeypatch)
        push_first(address)
        base = f", base: '{address}/{REPOSITORY}:{FIXED}', reason: "
        path = images.lock(MOVING, spec=f"{base}our proxy")
        push_next(address)

        images.lock(MOVING, spec=f"{base}our tokenizer")

    section = lock_at(path).sections.image
    assert section is not None
    assert (section.digest, section.requested.reason) == (FIRST.image.digest, "our tokenizer")
    assert section.digest != NEXT.image.digest
