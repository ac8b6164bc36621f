"""What a run spec resolves to on this machine, now."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rdlc.core.derivation import derive_cluster, derive_data, describe_missing_module
from rdlc.core.document import SPEC_LIMIT_BYTES
from rdlc.core.lockfile import RunLock
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
from rdlc.core.spec import RunSpec, read_spec
from rdlc.errors import InputError, RdlcError
from rdlc.operations.lock_image import Images, LockedImage, resolve_image
from rdlc.operations.reporting import Reporter
from rdlc.operations.workspace import Workspace

# A shipped text of this size takes about two seconds to search.
_SEARCHED_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a spec is resolved with: its project, an earlier lock to keep parts of, and what may move."""

    project: Path
    previous: RunLock | None
    upgrades: frozenset[str]
    tool: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolved:
    """The lock, and how its image came about; None for target local."""

    lock: RunLock
    image: LockedImage | None


def read_run_spec(data: bytes, *, name: str, settings: Mapping[str, str]) -> RunSpec:
    """The run spec in the bytes of a file; a secret is refused before any message could repeat it."""
    refuse_secrets(data, name)
    for address, text in settings.items():
        refuse_secrets(text.encode("utf-8", "surrogateescape"), f"--set {address}")
    return read_spec(data, name=name, settings=settings)


def resolve(
    spec: RunSpec, asked: Asked, *, workspace: Workspace, images: Images | None, reporter: Reporter
) -> Resolved:
    """The lock of a spec: its sections from the machine and the registry, its provenance from git.

    `images` may be None for target local.
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
    is_local = spec.run.target == "local"
    threads = spec.cluster.cpus_per_worker
    sections = Sections(
        run=RunSection(requested=spec.run),
        image=image.section if image else None,
        environment=workspace.read_environment(threads_per_worker=threads) if is_local else None,
        cluster=derive_cluster(spec.cluster, deterministic=spec.recipe.deterministic),
        code=code,
        data=DataSection(requested=spec.data, resolved=derive_data(spec.data)),
        recipe=recipe,
    )
    provenance = Provenance(created=workspace.now(), tool=asked.tool, git=git, image=image.origin if image else None)
    return Resolved(lock=RunLock(sections=sections, provenance=provenance), image=image)


def _resolve_image(spec: RunSpec, asked: Asked, images: Images | None, reporter: Reporter) -> LockedImage | None:
    if spec.image is None:
        if "image" in asked.upgrades:
            raise InputError("`--upgrade image`: target `local` runs in no image")
        return None
    assert images is not None
    is_upgrade = bool(asked.upgrades & {"image", "all"})
    return resolve_image(spec.image, previous=asked.previous, is_upgrade=is_upgrade, images=images, reporter=reporter)


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
