"""`rdlc collect`: a record of a run that rdlc did not start, judged as a run is."""

import json
from pathlib import Path

import pytest

from tests.conftest import Rdlc
from tests.operations.scripted import record_in

CORE = Path(__file__).parents[1] / "core/transport"
SOCKET = (CORE / "logs/socket.log").read_bytes()
EFA = next((CORE / "cases").glob("36-*.log")).read_bytes()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as Ray leaves it, and another one in which the records are made."""
    logs = tmp_path / "session_1/logs"
    logs.mkdir(parents=True)
    (logs / "worker-1.out").write_bytes(b"HF_TOKEN=secret\n" + SOCKET)
    (logs / "gcs_server.out").write_bytes(b"nothing here\n")
    (logs / "link.out").symlink_to(logs / "worker-1.out")
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "session_1"


def only_record(folder: Path) -> Path:
    (record,) = (folder / "runs").glob("*/*")
    return record


def test_a_fallback_is_shown_loudly_and_recorded(session: Path, rdlc: Rdlc) -> None:
    done = rdlc("collect", str(session))

    path = only_record(Path.cwd())
    assert (done.code, path.parent.name) == (1, "session_1")
    assert done.out.splitlines()[:2] == ["wrong-transport  session_1", "  files     1 of 2 speak of NCCL or gloo"]
    assert "!!! FELL BACK TO A SLOWER TRANSPORT" in done.out
    assert "Channel 00/0 : 1[1] -> 0[0] [receive] via NET/Socket/0" in done.out
    record = record_in(path)
    assert (record.kind, record.status, record.level, record.lock_id) == ("collect", "collected", "recorded", "")
    assert "lines of logs/worker-1.out, sha256 " in record.observed["log 0002-logs-worker-1.out.log"]


def test_what_a_script_printed_besides_is_not_kept(session: Path, rdlc: Rdlc) -> None:
    rdlc("collect", str(session))

    kept = [file.read_bytes() for file in only_record(Path.cwd()).rglob("*") if file.is_file()]
    assert not any(b"secret" in data for data in kept)


def test_a_collected_record_is_verified_listed_and_compared(session: Path, tmp_path: Path, rdlc: Rdlc) -> None:
    (tmp_path / "good.log").write_bytes(EFA)
    assert rdlc("collect", str(tmp_path / "good.log")).code == 0
    rdlc("collect", str(session))
    good, bad = (str(next(Path("runs").glob(f"{name}/*"))) for name in ("good", "session_1"))

    assert (rdlc("verify", good).code, rdlc("verify", bad).code) == (0, 0)
    listed = {row["name"]: row["verdict"] for row in json.loads(rdlc("runs", "--json").out)["runs"]}
    assert listed == {"good": "collected", "session_1": "wrong-transport"}
    compared = rdlc("diff", good, bad)
    assert "transport" in compared.out
    assert "socket (fallback)" in compared.out
    assert "it was collected, so it has no lock that could be compared" in compared.out + compared.err


def test_a_changed_line_of_a_collected_record_is_noticed(session: Path, rdlc: Rdlc) -> None:
    rdlc("collect", str(session))
    (log,) = only_record(Path.cwd()).glob("nccl/*.log")
    log.write_bytes(log.read_bytes().replace(b"NET/Socket", b"NET/IB"))

    done = rdlc("verify", str(log.parents[1]))

    assert done.code == 1
    assert "was changed" in done.out
    assert "the lines of NCCL in it give another judgement of the transport than it holds" in done.out


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ("absent", 2, "error: absent: cannot be read: No such file or directory"),
        ("empty", 1, "error: empty: there is no file to read"),
        ("quiet.log", 1, "error: quiet.log: none of 1 file holds a line of NCCL or gloo"),
    ],
)
def test_what_tells_nothing_is_refused_and_leaves_no_record(
    session: Path, rdlc: Rdlc, given: str, code: int, message: str
) -> None:
    Path("empty").mkdir()
    Path("quiet.log").write_text("loss 3.1\n")

    done = rdlc("collect", given)

    assert (done.code, done.err.splitlines()[0]) == (code, message)
    assert not list(Path("runs").glob("*/*"))


def test_a_name_that_cannot_name_a_record_is_refused(session: Path, rdlc: Rdlc) -> None:
    done = rdlc("collect", str(session), "--name", "A b")

    assert done.code == 2
    assert "`--name A b` must be small letters" in done.err
