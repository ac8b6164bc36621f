"""A project of target local that asks for extra packages, and the index that it is locked with."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.lockfile import RunLock, read_lock
from rdlc.core.packages.section import PackagesSection
from rdlc.errors import RdlcError
from rdlc.operations.lock import LockRequest, LockResult, lock_spec
from tests.operations.fake_packages import FakeIndex, hold
from tests.operations.scripted import ScriptedMachine, Voice
from tests.projects import SPEC, make_project

PEFT = hold("peft", "0.17.0", "torch>=2", "accelerate")
ACCELERATE = hold("accelerate", "1.0.0", "torch>=2")
NEWER = hold("peft", "0.18.0", "torch>=2", "accelerate")


class PackageProject:
    """A project of target local, its index, and what was said when it was locked."""

    def __init__(self, folder: Path) -> None:
        self.machine = ScriptedMachine(make_project(folder))
        self.machine.environment = replace(
            self.machine.environment,
            implementation="CPython",
            distributions={"torch": "2.13.0+cpu", "numpy": "2.4.0", "ray": "2.58.0"},
        )
        self.machine.files_of_base = {"torch/__init__.py": "torch"}
        self.path = folder / "lock/toy.lock.yaml"
        self.index = FakeIndex(held=[PEFT, ACCELERATE, NEWER], answer={"peft": "0.17.0", "accelerate": "1.0.0"})
        self.voice = Voice()

    def ask_for(self, packages: str) -> None:
        (self.machine.project / "run.yaml").write_text(f"{SPEC}packages: {packages}\n")

    def lock(
        self, *upgrades: str, like: Path | None = None, output: Path | None = None, is_check: bool = False,
        replacements: dict[str, str] | None = None, index: FakeIndex | None = None,
    ) -> LockResult:  # fmt: skip
        self.voice = Voice()
        request = LockRequest(
            spec=self.machine.project / "run.yaml",
            output=output,
            settings={},
            like=like,
            is_check=is_check,
            tool="rdlc test",
            upgrades=frozenset(upgrades),
            replacements=replacements or {},
        )
        return lock_spec(request, workspace=self.machine, reporter=self.voice, index=index or self.index)

    def refusal(self, *upgrades: str, replacements: dict[str, str] | None = None) -> tuple[str, str | None]:
        with pytest.raises(RdlcError) as caught:
            self.lock(*upgrades, replacements=replacements)
        return caught.value.message, caught.value.hint

    @property
    def written(self) -> RunLock:
        read = read_lock(self.path.read_bytes(), name="written")
        assert read.findings == ()
        return read.lock

    @property
    def section(self) -> PackagesSection:
        packages = self.written.sections.packages
        assert packages is not None
        return packages

    @property
    def versions(self) -> dict[str, str]:
        return {extra.name: extra.version for extra in self.section.extras}


def package_project(folder: Path) -> PackageProject:
    """A project that asks for `peft`."""
    made = PackageProject(folder)
    made.ask_for("[peft]")
    return made
