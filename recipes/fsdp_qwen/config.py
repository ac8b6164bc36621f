"""The run's configuration: one JSON document in, typed values out.

Parsed once, at the start; after that every value has its type and range. Floats are text in the
JSON ("3e-3"), because text has one meaning and one digest, while a float's spelling depends on who
wrote it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fsdp_qwen.compute_settings import check_exact_compute
from fsdp_qwen.data_settings import DataConfig, read_data
from fsdp_qwen.exact import check_config
from fsdp_qwen.failures import ConfigError
from fsdp_qwen.fields import Fields
from fsdp_qwen.locked_folder import LockedFolder, read_locked_folder
from fsdp_qwen.recipe_settings import RecipeConfig, read_recipe
from fsdp_qwen.storage_settings import StorageConfig, read_storage

FORMAT = 1
MODES = ("exact", "fast")

# Ray puts unix sockets below this folder, and their paths may not be longer than 107 bytes.
SCRATCH_LIMIT = 40

_LINE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*==[A-Za-z0-9.!+]+ --hash=sha256:[0-9a-f]{64}")
_PACKAGE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Determinism:
    """The mode, and the environment that every process of the run must have."""

    mode: str
    environment: Mapping[str, str]

    @property
    def is_exact(self) -> bool:
        """Whether the run promises the same bits."""
        return self.mode == "exact"


@dataclass(frozen=True, kw_only=True, slots=True)
class Packages:
    """Extra packages that every worker gets, each as the requirement that takes one file only.

    `sdists` names those that are built from source. `wheels` is the folder that they are all in, or
    None if they come from the index that `PIP_INDEX_URL` names.
    """

    lines: tuple[str, ...]
    sdists: tuple[str, ...]
    setup_timeout_s: int
    wheels: Path | None

    @property
    def versions(self) -> Mapping[str, str]:
        """Package name to version."""
        return dict(line.split(" ", 1)[0].split("==", 1) for line in self.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Everything a run needs to know; made by `read_config`."""

    run_name: str
    seed: int
    num_workers: int
    cpus_per_worker: int
    gpus_per_worker: int
    max_failures: int
    code_digest: str | None
    scratch: Path | None
    determinism: Determinism
    data: DataConfig
    recipe: RecipeConfig
    packages: Packages | None = None
    model: LockedFolder | None = None
    storage: StorageConfig | None = None


def read_config(path: Path) -> Config:
    """The config in a JSON file, or `ConfigError` naming the file and the field."""
    try:
        text = path.read_bytes().decode("utf-8")
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {error.strerror}") from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: is not JSON in UTF-8") from error
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}: is not JSON: {error.msg} at line {error.lineno}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
    try:
        return parse_config(document)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_config(document: object) -> Config:
    """The config in a decoded document, or `ConfigError` starting with the field's address."""
    fields = Fields(document, "")
    found = fields.whole("format", at_least=0)
    if found != FORMAT:
        raise ConfigError(f"format: must be {FORMAT}, found {found}")
    num_workers = fields.whole("num_workers", at_least=1)
    config = Config(
        run_name=fields.name("run_name"),
        seed=fields.whole("seed", at_least=0),
        num_workers=num_workers,
        cpus_per_worker=fields.whole("cpus_per_worker", at_least=1),
        gpus_per_worker=fields.whole("gpus_per_worker", at_least=0),
        max_failures=fields.whole("max_failures", at_least=0),
        code_digest=_code_digest(fields),
        scratch=_scratch(fields),
        determinism=_determinism(fields.section("determinism")),
        data=read_data(fields.section("data")),
        recipe=read_recipe(fields.section("recipe"), num_workers),
        packages=_packages(fields.optional_section("packages")),
        model=_model(fields.optional_section("model")),
        storage=read_storage(fields.optional_section("storage")),
    )
    fields.finish()
    check_tuning(config)
    if config.gpus_per_worker > 1:
        raise ConfigError(f"gpus_per_worker: must be 0 or 1, found {config.gpus_per_worker}")
    if config.determinism.is_exact:
        check_config(config.determinism.environment, cpus_per_worker=config.cpus_per_worker)
        check_exact_compute(config.recipe.compute)
    return config


def _determinism(fields: Fields) -> Determinism:
    determinism = Determinism(mode=fields.choice("mode", MODES), environment=fields.texts("environment"))
    fields.finish()
    return determinism


def _model(fields: Fields | None) -> LockedFolder | None:
    """The folder with the pretrained weights, None without any."""
    if fields is None:
        return None
    folder = read_locked_folder(fields, "model")
    fields.finish()
    return folder


def check_tuning(config: Config) -> None:
    """Refuses settings of fine-tuning that do not fit together."""
    recipe, text = config.recipe, config.data.text
    if recipe.model == "pretrained" and config.model is None:
        raise ConfigError("recipe.model: `pretrained` needs a `model` that names the weights")
    if text is not None and text.tokenizer == "model" and config.model is None:
        raise ConfigError("data.tokenizer: `model` needs a `model` that it comes from")
    if text is not None and recipe.evaluation_rows and not text.held_out_percent:
        raise ConfigError("recipe.evaluation_rows: nothing is held out with data.held_out_percent 0")
    if recipe.evaluate_every and not recipe.evaluation_rows:
        raise ConfigError("recipe.evaluate_every: there are no evaluation_rows to evaluate on")
    if recipe.learning_rate_floor > 1.0:
        raise ConfigError("recipe.learning_rate_floor: must be a share of learning_rate, from 0 to 1")
    if recipe.export == "best":
        _check_best(config)


def _check_best(config: Config) -> None:
    """Refuses to export the best weights where they could not be known or found."""
    recipe = config.recipe
    if not recipe.evaluate_every:
        raise ConfigError("recipe.export: which step is `best` is known only with evaluate_every")
    if not recipe.checkpoint_every or recipe.evaluate_every % recipe.checkpoint_every:
        raise ConfigError("recipe.export: `best` needs a checkpoint wherever evaluate_every evaluates")
    if config.storage is not None and config.storage.is_address:
        raise ConfigError("recipe.export: `best` is read from a folder, and storage.path is an address: export `last`")


def _packages(fields: Fields | None) -> Packages | None:
    if fields is None:
        return None
    rule = "`name==version --hash=sha256:` and 64 lower-case hex digits"
    wheels = fields.optional_text("wheels")
    packages = Packages(
        lines=fields.matching("lines", _LINE, rule),
        sdists=fields.matching("sdists", _PACKAGE, "a package's name in lower case, with `-`"),
        setup_timeout_s=fields.whole("setup_timeout_s", at_least=1),
        wheels=None if wheels is None else Path(wheels),
    )
    fields.finish()
    if len(packages.versions) != len(packages.lines) or not packages.lines:
        raise ConfigError("packages.lines: must name at least one package, and none twice")
    if packages.wheels is not None and not packages.wheels.is_absolute():
        raise ConfigError(f"packages.wheels: must be an absolute path, found `{wheels}`")
    return packages


def _code_digest(fields: Fields) -> str | None:
    digest = fields.optional_text("code_digest")
    if digest is not None:
        algorithm, _, value = digest.partition(":")
        if algorithm != "sha256" or len(value) != 64 or value.strip("0123456789abcdef"):
            raise ConfigError(f"code_digest: must be `sha256:` and 64 lower-case hex digits, found `{digest}`")
    return digest


def _scratch(fields: Fields) -> Path | None:
    text = fields.optional_text("scratch")
    if text is None:
        return None
    if not text.startswith("/") or len(text.encode()) > SCRATCH_LIMIT:
        raise ConfigError(
            f"scratch: must be an absolute path of at most {SCRATCH_LIMIT} bytes, "
            f"because unix sockets are made below it, found `{text}`"
        )
    return Path(text)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name}: is given more than once in one object")
    return dict(pairs)


def _refuse_constant(text: str) -> float:
    raise ConfigError(f"`{text}` is not a JSON number")
