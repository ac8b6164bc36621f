"""What a run spec resolves to on this machine, now."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from rdlc.core.data.request import dataset_origin
from rdlc.core.derivation import derive_cluster, describe_missing_module
from rdlc.core.document import SPEC_LIMIT_BYTES
from rdlc.core.level import reaches
from rdlc.core.lockfile import RunLock
from rdlc.core.network import refuse_old_plugin
from rdlc.core.packages.base import NOT_KNOWN
from rdlc.core.packages.derivation import LOWERED_CLAIM
from rdlc.core.packages.request import PackagesRequest, read_requirements
from rdlc.core.provenance import Provenance
from rdlc.core.recipe_config import merge_config
from rdlc.core.secrets import find_secret
from rdlc.core.sections import (
    CodeSection,
    DataSection,
    RecipeSection,
    RunSection,
    Sections,
)
from rdlc.core.spec import RunRequest, RunSpec, read_spec
from rdlc.errors import InputError, RdlcError
from rdlc.operations.data_source import DataSource
from rdlc.operations.infra_floating import InfraAsked
from rdlc.operations.infra_ports import InfraTools
from rdlc.operations.lock_data import DataAsked, resolve_data
from rdlc.operations.lock_image import Images, LockedImage, resolve_image
from rdlc.operations.lock_infra import LockedInfra, resolve_infra
from rdlc.operations.lock_packages import LockedPackages, lock_packages
from rdlc.operations.package_base import BaseSource, ImageBase, LocalBase
from rdlc.operations.package_source import PackageSource
from rdlc.operations.reporting import Reporter
from rdlc.operations.workspace import Workspace

# A shipped text of this size takes about two seconds to search.
_SEARCHED_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a spec is resolved with: its project, an earlier lock to keep parts of, and what may move.

    `replacements` maps distributions that extra packages may replace to the reason. `bind` is the file
    with the values that place the run.
    """

    project: Path
    previous: RunLock | None
    upgrades: frozenset[str]
    tool: str
    replacements: Mapping[str, str] = field(default_factory=dict)
    bind: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The lock, and how its image came about, None for target local, and its extra packages, None without any."""

    lock: RunLock
    image: LockedImage | None
    packages: LockedPackages | None = None
    infra: LockedInfra | None = None


def read_run_spec(data: bytes, *, name: str, settings: Mapping[str, str]) -> RunSpec:
    """The run spec in the bytes of a file; a secret is refused before any message could repeat it."""
    refuse_secrets(data, name)
    for address, text in settings.items():
        refuse_secrets(text.encode("utf-8", "surrogateescape"), f"--set {address}")
    return read_spec(data, name=name, settings=settings)


def resolve(
    spec: RunSpec,
    asked: Asked,
    *,
    workspace: Workspace,
    images: Images | None,
    reporter: Reporter,
    index: PackageSource | None = None,
    infra: InfraTools | None = None,
    data: DataSource | None = None,
) -> Resolved:
    """The lock of a spec: its sections from the machine, registry and package index, its provenance from git.

    `images` may be None for target local, `index` where a spec with extra packages is not to be resolved,
    `infra` for any target but eks, `data` for generated data without pretrained weights.
    """
    root = _find_recipe_root(asked.project, spec.recipe.package)
    code = CodeSection(
        root=root.relative_to(asked.project).as_posix(),
        package=spec.recipe.package,
        files=workspace.list_code(root, spec.recipe.package),
    )
    _check_claim(spec)
    _check_module(spec, code)
    recipe = _resolve_recipe(spec, root / spec.recipe.package, workspace)
    git = workspace.read_git_state(root / code.package, tuple(code.files), root=root)
    _refuse_secrets_in_code(root, code, workspace, reporter)
    image = _resolve_image(spec, asked, images, reporter)
    if image is not None and (reason := refuse_old_plugin(spec.run.network, image.origin.components)):
        raise RdlcError(reason, field="network.strict", hint="leave `strict` out, or take a newer image")
    base = _find_base(image, asked, workspace=workspace, images=images, reporter=reporter)
    packages = _resolve_packages(spec, asked, base, workspace=workspace, index=index, reporter=reporter)
    locked_infra = _resolve_infra(spec, asked, infra, reporter)
    is_local = spec.run.target == "local"
    threads = spec.cluster.cpus_per_worker
    sections = Sections(
        run=RunSection(requested=_lower_claim(spec.run, packages, reporter)),
        image=image.section if image else None,
        environment=workspace.read_environment(threads_per_worker=threads) if is_local else None,
        packages=packages.section if packages else None,
        cluster=derive_cluster(spec.cluster, deterministic=spec.recipe.deterministic, network=spec.run.network),
        infra=locked_infra.section if locked_infra else None,
        code=code,
        data=_resolve_data(spec, asked, data, reporter),
        recipe=recipe,
    )
    provenance = Provenance(
        created=workspace.now(),
        tool=asked.tool,
        git=git,
        image=image.origin if image else None,
        packages=packages.origin if packages else None,
        infra=locked_infra.origin if locked_infra else None,
    )
    lock = RunLock(sections=sections, provenance=provenance)
    return Resolved(lock=lock, image=image, packages=packages, infra=locked_infra)


def _resolve_data(spec: RunSpec, asked: Asked, source: DataSource | None, reporter: Reporter) -> DataSection:
    is_upgrade = bool(asked.upgrades & {"data", "all"})
    if "data" in asked.upgrades and spec.model is None and dataset_origin(spec.data) is None:
        raise InputError("`--upgrade data`: generated data has nothing that moves", field="data")
    previous = asked.previous.sections.data if asked.previous is not None else None
    request = DataAsked(project=asked.project, previous=previous, is_upgrade=is_upgrade)
    return resolve_data(spec, request, source=source, reporter=reporter)


def _resolve_infra(spec: RunSpec, asked: Asked, tools: InfraTools | None, reporter: Reporter) -> LockedInfra | None:
    if spec.infra is None:
        for option, is_given in (("--upgrade infra", "infra" in asked.upgrades), ("--bind", asked.bind is not None)):
            if is_given:
                raise InputError(f"`{option}`: target `{spec.run.target}` has no infrastructure")
        return None
    assert tools is not None
    previous = asked.previous
    infra = InfraAsked(
        project=asked.project,
        bind=asked.bind,
        previous=previous.sections.infra if previous else None,
        previous_origin=previous.provenance.infra if previous else None,
        is_upgrade=bool(asked.upgrades & {"infra", "all"}),
    )
    return resolve_infra(spec.infra, infra, tools=tools, reporter=reporter)


def _resolve_image(spec: RunSpec, asked: Asked, images: Images | None, reporter: Reporter) -> LockedImage | None:
    if spec.image is None:
        if "image" in asked.upgrades:
            raise InputError("`--upgrade image`: target `local` runs in no image")
        return None
    assert images is not None
    is_upgrade = bool(asked.upgrades & {"image", "all"})
    return resolve_image(spec.image, previous=asked.previous, is_upgrade=is_upgrade, images=images, reporter=reporter)


def _resolve_packages(
    spec: RunSpec,
    asked: Asked,
    base: BaseSource,
    *,
    workspace: Workspace,
    index: PackageSource | None,
    reporter: Reporter,
) -> LockedPackages | None:
    request = _read_packages(spec, asked, workspace)
    if request is None:
        named = sorted(name for name in asked.upgrades if name.partition(":")[0] == "packages")
        if named or asked.replacements:
            option = f"--upgrade {named[0]}" if named else "--allow-replace"
            raise InputError(f"`{option}`: the spec asks for no extra packages", field="packages")
        return None
    if index is None:
        raise InputError("a spec with extra packages is locked first", field="packages", hint="`rdlc lock SPEC`")
    return lock_packages(
        request, base=base, previous=asked.previous, upgrades=asked.upgrades, source=index, reporter=reporter
    )


def _find_base(
    image: LockedImage | None, asked: Asked, *, workspace: Workspace, images: Images | None, reporter: Reporter
) -> BaseSource:
    if image is None or images is None:
        return LocalBase(workspace)
    return ImageBase(image, previous=asked.previous, images=images, reporter=reporter)


def _read_packages(spec: RunSpec, asked: Asked, workspace: Workspace) -> PackagesRequest | None:
    """What the spec asks for, with what its requirements file and the command line add."""
    request = spec.packages
    if request is None:
        return None
    if request.requirements_file:
        path = asked.project / request.requirements_file
        data = workspace.read(path, limit_bytes=SPEC_LIMIT_BYTES, what="the requirements file")
        refuse_secrets(data, str(path))
        request = request.with_requires(read_requirements(data, name=str(path)))
    return request.with_replacements(asked.replacements) if request.requires else None


def _lower_claim(run: RunRequest, packages: LockedPackages | None, reporter: Reporter) -> RunRequest:
    """What is asked for, with no higher claim than the evidence for the base of extra packages carries."""
    if packages is None or packages.section.evidence != NOT_KNOWN or reaches(LOWERED_CLAIM, run.claim):
        return run
    reporter.warn(
        f"the claim is lowered from `{run.claim}` to `{LOWERED_CLAIM}`: "
        "what the extra packages do to this image is not known"
    )
    return replace(run, claim=LOWERED_CLAIM)


def _find_recipe_root(project: Path, package: str) -> Path:
    roots = (project / "recipes", project)
    for root in roots:
        if (root / package).is_dir():
            return root
    tried = " nor ".join(f"`{root / package}`" for root in roots)
    raise InputError(
        f"the recipe folder `{package}` is neither {tried}",
        field="recipe.module",
        hint="`rdlc init DIR --target local` makes a folder with the recipe in it",
    )


def _resolve_recipe(spec: RunSpec, folder: Path, workspace: Workspace) -> RecipeSection:
    path = folder / spec.recipe.config
    data = workspace.read(path, limit_bytes=SPEC_LIMIT_BYTES, what="the recipe's config")
    refuse_secrets(data, str(path))
    config = merge_config(data, name=str(path), overrides=spec.recipe.overrides)
    return RecipeSection(requested=spec.recipe, config=config, world_size=spec.cluster.workers)


def _check_module(spec: RunSpec, code: CodeSection) -> None:
    missing = describe_missing_module(spec.recipe.module, code.files)
    if missing is None:
        return
    names = [path.removesuffix(".py").replace("/", ".") for path in code.files if path.endswith(".py")]
    near = difflib.get_close_matches(spec.recipe.module, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near and near[0] != spec.recipe.module else None
    raise InputError(missing, field="recipe.module", hint=hint)


def _check_claim(spec: RunSpec) -> None:
    if spec.run.claim == "outcome-bitwise" and not spec.recipe.deterministic:
        raise InputError(
            "`outcome-bitwise` cannot be claimed with `recipe.deterministic: false`",
            field="claim",
            hint="claim `execution`, or set `recipe.deterministic: true`",
        )


def _refuse_secrets_in_code(root: Path, code: CodeSection, workspace: Workspace, reporter: Reporter) -> None:
    for name in code.files:
        path = root / name
        if path.stat().st_size > _SEARCHED_BYTES:
            reporter.warn(f"`{name}` is larger than {_SEARCHED_BYTES >> 20} MiB: it was not searched for secrets")
            continue
        data = workspace.read(path, limit_bytes=_SEARCHED_BYTES, what="a shipped file")
        if b"\0" not in data:
            refuse_secrets(data, str(path))


def refuse_secrets(data: bytes, name: str) -> None:
    """Raises RdlcError naming file and line, never the secret."""
    if secret := find_secret(data.decode("utf-8", "replace")):
        raise RdlcError(
            f"holds what looks like {secret.kind}",
            file=f"{name}:{secret.line}",
            hint="take it out, and name it: `secrets: [{name: NAME, from: env}]`",
        )
