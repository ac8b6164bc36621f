"""`rdlc image`, as a user sees it, against a real registry."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.image_contents.dlc_like import ENVIRONMENT, FIRST_BUILD, dlc_like_image
from tests.conftest import Rdlc, Said
from tests.registry.dlc_pair import FIRST, FIXED, MOVING, NEXT, REPOSITORY, push_first, push_next, with_names
from tests.registry.http_server import Reply, serving
from tests.registry.images import Image, Index, build_image, build_index
from tests.registry.logged_out import log_out
from tests.registry.processes import free_port
from tests.registry.push import push
from tests.registry.registries import plain_registry

ISSUE = """\
known issue: NCCL broadcast across nodes hangs for ever (aws-ofi-nccl-1.18.0-broadcast)
  effect  a job over EFA on two or more nodes can stop without an error; DLC Ray Train v1.0.0 is frozen with it
  fix     take an image with aws-ofi-nccl 1.20.0 or newer, as train-ml-cuda-v1.1
  source  aws/deep-learning-containers#6551, aws/deep-learning-containers#6668
"""
SITE = "/opt/venv/lib/python3.13/site-packages"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A registry with the first build under its fixed tag, and the rebuild under the moving one."""
    with plain_registry(tmp_path_factory.mktemp("registry")) as place:
        push_first(place, has_soci=True)
        push_next(place, has_soci=True)
        yield place


class Images:
    """`rdlc image` with tags of the repository for references, and stable names in its answers."""

    def __init__(self, address: str, rdlc: Rdlc) -> None:
        self.address = address
        self._rdlc = rdlc

    def __call__(self, *arguments: str) -> Said:
        given = [a if a.startswith("-") else f"{self.address}/{REPOSITORY}:{a}" for a in arguments]
        said = self._rdlc("image", *given)
        out = re.sub(r"[0-9,]+ bytes", "N bytes", with_names(said.out, self.address))
        return Said(code=said.code, out=out, err=with_names(said.err, self.address))


@pytest.fixture
def image(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Images:
    log_out(monkeypatch, tmp_path)
    return Images(address, rdlc)


def test_the_config_alone_tells_digests_hints_and_known_issues(image: Images) -> None:
    said = image(FIXED, "--route=config")

    config = FIRST.image.blobs[0].digest
    content = said.out.split("content     ")[1].split("\n")[0]
    assert re.fullmatch("sha256:[0-9a-f]{64}", content)
    assert (said.code, said.out.replace(config, "CONFIG").replace(content, "CONTENT"), said.err) == (
        0,
        f"""\
image       registry.example/{REPOSITORY}:{FIXED}
tag         a fixed tag: should never move
digest      sha256:FIRST
platform    linux/amd64  sha256:FIRST
config      CONFIG
content     CONTENT
created     2026-09-01T08:14:00Z
layers      5, N bytes compressed
evidence    config-only  (N bytes of layers read)

  python                3.13.12                       config-only    history: PYTHON_VERSION
  ray                   2.58.0                        config-only    label: framework_version
  cuda                  13.0.2                        config-only    history: CUDA_VERSION
  efa-installer         1.47.0                        config-only    history: EFA_VERSION
  layers were not read: what is not listed is not known

{ISSUE}""",
        "",
    )


def test_tables_of_contents_tell_every_component_with_its_place(image: Images) -> None:
    said = image(FIXED, "--no-cache")

    head, _, rest = said.out.partition("evidence    ")
    assert (said.code, said.err, head.count("\n")) == (0, "", 8)
    assert (
        rest
        == f"""\
soci-toc  (N bytes of layers read)

  os                    Amazon Linux 2023.8.20250818  soci-toc       /usr/lib/os-release
  python                3.13.12                       soci-toc       /usr/local/include/python3.13/patchlevel.h
  ray                   2.58.0                        soci-toc       {SITE}/ray-2.58.0.dist-info
  torch                 2.13.0+cu130                  soci-toc       {SITE}/torch-2.13.0+cu130.dist-info
  cuda                  13.0.2                        soci-toc       /usr/local/cuda-13.0/version.json
  cuda-runtime          13.0.96                       soci-toc       rpm cuda-cudart-13-0 13.0.96-1
  cuda-compat           580.82.07                     soci-toc       rpm cuda-compat-13-0 1:580.82.07-1.el9
  cudnn                 9.20.0.48                     soci-toc       {SITE}/nvidia_cudnn_cu13-9.20.0.48.dist-info
  nccl                  2.29.7                        soci-toc       {SITE}/nvidia_nccl_cu13-2.29.7.dist-info
  efa-installer         1.47.0                        soci-toc       /opt/amazon/efa_installed_packages
  libfabric             2.4.0amzn4.0                  soci-toc       rpm libfabric-aws 2.4.0amzn4.0-1.amzn2023
  aws-ofi-nccl          1.18.0                        soci-toc       rpm libnccl-ofi 1.18.0-1.amzn2023
  openmpi               5.0.8amzn1                    soci-toc       rpm openmpi50-aws 5.0.8amzn1-13
  flash-attn            2.8.3                         streamed       {SITE}/flash_attn-2.8.3.dist-info

8 Python packages, 9 OS packages; --all lists them

/etc/nccl.conf
  NCCL_DEBUG=INFO
  NCCL_SOCKET_IFNAME=^docker0,lo

{ISSUE}"""
    )


def test_all_lists_every_package_of_every_environment(image: Images) -> None:
    said = image(FIXED, "--all")

    listed = said.out.partition("8 Python packages, 9 OS packages\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[:2] for line in listed] == [
        ["flash-attn", "2.8.3"],
        ["nvidia-cudnn-cu13", "9.20.0.48"],
        ["nvidia-nccl-cu13", "2.29.7"],
        ["pip", "26.1.2"],
        ["ray", "2.58.0"],
        ["requests", "2.34.1"],
        ["requests", "2.32.0"],
        ["torch", "2.13.0+cu130"],
        ["cuda-compat-13-0.x86_64", "1:580.82.07-1.el9"],
        ["cuda-cudart-13-0.x86_64", "13.0.96-1"],
        ["glibc.x86_64", "2.34-231.amzn2023.0.2"],
        ["gpg-pubkey", "d832c631-6515c85e"],
        ["libfabric-aws.x86_64", "2.4.0amzn4.0-1.amzn2023"],
        ["libnccl-ofi.x86_64", "1.18.0-1.amzn2023"],
        ["openmpi50-aws.x86_64", "5.0.8amzn1-13"],
        ["openssl-libs.x86_64", "1:3.2.2-1.amzn2023.0.1"],
        ["python3.x86_64", "3.9.25-1.amzn2023.0.1"],
    ]


@pytest.mark.parametrize(
    ("arguments", "evidence"),
    [
        (("--route=config",), "config-only"),
        (("--route=auto",), "soci-toc"),
        (("--verify",), "soci-verified"),
        (("--route=stream",), "streamed"),
    ],
)
def test_each_route_names_its_evidence(image: Images, arguments: tuple[str, ...], evidence: str) -> None:
    said = image(FIXED, "--no-cache", "--json", *arguments)

    assert (said.code, said.document["evidence"]) == (0, evidence)


def test_the_second_look_reads_nothing_unless_the_cache_is_left_out(image: Images) -> None:
    reads = [
        image(FIXED, "--route=stream", "--json", *more).document["read_bytes"]
        for more in (("--no-cache",), (), (), ("--no-cache",))
    ]

    whole = sum(len(layer.blob.data) for layer in FIRST.layers)
    assert reads == [whole, whole, 0, whole]


def test_what_an_installed_package_requires_is_read_when_asked(image: Images) -> None:
    said = image(FIXED, "--requires=flash.ATTN", "--json")
    ray = image(FIXED, "--requires=Ray")

    assert said.document["requires"] == {f"{SITE}/flash_attn-2.8.3.dist-info": []}
    assert f"\n{SITE}/ray-2.58.0.dist-info requires\n  click>=7.0\n  filelock\n\n" in ray.out


def test_the_document_of_an_image_has_all_that_was_found(image: Images, address: str) -> None:
    document = image(FIXED, "--json").document

    elsewhere = {"content_id": "", "read_bytes": 0, "components": [], "python_packages": [], "os_packages": []}
    assert document | elsewhere == {
        "rdlc": 1,
        "verb": "image",
        "status": "described",
        "exit_code": 0,
        "error": None,
        "reference": f"registry.example/{REPOSITORY}:{FIXED}",
        "tag_kind": "fixed",
        "pinned": f"registry.example/{REPOSITORY}@sha256:FIRST",
        "index_digest": None,
        "index_media_type": None,
        "manifest_digest": "sha256:FIRST",
        "manifest_media_type": "application/vnd.oci.image.manifest.v1+json",
        "config_digest": FIRST.image.blobs[0].digest,
        "content_id": "",
        "platform": "linux/amd64",
        "created": "2026-09-01T08:14:00Z",
        "layers": [{"digest": layer.blob.digest, "size": len(layer.blob.data)} for layer in FIRST.layers],
        "diff_ids": [layer.diff_id for layer in FIRST.layers],
        "env": ENVIRONMENT,
        "labels": {
            "framework": "ray",
            "framework_version": "2.58.0",
            "dlc_major_version": "1",
            "dlc_minor_version": "0",
        },
        "history": document["history"],
        "evidence": "soci-toc",
        "read_bytes": 0,
        "components": [],
        "python_packages": [],
        "os_packages": [],
        "nccl_conf": "NCCL_DEBUG=INFO\nNCCL_SOCKET_IFNAME=^docker0,lo\n",
        "notes": [],
        "known_issues": document["known_issues"],
        "requires": {},
    }
    assert len(document["history"]) == 2
    assert document["components"][2] == {
        "name": "ray",
        "version": "2.58.0",
        "source": f"{SITE}/ray-2.58.0.dist-info",
        "evidence": "soci-toc",
    }
    assert [issue["id"] for issue in document["known_issues"]] == ["aws-ofi-nccl-1.18.0-broadcast"]


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


@pytest.mark.parametrize(
    ("arguments", "code", "err"),
    [
        (
            ("nope",),
            1,
            f'error: `registry.example` has no image `registry.example/{REPOSITORY}:nope`: "manifest unknown"\n',
        ),
        (
            (FIXED, "--platform=linux/arm64"),
            1,
            f"error: the image `registry.example/{REPOSITORY}:{FIXED}` is for `linux/amd64`, not for `linux/arm64`\n",
        ),
        (
            (FIXED, "--platform=windows"),
            2,
            "error: the platform `windows` is not of the form `linux/amd64` or `linux/arm64/v8`\n",
        ),
        ((FIXED, "--requires=nope"), 2, "error: the image holds no Python package `nope`, as far as was read\n"),
        (
            (FIXED, MOVING, "--all"),
            2,
            "error: `--all` and `--requires` are about one image\nhint: leave the second one out\n",
        ),
        (
            (FIXED, MOVING, "--requires=ray"),
            2,
            "error: `--all` and `--requires` are about one image\nhint: leave the second one out\n",
        ),
        ((FIXED, "--exit-code"), 2, "error: `--exit-code` is about two images\nhint: name the second one too\n"),
    ],
)
def test_what_cannot_be_answered_is_refused_in_words(
    image: Images, arguments: tuple[str, ...], code: int, err: str
) -> None:
    said = image(*arguments)

    assert (said.code, said.out, said.err) == (code, "", err)


def test_a_registry_that_is_down_is_exit_3_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    place = f"127.0.0.1:{free_port()}"

    said = rdlc("image", f"{place}/r:v1")

    assert (said.code, said.out, said.err) == (
        3,
        "",
        (
            f"error: `{place}` does not answer: [Errno 111] Connection refused\n"
            "hint: check the name, the network and `HTTPS_PROXY`\n"
        ),
    )


def test_a_registry_that_wants_a_login_is_exit_3_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc
) -> None:
    log_out(monkeypatch, tmp_path)
    refused = Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="tests"'})

    with serving(lambda asked: refused) as server:
        said = rdlc("image", f"{server.address}/r:v1")

    assert (said.code, said.out, said.err.replace(server.address, "registry.example")) == (
        3,
        "",
        (
            "error: `registry.example` does not give the image `registry.example/r:v1` without credentials, "
            "if it has it at all\n"
            "hint: `docker login registry.example`, or AWS credentials for a private ECR registry\n"
        ),
    )
