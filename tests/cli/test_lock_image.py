"""`rdlc lock` and `rdlc verify --online` of a run in an image, as a user sees them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.docker_project import LOCK, NEW, OLD, REPOSITORY, TAG, DockerProject, docker_project
from tests.cli.transcripts import lock_at, without_digests
from tests.conftest import Rdlc
from tests.image_samples import small_image
from tests.registry.http_server import Reply
from tests.registry.logged_out import log_out

NAME = f"registry.example/{REPOSITORY}:{TAG}"
MOVING = "a moving tag: security rebuilds come about weekly"
SECTIONS = ("run", "image", "cluster", "code", "data", "recipe")
# No patience outlasts an hour: the client gives up at once.
BUSY = Reply(status=429, headers={"Retry-After": "3600"})
LOGIN = Reply(status=401, headers={"WWW-Authenticate": 'Basic realm="tests"'})
OUTSIDE = {
    "throttled": (
        BUSY,
        f"`registry.example` answers too many requests for the image `{NAME}` after 1 request, and asks to wait `3600`",
        "try again later; with credentials the limits are higher",
    ),
    "no credentials": (
        LOGIN,
        f"`registry.example` does not give the image `{NAME}` without credentials, if it has it at all",
        "`docker login registry.example`, or AWS credentials for a private ECR registry",
    ),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    home = tmp_path / "home"
    home.mkdir()
    log_out(monkeypatch, home)
    with docker_project(tmp_path / "project", rdlc) as made:
        monkeypatch.chdir(tmp_path / "project")
        yield made


def table(fate: str, **others: str) -> str:
    fates = {**dict.fromkeys(SECTIONS, fate), **others}
    return "".join(f"  {name:<11}  {name.upper()}  {fate}\n" for name, fate in fates.items())


def test_lock_says_tag_kind_and_digest_of_the_image(project: DockerProject) -> None:
    said = project("lock", "run.yaml")

    assert (said.code, without_digests(said.out, lock_at(LOCK)), said.err) == (
        0,
        f"locked  {LOCK}\nid  ID\n{table('new')}image  {NAME}  {MOVING}\n       sha256:OLD\n",
        "",
    )


def test_lock_keeps_the_digest_of_a_moved_tag_and_says_so_also_in_check(project: DockerProject) -> None:
    project("lock", "run.yaml")
    before = LOCK.read_bytes()
    project.tags[TAG] = NEW

    for more in ((), ("--check",)):
        said = project("lock", "run.yaml", *more)

        assert (said.code, without_digests(said.out, lock_at(LOCK)), said.err, LOCK.read_bytes()) == (
            0,
            f"unchanged  {LOCK}\nid  ID\n{table('same')}image  {NAME}  {MOVING}\n       sha256:OLD\n",
            (
                f"`{NAME}` has moved: it names sha256:NEW now; the lock keeps sha256:OLD; "
                "`--upgrade image` takes the new one\n"
            ),
            before,
        )


def test_upgrade_moves_the_image_and_shows_the_difference(project: DockerProject) -> None:
    project("lock", "run.yaml")
    project.tags[TAG] = NEW
    # The registry still has what is locked, by its digest.
    project.tags["old"] = OLD

    said = project("lock", "run.yaml", "--upgrade", "image")

    assert (said.code, without_digests(said.out, lock_at(LOCK)), said.err) == (
        0,
        (
            f"locked  {LOCK}\nid  ID\n{table('same', image='changed')}"
            f"image  {NAME}  {MOVING}\n       sha256:NEW\n"
            "moved by --upgrade image\n"
            "\nrebuild  not-known: other layers or settings, and not all that is in the layers was read\n"
            "evidence config-only\n"
        ),
        "",
    )


def test_upgrade_in_check_says_what_would_change_and_writes_nothing(project: DockerProject) -> None:
    project("lock", "run.yaml")
    before = LOCK.read_bytes()
    project.tags |= {TAG: NEW, "old": OLD}

    said = project("lock", "run.yaml", "--upgrade", "all", "--contents", "stream", "--check", "--json")

    assert (said.code, said.document["status"], LOCK.read_bytes()) == (1, "would-change", before)
    assert said.document["fates"] == {**dict.fromkeys(SECTIONS, "same"), "image": "changed"}
    assert said.document["image"] == {
        "reference": NAME,
        "digest": "sha256:NEW",
        "tag_kind": "moving-minor",
        "evidence": "streamed",
        "known_issues": [],
        "rebuild": "same-components",
        "moves": [],
    }


def test_a_derived_image_is_locked_with_its_base_and_shows_the_difference(project: DockerProject) -> None:
    project.tags["own"] = small_image(env={"FI_PROVIDER": "tcp"})
    project.write_spec(f"HOST/{REPOSITORY}:own", f", base: 'HOST/{REPOSITORY}:{TAG}', reason: our proxy")

    said = project("lock", "run.yaml")

    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[10:] == [
        "  differs from its base: EMPTY  removed (was )  (environment)",
        "  differs from its base: FI_PROVIDER  efa -> tcp  (environment)",
    ]
    section = lock_at(LOCK).sections.image
    assert section is not None
    assert (section.requested.base, section.requested.reason) == (f"{REPOSITORY}:{TAG}", "our proxy")


@pytest.mark.parametrize("trouble", OUTSIDE)
def test_a_first_lock_without_the_registry_is_exit_3_and_leaves_nothing(project: DockerProject, trouble: str) -> None:
    project.fault, message, hint = OUTSIDE[trouble]

    said = project("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (3, "", f"error: {message}\nhint: {hint}\n")
    assert not LOCK.parent.exists()


@pytest.mark.parametrize("trouble", OUTSIDE)
def test_an_upgrade_without_the_registry_is_exit_3_and_the_lock_stays(project: DockerProject, trouble: str) -> None:
    project("lock", "run.yaml")
    before = LOCK.read_bytes()
    project.fault, message, hint = OUTSIDE[trouble]

    said = project("lock", "run.yaml", "--upgrade", "image", "--json")

    assert (said.code, said.document["status"]) == (3, "outside-unavailable")
    assert said.document["error"] == {"message": message, "hint": hint, "file": None, "field": None}
    assert ([path.name for path in LOCK.parent.iterdir()], LOCK.read_bytes()) == ([LOCK.name], before)


@pytest.mark.parametrize("trouble", OUTSIDE)
def test_a_kept_lock_without_the_registry_is_unchanged_with_a_warning(project: DockerProject, trouble: str) -> None:
    project("lock", "run.yaml")
    before = LOCK.read_bytes()
    project.fault, message, _ = OUTSIDE[trouble]

    said = project("lock", "run.yaml", "-q")

    assert (said.code, said.err) == (0, f"warning: whether `{NAME}` has moved was not checked: {message}\n")
    assert LOCK.read_bytes() == before


@pytest.mark.parametrize("trouble", OUTSIDE)
def test_verify_online_without_the_registry_is_exit_3_and_no_verdict(project: DockerProject, trouble: str) -> None:
    project("lock", "run.yaml")
    project.fault, message, hint = OUTSIDE[trouble]

    said = project("verify", LOCK, "--online")

    pinned = f"registry.example/{REPOSITORY}@sha256:OLD"
    assert (said.code, said.out, said.err) == (3, "", f"error: {message.replace(NAME, pinned)}\nhint: {hint}\n")


def test_verify_online_lists_everything_that_is_no_longer_there(project: DockerProject) -> None:
    project("lock", "run.yaml")
    project.tags[TAG] = NEW

    said = project("verify", LOCK, "--online")

    image = small_image()
    shared = {blob.digest for blob in small_image("other").blobs}
    missing = [image.digest, *(blob.digest for blob in image.blobs if blob.digest not in shared)]
    place = f"  section image: {LOCK}: `registry.example/{REPOSITORY}` no longer has "
    assert (said.code, said.err) == (1, "")
    assert said.out == (
        f"invalid  lock  {LOCK}\nlock  {lock_at(LOCK).id}\n{place}sha256:OLD\n"
        + "".join(f"{place}{digest}\n" for digest in missing)
        + "online  5 locked things were asked for\n"
    )


def test_verify_without_online_asks_nobody(project: DockerProject) -> None:
    project("lock", "run.yaml")
    project.fault = BUSY

    said = project("verify", LOCK, "--json")

    assert (said.code, said.document["status"], said.document["asked_online"]) == (0, "intact", None)


@pytest.mark.parametrize(
    ("reference", "more", "err"),
    [
        (
            "HOST/Bad//x",
            "",
            (
                "error: run.yaml:4: image.reference: the image reference `registry.example/Bad//x` has a repository "
                "that is not allowed, `Bad//x`\n"
                "hint: write `registry/repository:tag` or `registry/repository@sha256:...`\n"
            ),
        ),
        (
            f"HOST/{REPOSITORY}:{TAG}",
            ", platform: windows",
            (
                "error: run.yaml:4: image.platform: the platform `windows` is not of the form `linux/amd64` or "
                "`linux/arm64/v8`\n"
            ),
        ),
        (f"HOST/{REPOSITORY}:{TAG}", ", base: x", "error: run.yaml:4: image.reason: is missing\n"),
    ],
)
def test_a_wrong_image_in_the_spec_is_bad_input_with_its_field(
    project: DockerProject, reference: str, more: str, err: str
) -> None:
    project.write_spec(reference, more)

    said = project("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (2, "", err)


def test_a_docker_lock_asks_for_the_cluster_that_it_runs_on(project: DockerProject) -> None:
    project("lock", "run.yaml")

    said = project("run", LOCK)

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            f"error: {LOCK}: run.requested.target: target `docker` runs on a cluster, and none is named\n"
            f"hint: `rdlc run {LOCK} --namespace NS --manifest RAYCLUSTER.yaml`\n"
        ),
    )
