"""Weights and text in `rdlc lock`, `verify --online` and `outdated`, as a user sees them."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.core.lockfile import RunLock, read_lock
from tests.conftest import Rdlc
from tests.hub.fake_hub import FakeHub, serving_hub
from tests.projects import SPEC, make_project

LOCK = Path("lock/toy.lock.yaml")
WEIGHTS = b"weights " * 4000
MODEL = {"config.json": b"{}", "model.safetensors": WEIGHTS, "tokenizer.json": b"{}"}
TEXT = {"train.jsonl": b'{"text": "a"}\n', "more/b.txt": b"b\n"}
HUB_SPEC = SPEC.replace(
    "data: {kind: markov, seed: 7}", "model: {repo: org/tiny}\ndata: {kind: text, repo: org/text, held_out_percent: 5}"
)
FOLDER_SPEC = SPEC.replace("data: {kind: markov, seed: 7}", "data: {kind: text, path: corpus}")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving_hub() as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        made.add("models/org/tiny", MODEL)
        made.add("datasets/org/text", TEXT)
        yield made


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = make_project(tmp_path / "project")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name, data in TEXT.items():
        path = folder / "corpus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "run.yaml").write_text(HUB_SPEC)
    return folder


def written() -> RunLock:
    read = read_lock(LOCK.read_bytes(), name="written")
    assert read.findings == ()
    return read.lock


def commit_of(hub: FakeHub, name: str) -> str:
    return list(hub.repositories[name].commits)[-1]


def test_lock_of_the_hub_names_commits_and_every_digest(hub: FakeHub, project: Path, rdlc: Rdlc) -> None:
    said = rdlc("lock", "run.yaml")

    model, text = commit_of(hub, "models/org/tiny"), commit_of(hub, "datasets/org/text")
    data = written().sections.data
    assert said.code == 0
    assert said.out.endswith(
        f"model  org/tiny at main (commit {model})  3 files, 32,004 bytes\n"
        "       the sha256 of each file is stated, and checked when it comes\n"
        f"text   org/text at main (commit {text})  2 files, 16 bytes\n"
        "       every byte was read\n"
    )
    assert data.model is not None
    assert data.model.files["model.safetensors"].sha256 == f"sha256:{hashlib.sha256(WEIGHTS).hexdigest()}"
    assert data.requested["tokenizer"] == "model"
    assert data.resolved == {"source": "hub", "shows_learning": True}


def test_locking_again_keeps_what_is_locked_and_says_that_the_hub_has_moved(
    hub: FakeHub, project: Path, rdlc: Rdlc
) -> None:
    rdlc("lock", "run.yaml")
    before, old = LOCK.read_bytes(), commit_of(hub, "models/org/tiny")
    new = hub.repositories["models/org/tiny"].push({**MODEL, "model.safetensors": WEIGHTS.upper()})

    again = rdlc("lock", "run.yaml")
    kept = LOCK.read_bytes()
    moved = rdlc("lock", "run.yaml", "--upgrade", "data")

    assert (again.code, kept) == (0, before)
    assert (
        f"`org/tiny at main` is commit {new} now, and {old} is kept; `rdlc lock SPEC --upgrade data` takes the new one"
    ) in again.err
    assert (moved.code, moved.out.splitlines()[0]) == (0, f"locked  {LOCK}")
    model = written().sections.data.model
    assert model is not None
    assert (model.commit, model.files["config.json"].size) == (new, 2)


def test_hub_that_is_away_keeps_what_is_locked(
    hub: FakeHub, project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch
) -> None:
    rdlc("lock", "run.yaml")
    before = LOCK.read_bytes()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    again = rdlc("lock", "run.yaml")

    assert (again.code, LOCK.read_bytes()) == (0, before)
    assert "the Hub could not be asked what `main` names now" in again.err


def test_verify_online_names_the_file_that_is_gone(hub: FakeHub, project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    whole = rdlc("verify", LOCK, "--online")
    repository = hub.repositories["models/org/tiny"]
    repository.commits[commit_of(hub, "models/org/tiny")] = {"config.json": b"{}", "tokenizer.json": b"{}"}

    gone = rdlc("verify", LOCK, "--online")

    assert (whole.code, whole.out.splitlines()[-1]) == (0, "online  5 locked things were asked for")
    assert gone.code == 1
    assert f"  section data: {LOCK}: `org/tiny` no longer gives `model.safetensors` as it was locked\n" in gone.out


def test_outdated_says_how_far_the_hub_has_moved(hub: FakeHub, project: Path, rdlc: Rdlc) -> None:
    rdlc("lock", "run.yaml")
    current = rdlc("outdated", LOCK, "--exit-code")
    old = commit_of(hub, "models/org/tiny")
    new = hub.repositories["models/org/tiny"].push({**MODEL, "model.safetensors": WEIGHTS.upper()})

    moved = rdlc("outdated", LOCK, "--exit-code")
    rows = rdlc("outdated", LOCK, "--json").document["locks"][0]["data"]

    text = commit_of(hub, "datasets/org/text")
    tail = f"  dataset  org/text at main  current\n    locked  {text}\n"
    assert (current.code, current.out) == (0, f"{LOCK}\n  model  org/tiny at main  current\n    locked  {old}\n{tail}")
    assert (moved.code, moved.out) == (
        1,
        f"{LOCK}\n  model  org/tiny at main  moved to {new}, 1 files differ\n    locked  {old}\n{tail}",
    )
    assert [(row["what"], row["state"], row["changed"]) for row in rows] == [
        ("model", "moved", 1),
        ("dataset", "current", 0),
    ]


def test_folder_is_read_again_each_time(project: Path, rdlc: Rdlc) -> None:
    (project / "run.yaml").write_text(FOLDER_SPEC)
    rdlc("lock", "run.yaml")
    before = written().sections.data
    (project / "corpus/more/b.txt").write_bytes(b"c\n")

    check = rdlc("lock", "run.yaml", "--check")
    rdlc("lock", "run.yaml")

    after = written().sections.data
    assert check.code == 1
    assert before.dataset is not None
    assert after.dataset is not None
    assert {name for name in TEXT if before.dataset.files[name] != after.dataset.files[name]} == {"more/b.txt"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("org/text", "org/none", "the Hub does not give the dataset `org/none` at `main`"),
        ("org/tiny", "org/bare", "`org/bare at main` holds no safetensors weights: neither `model.safetensors` nor"),
        ("held_out_percent: 5", "files: ['*.csv']", "`org/text at main` holds no text"),
        ("model: {repo: org/tiny}", "model: {repo: ../x}", "must name a repository of the Hub, as `Qwen/Qwen2.5-1.5B`"),
        ("repo: org/text", "path: s3://Bad", "must be `s3://bucket/prefix`"),
        ("repo: org/text", "path: ../x", "must be a path below the folder, without `..`, not `../x`"),
        ("repo: org/text", "path: nowhere", "the folder does not exist"),
        ("model: {repo: org/tiny}", "model: {path: s3://b/c}", "weights come from a folder or the Hub"),
    ],
)
def test_data_that_can_not_be_locked_is_refused_with_the_reason(
    hub: FakeHub, project: Path, rdlc: Rdlc, old: str, new: str, message: str
) -> None:
    hub.add("models/org/bare", {"config.json": b"{}", "tokenizer.json": b"{}"})
    (project / "run.yaml").write_text(HUB_SPEC.replace(old, new))

    said = rdlc("lock", "run.yaml")

    assert said.code in {1, 2, 3}
    assert message in said.err
    assert not LOCK.exists()


def test_tokeniser_of_a_model_needs_a_model(project: Path, rdlc: Rdlc) -> None:
    (project / "run.yaml").write_text(FOLDER_SPEC.replace("path: corpus", "path: corpus, tokenizer: model"))

    said = rdlc("lock", "run.yaml")

    assert said.code == 2
    assert "there is no `model` that it could come from" in said.err


def test_token_is_in_no_file(hub: FakeHub, project: Path, rdlc: Rdlc, monkeypatch: pytest.MonkeyPatch) -> None:
    token = "hf_" + "a" * 34
    monkeypatch.setenv("HF_TOKEN", token)
    hub.token = token
    hub.repositories["models/org/tiny"].is_gated = True

    said = rdlc("lock", "run.yaml")

    assert said.code == 0
    assert token not in said.out + said.err
    assert not any(token.encode() in path.read_bytes() for path in project.rglob("*") if path.is_file())
