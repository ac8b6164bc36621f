"""`rdlc init --target`: what there is, and a folder for each."""

from pathlib import Path

import pytest

from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc
from tests.registry.dlc_pair import MOVING, NEXT, REPOSITORY
from tests.registry.logged_out import log_out


def test_target_alone_lists_what_there_is(rdlc: Rdlc) -> None:
    said = rdlc("init", "--target")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            "error: `--target` takes one of `local` (an embedded Ray on this machine), "
            "`docker` (containers of a locked image), `eks` (a cluster made by Terraform)\n"
            "hint: `rdlc init DIR --target local`\n"
        ),
    )


def test_a_folder_for_docker_locks_the_public_container_by_its_moving_tag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc, image_registry: str
) -> None:
    log_out(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    reference = f"public.ecr.aws/{REPOSITORY}:{MOVING}"

    said = rdlc("init", "new", "--target", "docker")
    monkeypatch.chdir(tmp_path / "new")
    text = Path("run.yaml").read_text()
    # The same repository, in a registry of the tests.
    Path("run.yaml").write_text(text.replace("public.ecr.aws", image_registry))
    locked = rdlc("lock", "run.yaml", "--json")

    assert (said.code, said.err) == (0, "next: `cd new && rdlc lock run.yaml`\n")
    assert f"  reference: {reference}\n  platform: linux/amd64" in text
    section = lock_at(Path("lock/qwen2.5-1.5b-docker.lock.yaml")).sections.image
    assert section is not None
    assert (locked.code, section.digest) == (0, NEXT.image.digest)
    assert (section.requested.reference, section.requested.platform) == (f"{REPOSITORY}:{MOVING}", "linux/amd64")


def test_the_commented_base_and_reason_are_taken_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc, image_registry: str
) -> None:
    log_out(monkeypatch, tmp_path)
    rdlc("init", tmp_path / "new", "--target", "docker")
    monkeypatch.chdir(tmp_path / "new")
    text = Path("run.yaml").read_text().replace("  # base: ", "  base: ").replace("  # reason: ", "  reason: ")
    Path("run.yaml").write_text(text.replace("public.ecr.aws", image_registry))

    locked = rdlc("lock", "run.yaml", "--json")

    section = lock_at(Path("lock/qwen2.5-1.5b-docker.lock.yaml")).sections.image
    assert section is not None
    assert (locked.code, section.requested.base, section.requested.reason) == (
        0,
        f"{REPOSITORY}:{MOVING}",
        "our tokenizer",
    )


def test_a_folder_for_eks_locks_the_root_that_it_brings_with_the_zones_left_to_the_bindings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc, image_registry: str
) -> None:
    log_out(monkeypatch, tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    said = rdlc("init", tmp_path / "new", "--target", "eks")
    monkeypatch.chdir(tmp_path / "new")
    text = (
        Path("run.yaml")
        .read_text()
        .replace("    # gpu_rel", "    gpu_rel")
        .replace("    # system_rel", "    system_rel")
    )
    Path("run.yaml").write_text(text.replace("    # addon", "    addon").replace("public.ecr.aws", image_registry))

    locked = rdlc("lock", "run.yaml", "--bind", "bind.yaml", "--json")

    lock = lock_at(Path("lock/qwen2.5-1.5b-2xg6.lock.yaml"))
    infra, origin = lock.sections.infra, lock.provenance.infra
    assert infra is not None
    assert origin is not None
    assert (said.code, said.err) == (0, f"next: `cd {tmp_path / 'new'} && rdlc lock run.yaml --bind bind.yaml`\n")
    assert (locked.code, infra.requested.profile, infra.variables["gpu_instance_type"]) == (
        0,
        "g6-12xlarge-x2",
        "g6.12xlarge",
    )
    assert origin.bindings == {
        "availability_zones": ["us-east-2a", "us-east-2b"],
        "endpoint_public_cidrs": [],
        "gpu_availability_zones": ["us-east-2a"],
        "name": "my-stack",
    }
