"""Which of several failing ranks is named."""

import pickle

from fsdp_qwen.failures import Failure, TrainingFailed, failure_of, one_line, root_cause


def test_a_killed_rank_is_the_cause_although_its_peer_complained_first() -> None:
    peer = failure_of(RuntimeError("[gloo] Connection closed by peer [127.0.0.1]:1"), 0)
    killed = Failure(rank=1, kind="killed", message="rank 1 was killed")

    assert root_cause([peer, killed]) == killed
    assert peer.kind == "lost-peer"


def test_the_lowest_rank_speaks_for_ranks_that_fail_alike() -> None:
    failures = [failure_of(TrainingFailed("step 2: loss is nan", "loss"), rank) for rank in (1, 0)]

    assert root_cause(failures) == Failure(rank=0, kind="refused", message="step 2: loss is nan", field="loss")


def test_an_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(TrainingFailed("broken", "loss")))

    assert (str(error), error.field) == ("broken", "loss")


def test_a_message_is_one_printable_line() -> None:
    assert one_line("a\n\x1b[31mb\t c") == "a [31mb c"
    assert one_line("x" * 700) == "x" * 597 + "..."
