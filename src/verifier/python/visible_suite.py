"""Runs one visible test file beside the graded program, as an agent would, and tells what it found on descriptor 3.

The program under test shares this process, so nothing told here is proof; it is a signal that never counts.
"""
import importlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from child_link import Link  # noqa: E402


class Pipe:
    def sendall(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(3, view) :]


def main():
    kind, folder, file = sys.argv[1:]
    child = importlib.import_module(kind)
    getattr(child, "prepare", lambda config: None)({})
    sys.path.insert(0, os.getcwd())
    child.run_file(Link(Pipe()), {"gradingSeed": "0"}, file, set(), folder)


main()
