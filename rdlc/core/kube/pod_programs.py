"""Programs that a pod's own Python runs for rdlc: what leaves the pod is what they print, and no more.

They only read. Ray's job record holds the environment of a job in clear, so what is not needed stays.
"""

# Ray's node table and its jobs, from the head's own API. A job's entry point and environment stay behind.
RAY_PROGRAM = """
import json, os, urllib.request

def ask(path):
    request = urllib.request.Request("http://127.0.0.1:8265" + path)
    if os.environ.get("RAY_AUTH_TOKEN"):
        request.add_header("Authorization", "Bearer " + os.environ["RAY_AUTH_TOKEN"])
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)

rows = ask("/api/v0/nodes?detail=1&limit=10000")["data"]["result"]["result"]
keys = ("node_id", "node_ip", "state", "is_head_node")
nodes = [{**{key: row.get(key) for key in keys}, "gpus": str((row.get("resources_total") or {}).get("GPU", ""))}
         for row in rows]
try:
    found = ask("/api/jobs/")
    keys = ("job_id", "submission_id", "status", "type", "start_time", "end_time")
    jobs = [{key: None if job.get(key) is None else str(job[key]) for key in keys} for job in found]
except (OSError, ValueError):
    jobs = None
print(json.dumps({"nodes": nodes, "jobs": jobs}))
"""

# Each file below Ray's session folder or named by NCCL_DEBUG_FILE, with its lines that speak of NCCL or gloo.
# The first argument is the job whose workers' logs count; empty means every job's.
LOGS_PROGRAM = """
import glob, hashlib, json, os, re, sys

job = sys.argv[1] if len(sys.argv) > 1 else ""
speaks = re.compile(rb"NCCL|(?i:gloo)")
worker = re.compile(r"worker-[0-9a-f]+-([0-9a-f]{8})-([0-9]+)[.](?:out|err)")
tmp = os.path.join(os.environ.get("RAY_TMPDIR") or "/tmp", "ray")
out = sys.stdout.buffer

def debug_files():
    yield os.environ.get("NCCL_DEBUG_FILE", "")
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                for item in file.read(1 << 20).split(b"\\0"):
                    if item.startswith(b"NCCL_DEBUG_FILE="):
                        yield os.fsdecode(item[16:])
        except OSError:
            pass
    yield "/tmp/nccl.%h.%p.log"

def session_files():
    top = os.path.realpath(os.path.join(tmp, "session_latest"))
    for folder, _, names in os.walk(os.path.join(top, "logs")):
        for name in sorted(names):
            if name.endswith((".out", ".err", ".log")):
                yield os.path.join(folder, name)

def other_pids(paths):
    matches = [found for found in map(worker.fullmatch, map(os.path.basename, paths)) if found]
    ours = {found[2] for found in matches if found[1] == job}
    return {found[2] for found in matches if found[1] != job} - ours if job else set()

def tell(kind, **fields):
    out.write(kind + json.dumps(fields).encode() + b"\\n")

def read(path):
    digest, lines, kept = hashlib.sha256(), 0, 0
    with open(path, "rb") as file:
        tell(b"F", path=path)
        whole = True
        for part in iter(lambda: file.readline(4096), b""):
            digest.update(part)
            starts, whole = whole, part.endswith(b"\\n")
            lines += starts
            if starts and speaks.search(part):
                kept += 1
                out.write(b"L" + part.rstrip(b"\\r\\n").replace(b"\\0", b"") + b"\\n")
        tell(b"E", lines=lines, kept=kept, sha256=digest.hexdigest())

session = list(session_files())
foreign = other_pids(session)
patterns = dict.fromkeys(re.sub("%[hp]", "*", re.sub(r"[*?[]", "?", name)) for name in debug_files() if name)
named = sorted({path for pattern in patterns for path in glob.glob(pattern)})
left = 0
for path in dict.fromkeys(session + named):
    found = worker.fullmatch(os.path.basename(path))
    is_other = bool(job and found and found[1] != job)
    is_other = is_other or bool(path in named and foreign & set(re.findall("[0-9]+", os.path.basename(path))))
    if is_other:
        left += 1
    elif os.path.isfile(path) and not os.path.islink(path):
        try:
            read(path)
        except OSError as error:
            tell(b"X", path=path, why=str(error.strerror))
tell(b"Z", left_out=left)
out.flush()
"""
