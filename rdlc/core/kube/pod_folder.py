"""Where a run's files lie in its pods, and the programs that put them there, follow and fetch them.

The programs are given to the pod's own Python on stdin or as an argument; they need the standard library only.
"""

import shlex

ROOT = "/tmp/rdlc"  # noqa: S108 - in a pod that belongs to the run alone
CODE, RECORD = "code", "record"
DRIVER_LOG = "driver.log"


def folder(run_name: str) -> str:
    """The folder of a run, the same in every pod."""
    return f"{ROOT}/{run_name}"


def start_script(run_name: str, module: str) -> str:
    """The shell script of the job: the recipe's driver, its output kept beside Ray's own copy."""
    top = folder(run_name)
    record = f"{top}/{RECORD}"
    driver = shlex.join((
        "env", f"PYTHONPATH={top}/{CODE}", "PYTHONNOUSERSITE=1", "python3", "-P", "-m", module, "--launcher",
        "ray-cluster", "--config", f"{top}/config.json", "--output", record,
    ))  # fmt: skip
    return f"set -o pipefail\n{driver} 2>&1 | tee -a {shlex.quote(record)}/{DRIVER_LOG}\n"


def submit_command(run_name: str) -> tuple[str, ...]:
    """Submits the script as a job of that very name, once: Ray refuses a second one."""
    # Ray quotes the words of an entry point for another shell than its own, so they hold nothing to quote.
    address = '"${RAY_API_SERVER_ADDRESS:-http://127.0.0.1:8265}"'
    submit = f'exec ray job submit --address {address} --submission-id "$1" --no-wait -- bash "$2"'
    return ("sh", "-c", submit, "sh", run_name, f"{folder(run_name)}/start.sh")


# stdin: an archive of the code. Arguments: the run's folder. Prints the sha256 of what came and of each file.
RECEIVE_PROGRAM = """
import hashlib, io, json, os, sys, tarfile
top = sys.argv[1]
data = sys.stdin.buffer.read()
code = os.path.join(top, "code")
os.makedirs(os.path.join(top, "record", "nccl"), exist_ok=True)
os.makedirs(code, exist_ok=True)
with tarfile.open(fileobj=io.BytesIO(data)) as archive:
    archive.extractall(code, filter="data")
files = {}
for folder, _, names in os.walk(code):
    for name in names:
        if not name.endswith(".pyc"):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, code)] = hashlib.sha256(file.read()).hexdigest()
print(json.dumps({"archive": hashlib.sha256(data).hexdigest(), "files": files}))
"""

# stdin: the bytes of a file. Argument: its path. Prints the sha256 of what came.
KEEP_PROGRAM = """
import hashlib, os, sys
data = sys.stdin.buffer.read()
with open(sys.argv[1] + ".new", "wb") as file:
    file.write(data)
os.replace(sys.argv[1] + ".new", sys.argv[1])
print(hashlib.sha256(data).hexdigest())
"""

# Arguments: the job ("" to follow files only, "." to give once what there is), then a path and the offset to go on
# from, for each file. Prints frames: `D number offset length` and the bytes, `J` and the job's record once it has
# ended, `Z` when all was given, `H` now and then while the job goes on, so that a silent stream is a broken one.
FOLLOW_PROGRAM = """
import json, os, sys, time, urllib.request
job, rest = sys.argv[1], sys.argv[2:]
files = [[path, int(offset)] for path, offset in zip(rest[::2], rest[1::2])]
out = sys.stdout.buffer
address = os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"

def ask():
    request = urllib.request.Request(address + "/api/jobs/" + job)
    if os.environ.get("RAY_AUTH_TOKEN"):
        request.add_header("Authorization", "Bearer " + os.environ["RAY_AUTH_TOKEN"])
    with urllib.request.urlopen(request, timeout=20) as answer:
        found = json.load(answer)
    keys = ("status", "message", "error_type", "driver_exit_code", "start_time", "end_time")
    return {key: None if found.get(key) is None else str(found[key])[:4000] for key in keys}

def pump():
    for number, entry in enumerate(files):
        try:
            with open(entry[0], "rb") as file:
                file.seek(entry[1])
                while data := file.read(65536):
                    out.write(b"D %d %d %d\\n" % (number, entry[1], len(data)) + data)
                    entry[1] += len(data)
        except FileNotFoundError:
            pass
    out.flush()

said, asked, troubles = 0.0, 0.0, 0
while True:
    found, now = None, time.monotonic()
    if job == ".":
        pump()
        out.write(b"Z\\n")
        break
    if job and now - asked >= 0.5:
        asked = now
        try:
            found, troubles = ask(), 0
        except (OSError, ValueError) as error:
            troubles += 1
            if troubles > 60:
                sys.exit("Ray's job server does not answer: %s" % error)
    pump()
    if found and found["status"] in ("SUCCEEDED", "FAILED", "STOPPED"):
        out.write(b"J " + json.dumps(found).encode() + b"\\n")
        out.flush()
        break
    if now - said >= 5 and not troubles:
        said = now
        out.write(b"H\\n")
        out.flush()
    time.sleep(0.1)
"""

# Argument: the run's folder. Prints an archive of its record, first of all the sha256 of each file in it.
FETCH_PROGRAM = """
import hashlib, io, json, os, sys, tarfile
top = os.path.join(sys.argv[1], "record")
found = {}
for folder, folders, names in os.walk(top):
    folders[:] = sorted(name for name in folders if folder != top or name not in ("checkpoints", "parts"))
    for name in sorted(names):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and not os.path.islink(path):
            digest, size = hashlib.sha256(), 0
            with open(path, "rb") as file:
                while data := file.read(1 << 20):
                    digest.update(data)
                    size += len(data)
            found[os.path.relpath(path, top)] = digest.hexdigest(), size
listing = json.dumps({path: digest for path, (digest, _) in found.items()}).encode()
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive:
    info = tarfile.TarInfo(".listing.json")
    info.size = len(listing)
    archive.addfile(info, io.BytesIO(listing))
    for path, (_, size) in found.items():
        info = tarfile.TarInfo(path)
        info.size = size
        with open(os.path.join(top, path), "rb") as file:
            archive.addfile(info, file)
"""

# Argument: the job. Asks Ray to stop it; it has ended when the job's record says so.
STOP_PROGRAM = """
import os, sys, urllib.request
address = os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"
request = urllib.request.Request(address + "/api/jobs/" + sys.argv[1] + "/stop", method="POST")
if os.environ.get("RAY_AUTH_TOKEN"):
    request.add_header("Authorization", "Bearer " + os.environ["RAY_AUTH_TOKEN"])
urllib.request.urlopen(request, timeout=20).read()
"""
