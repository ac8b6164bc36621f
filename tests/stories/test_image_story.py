"""A DLC-like image in a real registry is locked, rebuilt behind its tag, upgraded and deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.transcripts import lock_at
from tests.conftest import Rdlc, Said
from tests.projects import SPEC, make_project
from tests.registry.dlc_pair import FIRST, FIXED, MOVING, NEXT, REPOSITORY, push_first, push_next, with_names
from tests.registry.logged_out import log_out
from tests.registry.push import delete_manifest
from tests.registry.registries import plain_registry

SITE = "/opt/venv/lib/python3.13/site-packages"
# All that the rebuild moved, and nothing else.
MOVES = f"""\
transport stack
  aws-ofi-nccl  1.18.0 -> 1.20.0  risk: the plugin that NCCL reaches EFA through: transport and speed can change
  efa-installer  1.47.0 -> 1.49.0  risk: brings libfabric and aws-ofi-nccl: the transport can change
  libfabric  2.4.0amzn4.0 -> 2.4.0amzn5.0  risk: the transport can change

Python packages
  requests  2.34.1 -> 2.34.2  ({SITE})

OS packages
  libfabric-aws  2.4.0amzn4.0-1.amzn2023 -> 2.4.0amzn5.0-1.amzn2023  (rpm x86_64)
  libnccl-ofi  1.18.0-1.amzn2023 -> 1.20.0-1.amzn2023  (rpm x86_64)
  openssl-libs  1:3.2.2-1.amzn2023.0.1 -> 1:3.2.4-1.amzn2023.0.1  (rpm x86_64)
"""
MOVE_LINES = [line for line in MOVES.splitlines() if line.startswith("  ")]
KNOWN_ISSUE = (
    "warning: known issue `aws-ofi-nccl-1.18.0-broadcast`: NCCL broadcast across nodes hangs for ever; "
    "take an image with aws-ofi-nccl 1.20.0 or newer, as train-ml-cuda-v1.1 "
    "(aws/deep-learning-containers#6551, aws/deep-learning-containers#6668)\n"
)
HAS_MOVED = (
    f"`registry.example/{REPOSITORY}:{MOVING}` has moved: it names sha256:NEXT now; "
    "the lock keeps sha256:FIRST; `--upgrade image` takes the new one\n"
)


class Story:
    """A project, a registry of its own, and the command line with stable names in its answers."""

    def __init__(self, address: str, rdlc: Rdlc) -> None:
        self.address = address
        self._rdlc = rdlc
        self.moving = Path("lock/moving.lock.yaml")
        self.fixed = Path("lock/fixed.lock.yaml")

    def write_spec(self, name: str, tag: str) -> None:
        image = f"image: {{reference: '{self.address}/{REPOSITORY}:{tag}'}}"
        text = SPEC.replace("name: toy", f"name: {name}").replace("target: local", f"target: docker\n{image}")
        Path(f"{name}.yaml").write_text(text)

    def __call__(self, *arguments: str | Path) -> Said:
        said = self._rdlc(*arguments)
        out, err = (with_names(text, self.address) for text in (said.out, said.err))
        return Said(code=said.code, out=out, err=err)


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[Story]:
    log_out(monkeypatch, tmp_path)
    monkeypatch.chdir(make_project(tmp_path / "project"))
    storage = tmp_path / "storage"
    storage.mkdir()
    with plain_registry(storage) as address:
        told = Story(address, rdlc)
        told.write_spec("moving", MOVING)
        told.write_spec("fixed", FIXED)
        push_first(address)
        yield told


def digest_in(path: Path) -> str:
    image = lock_at(path).sections.image
    assert image is not None
    return image.digest


def test_a_rebuild_behind_the_tag_drifts_is_kept_out_and_taken_when_asked(story: Story) -> None:
    for name in ("moving.yaml", "fixed.yaml"):
        locked = story("lock", name)
        assert (locked.code, locked.err) == (0, KNOWN_ISSUE)
    before = story.moving.read_bytes()
    first_id = lock_at(story.moving).id
    assert story("outdated", story.moving, story.fixed, "--exit-code").code == 0

    push_next(story.address)
    outdated = story("outdated", story.moving, story.fixed, "--route", "stream", "--exit-code", "--json")
    kept = story("lock", "moving.yaml")
    compared = story("image", *(f"{story.address}/{REPOSITORY}:{tag}" for tag in (FIXED, MOVING)))

    # `v1.1` drifts, `v1.1.0` does not.
    moving, fixed = (row["image"] for row in outdated.document["locks"])
    assert (outdated.code, moving["state"], fixed["state"]) == (1, "moved", "current")
    assert (moving["rebuild"], fixed["rebuild"]) == ("components-changed", None)
    assert [move["name"] for move in moving["moves"]] == [line.split()[0] for line in MOVE_LINES]
    # The lock keeps its digest, and says so.
    assert (kept.code, kept.err, story.moving.read_bytes()) == (0, HAS_MOVED + KNOWN_ISSUE, before)
    # The difference is exactly what changed.
    assert compared.out == (
        f"A  registry.example/{REPOSITORY}@sha256:FIRST\n"
        f"B  registry.example/{REPOSITORY}@sha256:NEXT\n"
        "\nrebuild  components-changed: components, Python packages or their settings moved\n"
        f"evidence streamed\n\n{MOVES}"
        "\nno longer there: NCCL broadcast across nodes hangs for ever (aws-ofi-nccl-1.18.0-broadcast)\n"
    )

    upgraded = story("lock", "moving.yaml", "--upgrade", "image", "--contents", "stream")
    again = story("lock", "moving.yaml", "--check")

    assert (upgraded.code, upgraded.err, digest_in(story.moving)) == (0, "", NEXT.image.digest)
    assert upgraded.out.partition("moved by --upgrade image\n")[2] == compared.out.partition("NEXT\n")[2]
    assert lock_at(story.moving).id != first_id
    assert (again.code, again.err) == (0, "")
    assert story("outdated", story.moving, "--exit-code").code == 0


def test_a_deleted_digest_is_listed_with_all_that_is_missing_and_the_tag_is_no_way_out(story: Story) -> None:
    story("lock", "moving.yaml", "-q")
    before = story.moving.read_bytes()
    assert story("verify", story.moving, "--online").code == 0

    push_next(story.address)
    delete_manifest(story.address, REPOSITORY, FIRST.image.digest)
    verified = story("verify", story.moving, "--online")
    outdated = story("outdated", story.moving, "--exit-code", "--json")
    kept = story("lock", "moving.yaml", "-q")

    assert (verified.code, verified.err) == (1, "")
    assert verified.out == (
        "invalid  lock  lock/moving.lock.yaml\n"
        f"lock  {lock_at(story.moving).id}\n"
        f"  section image: lock/moving.lock.yaml: `registry.example/{REPOSITORY}` no longer has sha256:FIRST\n"
        "online  7 locked things were asked for\n"
    )
    assert (outdated.code, outdated.document["locks"][0]["image"]["state"]) == (1, "deleted")
    assert (kept.code, story.moving.read_bytes()) == (0, before)


def test_a_repository_that_is_gone_makes_every_locked_digest_missing(story: Story) -> None:
    story("lock", "fixed.yaml", "-q")
    text = story.fixed.read_bytes().decode()
    story.fixed.write_bytes(text.replace(f"{story.address}/{REPOSITORY}", f"{story.address}/elsewhere/ray").encode())

    verified = story("verify", story.fixed, "--online", "--json")

    image = FIRST.image
    wanted = (image.digest, *(blob.digest for blob in image.blobs))
    assert verified.code == 1
    assert [finding["message"] for finding in verified.document["findings"]] == [
        with_names(f"`registry.example/elsewhere/ray` no longer has {digest}", story.address) for digest in wanted
    ]
