"""A project whose locks hold images of the registry of the two builds, and what it says with stable names."""

import re
from pathlib import Path

import pytest

from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc, Said
from tests.projects import SPEC, make_project
from tests.registry.dlc_pair import REPOSITORY, with_names


class LockedImages:
    """`rdlc lock` of tags of the repository, and other commands about those locks."""

    def __init__(self, folder: Path, address: str, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
        self.address = address
        self._caches = folder / "caches"
        self._rdlc = rdlc
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(make_project(folder / "project"))

    def lock(self, tag: str, *more: str, spec: str = "") -> Path:
        """Locks what the tag names now in a lock of that name."""
        image = f"image: {{reference: '{self.address}/{REPOSITORY}:{tag}'{spec}}}"
        Path("run.yaml").write_text(SPEC.replace("target: local", f"target: docker\n{image}"))
        path = Path(f"{tag}.lock.yaml")
        assert self._rdlc("lock", "run.yaml", "-q", "-o", path, *more).code == 0
        return path

    def forget(self, name: str) -> None:
        """Goes on with another cache of layers, empty at first."""
        self._monkeypatch.setenv("XDG_CACHE_HOME", str(self._caches / name))

    def __call__(self, *arguments: str | Path) -> Said:
        said = self._rdlc(*arguments)
        return Said(code=said.code, out=self._named(said.out), err=self._named(said.err))

    def raw(self, *arguments: str | Path) -> Said:
        """What a command says, with the digests and the registry as they are."""
        return self._rdlc(*arguments)

    def rebuild(self, *arguments: str | Path) -> str:
        """What `rdlc diff` says of the image behind its heading."""
        return self("diff", *arguments).out.partition("\nimage rebuild\n")[2]

    def origin(self, path: Path) -> tuple[str, dict[str, str]]:
        """Evidence and components in the provenance of a lock."""
        image = lock_at(path).provenance.image
        assert image is not None
        return image.evidence, dict(image.components)

    def _named(self, text: str) -> str:
        return re.sub(r"[0-9,]+ bytes", "N bytes", with_names(text, self.address))
