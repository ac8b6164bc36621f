"""Transcripts of `rdlc verify`, `init`, `runs`, and of `run` and `replay` up to their refusals."""

from pathlib import Path

import pytest

from rdlc.adapters.workspace.records import create_record
from rdlc.core.baseline import write_baseline
from rdlc.core.record import write_record
from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc
from tests.diff_samples import make_baseline, make_lock, make_outcome, make_record
from tests.operations.scripted import ScriptedMachine, lock, run
from tests.projects import make_project

LOCK = Path("lock/toy.lock.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


def test_verify_says_what_is_intact(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("verify", LOCK)

    lock_id = lock_at(LOCK).id
    assert (said.code, said.out, said.err) == (0, f"intact  lock  lock/toy.lock.yaml\nlock  {lock_id}\n", "")


def test_verify_says_what_was_changed_and_where(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    old = lock_at(LOCK)
    LOCK.write_bytes(LOCK.read_bytes().replace(b"    steps: 3", b"    steps: 4"))

    text, document = rdlc("verify", LOCK), rdlc("verify", LOCK, "--json").document

    found = document["sections"]["recipe"]
    line = LOCK.read_text().split("\n").index("recipe:") + 1
    message = f"the contents give {found}, and `sections.recipe` says {old.digests['recipe']}"
    assert (text.code, text.err) == (1, "")
    assert text.out == (
        f"invalid  lock  lock/toy.lock.yaml\nlock  {document['id']}\n"
        f"  section recipe: lock/toy.lock.yaml:{line}: {message}\n"
    )
    assert (document["status"], document["exit_code"]) == ("invalid", 1)
    assert document["findings"] == [{"section": "recipe", "file": f"lock/toy.lock.yaml:{line}", "message": message}]


def test_verify_takes_a_baseline_and_a_record_by_folder_file_and_name(project: Path, rdlc: Rdlc) -> None:
    machine = ScriptedMachine(project)
    path = run(machine, lock(machine)).path
    lock_id = lock_at(LOCK).id
    record = path.relative_to(project)

    said = [rdlc("verify", given) for given in ("lock/toy.baseline.yaml", record, record / "record.json", path.name)]

    assert [(one.code, one.out.splitlines()) for one in said] == [
        (0, ["intact  baseline  lock/toy.baseline.yaml", f"lock  {lock_id}"]),
        *[(0, [f"intact  record  {record}", f"lock  {lock_id}"])] * 3,
    ]


def test_verify_of_a_damaged_record_names_the_file(project: Path, rdlc: Rdlc) -> None:
    machine = ScriptedMachine(project)
    path = run(machine, lock(machine)).path
    (path / "metrics.jsonl").write_text("not JSON\n")

    said = rdlc("verify", path, "--json")

    assert (said.code, said.document["status"]) == (1, "invalid")
    assert [(finding["section"], finding["file"]) for finding in said.document["findings"]] == [
        ("files", f"{path}/metrics.jsonl"),
        ("contents", f"{path}/metrics.jsonl:1"),
    ]


def test_verify_of_a_baseline_that_was_changed_is_refused(project: Path, rdlc: Rdlc) -> None:
    data = write_baseline(make_baseline(make_lock(), make_outcome()))
    Path("x.baseline.yaml").write_bytes(data.replace(b'name: "tiny"', b'name: "tinz"'))

    said = rdlc("verify", "x.baseline.yaml")

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("error: x.baseline.yaml:2: digest: the baseline was changed: its contents give sha256:")


def test_init_makes_a_folder_that_can_be_locked_at_once(
    tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    said = rdlc("init", "new", "--target", "local")
    again = rdlc("init", "new", "--target", "local")
    monkeypatch.chdir(tmp_path / "new")
    locked = rdlc("lock", "run.yaml", "--json")

    count = int(said.out.split("(")[1].split()[0])
    assert (said.code, said.err) == (0, "next: `cd new && rdlc lock run.yaml`\n")
    assert (said.out, again.out) == (
        f"ready  new  ({count} files written, 0 kept)\n",
        f"ready  new  (0 files written, {count} kept)\n",
    )
    assert (locked.code, locked.document["status"]) == (0, "locked")
    assert Path("recipes/fsdp_qwen/train.py").is_file()


def test_init_overwrites_nothing(tmp_path: Path, rdlc: Rdlc) -> None:
    (tmp_path / "run.yaml").write_text("mine")

    said = rdlc("init", tmp_path, "--target", "local")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            f"error: {tmp_path}/run.yaml: stands there already with other contents: nothing was written\n"
            "hint: `rdlc init` in another folder, or move it away\n"
        ),
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]


def test_runs_lists_the_records_newest_first_in_one_line_each(project: Path, rdlc: Rdlc) -> None:
    machine = ScriptedMachine(project)
    path = lock(machine)
    one, two = run(machine, path).path.name, run(machine, path, kind="replay").path.name
    damaged = project / "runs/toy/2000"
    damaged.mkdir()
    (damaged / "record.json").write_text("{")

    said = rdlc("runs")

    assert (said.code, said.err) == (0, "")
    assert [line.split() for line in said.out.splitlines()] == [
        ["record", "name", "kind", "verdict", "level", "steps", "why"],
        [two, "toy", "replay", "reproduced", "outcome-bitwise", "3/3"],
        [one, "toy", "run", "finished", "execution", "3/3"],
        ["2000", "toy", "damaged", "the", "record", "is", "not", "JSON"],
    ]
    assert len({line.index("toy") for line in said.out.splitlines()[1:]}) == 1
    assert [row["verdict"] for row in rdlc("runs", "--json").document["runs"]] == ["reproduced", "finished", "damaged"]
    assert rdlc("runs", "--name", "other").err == "no records named `other` in runs\n"


def test_runs_outside_a_project_is_bad_usage(tmp_path: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    said = rdlc("runs")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        "error: there is no project around this folder\nhint: `rdlc init DIR --target local`\n",
    )


@pytest.mark.parametrize("verb", ["run", "replay"])
def test_drift_is_shown_with_both_values_and_the_command(project: Path, rdlc: Rdlc, verb: str) -> None:
    rdlc("lock", "run.yaml", "--set", "claim=execution")
    locked = lock_at(LOCK)
    (project / "recipes/toy/new.py").write_text("")

    said, document = rdlc(verb, LOCK), rdlc(verb, LOCK, "--json").document

    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert (said.code, said.out) == (1, "")
    assert said.err == (
        f"error: {verb} refused: `code` differs from lock {locked.id}\n"
        "  code: toy/new.py\n"
        "    locked  not there\n"
        f"    here    {empty}\n"
        "hint: code: to keep the change: `rdlc lock SPEC`, or for one run: `--allow-drift code=REASON`\n"
    )
    assert (document["status"], document["exit_code"]) == ("drifted", 1)
    assert document["drift"] == [{"section": "code", "address": "toy/new.py", "locked": "not there", "found": empty}]
    assert not Path("runs").exists()


@pytest.mark.parametrize("text", ["environment", "=why", "environment= "])
def test_an_allowance_without_section_or_reason_is_refused(project: Path, rdlc: Rdlc, text: str) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("run", LOCK, "--allow-drift", text)

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            f"error: `--allow-drift {text}` must have the form SECTION=REASON\n"
            'hint: `--allow-drift environment="newer rich, not used in training"`\n'
        ),
    )


def test_set_is_for_a_spec_only(project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")

    said = rdlc("run", LOCK, "--set", "recipe.seed=1")

    assert (said.code, said.err) == (
        2,
        (
            "error: lock/toy.lock.yaml: `--set` changes a run spec, and this is a lock\n"
            "hint: `rdlc lock SPEC --set PATH=VALUE`\n"
        ),
    )


def test_a_record_that_still_runs_is_not_verified(project: Path, rdlc: Rdlc) -> None:
    folder = create_record(project / "runs", "toy", "a")
    (folder.path / "record.json").write_bytes(write_record(make_record(make_lock())))

    said = rdlc("verify", folder.path)
    folder.close(is_settled=True)

    assert (said.code, said.err) == (
        2,
        f"error: {folder.path}: the run that writes this record is still going on\n",
    )
