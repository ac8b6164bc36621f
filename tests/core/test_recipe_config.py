"""The recipe's config with single values laid over it."""

import pytest

from rdlc.core.canonical import Json
from rdlc.core.recipe_config import merge_config
from rdlc.errors import InputError

CONFIG = b'steps: 20\nlearning_rate: "1e-2"\nbetas: ["0.9", "0.95"]\nfused: false\n'


def test_the_config_is_the_file_with_the_overrides_in_their_places() -> None:
    overrides: dict[str, Json] = {"learning_rate": "3e-3", "steps": 5, "fused": True, "betas": ["0.8"]}

    assert merge_config(CONFIG, name="c.yaml", overrides=overrides) == {
        "steps": 5,
        "learning_rate": "3e-3",
        "betas": ["0.8"],
        "fused": True,
    }


def test_a_whole_number_where_the_file_has_a_text_stays_a_text() -> None:
    assert merge_config(CONFIG, name="c.yaml", overrides={"learning_rate": 1})["learning_rate"] == "1"


@pytest.mark.parametrize(
    ("overrides", "message", "field", "hint"),
    [
        ({"learning_rat": "1"}, "`c.yaml` has no key `learning_rat`", "recipe.overrides.learning_rat",
         "did you mean `learning_rate`?"),
        ({"zzz": 1}, "`c.yaml` has no key `zzz`", "recipe.overrides.zzz",
         "its keys: `betas`, `fused`, `learning_rate`, `steps`"),
        ({"steps": "many"}, "must be a whole number as in the config file, not `many`", "recipe.overrides.steps", None),
        ({"fused": 1}, "must be `true` or `false` as in the config file, not `1`", "recipe.overrides.fused", None),
        ({"steps": True}, "must be a whole number as in the config file, not `True`", "recipe.overrides.steps", None),
    ],
)  # fmt: skip
def test_an_override_that_does_not_fit_is_refused(
    overrides: dict[str, Json], message: str, field: str, hint: str | None
) -> None:
    with pytest.raises(InputError) as caught:
        merge_config(CONFIG, name="c.yaml", overrides=overrides)

    assert (caught.value.message, caught.value.field, caught.value.hint) == (message, field, hint)
