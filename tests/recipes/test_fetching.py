"""Nodes that fetch locked files from the Hub by themselves: each byte checked, the token shown to nobody else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fsdp_qwen.failures import TrainingFailed
from fsdp_qwen.fetching import fetch_folder
from fsdp_qwen.locked_folder import HubSource, LockedFolder
from tests.hub.fake_hub import FakeHub, serving_hub
from tests.recipes.conftest import Start
from tests.tuning_samples import locked_lines, make_model, make_text, model_folder, text_data


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    make_model(folder / "model")
    make_text(folder / "text")
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, samples: Path) -> Iterator[FakeHub]:
    with serving_hub() as made:
        monkeypatch.setenv("HF_ENDPOINT", made.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        for kind, name in (("models", "model"), ("datasets", "text")):
            files = {path.name: path.read_bytes() for path in (samples / name).iterdir()}
            made.add(f"{kind}/org/{name}", files)
        yield made


def remote(hub: FakeHub, config: dict[str, Any], kind: str, name: str, path: Path) -> dict[str, Any]:
    """The section of a config with the same files, to be fetched."""
    [commit] = hub.repositories[f"{kind}s/org/{name}"].commits
    return {**config, "path": str(path), "source": {"kind": kind, "repo": f"org/{name}", "commit": commit}}


def folder_of(hub: FakeHub, samples: Path, path: Path) -> LockedFolder:
    [commit] = hub.repositories["models/org/model"].commits
    files = {
        name: f"sha256:{digest}" for digest, name in (line.split("  ") for line in locked_lines(samples / "model"))
    }
    source = HubSource(kind="model", repo="org/model", commit=commit)
    return LockedFolder(field="model", path=path, files=files, source=source)


@pytest.mark.nightly
def test_run_fetches_what_its_node_lacks(hub: FakeHub, samples: Path, tmp_path: Path, run: Start) -> None:
    recipe = {"model": "pretrained", "steps": 2}
    model = remote(hub, model_folder(samples / "model"), "model", "model", tmp_path / "there/model")
    data = remote(hub, text_data(samples / "text"), "dataset", "text", tmp_path / "there/text")

    ended = run(recipe=recipe, model=model, data=data)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert locked_lines(tmp_path / "there/model") == locked_lines(samples / "model")
    assert locked_lines(tmp_path / "there/text") == locked_lines(samples / "text")


def test_what_is_there_is_not_fetched_again(hub: FakeHub, samples: Path, tmp_path: Path) -> None:
    folder = folder_of(hub, samples, tmp_path / "model")
    fetch_folder(folder)
    asked = len(hub.asked)
    (folder.path / "config.json").write_text("damaged")

    fetch_folder(folder)

    assert len(hub.asked) == asked + 1
    assert locked_lines(folder.path) == locked_lines(samples / "model")


def test_other_bytes_than_the_locked_ones_are_refused_and_not_kept(hub: FakeHub, samples: Path, tmp_path: Path) -> None:
    hub.served["model.safetensors"] = b"other weights"

    with pytest.raises(TrainingFailed) as refused:
        fetch_folder(folder_of(hub, samples, tmp_path / "model"))

    assert "/resolve/" in refused.value.message
    assert refused.value.message.endswith(" is locked")
    assert not (tmp_path / "model/model.safetensors").exists()


def test_token_goes_to_the_hub_and_not_where_it_redirects(
    hub: FakeHub, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hub-token")
    hub.repositories["models/org/model"].is_gated = True

    fetch_folder(folder_of(hub, samples, tmp_path / "model"))

    assert hub.server is not None
    assert hub.store is not None
    assert {asked.headers.get("authorization") for asked in hub.server.asked} == {"Bearer hub-token"}
    assert {asked.headers.get("authorization") for asked in hub.store.asked} == {None}


def test_gated_repository_without_a_token_is_refused_at_once(hub: FakeHub, samples: Path, tmp_path: Path) -> None:
    hub.repositories["models/org/model"].is_gated = True

    with pytest.raises(TrainingFailed) as refused:
        fetch_folder(folder_of(hub, samples, tmp_path / "model"))

    assert "HTTP Error 401" in refused.value.message
    assert len(hub.asked) == 1
