"""The digest of code, recomputed by hand."""

import hashlib
from pathlib import Path

from fsdp_qwen.digest import code_digest


def test_the_digest_covers_every_file_but_compiled_python(tmp_path: Path) -> None:
    (tmp_path / "fsdp_qwen/__pycache__").mkdir(parents=True)
    (tmp_path / "fsdp_qwen/a.py").write_text("1\n")
    (tmp_path / "fsdp_qwen.txt").write_text("2\n")
    (tmp_path / "fsdp_qwen/__pycache__/a.cpython-311.pyc").write_text("3\n")
    (tmp_path / "fsdp_qwen/b.pyc").write_text("4\n")

    one, two = (hashlib.sha256(text).hexdigest() for text in (b"1\n", b"2\n"))
    # In the order of bytes, `.` comes before `/`.
    listing = f"{two}  fsdp_qwen.txt\n{one}  fsdp_qwen/a.py\n"
    assert code_digest(tmp_path) == "sha256:" + hashlib.sha256(listing.encode()).hexdigest()
