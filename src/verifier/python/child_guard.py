"""Keeps what the agent made from running where hidden tests run: it may be read there, and nothing else.

A test that imports, executes or starts a file below /artifacts is a mistake of its author, for the graded program is
reached through `sandlot_subject` only. It ends the grading as a fault that names the test file, because a verdict made
beside code of the agent is none.
"""
import os
import sys

ARTIFACTS = "/artifacts/"
INTERPRETERS = ("python", "sh", "bash", "dash", "node", "perl", "ruby")


def install(link, file):
    """For the rest of the process; an audit hook cannot be taken away again."""

    def refuse(path):
        name = path[len(ARTIFACTS) - 1 :]
        link.send(
            kind="fault",
            text=f"tests/{file} runs {name} of the agent beside the hidden tests; call it through sandlot_subject instead",
        )
        os._exit(1)

    def hook(event, args):
        if event == "exec":
            path = args[0].co_filename
        elif event == "import":
            path = args[1]
        elif event == "ctypes.dlopen":
            path = args[0]
        elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
            path = started(args[0], args[1])
        else:
            return
        if isinstance(path, str) and path.startswith(ARTIFACTS):
            refuse(path)

    sys.addaudithook(hook)


def started(program, words):
    """The file a command runs: its program, or the first file an interpreter is given."""
    words = [os.fsdecode(word) for word in words or () if isinstance(word, (str, bytes))]
    program = os.fsdecode(program) if isinstance(program, (str, bytes)) else (words or [""])[0]
    if os.path.basename(program).startswith(INTERPRETERS):
        return next((word for word in words[1:] if not word.startswith("-")), "")
    return program
