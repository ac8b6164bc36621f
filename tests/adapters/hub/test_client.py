"""The Hub's files at a revision: digests that are stated or read, the token only where it belongs."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.hub.client import Hub, _read_revision, open_hub
from rdlc.adapters.hub.store import DataStore
from rdlc.core.data.files import LockedFile, LockedFiles
from rdlc.core.data.origin import Origin
from rdlc.errors import InputError, OutsideError, RdlcError
from tests.hub.fake_hub import FakeHub, serving_hub

LARGE = b"weights " * 4000
FILES = {
    "config.json": b"{}",
    "model.safetensors": LARGE,
    "pytorch_model.bin": LARGE + b"x",
    "tokenizer.json": b'{"a": 1}',
    "README.md": b"words",
    "onnx/model.json": b"{}",
    ".gitattributes": b"x",
}
MODEL = Origin(kind="hub", place="org/tiny", revision="main")


def locked(data: bytes) -> LockedFile:
    return LockedFile(size=len(data), sha256=f"sha256:{hashlib.sha256(data).hexdigest()}")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeHub]:
    with serving_hub() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.delenv("HF_TOKEN", raising=False)
        monkeypatch.delenv("HF_TOKEN_PATH", raising=False)
        yield hub


@pytest.fixture
def hub(fake: FakeHub) -> Iterator[Hub]:
    opened = open_hub()
    yield opened
    opened.close()


def fetch(hub: Hub, files: LockedFiles, cache: Path, origin: Origin = MODEL) -> Path:
    found = DataStore(cache).fetch(
        origin, files, what="model", open_file=lambda name, _: hub.open_file(origin, files.commit, name, what="model")
    )
    return Path(found.path)


def test_files_of_a_model_are_those_that_training_needs_each_with_its_digest(fake: FakeHub, hub: Hub) -> None:
    commit = fake.add("models/org/tiny", FILES)

    found = hub.find_files(MODEL, what="model")

    names = ("config.json", "model.safetensors", "tokenizer.json")
    assert found == LockedFiles(evidence="stated", commit=commit, files={name: locked(FILES[name]) for name in names})
    # The large one was not read: its digest is stated.
    assert [path for path in fake.asked if "resolve" in path] == [
        f"/org/tiny/resolve/{commit}/config.json",
        f"/org/tiny/resolve/{commit}/tokenizer.json",
    ]


def test_files_of_a_dataset_follow_its_patterns(fake: FakeHub, hub: Hub) -> None:
    files = {"data/train.jsonl": b'{"text": "a"}\n', "data/test.jsonl": b"{}\n", "x.py": b""}
    commit = fake.add("datasets/org/text", files)
    origin = Origin(kind="hub", place="org/text", revision=commit, files=("data/train*",))

    found = hub.find_files(origin, what="dataset")

    assert found == LockedFiles(
        evidence="bytes", commit=commit, files={"data/train.jsonl": locked(files["data/train.jsonl"])}
    )


def test_fetched_files_are_verified_and_asked_for_once(fake: FakeHub, hub: Hub, tmp_path: Path) -> None:
    fake.add("models/org/tiny", FILES)
    files = hub.find_files(MODEL, what="model")

    folder = fetch(hub, files, tmp_path / "cache")
    asked = len(fake.asked)
    again = fetch(hub, files, tmp_path / "cache")

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {n: FILES[n] for n in files.files}
    assert (again, len(fake.asked)) == (folder, asked)


def test_file_that_was_damaged_in_the_cache_comes_again(fake: FakeHub, hub: Hub, tmp_path: Path) -> None:
    fake.add("models/org/tiny", FILES)
    files = hub.find_files(MODEL, what="model")
    folder = fetch(hub, files, tmp_path / "cache")
    (folder / "model.safetensors").write_bytes(LARGE.upper())

    fetch(hub, files, tmp_path / "cache")

    assert (folder / "model.safetensors").read_bytes() == LARGE


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (LARGE[:-1], f"{len(LARGE)} bytes are locked, and {len(LARGE) - 1} come"),
        (LARGE + b"more", f"more than its {len(LARGE)} bytes come"),
        (LARGE.upper(), f"{locked(LARGE).sha256} is locked, and {locked(LARGE.upper()).sha256} comes"),
    ],
)
def test_bytes_that_are_not_locked_are_refused_and_not_kept(
    fake: FakeHub, hub: Hub, tmp_path: Path, data: bytes, how: str
) -> None:
    fake.add("models/org/tiny", FILES)
    files = hub.find_files(MODEL, what="model")
    fake.served["model.safetensors"] = data

    with pytest.raises(RdlcError) as caught:
        fetch(hub, files, tmp_path / "cache")

    assert caught.value.message == f"`model.safetensors` is not what was locked: {how}"
    assert sorted(p.name for p in (tmp_path / "cache").rglob("*") if p.is_file()) == ["config.json", "digests.json"]


def test_token_is_shown_to_the_hub_and_to_no_other_address(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hub-token")
    fake.add("models/org/tiny", FILES, is_gated=True)
    hub = open_hub()

    fetch(hub, hub.find_files(MODEL, what="model"), tmp_path / "cache")

    hub.close()
    assert fake.server is not None
    assert fake.store is not None
    assert {asked.headers.get("authorization") for asked in fake.server.asked} == {"Bearer hub-token"}
    assert [asked.headers.get("authorization") for asked in fake.store.asked] == [None]


def test_gated_repository_without_a_token_says_what_is_missing(fake: FakeHub, hub: Hub) -> None:
    fake.add("models/org/tiny", FILES, is_gated=True)

    with pytest.raises(OutsideError) as caught:
        hub.find_files(MODEL, what="model")

    assert caught.value.message == "the Hub does not give the model `org/tiny` at `main`"
    assert caught.value.hint == "check the name; a private or gated one needs a token in `HF_TOKEN`, and none is set"


def test_revision_that_is_not_there_is_named(fake: FakeHub, hub: Hub) -> None:
    fake.add("models/org/tiny", FILES)

    with pytest.raises(RdlcError) as caught:
        hub.find_files(Origin(kind="hub", place="org/tiny", revision="v2"), what="model")

    assert (type(caught.value), caught.value.message) == (RdlcError, "the Hub has no model `org/tiny` at `v2`")


def test_files_that_a_commit_no_longer_gives_are_named(fake: FakeHub, hub: Hub) -> None:
    commit = fake.add("models/org/tiny", FILES)
    files = hub.find_files(MODEL, what="model")
    others = {**FILES, "model.safetensors": LARGE.upper()}
    del others["config.json"]

    none = hub.find_missing(MODEL, files, what="model")
    fake.repositories["models/org/tiny"].commits[commit] = others
    some = hub.find_missing(MODEL, files, what="model")
    fake.repositories["models/org/tiny"].commits = {"0" * 40: FILES}

    assert (none, some) == ((), ("config.json", "model.safetensors"))
    assert hub.find_missing(MODEL, files, what="model") == tuple(sorted(files.files))


def test_login_that_the_hubs_own_tools_left_is_used(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake.add("models/org/tiny", FILES, is_gated=True)
    (tmp_path / "home").mkdir()
    (tmp_path / "home/token").write_text("hub-token\n")
    hub = open_hub()

    found = hub.find_files(MODEL, what="model")

    hub.close()
    assert sorted(found.files) == ["config.json", "model.safetensors", "tokenizer.json"]


def test_address_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "ftp://hub.example")

    with pytest.raises(InputError) as caught:
        open_hub()

    assert caught.value.message == "`HF_ENDPOINT` must be an http address, not `ftp://hub.example`"


@given(st.binary(max_size=200) | st.sampled_from((b'{"sha": 1, "siblings": []}', b'{"siblings": [1]}', b"[]", b"null")))
def test_no_answer_raises_anything_but_an_outside_error(data: bytes) -> None:
    with pytest.raises(OutsideError):
        _read_revision(data, "model")
