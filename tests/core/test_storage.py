"""Where a run can keep its checkpoints."""

import pytest

from rdlc.core.launch import recipe_config
from rdlc.core.spec import read_spec
from rdlc.core.storage import StorageRequest
from rdlc.errors import InputError
from tests.core.lock_samples import full_lock
from tests.projects import SPEC

CREDENTIALS = "credentials come from the environment: `secrets: [{name: AWS_ACCESS_KEY_ID, from: env}]`"
BUCKET = "`storage: {path: s3://bucket/prefix}`"


def read(path: str, spec: str = SPEC) -> StorageRequest | None:
    return read_spec(f"{spec}storage: {{path: '{path}'}}\n".encode(), name="run.yaml", settings={}).run.storage


@pytest.mark.parametrize(
    ("path", "is_address"),
    [
        ("checkpoints", False),
        ("/fsx/team a/checkpoints", False),
        ("s3://bucket/prefix", True),
        ("s3://bucket", True),
        ("gs://bucket/prefix", True),
        ("file:///fsx/team", True),
    ],
)
def test_a_folder_or_an_address_is_read(path: str, is_address: bool) -> None:
    storage = read(path)

    assert storage == StorageRequest(path=path)
    assert storage.is_address is is_address


@pytest.mark.parametrize(
    ("path", "message", "hint"),
    [
        ("../elsewhere", "must not lead out of its folder with `..`", "give an absolute path"),
        ("s3://key:secret@bucket/x", "must be an address alone, without user, password or options", CREDENTIALS),
        ("s3://bucket/x?acl=public", "must be an address alone, without user, password or options", CREDENTIALS),
        ("memory://x", "`memory://x` is no address that files can be kept at", BUCKET),
        ("s3:///prefix", "`s3:///prefix` is no address that files can be kept at", BUCKET),
        ("a" * 1025, "must be one line of at most 1024 characters", "`storage: {path: checkpoints}`"),
    ],
)
def test_what_is_no_place_for_files_is_refused(path: str, message: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        read(path)

    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert (caught.value.file, caught.value.field) == ("run.yaml:10", "storage.path")


def test_a_folder_of_the_project_is_refused_where_nodes_do_not_have_it() -> None:
    image = "target: docker\nimage: {reference: registry.example/a:v1.0.0}"

    with pytest.raises(InputError) as caught:
        read("checkpoints", SPEC.replace("target: local", image))

    assert caught.value.message == "target `docker` has no project folder that `checkpoints` could be in"


def test_the_recipe_is_told_only_where_storage_is_asked_for() -> None:
    lock = full_lock()

    assert "storage" not in recipe_config(lock, run_name="r", scratch="/s")
    assert recipe_config(lock, run_name="r", scratch="/s", storage="s3://b/p")["storage"] == {"path": "s3://b/p"}
