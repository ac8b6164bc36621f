"""What looks like a secret, and where it stands."""

import pytest

from rdlc.core.secrets import Secret, find_secret, locate_in_patch


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("an AWS access key", "AKIA" + "ABCDEFGH12345678"),
        ("an AWS secret key", "aws_secret_access_key = " + "a1B2" * 10),
        ("a private key", "-----BEGIN RSA PRIVATE " + "KEY-----"),
        ("a Hugging Face token", "hf_" + "a1B2c3" * 6),
        ("a GitHub token", "ghp_" + "a1B2c3" * 6),
        ("a Slack token", "xoxb-" + "1234567890"),
        ("an API key", "sk-" + "a1B2" * 10),
        ("a Weights & Biases key", "WANDB_API_KEY=" + "0123456789" * 4),
        ("user info in a URL", "https://user:" + "word@example.org/x"),
    ],
)
def test_each_kind_of_secret_is_found_with_its_line(kind: str, text: str) -> None:
    assert find_secret(f"# a\n# b\nvalue: {text}\n") == Secret(kind=kind, line=3)


@pytest.mark.parametrize(
    "text", ["sha256:" + "a1" * 32, "https://example.org/a@b", "s3://bucket/prefix", "secrets: [{name: HF_TOKEN}]", ""]
)
def test_what_is_no_secret_is_let_pass(text: str) -> None:
    assert find_secret(text) is None


PATCH = """\
diff --git a/recipes/a.py b/recipes/a.py
--- a/recipes/a.py
+++ b/recipes/a.py
@@ -1,2 +1,3 @@
 one
-two
+two and a half
+three
@@ -10,1 +11,2 @@
 eleven
+twelve
diff --git a/recipes/b.py b/recipes/b.py
new file mode 100644
--- /dev/null
+++ b/recipes/b.py
@@ -0,0 +1 @@
+first
"""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (" one", ("recipes/a.py", 1)),
        ("+two and a half", ("recipes/a.py", 2)),
        ("+three", ("recipes/a.py", 3)),
        ("+twelve", ("recipes/a.py", 12)),
        ("+first", ("recipes/b.py", 1)),
    ],
)
def test_a_line_of_a_patch_is_found_in_its_file(text: str, place: tuple[str, int]) -> None:
    assert locate_in_patch(PATCH, PATCH.split("\n").index(text) + 1) == place
