"""Where a lock came from: kept for people and to restore code with, never hashed or compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from rdlc.core.canonical import Json
from rdlc.core.fields import Fields
from rdlc.core.infra.origin import InfraOrigin, read_infra_origin


@dataclass(frozen=True, kw_only=True, slots=True)
class GitState:
    """The state of the git work tree around the shipped files.

    `tree` is git's own id of the folder of the code in `commit`; it outlives squashing. `patch` is
    the change from `commit` to the shipped files, empty when there is none, and `patch_omitted` says
    why it is not here.
    """

    commit: str
    branch: str
    tree: str
    patch: str
    patch_omitted: str
    untracked: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageOrigin:
    """Where an image was found and what was known of it then; `created` and `twin` may be "".

    `reference` is what was asked for, with its host.
    `twin` says whether the image's other name (public or private) gave the same digest. `components`
    maps a name to its version, as far as `evidence` reaches.
    """

    reference: str
    tag_kind: str
    created: str
    twin: str
    evidence: str
    components: Mapping[str, str]
    known_issues: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PackagesOrigin:
    """The index that extra packages were found in, and which of their files it calls yanked, with the reason.

    `index` is "" for the default index of the machine that locked. A file may be yanked without a
    reason; it is "" then.
    """

    index: str
    yanked: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """When and by which rdlc the lock was made; `git` None without git, `image` None without image.

    `packages` is None without extra packages, `infra` for any target but eks.
    """

    created: str
    tool: str
    git: GitState | None
    image: ImageOrigin | None = None
    packages: PackagesOrigin | None = None
    infra: InfraOrigin | None = None

    def payload(self) -> Mapping[str, Json]:
        """The mapping that is written."""
        payload: dict[str, Json] = {"created": self.created, "tool": self.tool}
        if git := self.git:
            state: dict[str, Json] = {"commit": git.commit, "branch": git.branch, "tree": git.tree}
            if git.patch:
                state["patch"] = git.patch
            if git.patch_omitted:
                state["patch_omitted"] = git.patch_omitted
            if git.untracked:
                state["untracked"] = list(git.untracked)
            payload["git"] = state
        if image := self.image:
            payload["image"] = {
                "reference": image.reference,
                "tag_kind": image.tag_kind,
                "created": image.created,
                "twin": image.twin,
                "evidence": image.evidence,
                "components": dict(image.components),
                "known_issues": list(image.known_issues),
            }
        if packages := self.packages:
            payload["packages"] = {"index": packages.index, "yanked": dict(sorted(packages.yanked.items()))}
        if infra := self.infra:
            payload["infra"] = infra.payload()
        return payload


def read_provenance(fields: Fields) -> Provenance:
    """The provenance of a lock."""
    git = _read_git(fields.below("git")) if fields.has("git") else None
    image = _read_image(fields.below("image")) if fields.has("image") else None
    packages = _read_packages(fields.below("packages")) if fields.has("packages") else None
    infra = read_infra_origin(fields.below("infra")) if fields.has("infra") else None
    provenance = Provenance(
        created=fields.text("created"), tool=fields.text("tool"), git=git, image=image, packages=packages, infra=infra
    )
    fields.finish()
    return provenance


def _read_git(fields: Fields) -> GitState:
    state = GitState(
        commit=fields.text("commit"),
        branch=fields.text("branch"),
        tree=fields.text("tree"),
        patch=fields.remark("patch"),
        patch_omitted=fields.remark("patch_omitted"),
        untracked=fields.texts("untracked"),
    )
    fields.finish()
    return state


def _read_image(fields: Fields) -> ImageOrigin:
    origin = ImageOrigin(
        reference=fields.text("reference"),
        tag_kind=fields.text("tag_kind"),
        created=fields.remark("created"),
        twin=fields.remark("twin"),
        evidence=fields.text("evidence"),
        components=fields.table("components"),
        known_issues=fields.texts("known_issues"),
    )
    fields.finish()
    return origin


def _read_packages(fields: Fields) -> PackagesOrigin:
    origin = PackagesOrigin(index=fields.remark("index"), yanked=fields.remarks("yanked"))
    fields.finish()
    return origin
