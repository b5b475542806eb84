"""Watches what hidden test files do with the work of the agent, for two promises.

Nothing of the agent runs where hidden tests run: a test that imports, executes or starts a file below /artifacts is a
mistake of its author, for the graded program is reached through `sandlot_subject` only. And no mistake of a test file
costs an agent its reward: what goes wrong before the process has touched anything of the agent's (its files, the graded
program) is a fault of the task's, and the runner is told of the first touch.
"""
import errno
import os
import re
import sys

ARTIFACTS = "/artifacts/"
INTERPRETERS = ("python", "sh", "bash", "dash", "node", "perl", "ruby")
READS = ("open", "os.listdir", "os.scandir")
STARTS = ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system")
EXHAUSTED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class Guard:
    """For one test file, for the rest of its process: an audit hook cannot be taken away again."""

    def __init__(self, link, config, file, source):
        self.link, self.file, self.source = link, file, source
        self.collected = config["collected"]
        self.is_touched = False
        link.send(kind="watched")
        sys.addaudithook(self.hook)

    def hook(self, event, args):
        if event in READS:
            path = args[0] if isinstance(args[0], str) else ""
            if path.startswith(ARTIFACTS):
                self.touch()
                self.refuse_uncollected(path)
        elif event in ("exec", "import", "ctypes.dlopen") or event in STARTS:
            path = run_path(event, args)
            if isinstance(path, str) and path.startswith(ARTIFACTS):
                self.fault(f"runs {path[len(ARTIFACTS) - 1 :]} of the agent beside the hidden tests; call it through sandlot_subject")
            # What another program looks at is not seen here.
            if event in STARTS:
                self.touch()

    def touch(self):
        if not self.is_touched:
            self.is_touched = True
            self.link.send(kind="touched")

    def refuse_uncollected(self, path):
        """Only for a name the test itself writes out: one that came from the agent could be any."""
        name = path[len(ARTIFACTS) - 1 :]
        is_collected = any(name == root or name.startswith(root.rstrip("/") + "/") for root in self.collected)
        if not is_collected and is_written(self.source, name) and not os.path.lexists(path):
            self.fault(f"reads {name}, which the contract of the task does not collect; name it in task.toml, [sandlot.contract] files")

    def blame(self, test_id, error):
        """A test that used up its own machine, alone."""
        is_exhausted = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in EXHAUSTED)
        if is_exhausted and not self.is_touched:
            self.fault(f"used up its sandbox in {test_id.partition('::')[2]} ({type(error).__name__}: {error})")

    def fault(self, text):
        self.link.send(kind="fault", text=f"tests/{self.file} {text}")
        os._exit(1)


def is_written(source, name):
    """Whether the test spells the name right after the folder of artifacts; a name it read could repeat any word of it."""
    between = r"""[\s"'`/,+)}]+"""
    parts = [re.escape(part) for part in name.split("/") if part]
    return re.search(between.join(["artifacts", *parts]) + r"""(?:["'`/\s)]|$)""", source) is not None


def run_path(event, args):
    """The file of the code that is about to run."""
    if event == "exec":
        return args[0].co_filename
    if event == "import":
        return args[1]
    if event in ("ctypes.dlopen", "os.system"):
        return os.fsdecode(args[0]) if isinstance(args[0], (str, bytes)) else None
    words = [os.fsdecode(word) for word in args[1] or () if isinstance(word, (str, bytes))]
    program = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes)) else (words or [""])[0]
    if os.path.basename(program).startswith(INTERPRETERS):
        return next((word for word in words[1:] if not word.startswith("-")), "")
    return program
