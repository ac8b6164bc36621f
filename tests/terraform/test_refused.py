"""What an apply refuses with the real provider: each with one message, and before anything is touched."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.terraform.moto.offered import ADDON_VERSIONS, RELEASES
from tests.terraform.sample import KEY, LOCK, Sample, copy_sample, lock_sample

pytestmark = [pytest.mark.terraform, pytest.mark.late]
APPLY = ("apply", LOCK, "--bind", "bind.yaml")


def test_a_provider_that_is_not_the_locked_one_is_refused(moto_account: str, tmp_path: Path) -> None:
    sample = lock_sample(tmp_path, endpoint=moto_account, provider_lock=other_hashes)

    said = sample(*APPLY, "--yes")

    error, hint = said.err.splitlines()[-2:]
    assert said.code == 1
    assert error.startswith("error: the provider here is not the one that is locked: ")
    assert hint == "hint: `rdlc lock SPEC --upgrade infra` locks another one on purpose"
    assert not sample.stack.exists()


def test_a_look_names_what_is_withdrawn_and_its_nearest_beside_the_plan(
    applied_sample: Sample, moto_account: str, tmp_path: Path
) -> None:
    sample = copy_sample(applied_sample, tmp_path, endpoint=moto_account)
    gone = ("infra.system_release_version=1.35.1-20261014", "infra.addon_versions.coredns=v1.12.9-eksbuild.1")
    options = [word for setting in gone for word in ("--substitute", setting)]

    said = sample(*APPLY, "--plan", *options, "--reason", "to see what is said")

    release, addon = RELEASES[0], ADDON_VERSIONS["coredns"][-1]
    lines = said.out.splitlines()
    assert (said.code, lines[:2]) == (1, [f"withdrawn  {KEY}", f"plan  {KEY}  39 to add"])
    assert [line for line in lines if "not offered any more" in line] == [
        (
            "  `system_release_version`: `1.35.1-20261014` is not offered any more; the nearest that is offered is "
            f"`{release}`: `--substitute infra.system_release_version={release} --reason ...`"
        ),
        (
            "  `addon_versions.coredns`: `v1.12.9-eksbuild.1` is not offered any more; the nearest that is offered is "
            f"`{addon}`: `--substitute infra.addon_versions.coredns={addon} --reason ...`"
        ),
    ]
    assert not sample.stack.exists()


def test_the_state_of_a_newer_provider_is_refused(applied_sample: Sample, tmp_path: Path) -> None:
    copied = shutil.copytree(applied_sample.folder, tmp_path / "project", ignore=shutil.ignore_patterns("work"))
    shutil.copy(applied_sample.folder.parent / "terraformrc", tmp_path)
    sample = replace(applied_sample, folder=copied)
    path = sample.stack / "terraform.tfstate"
    state = json.loads(path.read_bytes())
    for held in state["resources"]:
        for instance in held["instances"]:
            instance["schema_version"] += 90
    path.write_text(json.dumps(state), encoding="utf-8")

    said = sample(*APPLY, "--yes")

    error, hint = said.err.splitlines()[-2:]
    assert said.code == 1
    assert error.startswith(
        "error: the state was written by a newer Terraform or provider than the locked one, and there is no way back: "
    )
    assert hint == "hint: take the newer version into the lock: `rdlc lock SPEC --upgrade infra`"
    assert json.loads(path.read_bytes()) == state


def other_hashes(text: str) -> str:
    """A file of locked providers whose hashes fit nothing."""
    return re.sub(r'"h1:(.)', lambda found: f'"h1:{"A" if found[1] != "A" else "B"}', text)
