"""What the driver is started with, whatever its lock and its secrets are called."""

from dataclasses import replace

import pytest

from rdlc.core.data.files import DataFolders, FetchedFolder
from rdlc.core.data.origin import Origin
from rdlc.core.launch import driver_environment, recipe_config
from rdlc.core.lockfile import RunLock
from rdlc.core.sections import Setting
from rdlc.errors import RdlcError
from tests.core.lock_samples import full_lock, text_lock


def test_no_locked_variable_and_no_secret_says_which_code_runs() -> None:
    ours = {"PYTHONPATH": "/code", "PYTHONNOUSERSITE": "1"}
    lock = full_lock()
    evil = dict.fromkeys(ours, Setting(value="/tmp/evil", origin="recipe.deterministic"))
    sections = replace(lock.sections, cluster=replace(lock.sections.cluster, settings=evil))
    secrets = dict.fromkeys(ours, "/tmp/evil")

    environment = driver_environment(replace(lock, sections=sections), {}, code="/code", secrets=secrets)

    assert environment.values == {"LANG": "C.UTF-8", **ours}


def test_no_secret_takes_the_place_of_a_locked_value() -> None:
    environment = driver_environment(full_lock(), {}, code="/code", secrets={"OMP_NUM_THREADS": "8"})

    assert environment.values["OMP_NUM_THREADS"] == "1"


TEXT = FetchedFolder(path="/cache/text", digests={"two.jsonl": "sha256:" + "a" * 64})
MODEL_LINES = [f"{'1' * 64}  config.json", f"{'2' * 64}  model.safetensors", f"{'3' * 64}  tokenizer.json"]


def config_of(lock: RunLock, folders: DataFolders) -> dict[str, object]:
    return dict(recipe_config(lock, run_name="run", scratch="/s/ray", folders=folders))


def test_recipe_gets_the_folders_of_weights_and_text_with_a_digest_for_each_file() -> None:
    weights = FetchedFolder(path="/cache/model", digests={"model.safetensors": "sha256:" + "b" * 64})

    config = config_of(text_lock(), DataFolders(model=weights, dataset=TEXT))

    assert config["model"] == {"path": "/cache/model", "files": [f"{'b' * 64}  model.safetensors"]}
    assert config["data"] == {
        "kind": "text",
        "seed": 0,
        "field": "body",
        "documents": "paragraph",
        "held_out_percent": 5,
        "tokenizer": "model",
        "separator": "<|endoftext|>",
        "path": "/cache/text",
        "files": [f"{'a' * 64}  two.jsonl"],
    }


def test_workers_elsewhere_fetch_from_the_hub_what_is_locked_of_it() -> None:
    config = config_of(text_lock(), DataFolders(dataset=TEXT))

    assert config["model"] == {
        "path": "/s/ray/data/model",
        "files": MODEL_LINES,
        "source": {"kind": "model", "repo": "Qwen/Qwen2.5-1.5B", "commit": "3" * 40},
    }


@pytest.mark.parametrize(
    ("origin", "field"),
    [(None, "data.requested.path"), (Origin(kind="folder", place="m"), "data.requested.model.path")],
)
def test_what_does_not_reach_the_workers_is_refused(origin: Origin | None, field: str) -> None:
    lock = text_lock()
    data = replace(lock.sections.data, model_origin=origin, model=lock.sections.data.model if origin else None)
    changed = replace(lock, sections=replace(lock.sections, data=data))

    with pytest.raises(RdlcError) as refused:
        config_of(changed, DataFolders(dataset=TEXT) if origin else DataFolders())

    assert refused.value.field == field
    assert refused.value.message.endswith("does not reach the workers of this target, which fetch from the Hub alone")
