"""Runs one script that writes its own reward, and takes the reward files out when nothing of it is alive any more.

Standard input brings the settings as JSON. Descriptor 3 takes one JSON object: `before` (why the script was not run),
`code`, `isLate`, and `files`: for each name null, `{"refused": why}` or `{"text": content}`. This process is root's: the
script, and what it starts, run as another user, hold no descriptor of it and cannot trace it. The folder of the reward
lies in one of root's, so that no link can stand in its place; a file changed after the end of the script is refused.
"""
import json
import os
import select
import signal
import stat
import sys
import time

RESULT = 3
NAMES = ("reward.txt", "reward.json")
BYTES_MAX = 64 * 1024
KILL_SECONDS = 10


class Unfit(Exception):
    """The folder is not the empty one it has to be."""


def make_folder(path, uid):
    parent = os.path.dirname(path)
    for folder in (parent, path):
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:
            pass
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            raise Unfit(f"{folder} is no folder")
    found = os.listdir(path)
    if found:
        raise Unfit(f"{path} holds {found[0]!r} before the script has run")
    for folder, owner, mode in ((parent, 0, 0o755), (path, uid, 0o700)):
        os.chown(folder, owner, owner)
        os.chmod(folder, mode)
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def become(uid):
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def make_killer(uid):
    """Made before the script, which could leave no room for another process. Ends all processes of that user."""
    wait, go = os.pipe()
    pid = os.fork()
    if pid != 0:
        os.close(wait)
        return pid, go
    os.close(go)
    os.close(RESULT)
    if not os.read(wait, 1):
        os._exit(0)
    become(uid)
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if not any(is_alive(name, uid) for name in os.listdir("/proc") if name.isdigit()):
            os._exit(0)
        time.sleep(0.001)
    os._exit(1)


def is_alive(pid, uid):
    """Whether it is another process of that user; one that only waits to be reaped runs nothing any more."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return False
    is_other = int(pid) != os.getpid() and str(uid) in status["Uid"].split()
    return is_other and status["State"].strip()[:1] not in ("Z", "X")


def start(settings):
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        os.setsid()
        os.close(RESULT)
        # When memory runs out, the script should end and not what reads its reward.
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
        become(settings["uid"])
        os.umask(0o077)
        os.chdir(settings["cwd"])
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        for number in (signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.execve("/bin/bash", ["/bin/bash", "--noprofile", "--norc", "-p", settings["script"]], settings["envVars"])
    except BaseException as error:
        print(f"the script could not be started: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(126)


def make_clock():
    """Made before the script, which could leave no room for another file."""
    return os.open("/run/runner-clock", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def moment(clock):
    """Of the clock that stamps files, not of the finer one that programs read."""
    os.utime(clock)
    return os.fstat(clock).st_ctime_ns


def taken(folder, name, uid, ended):
    try:
        before = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(before.st_mode):
        return {"refused": "is no regular file"}
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    info = os.fstat(file)
    if info.st_uid != uid:
        return {"refused": f"belongs to the user {info.st_uid}, not to the one that runs the script"}
    if info.st_nlink != 1:
        return {"refused": "has a second name somewhere else"}
    if info.st_size > BYTES_MAX:
        return {"refused": f"has {info.st_size} bytes, more than {BYTES_MAX}"}
    if info.st_ctime_ns > ended:
        return {"refused": "was changed after the script had ended"}
    data = b""
    while chunk := os.read(file, BYTES_MAX + 1 - len(data)):
        data += chunk
    return {"text": data.decode("utf-8", "replace")}


def run(settings):
    uid = settings["uid"]
    try:
        folder = make_folder(settings["folder"], uid)
    except Unfit as error:
        return {"before": str(error)}
    clock = make_clock()
    killer, go = make_killer(uid)
    script = start(settings)
    watch = os.pidfd_open(script)
    is_late = not select.select([watch], [], [], settings["seconds"])[0]
    os.write(go, b"x")
    ended = moment(clock)
    # A script that is not reaped yet would count as alive.
    _, status = os.waitpid(script, 0)
    _, killed = os.waitpid(killer, 0)
    if killed != 0:
        return {"before": "processes of the script could not be ended"}
    files = {name: taken(folder, name, uid, ended) for name in NAMES}
    return {"before": None, "code": os.waitstatus_to_exitcode(status), "isLate": is_late, "files": files}


def main():
    said = json.dumps(run(json.load(sys.stdin))).encode("ascii")
    while said:
        said = said[os.write(RESULT, said) :]


main()
