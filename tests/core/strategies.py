"""Hypothesis strategies for locks: everything that a lock may hold, and that a writer could trip over."""

import sys
from dataclasses import replace

from hypothesis import strategies as st

from rdlc.core.contents.inventory import EVIDENCE_LEVELS
from rdlc.core.derivation import derive_cluster
from rdlc.core.document import NUMBER_LIMIT
from rdlc.core.image.section import ImageRequest, ImageSection, LockedLayer
from rdlc.core.level import CLAIMS
from rdlc.core.lockfile import RunLock
from rdlc.core.network import ON_FALLBACK, NetworkRequest
from rdlc.core.packages.base import Base
from rdlc.core.packages.derivation import local_base
from rdlc.core.packages.request import PackagesRequest
from rdlc.core.packages.section import LockedPackage, PackagesSection
from rdlc.core.packages.wishes import base_reason, marker_reason
from rdlc.core.provenance import GitState, ImageOrigin, PackagesOrigin, Provenance
from rdlc.core.sections import (
    CodeSection,
    EnvironmentSection,
    RecipeSection,
    RunSection,
    Sections,
)
from rdlc.core.spec import ClusterRequest, RecipeRequest, RunRequest
from rdlc.core.storage import StorageRequest
from rdlc.core.variables import is_reserved
from tests.core.data_strategies import data_sections
from tests.core.value_strategies import counts, hashes, paths, tables, text_tables, texts, tuples, values, words


def not_reserved(name: str) -> bool:
    """Whether a secret may be called that."""
    return not is_reserved(name)


maybe_empty = st.just("") | texts
digests = hashes.map(lambda text: f"sha256:{text}")
image_requests = st.builds(
    ImageRequest, reference=texts, platform=texts, base=st.just(""), reason=st.just("")
) | st.builds(ImageRequest, reference=texts, platform=texts, base=texts, reason=texts)
images = st.builds(
    ImageSection,
    requested=image_requests,
    repository=texts,
    index_digest=st.just("") | digests,
    index_media_type=maybe_empty,
    manifest_digest=digests,
    manifest_media_type=texts,
    config_digest=digests,
    content_id=digests,
    layers=st.lists(
        st.builds(LockedLayer, digest=digests, size=counts, media_type=texts, diff_id=digests), max_size=3
    ).map(tuple),
    env=st.dictionaries(maybe_empty, maybe_empty, max_size=3),
    labels=st.dictionaries(maybe_empty, maybe_empty, max_size=3),
    entrypoint=tuples(maybe_empty),
    command=tuples(maybe_empty),
    user=maybe_empty,
    working_folder=maybe_empty,
    base_digest=st.just("") | digests,
)
origins = st.builds(
    ImageOrigin,
    reference=texts,
    tag_kind=texts,
    created=maybe_empty,
    twin=maybe_empty,
    evidence=texts,
    components=text_tables(),
    known_issues=tuples(texts),
)


def networks(gpus_per_worker: int) -> st.SearchStrategy[NetworkRequest | None]:
    """Nothing asked, or anything that workers with so many GPUs can be asked."""
    ways = st.sampled_from(ON_FALLBACK)
    plain = st.builds(NetworkRequest, transport=st.just(""), is_strict=st.just(False), on_fallback=ways)
    named = st.builds(NetworkRequest, transport=st.just("efa"), is_strict=st.booleans(), on_fallback=ways)
    return st.none() | plain | (named if gpus_per_worker else st.nothing())


@st.composite
def requests(draw: st.DrawFn, target: str, gpus_per_worker: int) -> RunRequest:
    limits = draw(st.sets(st.sampled_from(("max_hours", "no_step_minutes"))))
    secrets = draw(st.sets(st.from_regex(r"[A-Z][A-Z0-9_]{0,6}", fullmatch=True).filter(not_reserved), max_size=2))
    return RunRequest(
        name=draw(st.from_regex(r"[a-z0-9][a-z0-9._-]{0,9}", fullmatch=True)),
        target=target,
        claim=draw(st.sampled_from(CLAIMS)),
        limits={name: draw(st.sampled_from(("1", "0.5", "2e3"))) for name in limits},
        secrets=tuple(sorted(secrets)),
        allow=draw(text_tables()),
        network=draw(networks(gpus_per_worker)),
        storage=draw(
            st.none() | st.builds(StorageRequest, path=st.sampled_from(("/fsx/a b", "s3://b/p", "file:///x")))
        ),
    )


environments = st.builds(
    EnvironmentSection,
    python=texts,
    implementation=texts,
    system=texts,
    machine=texts,
    libc=texts,
    cpu_vendor=texts,
    instruction_set=tuples(texts),
    threads_per_worker=st.integers(1, NUMBER_LIMIT),
    distributions=text_tables(),
)


@st.composite
def sections(draw: st.DrawFn, target: str) -> Sections:
    cluster = ClusterRequest(
        workers=draw(st.integers(1, 1024)),
        cpus_per_worker=draw(st.integers(1, 1024)),
        gpus_per_worker=draw(st.integers(0, 16)),
    )
    deterministic = draw(st.booleans())
    package, module = draw(words.filter(lambda word: word not in sys.stdlib_module_names)), draw(words)
    files = draw(st.dictionaries(texts, hashes, max_size=3))
    environment = replace(draw(environments), threads_per_worker=cluster.cpus_per_worker)
    run = draw(requests(target, cluster.gpus_per_worker))
    return Sections(
        run=RunSection(requested=run),
        environment=environment if target == "local" else None,
        image=draw(images) if target == "docker" else None,
        cluster=derive_cluster(cluster, deterministic=deterministic, network=run.network),
        code=CodeSection(
            root=draw(paths),
            package=package,
            files={**files, f"{package}/__init__.py": draw(hashes), f"{package}/{module}.py": draw(hashes)},
        ),
        data=draw(data_sections()),
        recipe=RecipeSection(
            requested=RecipeRequest(
                module=f"{package}.{module}",
                config=draw(paths),
                overrides=draw(tables(values)),
                seed=draw(counts),
                deterministic=deterministic,
                max_failures=draw(st.integers(0, 100)),
            ),
            config=draw(tables(values)),
            world_size=cluster.workers,
        ),
    )


@st.composite
def with_packages(draw: st.DrawFn, target: str) -> Sections:
    """Sections with extra packages: as wheels and as sources, and requirements that add nothing."""
    held = draw(sections(target))
    environment, image = held.environment, held.image
    if environment is not None:
        machine = draw(st.sampled_from(("x86_64", "aarch64")))
        environment = replace(
            environment, python="3.11.7", machine=machine, libc="glibc 2.36", distributions={"torch": "2.13.0"}
        )
    if image is not None:
        image = replace(image, requested=replace(image.requested, platform="linux/amd64"))
    extras = draw(st.lists(extra_packages, max_size=3, unique_by=lambda extra: extra.name))
    return replace(
        held, environment=environment, image=image, packages=draw(packages_of(environment, held, tuple(extras)))
    )


@st.composite
def packages_of(
    draw: st.DrawFn, environment: EnvironmentSection | None, held: Sections, extras: tuple[LockedPackage, ...]
) -> PackagesSection:
    base = local_base(environment) if environment is not None else IMAGE_BASE
    levels = EVIDENCE_LEVELS if held.run.requested.claim == "infrastructure" else EVIDENCE_LEVELS[1:]
    left_out = {'zope; python_version < "3"': marker_reason(base)}
    evidence = "environment" if environment is not None else draw(st.sampled_from(levels))
    if evidence != "config-only":
        left_out["torch>=2"] = base_reason("torch", "2.13.0")
    request = PackagesRequest(
        requires=tuple(sorted({f"{extra.name}>=0.1" for extra in extras} | left_out.keys())),
        requirements_file=draw(st.just("") | paths),
        index=draw(st.sampled_from(("", "https://index.example/a"))),
        exclude_newer=draw(st.sampled_from(("", "2026-09-01T23:59:59Z"))),
        install=draw(st.sampled_from(("index", "wheelhouse"))),
        allow_sdist=tuple(sorted(extra.name for extra in extras if extra.is_sdist)),
        allow_replace=draw(st.dictionaries(st.sampled_from(("torch", "a-b")), texts, max_size=2)),
    )
    return PackagesSection(
        requested=request,
        python=base.python,
        platform=base.uv_platform,
        constraints_digest=draw(digests),
        evidence=evidence,
        extras=tuple(sorted(extras, key=lambda extra: extra.name)),
        left_out=left_out,
    )


def extra_package(name: str, version: str, sha256: str, is_sdist: bool) -> LockedPackage:
    stem = f"{name.replace('-', '_')}-{version}"
    file = f"{stem}.tar.gz" if is_sdist else f"{stem}-py3-none-any.whl"
    return LockedPackage(name=name, version=version, file=file, size=len(sha256), sha256=sha256)


IMAGE_BASE = Base(
    python="3.13.12", implementation="CPython", machine="x86_64", glibc=(2, 34), distributions=(), evidence="streamed"
)
extra_packages = st.builds(
    extra_package,
    st.sampled_from(("peft", "trl", "a-b", "zope-interface")),
    st.from_regex(r"[1-9](\.[0-9]{1,2}){0,2}(rc1|\.post2|\+cu130)?", fullmatch=True),
    digests,
    st.booleans(),
)
package_origins = st.builds(
    PackagesOrigin, index=maybe_empty, yanked=st.dictionaries(maybe_empty, maybe_empty, max_size=2)
)

git_states = st.builds(
    GitState,
    commit=texts,
    branch=texts,
    tree=texts,
    patch=st.just("") | texts,
    patch_omitted=st.just("") | texts,
    untracked=st.lists(texts, max_size=2).map(tuple),
)


def locks_of(target: str) -> st.SearchStrategy[RunLock]:
    """Locks of one target."""
    return st.builds(
        RunLock,
        sections=sections(target) | with_packages(target),
        provenance=st.builds(
            Provenance,
            created=texts,
            tool=texts,
            git=st.none() | git_states,
            image=origins if target == "docker" else st.none(),
            packages=st.none() | package_origins,
        ),
    )


locks = locks_of("local") | locks_of("docker")
