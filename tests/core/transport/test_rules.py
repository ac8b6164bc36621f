"""The rules, each with its reason: alarm on the first sign of TCP, certify only what is wholly shown."""

import pytest

from tests.core.transport.nccl_lines import causes_of, job, judge, line, text_of, verdict_of

EFA = "efa"


def test_all_ranks_over_efa_with_channel_lines_are_ok() -> None:
    assert verdict_of(text_of(job("Libfabric", provider=EFA))) == ("ok", "efa")


@pytest.mark.parametrize("provider", ["efa", "efa;ofi_rxr", "efa-direct"])
def test_each_provider_whose_name_starts_with_efa_is_efa(provider: str) -> None:
    assert verdict_of(text_of(job("AWS Libfabric", provider=provider)))[0] == "ok"


@pytest.mark.parametrize("provider", ["tcp", "tcp;ofi_rxm", "sockets"])
def test_libfabric_over_its_tcp_provider_is_a_fallback_though_the_plugin_works(provider: str) -> None:
    assert verdict_of(text_of(job("Libfabric", provider=provider))) == ("fallback", "ofi-tcp")


def test_libfabric_without_a_provider_line_may_be_tcp() -> None:
    assert verdict_of(text_of(job("Libfabric"))) == ("unknown", "unknown")


@pytest.mark.parametrize("name", ["IB", "IBext_v8", "IBext_v10"])
def test_infiniband_is_known_by_the_start_of_its_name(name: str) -> None:
    assert verdict_of(text_of(job(name))) == ("ok", "ib")


@pytest.mark.parametrize("name", ["FasTrak", "GPUDirectTCPX_v7"])
def test_a_network_of_another_plugin_is_external(name: str) -> None:
    assert verdict_of(text_of(job(name))) == ("ok", f"external:{name}")


def test_a_socket_in_one_rank_is_enough_for_the_alarm() -> None:
    assert verdict_of(text_of(job("Libfabric", provider=EFA, networks={3: "Socket"}))) == ("mixed", "efa+socket")
    assert verdict_of(text_of(job("IB", networks={0: "Socket"}))) == ("mixed", "ib+socket")


def test_a_rank_that_is_missing_keeps_it_from_ok() -> None:
    lines = [text for text in job("Libfabric", provider=EFA) if "node-1:1203:" not in text]

    found = judge(text_of(lines))

    assert (found.verdict, found.reason) == ("unknown", "only 3 of its 4 ranks say which network they use")


def test_an_intent_without_channel_lines_is_not_use() -> None:
    assert verdict_of(text_of(job("Libfabric", provider=EFA, channels="")))[0] == "unknown"


def test_sockets_whose_start_is_complete_are_a_fallback_before_any_channel() -> None:
    assert verdict_of(text_of(job(channels=""))) == ("fallback", "socket")
    assert verdict_of(text_of(job(channels="", is_complete=False)))[0] == "unknown"


def test_one_node_that_names_sockets_and_moves_data_inside_is_ok() -> None:
    found = judge(text_of(job(num_ranks=2)))

    assert (found.verdict, found.transport, found.num_nodes) == ("ok", "intra-node", 1)


def test_one_node_whose_channels_go_over_sockets_is_a_fallback() -> None:
    assert verdict_of(text_of(job(num_ranks=2, inside="NET/Socket/0"))) == ("fallback", "socket")


def test_before_2_20_several_hosts_are_several_nodes() -> None:
    old = text_of(job("AWS Libfabric", provider=EFA, version="2.18.5", has_nodes_line=False))

    assert (judge(old).verdict, judge(old).num_nodes) == ("ok", 2)
    assert verdict_of(text_of(job(version="2.18.5", has_nodes_line=False))) == ("fallback", "socket")


def test_one_rank_alone_has_no_transport() -> None:
    found = judge(text_of(job(num_ranks=1, per_node=1)))

    assert (found.verdict, found.transport, found.is_applicable) == ("unknown", "none", False)


def test_a_restart_over_another_network_is_mixed_and_told_by_attempt() -> None:
    first = job(comm_id="0x1")
    # The processes are new, and the places the same.
    second = [text.replace(":12", ":22", 1) for text in job("Libfabric", provider=EFA, comm_id="0x2")]

    found = judge(text_of([*first, *second]))

    assert (found.verdict, found.transport) == ("mixed", "efa+socket")
    assert [(attempt.number, attempt.transport) for attempt in found.attempts] == [(1, "socket"), (2, "efa")]


def test_a_quoted_line_is_no_evidence() -> None:
    quoted = "# look for `node-0:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0`\n"

    assert verdict_of(quoted + text_of(job("Libfabric", provider=EFA))) == ("ok", "efa")
    assert verdict_of(quoted) == ("unknown", "unknown")


def test_sockets_that_are_only_listed_are_not_used() -> None:
    listed = [line(rank, "NET/Socket : Using [0]eth0:192.0.2.1<0>") for rank in range(4)]

    assert verdict_of(text_of([*listed, *job("Libfabric", provider=EFA)])) == ("ok", "efa")


def test_the_start_over_tcp_is_no_evidence() -> None:
    starts = [line(rank, "Bootstrap: Using eth0:192.0.2.1<0>") for rank in range(4)]

    assert verdict_of(text_of([*starts, *job("IB")])) == ("ok", "ib")


@pytest.mark.parametrize("text", ["", "loss 3.1\n", "NCCL is a library\n"])
def test_a_log_without_nccl_says_nothing(text: str) -> None:
    assert verdict_of(text) == ("unknown", "unknown")


def test_a_bare_version_line_says_that_the_level_is_too_low() -> None:
    found = judge("NCCL version 2.21.5+cuda12.4\n")

    assert (found.verdict, found.nccl_versions) == ("unknown", ("2.21.5",))
    assert "NCCL_DEBUG=INFO" in found.reason


def test_gloo_is_not_applicable() -> None:
    found = judge("[Gloo] Rank 0 is connected to 1 peer ranks. Expected number of connected peer ranks is : 1\n")

    assert (found.verdict, found.is_applicable) == ("unknown", False)


@pytest.mark.parametrize(
    "prefix",
    [
        "(RayTrainWorker pid=123, ip=192.0.2.11) ",
        "\x1b[36m(RayTrainWorker pid=123)\x1b[0m ",
        "2026-11-30T12:00:00.123456789Z ",
        "2026-11-30T12:00:00.1Z stdout F ",
        "[pod/worker-0/ray-worker] ",
        "worker-1  | ",
        "[1,3]<stdout>:",
        "[rank3]: ",
        "[default0]:",
        "0: ",
        "[2026-11-30 12:00:00] ",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_collectors_put_around_a_line_changes_nothing(prefix: str, end: str) -> None:
    log = "".join(f"{prefix}{text}{end}" for text in job("Libfabric", provider=EFA))

    assert verdict_of(log) == ("ok", "efa")


def test_lines_that_ray_held_back_count_as_ranks_only_as_far_as_they_go() -> None:
    lines = [text for text in job("Libfabric", provider=EFA) if "Using network" not in text]
    one = line(0, "Using network Libfabric")

    def log(tail: str) -> str:
        return text_of([f"{one}{tail}", *lines])

    assert verdict_of(log(" [repeated 3x across cluster]"))[0] == "ok"
    assert verdict_of(log(" [repeated 2x across cluster]"))[0] == "unknown"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.", "plugin-missing"),
        ("NET/Plugin : No plugin found, using internal implementation", "plugin-missing"),
        ("NET/OFI Couldn't find any optimal provider", "efa-not-requested"),
        ("NET/OFI GDR disabled on GDR-supported instance type p4d.24xlarge", "gdr-check-failed"),
        ("NET/OFI Failed to find CUDA Runtime library: libcudart.so.12", "plugin-init-failed"),
        ("NCCL_IB_DISABLE set by environment to 1.", "variable"),
        ("NET/Socket : Using [0]docker0:172.17.0.1<0>", "wrong-interface"),
    ],
)
def test_the_likely_cause_is_named_with_its_line(text: str, word: str) -> None:
    log = text_of([line(0, text), *job()])

    assert f"{word} 1" in causes_of(log)


def test_a_job_that_is_well_has_no_cause() -> None:
    missing = [line(rank, "NET/Plugin: Could not find: libnccl-net.so") for rank in range(4)]

    assert causes_of(text_of([*missing, *job("IB")])) == []


def cut_channel(rest: str) -> str:
    """A job over EFA of which one channel line is cut and goes on with this."""
    whole = text_of(job("Libfabric", provider=EFA))
    place = whole.rindex("via NET/Libfabric/0") + len("via NET/Li")
    return f"{whole[:place]}{rest}{whole[whole.index(chr(10), place) :]}"


@pytest.mark.parametrize(
    "rest",
    [
        "203:1903 [1] NCCL INFO Channel 01/0 : 3[1] -> 0[0] [send] via NET/Libfabric/0",
        "ode-1:1203:1903 [1] NCCL INFO Channel 01/0 : 3[1] -> 0[0] [send] via NET/Libfabric/0",
        "fab/0",
        "bric/0/GDRDMA",
    ],
)
def test_a_channel_line_that_is_cut_names_no_other_network(rest: str) -> None:
    assert verdict_of(cut_channel(rest)) == ("ok", "efa")


def test_a_network_line_that_runs_into_another_line_names_no_other_network() -> None:
    whole = text_of(job("Libfabric", provider=EFA))

    for rest in (" Init COMPLETE", "202:1902 [0] NCCL INFO Channel 00", " comm 0xa003 rank 3 nranks 4"):
        assert verdict_of(whole.replace("Using network Libfabric\n", f"Using network Libfa{rest}\n", 1)) == (
            "unknown", "unknown",
        )  # fmt: skip


@pytest.mark.parametrize(
    "rest", ["irect", "0", "MNNVL 0", "Using network Libfabric", "node-0:1200:1900 [0] NCCL INFO x"]
)
def test_a_whole_name_to_which_another_line_is_glued_is_that_network(rest: str) -> None:
    whole = text_of(job("Libfabric", provider=EFA))

    assert verdict_of(whole.replace("Using network Libfabric\n", f"Using network Libfabric{rest}\n", 1)) == (
        "ok",
        "efa",
    )


def test_sockets_in_a_channel_line_count_though_no_rank_names_them() -> None:
    late = line(0, "Channel 01/0 : 0[0] -> 3[1] [send] via NET/Socket/0")

    assert verdict_of(text_of([*job("Libfabric", provider=EFA), late])) == ("mixed", "efa+socket")


def test_fewer_network_cards_than_the_instance_type_has_are_told() -> None:
    def said(nics: int) -> tuple[str, ...]:
        before = ["NET/OFI Running on p5en.48xlarge platform, topology"]
        log = text_of(job("Libfabric", provider=EFA, before=lambda rank: before)).replace(
            "found 1 nics", f"found {nics} nics"
        )
        return tuple(text for text in judge(log).warnings if "EFA interfaces" in text)

    assert said(16) == ()
    assert said(8) == ("the plugin found 8 of the 16 EFA interfaces that p5en.48xlarge can have",)


def test_two_pods_with_the_same_host_name_and_process_ids_are_two() -> None:
    first, second = ([text for text in job("Libfabric", provider=EFA) if f"node-{node}" in text] for node in (0, 1))
    renamed = text_of(second).replace("node-1:1202:", "node-0:1200:").replace("node-1:1203:", "node-0:1201:")

    found = judge(text_of(first), renamed)

    assert (found.verdict, found.transport, found.num_nodes) == ("ok", "efa", 2)


@pytest.mark.parametrize(
    ("library", "word"), [("libnccl-net.so", "plugin-missing"), ("libcudart.so.11.0", "plugin-load-failed")]
)
@pytest.mark.parametrize(
    "told",
    [
        "NET/Plugin : Plugin load (libnccl-net.so) returned 2 : {error}",
        "NET/Plugin : dlerror={error} No plugin found (libnccl-net.so), using internal implementation",
        "NET/Plugin: Plugin load returned 2 : {error} : when loading libnccl-net.so",
    ],
)
def test_a_library_that_the_plugin_lacks_is_not_a_plugin_that_is_missing(told: str, library: str, word: str) -> None:
    text = told.format(error=f"{library}: cannot open shared object file: No such file or directory")

    assert causes_of(text_of(job(before=lambda rank: [text])))[0] == f"{word} 2"
