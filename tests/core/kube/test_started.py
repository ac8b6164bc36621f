"""The file by which a run on a cluster is found again, and the names of RayClusters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.core.kube.started import StartedRun, cluster_name, read_started, write_started
from rdlc.errors import InputError

_RUN = StartedRun(context="", namespace="ray", name="tiny-1a2b", uid="u", module="fsdp_qwen.train", stage="submitted")


def test_run_is_read_as_it_was_written() -> None:
    assert read_started(write_started(_RUN), name="f") == _RUN


@pytest.mark.parametrize("change", [(b"submitted", b"nowhere"), (b"tiny-1a2b", b"../x"), (b'"ray"', b"1")])
def test_file_that_was_changed_is_refused(change: tuple[bytes, bytes]) -> None:
    with pytest.raises(InputError):
        read_started(write_started(_RUN).replace(*change), name="f")


@given(data=st.binary(max_size=60))
def test_any_bytes_give_the_one_error(data: bytes) -> None:
    with pytest.raises(InputError):
        read_started(data, name="f")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("finetune", "finetune-0a1b2c3d"),
        ("1.5b_run", "run-1-5b-run-0a1b2c3d"),
        ("x" * 63, "x" * 44 + "-0a1b2c3d"),
    ],
)
def test_cluster_name_is_short_and_starts_with_a_letter(name: str, made: str) -> None:
    assert cluster_name(name, "0a1b2c3d") == made
    assert len(made) <= 53
