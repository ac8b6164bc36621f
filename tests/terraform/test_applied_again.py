"""The applied stack, looked at and applied once more: it stays as it is, and nothing but the lock is listened to."""

from dataclasses import replace

import pytest

from tests.cli.transcripts import lock_at
from tests.terraform.sample import KEY, LOCK, Sample

pytestmark = [pytest.mark.terraform, pytest.mark.late]
APPLY = ("apply", LOCK, "--bind", "bind.yaml")


def stack_lines(sample: Sample) -> list[str]:
    """How the stack is told, as long as it is as locked."""
    return [
        f"unchanged  {KEY}",
        f"  lock      {lock_at(sample.folder / LOCK).id}",
        "  state     local, 39 resources",
        "  price     9.7564 USD per hour (AWS list price, as of 2026-06)",
        f"  NOT REAL  {sample.endpoint} stands in for AWS: this is no cluster",
    ]


def test_a_second_apply_changes_nothing(applied_sample: Sample) -> None:
    kept = [applied_sample.stack / "stack.json", applied_sample.stack / "terraform.tfstate"]
    before = [path.read_bytes() for path in kept]

    said = applied_sample(*APPLY, "--yes")

    assert (said.code, said.out.splitlines()) == (0, stack_lines(applied_sample))
    assert set(said.err.splitlines()) == {"planning"}
    assert [path.read_bytes() for path in kept] == before


def test_a_plan_is_empty_whatever_is_set_for_terraform(applied_sample: Sample) -> None:
    settings = {"TF_VAR_gpu_count": "7", "TF_CLI_ARGS": "-no-such-flag", "TF_CLI_ARGS_plan": "-destroy"}

    said = applied_sample(*APPLY, "--plan", more=settings)

    assert (said.code, said.out.splitlines()) == (0, stack_lines(applied_sample))
    assert set(said.err.splitlines()) == {
        "left out of Terraform's environment, the lock rules: TF_CLI_ARGS, TF_CLI_ARGS_plan, TF_VAR_gpu_count",
        "planning",
    }


def test_the_record_of_a_stack_in_a_stand_in_for_aws_is_marked(applied_sample: Sample) -> None:
    record = applied_sample.record()

    assert (record["is_real"], record["endpoints"]) == (False, {"AWS_ENDPOINT_URL": applied_sample.endpoint})


def test_a_stack_is_not_looked_for_in_another_world(applied_sample: Sample, moto_account: str) -> None:
    said = replace(applied_sample, endpoint=moto_account)(*APPLY, "--yes")

    assert (said.code, said.err.splitlines()) == (
        1,
        [
            (
                f"error: this stack was made in `{applied_sample.endpoint}` in the place of AWS, "
                f"and now `{moto_account}` in the place of AWS would be asked"
            ),
            "hint: set or unset `AWS_ENDPOINT_URL` as it was then",
        ],
    )
