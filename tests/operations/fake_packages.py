"""A package index in memory: what it resolves to is scripted, and every question is kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdlc.core.canonical import digest_of_bytes
from rdlc.core.packages.resolution import FetchedFile, IndexFile, Pin, Release, ResolutionQuestion
from rdlc.errors import OutsideError

SITE = "x86_64-manylinux_2_36"


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """A file of the index, and what is in it."""

    file: IndexFile
    project: str
    version: str
    data: bytes
    members: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


def hold(
    project: str, version: str, *requires: str, tag: str = "py3-none-any", name: str = "",
    yanked: str | None = None, members: Sequence[str] = (), data: bytes | None = None,
) -> Held:  # fmt: skip
    """A wheel, or with `name` any other file."""
    file = name or f"{project.replace('-', '_')}-{version}-{tag}.whl"
    held = file.encode() if data is None else data
    return Held(
        file=IndexFile(
            name=file,
            url=f"http://index/{file}",
            size=len(held),
            sha256=digest_of_bytes(held),
            yanked=yanked,
        ),
        project=project,
        version=version,
        data=held,
        members=tuple(members) or (f"{project.replace('-', '_')}/__init__.py",),
        requires=requires,
    )


@dataclass(kw_only=True)
class FakeIndex:
    """An index; `answer` maps the names that it resolves to, to their versions."""

    held: list[Held] = field(default_factory=list)
    answer: Mapping[str, str] = field(default_factory=dict)
    is_down: bool = False
    questions: list[ResolutionQuestion] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    listed: list[str] = field(default_factory=list)

    def resolve(self, question: ResolutionQuestion) -> tuple[Pin, ...]:
        self._answer()
        self.questions.append(question)
        return tuple(
            Pin(name=name, version=version, files=self._files(name, version)) for name, version in self.answer.items()
        )

    def fetch_all(self, files: Sequence[IndexFile]) -> tuple[FetchedFile, ...]:
        if files:
            self._answer()
        return tuple(self._fetch(file) for file in files)

    def fill_wheelhouse(self, folder: Path, files: Sequence[IndexFile]) -> tuple[Path, ...]:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            self._fetch(file)
            (folder / file.name).write_bytes(self._find(file.name).data)
        return tuple(folder / file.name for file in files)

    def index_url(self, index: str) -> str:
        return index or "http://index/simple"

    def releases(self, name: str, *, index: str) -> tuple[Release, ...]:
        self._answer()
        self.listed.append(name)
        versions = dict.fromkeys(item.version for item in self.held if item.project == name)
        return tuple(Release(version=version, files=self._files(name, version)) for version in versions)

    def yank(self, file: str, reason: str) -> None:
        self.held = [
            replace(item, file=replace(item.file, yanked=reason)) if item.file.name == file else item
            for item in self.held
        ]

    def _files(self, name: str, version: str) -> tuple[IndexFile, ...]:
        return tuple(item.file for item in self.held if (item.project, item.version) == (name, version))

    def _fetch(self, file: IndexFile) -> FetchedFile:
        self.fetched.append(file.name)
        item = self._find(file.name)
        return FetchedFile(
            path=Path("/cache", file.name),
            size=len(item.data),
            sha256=digest_of_bytes(item.data),
            members=item.members,
            requires=item.requires,
        )

    def _find(self, name: str) -> Held:
        return next(item for item in self.held if item.file.name == name)

    def _answer(self) -> None:
        if self.is_down:
            raise OutsideError("the index does not answer")


class UnaskedIndex(FakeIndex):
    """An index that must not be asked."""

    def _answer(self) -> None:
        raise AssertionError("the index was asked")
