"""`rdlc image` of one image: what it tells, by which route, against a real registry."""

import re

import pytest

from tests.adapters.image_contents.dlc_like import ENVIRONMENT
from tests.cli.image_registry import ISSUE, SITE, Images
from tests.registry.dlc_pair import FIRST, FIXED, REPOSITORY


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


def test_the_document_of_an_image_has_all_that_was_found(image: Images) -> None:
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
