"""`rdlc lock` and `rdlc verify` of a run on infrastructure made by Terraform, as a user sees them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rdlc.core.infra.tree import file_hashes, tree_hash
from tests.cli.docker_project import LOCK, REPOSITORY, TAG, DockerProject, docker_project
from tests.cli.transcripts import lock_at, without_digests
from tests.conftest import Rdlc
from tests.core.infra.roots import ADDONS, FILES
from tests.operations.infra_tools import make_root
from tests.projects import SPEC
from tests.registry.logged_out import log_out

NAME = f"registry.example/{REPOSITORY}:{TAG}"
SECTIONS = ("run", "image", "cluster", "infra", "code", "data", "recipe")
ADDON_LINES = ", ".join(f'{name}: "{version}"' for name, version in ADDONS.items())
EXACT = f', gpu_release_version: "1.34.2-20261120", addon_versions: {{{ADDON_LINES}}}'
MISSING = "Terraform is not on this machine"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rdlc: Rdlc) -> Iterator[DockerProject]:
    home = tmp_path / "home"
    home.mkdir()
    log_out(monkeypatch, home)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("RDLC_TERRAFORM", raising=False)
    with docker_project(tmp_path / "project", rdlc) as made:
        make_root(made.folder)
        write_spec(made, EXACT)
        monkeypatch.chdir(made.folder)
        yield made


def write_spec(project: DockerProject, variables: str) -> None:
    infra = f"infra: {{root: terraform, profile: small, variables: {{region: us-east-2, gpu_count: 4{variables}}}}}"
    target = f"target: eks\nimage: {{reference: '{project.address}/{REPOSITORY}:{TAG}'}}\n{infra}"
    (project.folder / "run.yaml").write_text(SPEC.replace("target: local", target))


def table(fate: str, **others: str) -> str:
    fates = {**dict.fromkeys(SECTIONS, fate), **others}
    return "".join(f"  {name:<11}  {name.upper()}  {fate}\n" for name, fate in fates.items())


def described(fate: str, *more: str) -> str:
    lines = (
        f"image  {NAME}  a moving tag: security rebuilds come about weekly",
        "       sha256:OLD",
        f"infra  terraform  profile small  {tree_hash(file_hashes(FILES))}",
        "       hashicorp/aws 5.100.0",
        f"       plan  not fingerprinted: {MISSING}",
        *more,
    )
    return f"id  ID\n{table(fate)}" + "".join(f"{line}\n" for line in lines)


NOTES = (
    f"planning from nothing with Terraform, without an account\nwarning: the lock has no plan fingerprint: {MISSING}\n"
)


def test_lock_without_terraform_holds_all_but_the_fingerprint_and_says_so(project: DockerProject) -> None:
    first = project("lock", "run.yaml")
    second = project("lock", "run.yaml")

    lock = lock_at(LOCK)
    assert (first.code, without_digests(first.out, lock), first.err) == (
        0,
        f"locked  {LOCK}\n{described('new')}",
        NOTES,
    )
    assert (second.code, without_digests(second.out, lock), second.err) == (
        0,
        f"unchanged  {LOCK}\n{described('same')}",
        NOTES,
    )
    assert project("verify", LOCK).code == 0


def test_bindings_do_not_move_the_id_and_stay_when_locked_again(project: DockerProject) -> None:
    project("lock", "run.yaml")
    before = lock_at(LOCK)
    (project.folder / "bind.yaml").write_text("zones: [us-east-2b]\nname: mine\n")

    said = project("lock", "run.yaml", "--bind", "bind.yaml")
    again = project("lock", "run.yaml")

    after = lock_at(LOCK)
    assert (said.code, without_digests(said.out, after)) == (
        0,
        f"locked  {LOCK}\n{described('same', '       bound, and not locked: name, zones')}",
    )
    assert again.out.startswith(f"unchanged  {LOCK}\n")
    assert after.id == before.id
    assert after.provenance.infra is not None
    assert after.provenance.infra.bindings == {"name": "mine", "zones": ["us-east-2b"]}


def test_versions_that_nobody_gives_are_asked_for(project: DockerProject) -> None:
    write_spec(project, "")

    said = project("lock", "run.yaml")

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            "error: infra.variables.gpu_release_version: `gpu_release_version`, `addon_versions.coredns`, "
            "`addon_versions.kube-proxy`, `addon_versions.vpc-cni`: not given, and AWS cannot be asked: "
            "there are no AWS credentials here\n"
            "hint: give exact versions under `infra.variables` in the run spec, or lock where AWS credentials are\n"
        ),
    )


def test_verify_finds_what_was_changed_in_any_part_of_the_section(project: DockerProject) -> None:
    project("lock", "run.yaml")
    before = LOCK.read_text()
    tree = tree_hash(file_hashes(FILES))

    for old, new in (("gpu_count: 4", "gpu_count: 8"), (tree, tree.replace("h1:", "h1:A")), ("5.100.0", "5.100.1")):
        head, found, tail = before.rpartition(old)
        LOCK.write_text(f"{head}{new}{tail}" if found else "")

        said = project("verify", LOCK)

        assert (old, said.code) == (old, 1)
        assert "  section infra: " in said.out


def test_verify_says_that_the_plan_has_no_fingerprint(project: DockerProject) -> None:
    project("lock", "run.yaml")

    said = project("verify", LOCK)

    assert (said.code, said.out.splitlines()[2:]) == (0, [f"note  the plan has no fingerprint: {MISSING}"])


def test_outdated_without_credentials_is_not_checked_and_never_current(project: DockerProject) -> None:
    project("lock", "run.yaml")

    said = project("outdated", LOCK)
    document = project("outdated", LOCK, "--json").document

    assert (said.code, said.out.splitlines()[-1]) == (3, "  infra   not checked: there are no AWS credentials here")
    assert (document["status"], document["locks"][0]["infra"]) == (
        "not-checked",
        {"trouble": "there are no AWS credentials here", "versions": []},
    )


def test_run_of_target_eks_asks_for_the_cluster_that_it_runs_on(project: DockerProject) -> None:
    project("lock", "run.yaml")

    said = project("run", LOCK)

    assert (said.code, said.out, said.err) == (
        2,
        "",
        (
            f"error: {LOCK}: run.requested.target: target `eks` runs on a cluster, and none is named\n"
            f"hint: `rdlc run {LOCK} --namespace NS --manifest RAYCLUSTER.yaml`\n"
        ),
    )


def test_probe_of_target_eks_says_that_it_cannot_probe_yet(project: DockerProject) -> None:
    project("lock", "run.yaml")

    said = project("probe", LOCK)

    assert said.code == 2
    assert "target `eks` can be locked, and this version of rdlc cannot probe it yet" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--upgrade", "infra"), "error: `--upgrade infra`: target `docker` has no infrastructure\n"),
        (("--bind", "bind.yaml"), "error: `--bind`: target `docker` has no infrastructure\n"),
    ],
)
def test_another_target_has_no_infrastructure(project: DockerProject, arguments: tuple[str, ...], message: str) -> None:
    project.write_spec(f"HOST/{REPOSITORY}:{TAG}")

    said = project("lock", "run.yaml", *arguments)

    assert (said.code, said.out, said.err) == (2, "", message)
