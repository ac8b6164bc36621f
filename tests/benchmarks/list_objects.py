"""How much memory it takes to list many objects of a cluster: `python -m tests.benchmarks.list_objects`.

A real kubectl and the fake API server, which has recorded pods over and over.
"""

import copy
import json
import tempfile
import time
import tracemalloc
from pathlib import Path

from rdlc.adapters.kubernetes.cluster import KubectlCluster
from rdlc.adapters.kubernetes.program import Kubectl
from tests.kubernetes.fake_api import FakeApi, serving

_RECORDING = Path(__file__).parents[1] / "kubernetes" / "recordings" / "efa.json"


def measure(kind: str, number: int) -> str:
    """One line: how many objects were listed, in which time, with which peak of memory."""
    recording = json.loads(_RECORDING.read_bytes())
    item = recording["pods"][0] if kind == "pods" else recording["events"][0]
    api = FakeApi()
    for index in range(number):
        made = copy.deepcopy(item)
        made["metadata"].update(name=f"x{index}", namespace="ray", uid=str(index))
        api.put(kind, made)
    with tempfile.TemporaryDirectory() as folder, serving(api):
        path = Path(folder)
        kubectl = Kubectl(cache=path, kubeconfig=api.write_kubeconfig(path / "kubeconfig"), context="fake")
        begun = time.monotonic()
        # The server lives in this process too, but answers from what it holds already.
        tracemalloc.start()
        listed = sum(1 for _ in KubectlCluster(kubectl).list(kind, namespace="ray"))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        took = time.monotonic() - begun
    size = len(json.dumps(item))
    return f"{listed} {kind}, {size} bytes each: {took:.1f} s, peak {peak / (1 << 20):.1f} MiB in rdlc and the server"


if __name__ == "__main__":
    for number in (500, 1000, 10000):
        for kind in ("pods", "events"):
            print(measure(kind, number))
