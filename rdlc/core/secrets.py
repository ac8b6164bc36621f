"""Finding secrets before they enter a lock."""

import re
from dataclasses import dataclass

_PATTERNS = (
    ("an AWS access key", re.compile(r"\b(AKIA|ASIA)[0-9A-Z]{16}\b")),
    ("an AWS secret key", re.compile(r"(?i)aws_?secret_?access_?key['\"]?\s*[:=]\s*['\"]?[0-9A-Za-z/+]{40}")),
    ("a private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    ("a Hugging Face token", re.compile(r"\bhf_[A-Za-z0-9]{30,}\b")),
    ("a GitHub token", re.compile(r"\b(gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b")),
    ("a Slack token", re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}")),
    ("an API key", re.compile(r"\bsk-[A-Za-z0-9_-]{32,}\b")),
    ("a Weights & Biases key", re.compile(r"(?i)wandb_api_key['\"]?\s*[:=]\s*['\"]?[0-9a-f]{40}")),
    ("user info in a URL", re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s/@:'\"]+:[^\s/@'\"]+@")),
)


_HUNK = re.compile(r"@@ -[0-9,]+ \+([0-9]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Secret:
    """What kind of secret it looks like, and on which line (from 1); never the secret itself."""

    kind: str
    line: int


def find_secret(text: str) -> Secret | None:
    """The first thing in a text that looks like a secret."""
    for kind, pattern in _PATTERNS:
        if found := pattern.search(text):
            return Secret(kind=kind, line=text.count("\n", 0, found.start()) + 1)
    return None


def locate_in_patch(patch: str, line: int) -> tuple[str, int]:
    """Which file, and which line of it (from 1), a line of a git patch is about."""
    path, number = "", 0
    for text in patch.split("\n")[:line]:
        if text.startswith("+++ "):
            path = text[4:].removeprefix("b/")
        elif hunk := _HUNK.match(text):
            number = int(hunk[1]) - 1
        elif text[:1] in {"+", " "}:
            number += 1
    return path, max(number, 1)
