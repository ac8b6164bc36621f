"""`rdlc image` of two images: what moved, and of which kind the rebuild is."""

from dataclasses import replace

import pytest

from tests.adapters.image_contents.dlc_like import ENVIRONMENT, FIRST_BUILD, dlc_like_image
from tests.cli.image_registry import SITE, Images
from tests.registry.dlc_pair import FIRST, FIXED, MOVING, NEXT, REPOSITORY
from tests.registry.images import Image, Index, build_image, build_index
from tests.registry.push import push


def test_two_images_are_compared_by_group_with_the_kind_and_the_risks(image: Images) -> None:
    said = image(FIXED, MOVING)
    document = image(FIXED, MOVING, "--json", "--exit-code").document

    assert (said.code, said.err) == (0, "")
    assert (
        said.out
        == f"""\
A  registry.example/{REPOSITORY}@sha256:FIRST
B  registry.example/{REPOSITORY}@sha256:NEXT

rebuild  components-changed: components, Python packages or their settings moved
evidence soci-toc

transport stack
  aws-ofi-nccl  1.18.0 -> 1.20.0  risk: the plugin that NCCL reaches EFA through: transport and speed can change
  efa-installer  1.47.0 -> 1.49.0  risk: brings libfabric and aws-ofi-nccl: the transport can change
  libfabric  2.4.0amzn4.0 -> 2.4.0amzn5.0  risk: the transport can change

Python packages
  requests  2.34.1 -> 2.34.2  ({SITE})

OS packages
  libfabric-aws  2.4.0amzn4.0-1.amzn2023 -> 2.4.0amzn5.0-1.amzn2023  (rpm x86_64)
  libnccl-ofi  1.18.0-1.amzn2023 -> 1.20.0-1.amzn2023  (rpm x86_64)
  openssl-libs  1:3.2.2-1.amzn2023.0.1 -> 1:3.2.4-1.amzn2023.0.1  (rpm x86_64)

no longer there: NCCL broadcast across nodes hangs for ever (aws-ofi-nccl-1.18.0-broadcast)
"""
    )
    assert (document["status"], document["exit_code"], document["rebuild"]) == ("moved", 1, "components-changed")
    assert (document["a"]["manifest_digest"], document["b"]["manifest_digest"]) == ("sha256:FIRST", "sha256:NEXT")
    assert document["moves"][3] == {
        "group": "Python packages",
        "name": "requests",
        "place": SITE,
        "old": "2.34.1",
        "new": "2.34.2",
        "risk": None,
    }


def test_only_layers_that_two_images_do_not_share_are_read(image: Images) -> None:
    document = image(FIXED, MOVING, "--route=stream", "--no-cache", "--json").document

    shared = {layer.blob.digest for layer in FIRST.layers}
    own = sum(len(layer.blob.data) for layer in NEXT.layers if layer.blob.digest not in shared)
    assert 0 < own < sum(len(layer.blob.data) for layer in NEXT.layers)
    assert document["b"]["read_bytes"] == own


OTHERS: dict[str, Image | Index] = {
    "index": build_index([FIRST.image]),
    "wider-index": build_index([FIRST.image, build_image([], architecture="arm64")]),
    "later": build_image(
        FIRST.layers,
        env=ENVIRONMENT,
        labels={"framework": "ray", "framework_version": "2.58.0", "dlc_major_version": "1", "dlc_minor_version": "0"},
        runtime={"Entrypoint": ["/usr/local/bin/entrypoint.sh"], "WorkingDir": "/workspace"},
        created="2026-09-08T08:14:00Z",
    ),
    "repacked": dlc_like_image(FIRST_BUILD, payload_bytes=400_004).image,
    "security": dlc_like_image(replace(FIRST_BUILD, openssl="3.2.4")).image,
}


@pytest.mark.parametrize(
    ("first", "second", "route", "kind", "moved"),
    [
        (FIXED, FIXED, "config", "same", []),
        ("index", "wider-index", "config", "index-only", []),
        (FIXED, "index", "config", "index-only", []),
        (FIXED, "later", "config", "metadata-only", None),
        (FIXED, "repacked", "stream", "same-components", []),
        (FIXED, "security", "stream", "os-packages", ["openssl-libs"]),
        (FIXED, "security", "config", "not-known", []),
        ("security", MOVING, "stream", "components-changed", None),
    ],
)
def test_each_kind_of_rebuild_is_told(
    image: Images, first: str, second: str, route: str, kind: str, moved: list[str] | None
) -> None:
    for name in {first, second} & set(OTHERS):
        push(image.address, REPOSITORY, OTHERS[name], name)

    document = image(first, second, f"--route={route}", "--json", "--exit-code").document

    assert (document["rebuild"], document["exit_code"]) == (kind, 0 if kind == "same" else 1)
    if moved is not None:
        assert [move["name"] for move in document["moves"]] == moved
