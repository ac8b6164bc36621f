"""`rdlc diff` of locks in images: what moved, the kind of rebuild, and the evidence for both."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdlc.core.lockfile import write_lock
from tests.adapters.image_contents.dlc_like import ENVIRONMENT, FIRST_BUILD, dlc_like_image
from tests.cli.locked_pair import LockedImages
from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc, Said
from tests.registry.dlc_pair import FIRST, FIXED, MOVING, REPOSITORY
from tests.registry.images import Image, Index, build_image, build_index
from tests.registry.logged_out import log_out
from tests.registry.push import push

OTHERS: dict[str, Image | Index] = {
    "index": build_index([FIRST.image]),
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
SITE = "/opt/venv/lib/python3.13/site-packages"
TRANSPORT = """\
  transport stack
    aws-ofi-nccl  1.18.0 -> 1.20.0  risk: the plugin that NCCL reaches EFA through: transport and speed can change
    efa-installer  1.47.0 -> 1.49.0  risk: brings libfabric and aws-ofi-nccl: the transport can change
    libfabric  2.4.0amzn4.0 -> 2.4.0amzn5.0  risk: the transport can change
"""
PACKAGES = f"""\
  Python packages
    requests  2.34.1 -> 2.34.2  ({SITE})

  OS packages
    libfabric-aws  2.4.0amzn4.0-1.amzn2023 -> 2.4.0amzn5.0-1.amzn2023  (rpm x86_64)
    libnccl-ofi  1.18.0-1.amzn2023 -> 1.20.0-1.amzn2023  (rpm x86_64)
    openssl-libs  1:3.2.2-1.amzn2023.0.1 -> 1:3.2.4-1.amzn2023.0.1  (rpm x86_64)
"""
CHANGED = "  components-changed: components, Python packages or their settings moved\n"
UNDECIDED = (
    "  not-known: `same-components`, `os-packages` or `components-changed`: which one cannot be told from here\n"
)
NAMES = {"FIRST": FIXED, "NEXT": MOVING}
COMMAND = " ".join(
    ("rdlc image", *(f"registry.example/{REPOSITORY}:{tag}@sha256:{build}" for build, tag in NAMES.items()))
)
ALL = f"  all that moved: `{COMMAND}`\n"


@pytest.fixture
def images(image_registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> LockedImages:
    log_out(monkeypatch, tmp_path)
    return LockedImages(tmp_path, image_registry, rdlc, monkeypatch)


def test_the_command_that_diff_names_reads_what_diff_does_not_know(images: LockedImages) -> None:
    first, second = images.lock(FIXED), images.lock(MOVING)

    before = images.rebuild(first, second)
    command = images.raw("diff", "--json", first, second).document["differences"][0]["image"]["command"]
    shown = images(*command.split()[1:])
    after = images.rebuild(first, second)

    hints = "what both configs said when they were locked; components and packages are not known here"
    moved = "\n  transport stack\n    efa-installer  1.47.0 -> 1.49.0  risk: brings libfabric and aws-ofi-nccl: "
    moved += "the transport can change\n"
    assert before == f"{UNDECIDED}  evidence: {hints} (config-only)\n{ALL}{moved}"
    assert (shown.code, "rebuild  components-changed" in shown.out) == (0, True)
    assert (
        after == f"{CHANGED}  evidence: every layer of both, as read here before (soci-toc)\n\n{TRANSPORT}\n{PACKAGES}"
    )


def test_locks_that_were_looked_into_elsewhere_tell_the_components_and_not_the_packages(images: LockedImages) -> None:
    images.forget("elsewhere")
    first, second = images.lock(FIXED, "--contents=stream"), images.lock(MOVING, "--contents=auto")
    images.forget("here")

    rebuild = images.rebuild(first, second)

    words = "the components that both had when they were locked; their packages are not known here"
    assert rebuild == f"{CHANGED}  evidence: {words} (streamed and soci-toc)\n{ALL}\n{TRANSPORT}"


def test_components_that_are_equal_leave_the_kind_open(images: LockedImages) -> None:
    push(images.address, REPOSITORY, OTHERS["security"], "security")
    images.forget("elsewhere")
    first, second = images.lock(FIXED, "--contents=stream"), images.lock("security", "--contents=stream")
    images.forget("here")

    document = images("diff", "--json", first, second).document["differences"][0]["image"]

    assert (document["rebuild"], document["moves"], document["basis"]) == ("not-known", [], "components")
    assert document["evidence"] == ["streamed", "streamed"]
    assert document["command"].startswith("rdlc image ")


def test_components_of_two_kinds_of_evidence_are_not_compared(images: LockedImages) -> None:
    images.forget("elsewhere")
    first, second = images.lock(FIXED), images.lock(MOVING, "--contents=stream")
    images.forget("here")

    rebuild = images.rebuild(first, second)

    words = "the environment of both; one was not looked into as the other was, so components are not compared"
    assert rebuild == f"{UNDECIDED}  evidence: {words} (config-only and streamed)\n{ALL}"


@pytest.mark.parametrize(
    ("second", "kind", "basis", "moved"),
    [
        ("index", "index-only", "digests", []),
        ("later", "metadata-only", "digests", []),
        ("repacked", "same-components", "layers", []),
        ("security", "os-packages", "layers", ["openssl-libs"]),
    ],
)
def test_each_kind_of_rebuild_is_told_with_its_evidence(
    images: LockedImages, second: str, kind: str, basis: str, moved: list[str]
) -> None:
    push(images.address, REPOSITORY, OTHERS[second], second)
    # Where digests decide, nobody need have looked into the images.
    route = "--contents=stream" if basis == "layers" else "--contents=config"
    first, other = images.lock(FIXED, route), images.lock(second, route)

    document = images("diff", "--json", "--exit-code", first, other).document

    image = document["differences"][0]["image"]
    assert (document["exit_code"], image["rebuild"], image["basis"], image["command"]) == (1, kind, basis, None)
    assert [move["name"] for move in image["moves"]] == moved


def test_another_name_of_one_image_is_the_same_image(images: LockedImages) -> None:
    push(images.address, REPOSITORY, FIRST.image, "again")
    first, second = images.lock(FIXED), images.lock("again")

    assert images.rebuild(first, second) == "  same: the same digest\n  evidence: the digests in both\n"


def test_another_evidence_for_one_image_is_no_difference(images: LockedImages) -> None:
    first = images.lock(FIXED)
    second = first.rename("other.lock.yaml")
    first = images.lock(FIXED, "--contents=stream")

    assert images("diff", first, second) == Said(code=0, out="", err="no differences\n")


def test_markdown_has_a_table_of_what_moved(images: LockedImages) -> None:
    images.forget("elsewhere")
    first, second = images.lock(FIXED, "--contents=stream"), images.lock(MOVING, "--contents=stream")
    images.forget("here")

    said = images("diff", "--markdown", first, second)

    words = "the components that both had when they were locked; their packages are not known here"
    assert said.out.partition("\n#### image rebuild\n")[2] == (
        "\n- `components-changed: components, Python packages or their settings moved`\n"
        f"- `evidence: {words} (streamed)`\n"
        f"- `` all that moved: `{COMMAND}` ``\n"
        "\n| group | name | A | B | risk |\n|---|---|---|---|---|\n"
        "| transport stack | `aws-ofi-nccl` | `1.18.0` | `1.20.0` "
        "| the plugin that NCCL reaches EFA through: transport and speed can change |\n"
        "| transport stack | `efa-installer` | `1.47.0` | `1.49.0` "
        "| brings libfabric and aws-ofi-nccl: the transport can change |\n"
        "| transport stack | `libfabric` | `2.4.0amzn4.0` | `2.4.0amzn5.0` | the transport can change |\n"
    )


def test_provenance_that_says_nothing_leaves_no_command_and_no_guess(images: LockedImages) -> None:
    first, second = images.lock(FIXED), images.lock(MOVING)
    lock = lock_at(second)
    second.write_bytes(write_lock(replace(lock, provenance=replace(lock.provenance, image=None))))

    rebuild = images.rebuild(first, second)

    hints = "what both configs said when they were locked; components and packages are not known here"
    none = "no command tells it; the locks are for two platforms, or one names no registry"
    assert rebuild == f"{UNDECIDED}  evidence: {hints} (config-only)\n  all that moved: {none}\n"
