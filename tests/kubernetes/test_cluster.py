"""The adapter over a real kubectl and the fake API server."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.exec import Trailer
from rdlc.adapters.kubernetes.program import Kubectl
from rdlc.core.kube.answers import ClusterRefused, UnknownKind
from rdlc.errors import OutsideError, RdlcError
from rdlc.operations.cluster_ports import ClusterPort, Container
from tests.kubernetes.fake_api import FakeApi, Fault, serving
from tests.kubernetes.fake_exec import ExecFault

pytestmark = pytest.mark.usefixtures("kubectl")
_HEAD = Container(namespace="ray", pod="head-0", container="ray-head")


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """A server with one pod."""
    with serving(FakeApi()) as served:
        metadata = {"name": "head-0", "namespace": "ray", "labels": {"a": "b"}}
        spec = {"containers": [{"name": "ray-head"}]}
        served.put("pods", {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}})
        yield served


@pytest.fixture
def cluster(api: FakeApi, tmp_path: Path) -> ClusterPort:
    """The adapter for it."""
    kubeconfig = api.write_kubeconfig(tmp_path / "kubeconfig")
    return KubectlCluster(Kubectl(cache=tmp_path / "cache", kubeconfig=kubeconfig, context="fake"))


def _refusal(call: object) -> tuple[str, str]:
    assert callable(call)
    with pytest.raises(ClusterRefused) as caught:
        call()
    return caught.value.reason, caught.value.message


def test_objects_are_created_once_read_annotated_and_deleted(api: FakeApi, cluster: ClusterPort) -> None:
    made = cluster.create(
        {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "run-1"}},
        kind="rayclusters.ray.io", namespace="ray",
    )  # fmt: skip
    again = _refusal(lambda: cluster.create(made, kind="rayclusters.ray.io", namespace="ray"))
    cluster.annotate("rayclusters.ray.io", "run-1", {"rdlc/transport": "efa"}, namespace="ray")
    read = cluster.get("rayclusters.ray.io", "run-1", namespace="ray")
    metadata = made["metadata"]
    assert isinstance(metadata, dict)

    assert again == ("AlreadyExists", 'rayclusters.ray.io "run-1" already exists')
    assert read is not None
    assert api.list("rayclusters")[0]["metadata"]["annotations"] == {"rdlc/transport": "efa"}
    assert not cluster.delete("rayclusters.ray.io", "run-1", namespace="ray", uid="another")
    assert cluster.delete("rayclusters.ray.io", "run-1", namespace="ray", uid=str(metadata["uid"]))
    assert not cluster.delete("rayclusters.ray.io", "run-1", namespace="ray")
    assert cluster.get("rayclusters.ray.io", "run-1", namespace="ray") is None


def test_lists_come_page_by_page_and_by_label(api: FakeApi, cluster: ClusterPort) -> None:
    api.page = 2
    for number in range(5):
        api.put("pods", {"metadata": {"name": f"p{number}", "namespace": "ray", "labels": {"of": "us"}}})

    pods = cluster.list("pods", namespace="ray", labels="of=us")

    assert [pod["metadata"]["name"] for pod in pods] == [f"p{number}" for number in range(5)]  # type: ignore[index, call-overload]
    assert sum("/pods?" in path for _, path in api.asked) == 3


def test_no_of_the_server_keeps_its_reason(api: FakeApi, cluster: ClusterPort) -> None:
    api.forbidden.add(("nodes", "list"))
    said = 'nodes is forbidden: User "test" cannot list resource "nodes" at the cluster scope'

    assert _refusal(lambda: list(cluster.list("nodes", namespace=None))) == ("Forbidden", said)
    assert not cluster.can_i("list", "nodes", namespace=None)
    assert cluster.can_i("create", "pods", namespace="ray", subresource="exec")
    assert cluster.version() == "v1.36.2"


def test_kind_that_the_cluster_lacks_is_not_an_object_that_it_lacks(api: FakeApi, cluster: ClusterPort) -> None:
    api.faults.append(Fault(method="GET", path="ray.io", code=404, reason="NotFound",
                            message="the server could not find the requested resource"))  # fmt: skip

    with pytest.raises(UnknownKind):
        cluster.get("rayclusters.ray.io", "run-1", namespace="ray")


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (410, "Expired")])
def test_server_that_does_not_work_is_an_outside_error(
    api: FakeApi, cluster: ClusterPort, code: int, reason: str
) -> None:
    api.faults.append(Fault(method="GET", path="/pods", code=code, reason=reason))

    with pytest.raises(OutsideError) as caught:
        list(cluster.list("pods", namespace="ray"))
    assert caught.value.message == "the cluster did not answer as it should: made up by the test"


def test_busy_server_is_asked_again(api: FakeApi, cluster: ClusterPort) -> None:
    busy = Fault(method="GET", path="/pods", code=429, reason="TooManyRequests", times=1, retry_after_s=1)
    api.faults.append(busy)

    assert len(list(cluster.list("pods", namespace="ray"))) == 1


def test_server_that_is_gone_is_an_outside_error(tmp_path: Path) -> None:
    with serving(FakeApi()) as api:
        kubeconfig = api.write_kubeconfig(tmp_path / "kubeconfig")
    gone = KubectlCluster(Kubectl(cache=tmp_path, kubeconfig=kubeconfig, context="fake"))

    with pytest.raises(OutsideError, match=r"the cluster cannot be reached: .*refused") as caught:
        gone.version()
    assert caught.value.hint == "`kubectl cluster-info`"


def test_missing_kubectl_is_named(tmp_path: Path) -> None:
    cluster = KubectlCluster(Kubectl(cache=tmp_path, program=str(tmp_path / "kubectl")))

    with pytest.raises(RdlcError) as caught:
        cluster.version()
    assert caught.value.hint == "install kubectl 1.30 or newer"


def _run(cluster: ClusterPort, *command: str, stdin: bytes | Path = b"") -> tuple[int | None, bytes]:
    output = bytearray()
    end = cluster.exec(_HEAD, command, stdin=stdin, stdout=output.extend, limit_s=60)
    return end.exit_code, bytes(output)


def test_program_in_a_pod_gives_its_bytes_and_its_exit_code(cluster: ClusterPort, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 8192)

    assert _run(cluster, "cat", stdin=b"no end of line") == (0, b"no end of line")
    assert _run(cluster, "cat", stdin=large) == (0, large.read_bytes())
    assert _run(cluster, "sh", "-c", "echo out; echo err >&2; exit 7") == (7, b"out\n")
    assert _run(cluster, "true") == (0, b"")
    assert _run(cluster, "no-such-program")[0] == 127


@given(output=st.binary(max_size=80) | st.just(b"rdlc-end-0"), cuts=st.lists(st.integers(0, 120), max_size=8))
def test_output_is_the_same_in_any_pieces_and_without_its_mark(output: bytes, cuts: list[int]) -> None:
    mark = "rdlc-end-0123"
    stream = output + f"{mark} 7\n".encode()
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    trailer = Trailer(mark)

    taken = b"".join(trailer.take(stream[start:end]) for start, end in pairwise(edges))

    assert (taken + trailer.rest(), trailer.exit_code) == (output, 7)


def test_what_a_program_says_is_heard_before_it_says_more(cluster: ClusterPort, tmp_path: Path) -> None:
    over = tmp_path / "over"
    program = 'echo H; while [ ! -e "$1" ]; do sleep 0.1; done'
    running = cluster.start_exec(_HEAD, ["sh", "-c", program, "sh", str(over)])
    try:
        heard = b""
        while not heard:
            heard = running.read_new(wait_s=60.0)
            assert running.poll() is None
    finally:
        over.touch()
        running.close()

    assert heard == b"H\n"


@pytest.mark.parametrize("kind", ["drop", "close"])
@pytest.mark.parametrize("after_bytes", [0, 5, 100])
def test_stream_that_breaks_gives_no_exit_code(api: FakeApi, cluster: ClusterPort, kind: str, after_bytes: int) -> None:
    api.exec_faults.append(ExecFault(kind=kind, command="seq", after_bytes=after_bytes))

    code, output = _run(cluster, "seq", "1000")

    assert code is None
    assert len(output) <= after_bytes


def test_status_that_gets_lost_behind_a_whole_stream_is_not_missed(api: FakeApi, cluster: ClusterPort) -> None:
    api.exec_faults.append(ExecFault(kind="lost-status", command="seq"))

    assert _run(cluster, "seq", "3") == (0, b"1\n2\n3\n")


def test_program_that_may_not_be_started_says_why(api: FakeApi, cluster: ClusterPort) -> None:
    api.exec_faults.append(ExecFault(kind="forbidden"))

    end = cluster.exec(_HEAD, ["true"], stdout=print, limit_s=60)

    assert end.exit_code is None
    assert "pods/exec is forbidden" in end.told
