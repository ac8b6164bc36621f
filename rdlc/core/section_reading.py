"""Reading the sections of a run lock: the other half of `rdlc.core.sections`."""

from rdlc.core.data.files import read_locked_files
from rdlc.core.data.request import read_data_request, read_model_request
from rdlc.core.fields import Fields
from rdlc.core.image.section import read_image_section
from rdlc.core.infra.section import read_infra_section
from rdlc.core.packages.section import read_packages_section
from rdlc.core.relative_path import read_relative_path
from rdlc.core.sections import (
    ClusterSection,
    CodeSection,
    DataSection,
    EnvironmentSection,
    RecipeSection,
    RunSection,
    Sections,
    Setting,
)
from rdlc.core.spec import (
    read_cluster_request,
    read_recipe_request,
    read_run_request,
)


def read_sections(fields: Fields) -> Sections:
    """The sections below a lock's top level; raises InputError with the address of a bad field."""
    run = _read_run(fields.below("run"))
    is_local = run.requested.target == "local"
    # Either of the two places asks for the other: a damaged key is no absent section.
    has_packages = fields.has("packages") or fields.below("sections").has("packages")
    return Sections(
        run=run,
        environment=_read_environment(fields.below("environment")) if is_local else None,
        image=None if is_local else read_image_section(fields.below("image")),
        packages=read_packages_section(fields.below("packages")) if has_packages else None,
        cluster=_read_cluster(fields.below("cluster")),
        infra=read_infra_section(fields.below("infra")) if run.requested.target == "eks" else None,
        code=_read_code(fields.below("code")),
        data=_read_data(fields.below("data")),
        recipe=_read_recipe(fields.below("recipe")),
    )


def _read_run(section: Fields) -> RunSection:
    requested = section.below("requested")
    run = RunSection(requested=read_run_request(requested))
    requested.finish()
    section.finish()
    return run


def _read_environment(section: Fields) -> EnvironmentSection:
    resolved = section.below("resolved")
    environment = EnvironmentSection(
        python=resolved.text("python"),
        implementation=resolved.text("implementation"),
        system=resolved.text("system"),
        machine=resolved.text("machine"),
        libc=resolved.text("libc"),
        cpu_vendor=resolved.text("cpu_vendor"),
        instruction_set=resolved.texts("instruction_set"),
        threads_per_worker=resolved.count("threads_per_worker", least=1),
        distributions=resolved.table("distributions"),
    )
    resolved.finish()
    section.finish()
    return environment


def _read_cluster(section: Fields) -> ClusterSection:
    resolved = section.below("resolved")
    table = resolved.below("environment", default={})
    settings = {}
    for name in table.names():
        entry = table.below(name)
        settings[name] = Setting(value=entry.text("value"), origin=entry.text("origin"))
        entry.finish()
    cluster = ClusterSection(
        requested=read_cluster_request(section.below("requested")),
        nodes=resolved.count("nodes", least=1),
        settings=settings,
    )
    resolved.finish()
    section.finish()
    return cluster


def _read_code(section: Fields) -> CodeSection:
    requested, resolved = section.below("requested"), section.below("resolved")
    code = CodeSection(
        root=read_relative_path(requested, "root"),
        package=read_relative_path(requested, "package"),
        files=resolved.table("files"),
    )
    # Computed again from the files; the canonical form of the lock shows a wrong line.
    resolved.digest("digest")
    requested.finish()
    resolved.finish()
    section.finish()
    return code


def _read_data(section: Fields) -> DataSection:
    requested, resolved = section.below("requested"), section.below("resolved", default={})
    has_model = requested.has("model")
    request = read_data_request(requested, has_model=has_model, skip=("model",) if has_model else ())
    held = {
        name: read_locked_files(resolved.below(name))
        for name, is_due in (("model", has_model), ("dataset", request["kind"] == "text"))
        if is_due
    }
    data = DataSection(
        requested=request,
        resolved={name: resolved.scalar(name) for name in resolved.names() if name not in held},
        model_origin=read_model_request(requested.below("model")) if has_model else None,
        model=held.get("model"),
        dataset=held.get("dataset"),
    )
    section.finish()
    return data


def _read_recipe(section: Fields) -> RecipeSection:
    resolved = section.below("resolved")
    recipe = RecipeSection(
        requested=read_recipe_request(section.below("requested")),
        config=resolved.scalars("config"),
        world_size=resolved.count("world_size", least=1),
    )
    resolved.text("determinism", choices=("exact", "fast"))
    resolved.finish()
    section.finish()
    return recipe
