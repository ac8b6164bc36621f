"""A run with extra packages: what it is started with, what it refuses, what its record says."""

import json
from pathlib import Path

import pytest

from rdlc.adapters.ray.status import JobEnd
from rdlc.errors import RdlcError
from tests.diff_samples import make_outcome
from tests.operations.package_project import PackageProject, package_project
from tests.operations.scripted import FINISHED, Script, ScriptedMachine, Voice, leave, leave_reports, run

INDEX = "https://user:word@index.example/simple"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackageProject:
    made = package_project(tmp_path / "project")
    made.machine.variables = {
        "PATH": "/usr/bin",
        "PIP_INDEX_URL": "https://user:word@index.example/simple",
        "PIP_CERT": "/ca",
    }
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", INDEX)
    return made


def reporting(project: PackageProject, **changes: object) -> Script:
    """A job whose ranks have the locked extras on top of the environment."""

    def script(machine: ScriptedMachine, record: Path) -> JobEnd:
        extras = project.section.extras
        versions = {extra.name: extra.version for extra in extras}
        files = {e.name: {"version": e.version, "file": e.file, "sha256": e.sha256, "is_yanked": False} for e in extras}
        held = {"distributions": {**machine.environment.distributions, **versions}, "installed": files}
        held |= {"torch": "2.13.0+cpu", "ray": "2.58.0", **changes}
        leave(record, make_outcome())
        leave_reports(record, **held)
        (record / "packages").mkdir()
        (record / "packages/0.json").write_text(json.dumps({"seconds": 6.04, "bytes": 13 << 20, "host": "here"}))
        return FINISHED

    return script


def test_the_recipe_is_told_the_locked_files_and_only_its_environment_the_login_of_the_index(
    project: PackageProject,
) -> None:
    project.lock()
    project.machine.script = reporting(project)

    result = run(project.machine, project.path)

    config = json.loads((result.path / "config.json").read_text())
    (order,) = project.machine.orders
    assert config["packages"] == {
        "lines": list(project.section.pip_lines),
        "sdists": [],
        "setup_timeout_s": 600,
        "wheels": None,
    }
    assert (order.environment["PIP_INDEX_URL"], order.environment["PIP_CERT"]) == (
        INDEX,
        "/ca",
    )
    written = b"".join(path.read_bytes() for path in result.path.rglob("*") if path.is_file())
    assert b"user:word" not in written


def test_a_run_whose_ranks_have_what_is_locked_conforms_and_says_what_the_set_up_took(project: PackageProject) -> None:
    project.lock()
    project.machine.script = reporting(project)

    record = run(project.machine, project.path).record

    assert (record.level, record.observed["package set-up"]) == ("execution", "6.0 s, 13.0 MiB on here")
    names = [check.name for check in record.checks if check.name.partition(" ")[0] in {"package", "file", "other"}]
    assert names == [
        "package accelerate", "file of accelerate", "package peft", "file of peft", "other packages",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "report", [{"installed": None}, {"distributions": {"torch": "2.13.0+cpu"}}], ids=["files", "distributions"]
)
def test_a_run_whose_ranks_do_not_show_what_they_have_proves_nothing(
    project: PackageProject, report: dict[str, object]
) -> None:
    project.lock()
    project.machine.script = reporting(project, **report)

    record = run(project.machine, project.path).record

    assert (record.status, record.level) == ("finished", "recorded")


def test_a_lock_without_extras_starts_as_before(project: PackageProject) -> None:
    project.ask_for("[]")
    project.lock()

    result = run(project.machine, project.path)

    config = json.loads((result.path / "config.json").read_text())
    (order,) = project.machine.orders
    assert ("packages" in config, "PIP_INDEX_URL" in order.environment, "package set-up" in result.record.observed) == (
        False,
        False,
        False,
    )


def test_a_wheelhouse_is_handed_over_when_every_file_is_as_locked(project: PackageProject) -> None:
    project.ask_for("{requires: [peft], install: wheelhouse}")
    project.lock()
    project.machine.script = reporting(project)

    result = run(project.machine, project.path)

    config = json.loads((result.path / "config.json").read_text())
    (order,) = project.machine.orders
    assert config["packages"]["wheels"] == str(project.path.with_name("toy.wheels").resolve())
    assert "PIP_INDEX_URL" not in order.environment


def test_a_wheelhouse_with_a_missing_and_a_changed_file_is_refused_before_anything_starts(
    project: PackageProject,
) -> None:
    project.ask_for("{requires: [peft], install: wheelhouse}")
    project.lock()
    folder = project.path.with_name("toy.wheels")
    first, second = sorted(folder.iterdir())
    first.unlink()
    second.chmod(0o644)
    second.write_bytes(b"changed")

    with pytest.raises(RdlcError) as caught:
        run(project.machine, project.path)

    assert (caught.value.message, caught.value.file, caught.value.hint) == (
        f"the wheelhouse lacks `{first.name}`, `{second.name}`, or has other bytes than the lock under the name",
        str(folder),
        "`rdlc lock SPEC` puts back what is missing",
    )
    assert (project.machine.orders, list(project.machine.project.glob("runs/*/*"))) == ([], [])


def test_a_file_that_was_yanked_when_it_was_locked_is_installed_with_a_warning(project: PackageProject) -> None:
    project.ask_for('["peft==0.17.0"]')
    project.index.yank("peft-0.17.0-py3-none-any.whl", "breaks\nthings")
    project.lock()
    project.machine.script = reporting(project)
    voice = Voice()

    result = run(project.machine, project.path, voice=voice)

    assert voice.warnings == [
        "`peft-0.17.0-py3-none-any.whl` is yanked from the index, and installed as locked: breaks\\nthings"
    ]
    assert result.record.level == "execution"


@pytest.mark.parametrize(
    ("lacking", "message", "hint"),
    [
        (
            ("pip", "virtualenv"),
            "this Python lacks `pip` and `virtualenv`, which Ray installs extra packages with",
            "`python -m ensurepip`",
        ),
        (
            ("virtualenv",),
            "this Python lacks `virtualenv`, which Ray installs extra packages with",
            "`python -m pip install virtualenv`",
        ),
    ],
)
def test_a_python_that_cannot_install_is_refused_before_anything_starts(
    project: PackageProject, lacking: tuple[str, ...], message: str, hint: str
) -> None:
    project.lock()
    project.machine.lacking = lacking

    with pytest.raises(RdlcError) as caught:
        run(project.machine, project.path)

    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert (project.machine.orders, list(project.machine.project.glob("runs/*/*"))) == ([], [])


def test_a_lock_without_extras_needs_nothing_to_install_with(project: PackageProject) -> None:
    project.ask_for("[]")
    project.lock()
    project.machine.lacking = ("pip", "virtualenv")

    assert run(project.machine, project.path).record.status == "finished"


def test_a_limit_on_time_without_a_step_does_not_end_the_set_up(project: PackageProject) -> None:
    with (project.machine.project / "run.yaml").open("a") as file:
        file.write("limits: {no_step_minutes: 1}\n")
    project.lock()
    finish = reporting(project)

    def script(machine: ScriptedMachine, record: Path) -> JobEnd | None:
        (record / "phases.jsonl").write_text('{"phase": "installing-packages"}\n')
        machine.time_s += 30.0
        return finish(machine, record) if machine.time_s > 300 else None

    project.machine.script = script

    assert run(project.machine, project.path).record.status == "finished"
