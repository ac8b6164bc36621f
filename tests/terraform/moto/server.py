"""AWS as moto imitates it, with what the Terraform root needs besides.

`python -m tests.terraform.moto.server PORT FAULTS`; FAULTS is the file in which a test asks for trouble.
"""

import sys
import threading
from pathlib import Path

from moto.moto_server.threaded_moto_server import ThreadedMotoServer

from tests.terraform.moto import ec2_answers, eks, faults, offered, placement_groups


def main(port: int, asked: Path) -> None:
    """Serves on the loopback port until the process is ended."""
    for part in (ec2_answers, eks, offered, placement_groups):
        part.extend()
    faults.extend(faults.Faults(path=asked))
    ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False).start()
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
