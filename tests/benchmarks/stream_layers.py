"""What it costs to see what is in an image: streaming a layer, and reading it through its zTOC.

    python tests/benchmarks/stream_layers.py [MEBIBYTES]

The layer is of about that size (1024 by default) and packed with gzip. One half is a sample of the
packages of the Python that runs this, the other a few large libraries made of the largest file among
them: the DLC carries those of CUDA beside PyTorch, Ray and all else. It prints and never fails; the
aims are 250 MB/s of tar for each core with isal and at most 64 MiB of memory at any size; at most 2 %
of the layer's bytes through its zTOC. Streaming counts the sha256 of the blob.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]

_CHUNK_BYTES = 1 << 20
_GZIP = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLayer:
    """A layer whose blob is a file."""

    digest: str
    size: int
    media_type: str


class FileSource:
    """Blobs that are files, checked as a registry client checks them; counts what is read."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self._paths = paths
        self.read_bytes = 0

    def open_blob(self, digest: str, size: int) -> Iterator[bytes]:
        """The whole file."""
        found = hashlib.sha256()
        with self._paths[digest].open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                found.update(chunk)
                self.read_bytes += len(chunk)
                yield chunk
        if f"sha256:{found.hexdigest()}" != digest:
            raise SystemExit("the layer is damaged")

    def read_range(self, digest: str, start: int, length: int) -> bytes:
        """A part of the file."""
        self.read_bytes += length
        with self._paths[digest].open("rb") as file:
            file.seek(start)
            return file.read(length)


def file_layer(path: Path) -> FileLayer:
    """The layer that a file is."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileLayer(digest=f"sha256:{digest}", size=path.stat().st_size, media_type=_GZIP)


def write_layer(path: Path, limit_bytes: int) -> int:
    """A layer of installed packages; gives back the size of its tar."""
    site = Path(sysconfig.get_paths()["purelib"])
    files = [file for file in site.rglob("*") if file.is_file() and not file.is_symlink()]
    files.sort(key=lambda file: (file.stat().st_size, file))
    # Every n-th by size: as many files for their bytes as all of them have.
    half = limit_bytes // 2
    step = max(1, -(-sum(file.stat().st_size for file in files) // half))
    library = files[-1]
    packer, size = zlib.compressobj(6, zlib.DEFLATED, 31), 0

    class Packing(io.RawIOBase):
        def write(self, data: Any) -> int:
            nonlocal size
            size += len(data)
            output.write(packer.compress(data))
            return len(data)

    with path.open("wb") as output:
        with tarfile.open(fileobj=Packing(), mode="w|", bufsize=_CHUNK_BYTES) as archive:
            for file in files[step // 2 :: step]:
                name = file.relative_to(site).as_posix()
                archive.add(file, f"opt/venv/lib/python3.13/site-packages/{name}")
            for number in range(-(-half // library.stat().st_size)):
                member = tarfile.TarInfo(f"usr/local/cuda/lib64/library{number}.so")
                member.size = min(library.stat().st_size, half - number * library.stat().st_size)
                with library.open("rb") as content:
                    archive.addfile(member, content)
        output.write(packer.flush())
    return size


def measure_stream(path: Path, digest: str) -> dict[str, float]:
    """CPU and peak memory of this process while it streams a layer."""
    from rdlc.adapters.image_contents.layer_stream import stream_layer
    from rdlc.adapters.image_contents.meter import Meter

    layer = FileLayer(digest=digest, size=path.stat().st_size, media_type=_GZIP)
    before = time.process_time()
    facts = stream_layer(layer, FileSource({digest: path}), Meter(None))
    cpu_s = time.process_time() - before
    return {"cpu_s": cpu_s, "memory_mib": peak_mebibytes(), "files": len(facts.files)}


def peak_mebibytes() -> float:
    """The most memory this process ever had; `getrusage` would count that of its parent too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def stream_in_process(path: Path, digest: str, *, engine: str) -> dict[str, float]:
    """The same in a fresh process, with isal or without."""
    code = "sys.modules['isal'] = None\n" if engine == "zlib" else ""
    program = (
        f"import sys\n{code}sys.path[:0] = {sys.path!r}\nimport json, pathlib\n"
        "from tests.benchmarks.stream_layers import measure_stream\n"
        f"print(json.dumps(measure_stream(pathlib.Path({str(path)!r}), {digest!r})))"
    )
    done = subprocess.run((sys.executable, "-c", program), stdout=subprocess.PIPE, check=True, timeout=600)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure_ztoc(layer_path: Path, ztoc_path: Path) -> tuple[int, float]:
    """Bytes read and CPU seconds of listing a layer through its zTOC and reading one file."""
    from rdlc.adapters.image_contents.meter import Meter
    from rdlc.adapters.image_contents.ztoc_reading import ZtocLayer
    from rdlc.core.contents.soci_index import ZtocBlob

    layer, ztoc = file_layer(layer_path), file_layer(ztoc_path)
    source = FileSource({layer.digest: layer_path, ztoc.digest: ztoc_path})
    blob = ZtocBlob(digest=ztoc.digest, size=ztoc.size)
    before = time.process_time()
    reader = ZtocLayer(layer, blob, source, Meter(None), verify=False)
    facts = reader.facts()
    places = [fact for fact in facts.files.values() if fact.offset is not None]
    middle = sorted(places, key=lambda fact: fact.offset or 0)[len(places) // 2]
    found = b"".join(reader.read_file(middle.offset or 0, middle.size))
    if len(found) != middle.size:
        raise SystemExit("a file came short")
    return source.read_bytes, time.process_time() - before


def main() -> None:
    """Measure and print."""
    from tests.adapters.image_contents.ztoc_writer import write_ztoc

    most = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    with tempfile.TemporaryDirectory() as name:
        for mebibytes in (most // 4, most):
            path = Path(name) / "layer.tar.gz"
            size = write_layer(path, mebibytes << 20)
            layer = file_layer(path)
            print(f"layer: {size / 1e6:.0f} MB of tar, {layer.size / 1e6:.0f} MB packed")
            for engine in ("isal", "zlib"):
                rounds = [stream_in_process(path, layer.digest, engine=engine) for _ in range(3)]
                least = min(rounds, key=lambda measured: measured["cpu_s"])
                print(
                    f"  streamed with {engine}: {size / 1e6 / least['cpu_s']:6.0f} MB/s of tar for "
                    f"each core ({least['cpu_s']:.2f} s CPU, least of 3), peak "
                    f"{max(measured['memory_mib'] for measured in rounds):.0f} MiB"
                )
        ztoc = Path(name) / "ztoc"
        ztoc.write_bytes(write_ztoc(path.read_bytes(), span_bytes=4 << 20))
        count, cpu_s = measure_ztoc(path, ztoc)
        print(
            f"  through its zTOC of {ztoc.stat().st_size / 1e6:.1f} MB: {count / 1e6:.2f} MB read, "
            f"{100 * count / layer.size:.2f} % of the layer, {cpu_s:.2f} s CPU"
        )
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
