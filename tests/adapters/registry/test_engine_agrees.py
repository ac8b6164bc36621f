"""A real Docker engine pulls what we resolve, under the digests that we give."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdlc.core.image.reference import parse_reference
from tests.adapters.registry.conftest import Client
from tests.adapters.registry.test_client import FORMS
from tests.registry.engine import docker_engine
from tests.registry.push import push

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

# The engine of Debian 12 knows no zstd layers.
PULLABLE = {name: pushed for name, pushed in FORMS.items() if name != "zstd"}


@pytest.fixture(scope="module")
def engine() -> Iterator["DockerClient"]:
    """The SDK's client of an engine of our own."""
    from docker import DockerClient

    # Not below pytest's folder: a socket's path may have 107 characters at most.
    with tempfile.TemporaryDirectory() as folder, docker_engine(Path(folder)) as address:
        client = DockerClient(base_url=address, timeout=120)
        yield client
        client.close()


@pytest.mark.parametrize("form", PULLABLE)
def test_the_engine_pulls_every_form_of_image_under_our_digests(
    form: str, plain: str, client: Client, engine: "DockerClient"
) -> None:
    pushed = PULLABLE[form]
    push(plain, "engine/ray", pushed, form)
    resolved = client.registry.resolve(parse_reference(f"{plain}/engine/ray:{form}"))

    pulled = engine.images.pull(str(resolved.pinned))
    asked = engine.images.get_registry_data(f"{plain}/engine/ray:{form}")

    assert pulled.attrs["RepoDigests"] == [f"{plain}/engine/ray@{resolved.digest}"]
    assert pulled.id == resolved.config_digest
    assert pulled.attrs["RootFS"]["Layers"] == list(resolved.diff_ids)
    assert sorted(pulled.attrs["Config"]["Env"] or []) == [f"{name}={text}" for name, text in resolved.env.items()]
    assert asked.id == resolved.digest
