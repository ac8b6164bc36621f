"""Checkpoints in storage of the run's own: a folder, or an address as S3 has them."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from fsdp_qwen import launch_processes
from fsdp_qwen.config import parse_config
from fsdp_qwen.failures import Failure
from fsdp_qwen.outcome import Outcome
from fsdp_qwen.records import Output
from tests.recipes.conftest import (
    REFERENCE,
    Run,
    Start,
    finish,
    make_config,
    read_lines,
    run_processes,
    start_driver,
    wait_for,
)
from tests.recipes.test_launch_ray import kill_rank_after
from tests.registry.aws import moto_server

LONGER = {**REFERENCE, "steps": 6}
STORAGE = {"path": "s3://checkpoints/team"}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory, storage_port: int, exact_environment: None) -> Iterator[Any]:
    """A client of an S3 with one bucket, on this machine."""
    with moto_server(tmp_path_factory.mktemp("s3"), port=storage_port):
        client = boto3.client("s3")
        client.create_bucket(Bucket="checkpoints")
        yield client


@pytest.fixture(scope="module")
def reference_stored(s3: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run whose checkpoints after steps 2 and 4 are in S3; nobody changes them."""
    folder = tmp_path_factory.mktemp("stored")
    return run_processes(folder, recipe=REFERENCE, storage=STORAGE, run_name="reference")


@pytest.fixture
def stored(reference_stored: Run, s3: Any, tmp_path: Path, name: str) -> Run:
    """The same under the test's own name, for the test to change."""
    for key in keys(s3, "reference"):
        source = {"Bucket": "checkpoints", "Key": f"team/reference/{key}"}
        s3.copy_object(Bucket="checkpoints", Key=f"team/{name}/{key}", CopySource=source)
    output = tmp_path / "copy"
    shutil.copytree(reference_stored.output, output)
    return finish(output, reference_stored.exit_code, reference_stored.stderr)


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a path short enough for Ray's sockets."""
    folder = Path(tempfile.mkdtemp(prefix="fsdp-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """The test's own name for its run."""
    return str(request.node.name)[:60]


def keys(s3: Any, name: str) -> list[str]:
    found = s3.list_objects_v2(Bucket="checkpoints", Prefix=f"team/{name}/").get("Contents", [])
    return [item["Key"].removeprefix(f"team/{name}/") for item in found]


def resume(run: Run, **changes: Any) -> Outcome | Failure:
    """A second attempt, as a launcher would start it after a failure."""
    config = make_config(recipe=LONGER, **changes)
    return launch_processes.run_attempt(parse_config(config), Output(path=run.output), attempt=2)


def test_checkpoints_are_sent_to_an_address_and_listed_in_the_result(reference_stored: Run, s3: Any) -> None:
    files = (".metadata", "__0_0.distcp", "__1_0.distcp", "checkpoint.json")

    stored = reference_stored
    assert (stored.exit_code, stored.stderr) == (0, "")
    assert keys(s3, "reference") == [f"step-00000{step}/{file}" for step in (2, 4) for file in files]
    assert [item["step"] for item in stored.result["checkpoints"]] == [2, 4]
    assert sorted(stored.result["checkpoints"][1]["files"]) == ["step-000004/__0_0.distcp", "step-000004/__1_0.distcp"]
    assert not (stored.output / "checkpoints").exists()
    assert list((stored.output / "parts").iterdir()) == []


def test_a_second_attempt_goes_on_from_an_address_bit_by_bit(stored: Run, run: Start, name: str) -> None:
    whole = run("whole", recipe=LONGER)

    outcome = resume(stored, storage=STORAGE, run_name=name)

    assert isinstance(outcome, Outcome)
    assert outcome.parameters == whole.result["parameters"]
    assert stored.steps == whole.steps
    assert list((stored.output / "parts").iterdir()) == []


def test_a_checkpoint_without_its_index_or_a_shard_is_never_gone_on_from(stored: Run, s3: Any, name: str) -> None:
    s3.delete_object(Bucket="checkpoints", Key=f"team/{name}/step-000004/__1_0.distcp")
    s3.put_object(Bucket="checkpoints", Key=f"team/{name}/step-000005/__0_0.distcp", Body=b"half")

    outcome = resume(stored, storage=STORAGE, run_name=name)

    attempts = [(line["attempt"], line["step"]) for line in read_lines(stored.output / "metrics.jsonl")]
    assert isinstance(outcome, Outcome)
    assert attempts[4:] == [(2, 3), (2, 4), (2, 5), (2, 6)]


def test_a_damaged_shard_is_refused_naming_its_address(stored: Run, s3: Any, name: str) -> None:
    key = f"team/{name}/step-000004/__1_0.distcp"
    data = bytearray(s3.get_object(Bucket="checkpoints", Key=key)["Body"].read())
    data[len(data) // 2] ^= 1
    s3.put_object(Bucket="checkpoints", Key=key, Body=bytes(data))

    failure = resume(stored, storage=STORAGE, run_name=name)

    assert isinstance(failure, Failure)
    assert (failure.kind, failure.field) == ("refused", "storage")
    assert failure.message.startswith(f"s3://checkpoints/{key}: has sha256:")
    assert failure.message.endswith(" was saved, so the checkpoint is damaged")
    assert list((stored.output / "parts").iterdir()) == []


def test_a_name_that_has_checkpoints_at_the_address_is_refused(reference_stored: Run, run: Start) -> None:
    again = run("again", storage=STORAGE, run_name="reference")

    assert again.exit_code == 2
    assert again.stderr == ("error: run_name: `reference` is not fresh, `s3://checkpoints/team/reference` exists\n")


@pytest.mark.nightly
def test_a_killed_rank_of_a_real_ray_goes_on_from_the_address_bit_by_bit(
    s3: Any, run: Start, tmp_path: Path, scratch: Path
) -> None:
    recipe = {"steps": 60, "checkpoint_every": 20, "fingerprint_every": 10, "evaluation_rows": 4}
    folder = tmp_path / "ray"
    folder.mkdir()
    config = make_config(recipe=recipe, max_failures=1, scratch=str(scratch), storage=STORAGE, run_name="killed")
    driver = start_driver(folder, config)
    kill_rank_after(folder / "output", rank=1, step=44)

    ended = wait_for(driver, folder / "output")
    unbroken = run("unbroken", recipe=recipe)

    assert (ended.exit_code, ended.stderr) == (0, "")
    assert [each["start_step"] for each in ended.result["attempts"]] == [1, 41]
    for name in ("parameters", "evaluation", "checkpoints"):
        assert ended.result[name] == unbroken.result[name]
    assert [each["step"] for each in ended.result["checkpoints"]] == [20, 40, 60]
    # What was copied to go on from is gone; Ray itself keeps a folder there for its state.
    assert list((folder / "output/parts").glob("*restored*")) == []


@pytest.mark.nightly
def test_an_address_that_cannot_be_written_ends_the_run_saying_why(s3: Any, run: Start) -> None:
    ended = run(recipe={**REFERENCE, "steps": 2, "evaluation_rows": 0}, storage={"path": "file:///proc/nowhere"})

    assert ended.exit_code == 1
    assert ended.stderr.startswith("error: rank 0: file:///proc/nowhere/test/step-000002/.metadata: can't be written:")


@pytest.mark.nightly
def test_checkpoints_go_to_a_folder_and_are_gone_on_from(run: Start, tmp_path: Path) -> None:
    shared = {"path": str(tmp_path / "shared")}
    first = run(recipe=REFERENCE, storage=shared)

    outcome = resume(first, storage=shared)

    assert isinstance(outcome, Outcome)
    assert [item["step"] for item in first.result["checkpoints"]] == [2, 4]
    assert sorted(path.name for path in (tmp_path / "shared/test").iterdir()) == [
        "step-000002",
        "step-000004",
        "step-000006",
    ]
    assert [line["step"] for line in read_lines(first.output / "metrics.jsonl")] == [1, 2, 3, 4, 5, 6]


@pytest.mark.nightly
def test_an_address_of_another_kind_takes_checkpoints_too(run: Start, tmp_path: Path) -> None:
    ended = run(recipe=REFERENCE, storage={"path": f"file://{tmp_path}/by-address"})

    assert ended.exit_code == 0
    assert [item["step"] for item in ended.result["checkpoints"]] == [2, 4]
    assert (tmp_path / "by-address/test/step-000004/checkpoint.json").exists()


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ({}, "storage.path: is missing"),
        (
            {"path": "checkpoints"},
            "storage.path: must be an absolute path or an address with `://`, found `checkpoints`",
        ),
        ({"path": "/x", "key": "y"}, "storage.key: is not a known field"),
        ({"path": "unheard://of"}, "storage.path: `unheard://of/test` can't be reached: Protocol not known: unheard"),
    ],
)
def test_storage_that_cannot_be_is_refused(run: Start, storage: dict[str, str], message: str) -> None:
    refused = run(storage=storage)

    assert refused.exit_code == 2
    assert refused.stderr.endswith(f"{message}\n")
