"""A project of target docker whose image is in an HTTP registry that goes wrong where a test says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import Rdlc, Said
from tests.image_samples import small_image
from tests.projects import SPEC, make_project
from tests.registry.faults import faulty_registry
from tests.registry.http_server import Asked, Reply
from tests.registry.images import Image, Index, build_index

REPOSITORY = "deep-learning-containers/ray"
TAG = "train-ml-cuda-v1.1"
OLD, NEW = build_index([small_image()]), build_index([small_image("other")])
LOCK = Path("lock/toy.lock.yaml")


class DockerProject:
    """The project as current folder, its registry, and the command line with stable names."""

    def __init__(self, folder: Path, address: str, rdlc: Rdlc, tags: dict[str, Image | Index]) -> None:
        self.folder = folder
        self.address = address
        self.tags = tags
        self.fault: Reply | None = None
        self._rdlc = rdlc

    def __call__(self, *arguments: str | Path) -> Said:
        said = self._rdlc(*arguments)
        return Said(code=said.code, out=self._named(said.out), err=self._named(said.err))

    def write_spec(self, reference: str, more: str = "") -> None:
        """The spec with this reference, in which `HOST` is the registry."""
        text = f"target: docker\nimage: {{reference: '{reference}'{more}}}".replace("HOST", self.address)
        (self.folder / "run.yaml").write_text(SPEC.replace("target: local", text))

    def _named(self, text: str) -> str:
        for name, pushed in {"OLD": OLD, "NEW": NEW}.items():
            text = text.replace(pushed.digest, f"sha256:{name}")
        return text.replace(self.address, "registry.example")


@contextmanager
def docker_project(folder: Path, rdlc: Rdlc) -> Iterator[DockerProject]:
    """The project while its registry runs; the caller makes `folder` the current one."""
    make_project(folder)
    tags: dict[str, Image | Index] = {TAG: OLD}
    made: list[DockerProject] = []

    def answer(asked: Asked, right: Reply) -> Reply:
        if "/tags/list" in asked.path:
            names = ", ".join(f'"{name}"' for name in sorted(tags))
            right = Reply(body=f'{{"name": "{REPOSITORY}", "tags": [{names}]}}'.encode())
        return made[0].fault or right

    with faulty_registry(REPOSITORY, tags, answer) as server:
        made.append(DockerProject(folder, server.address, rdlc, tags))
        made[0].write_spec(f"HOST/{REPOSITORY}:{TAG}")
        yield made[0]
