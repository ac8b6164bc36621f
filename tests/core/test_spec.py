"""The run spec: what it takes, and what `--set` changes in it."""

import pytest

from rdlc.core.network import NetworkRequest
from rdlc.core.spec import ClusterRequest, RecipeRequest, RunRequest, RunSpec, read_spec
from rdlc.errors import InputError
from tests.projects import SPEC


def read(text: str = SPEC, **settings: str) -> RunSpec:
    return read_spec(text.encode(), name="run.yaml", settings=settings)


def refusal(text: str, settings: dict[str, str] | None = None) -> tuple[str, str | None, str | None, str | None]:
    with pytest.raises(InputError) as caught:
        read_spec(text.encode(), name="run.yaml", settings=settings or {})
    error = caught.value
    return error.message, error.file, error.field, error.hint


def test_what_a_spec_leaves_out_has_its_default() -> None:
    assert read() == RunSpec(
        run=RunRequest(name="toy", target="local", claim="outcome-bitwise", limits={}, secrets=(), allow={}),
        cluster=ClusterRequest(workers=2, cpus_per_worker=1, gpus_per_worker=0),
        recipe=RecipeRequest(
            module="toy.train", config="configs/toy.yaml", overrides={}, seed=0, deterministic=True, max_failures=0
        ),
        data={"kind": "markov", "seed": 7},
    )


def test_limits_secrets_and_waived_rules_are_read() -> None:
    text = (
        SPEC
        + "limits: {max_hours: 1.5, no_step_minutes: 10}\n"
        + "secrets: [{name: B}, {name: A, from: env}]\nallow: {K1: why}\n"
    )

    run = read(text).run

    assert (run.limits, run.secrets, run.allow) == (
        {"max_hours": "1.5", "no_step_minutes": "10"},
        ("A", "B"),
        {"K1": "why"},
    )


def test_set_changes_one_value_and_knows_the_keys_of_the_config() -> None:
    spec = read_spec(
        SPEC.encode(),
        name="run.yaml",
        settings={"recipe.learning_rate": "3e-3", "recipe.seed": "4", "cluster.workers": "3", "name": "other"},
    )

    assert (spec.recipe.overrides, spec.recipe.seed, spec.cluster.workers, spec.run.name) == (
        {"learning_rate": "3e-3"},
        4,
        3,
        "other",
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"a..b": "1"}, ("`--set a..b=1`: an address is words with dots between", None, None, None)),
        ({"name.x": "1"}, ("`--set name.x`: there is no `x` below a single value", None, None, None)),
        ({"recipe.seed": "many"},
         ('must be a whole number, not the text "many"', "--set recipe.seed", "recipe.seed", None)),
        ({"recipe.seed": "&x 1"}, ("YAML anchors and aliases are not allowed", "--set recipe.seed:1", None, None)),
        ({"nam": "x"}, ("this key is not known here", "--set nam", "nam", "did you mean `name`?")),
        ({"name": "a\udcff"}, ("the file is not UTF-8 text", "--set name:1", None, None)),
    ],
)  # fmt: skip
def test_a_setting_that_does_not_fit_is_refused(
    settings: dict[str, str], expected: tuple[str, str | None, str | None, str | None]
) -> None:
    assert refusal(SPEC, settings) == expected


@pytest.mark.parametrize(
    ("old", "new", "message", "line", "field"),
    [
        ("name: toy", "name: To y",
         "must be small letters, digits, `.`, `_`, `-`, at most 63, not `To y`", 2, "name"),
        ("name: toy", "nmae: toy",
         "is missing", 1, "name"),
        ("name: toy", "name: 1",
         "must be a text, not the number 1", 2, "name"),
        ("name: toy", "name: toy\nsurplus: 1",
         "this key is not known here", 3, "surplus"),
        ("target: local", "target: moon",
         "must be one of `local`, `docker`, `eks`, not `moon`", 3, "target"),
        ("{workers: 2}", "2",
         "must be a mapping of `key: value` lines, not the number 2", 4, "cluster"),
        ("{workers: 2}", "{workers: 0}",
         "must be from 1 to 1024, not 0", 4, "cluster.workers"),
        ("{workers: 2}", "{workers: two}",
         'must be a whole number, not the text "two"', 4, "cluster.workers"),
        ("toy.train", "toy",
         "must name a module in a package, as `fsdp_qwen.train`, not `toy`", 6, "recipe.module"),
        ("configs/toy.yaml", "../x.yaml",
         "must be a path below the folder, without `..`, not `../x.yaml`", 7, "recipe.config"),
        ("markov", "texts",
         "must be one of `markov`, `random-tokens`, `text`, not `texts`", 8, "data.kind"),
        ("outcome-bitwise", "maybe",
         "must be one of `infrastructure`, `execution`, `outcome-bitwise`, not `maybe`", 9, "claim"),
        ("run-spec/v1", "run-spec/v2",
         "is `rdlc/run-spec/v2`, and this rdlc reads up to `rdlc/run-spec/v1`", 1, "schema"),
        ("rdlc/run-spec/v1", "other",
         "must be `rdlc/run-spec/v1`, not `other`: this is not a run spec", 1, "schema"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_line_and_field(old: str, new: str, message: str, line: int, field: str) -> None:
    assert refusal(SPEC.replace(old, new, 1))[:3] == (message, f"run.yaml:{line}", field)


GPU_SPEC = SPEC.replace("{workers: 2}", "{workers: 2, gpus_per_worker: 1}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{transport: efa, strict: true}", NetworkRequest(transport="efa", is_strict=True, on_fallback="stop")),
        ("{transport: 'external:FasTrak', on_fallback: warn}",
         NetworkRequest(transport="external:FasTrak", is_strict=False, on_fallback="warn")),
        ("{}", NetworkRequest(transport="", is_strict=False, on_fallback="stop")),
    ],
)  # fmt: skip
def test_the_network_of_a_run_is_read(text: str, expected: NetworkRequest) -> None:
    assert read(GPU_SPEC + f"network: {text}\n").run.network == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{transport: eaf}",
         ("must be one of `efa`, `ib`, `socket`, `intra-node`, `external:NAME`, not `eaf`", "run.yaml:10",
          "network.transport", "did you mean `efa`?")),
        ("{strict: true}",
         ("guards EFA only", "run.yaml:10", "network.strict", "`transport: efa` beside it")),
        ("{transport: efa, on_fallback: go}",
         ("must be one of `stop`, `warn`, not `go`", "run.yaml:10", "network.on_fallback", None)),
        ("{interface: eth0}", ("this key is not known here", "run.yaml:10", "network.interface",
          "known here: `on_fallback`, `strict`, `transport`")),
    ],
)  # fmt: skip
def test_a_network_that_does_not_fit_is_refused(text: str, expected: tuple[str, str, str, str | None]) -> None:
    assert refusal(GPU_SPEC + f"network: {text}\n") == expected


def test_a_transport_of_nccl_is_refused_for_workers_that_use_gloo() -> None:
    assert refusal(SPEC + "network: {transport: efa}\n") == (
        "`efa` needs NCCL, and with `cluster.gpus_per_worker: 0` the workers use gloo",
        "run.yaml:10",
        "network.transport",
        "leave `transport` out, or ask for GPUs",
    )


def test_a_lock_is_no_spec() -> None:
    assert refusal('schema: "rdlc/run-lock/v1"\nsections: {}\n') == (
        "this is a run lock, and a run spec is due here",
        "run.yaml",
        None,
        "`rdlc verify run.yaml`",
    )


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "PYTHONPATH", "PYTHONSTARTUP", "PATH", "HOME", "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "RAY_X",
     "TMPDIR", "GLIBC_TUNABLES", "PIP_INDEX_URL"],
)  # fmt: skip
def test_a_secret_with_the_name_of_a_variable_that_steers_what_runs_is_refused(name: str) -> None:
    message = f"`{name}` steers what runs, and a secret is not in the lock"

    assert refusal(SPEC + f"secrets: [{{name: {name}}}]\n") == (message, "run.yaml:10", "secrets[0].name", None)


def test_the_usual_names_of_secrets_are_taken() -> None:
    names = ("AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY")

    assert read(SPEC + f"secrets: [{', '.join(f'{{name: {name}}}' for name in names)}]\n").run.secrets == names
