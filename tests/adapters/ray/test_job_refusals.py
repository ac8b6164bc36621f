"""Which jobs are refused before anything starts."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.adapters.ray.job import start_job
from rdlc.errors import RdlcError
from tests.adapters.ray.trees import make_job


def test_program_that_is_missing_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/no/such/program")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start `/no/such/program` in `{tmp_path}/job`: No such file or directory")
    assert [path.name for path in job.working_directory.iterdir()] == ["driver.log"]


def test_environment_that_no_process_can_have_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), environment={"A": "nul\0"})

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start `/bin/true` in `{tmp_path}/job`: embedded null byte")


def test_log_in_a_missing_folder_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), log=tmp_path / "none" / "log")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (f"cannot start a job: No such file or directory: `{tmp_path}/none/log`")
    assert not job.scratch.exists()


def test_scratch_folder_with_something_in_it_is_refused_and_kept(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    job.scratch.mkdir(mode=0o700)
    (job.scratch / "precious").touch()

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    is_kept = (job.scratch / "precious").exists()
    shutil.rmtree(job.scratch)
    assert refused.value.message == (
        f"scratch folder `{job.scratch}` is not an empty folder of this user alone, and would be removed after the run"
    )
    assert is_kept


def test_a_token_that_is_none_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), token="zz")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "`zz` is not the token of a job: 32 hex digits"


def test_status_of_an_earlier_job_is_not_overwritten(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    job.status.write_text("earlier")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "an earlier job wrote its status here"
    assert refused.value.file == str(job.status)
    assert job.status.read_text() == "earlier"


def test_relative_path_is_refused(tmp_path: Path) -> None:
    job = make_job(tmp_path / "job", "true")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "`true` is not an absolute path"


def test_other_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job(tmp_path / "job", "/bin/true")
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == "target `local` needs Linux, and this is `darwin`"


def test_a_scratch_folder_that_would_not_be_removed_is_refused(tmp_path: Path) -> None:
    job = replace(make_job(tmp_path / "job", "/bin/true"), scratch=tmp_path / "scratch")

    with pytest.raises(RdlcError) as refused:
        start_job(job)

    assert refused.value.message == (
        f"scratch folder `{tmp_path}/scratch` must be `/tmp/rdlc-` and 8 hex digits: no other is removed"
    )
    assert not job.scratch.exists()
