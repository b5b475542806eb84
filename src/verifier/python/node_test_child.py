"""One node:test file in a process of its own: this child becomes the Node of the image, which runs the file.

Nothing of a project or of the environment decides how Node runs: no NODE_OPTIONS, no --import, no package file but ours,
no code from strings, and files may only be read below the folders named here. Descriptor 3 of it is the socket to the
runner. Node gives no plan in advance, so the tests the manifest names for the file are the plan.
"""
import json
import os
import subprocess

from child_link import TESTS, Link, Missing

FOLDER = os.path.dirname(os.path.abspath(__file__))
LINK = 3


def prepare(config):
    node = next((path for path in config["nodePaths"] if os.access(path, os.X_OK)), None)
    if node is None:
        raise Missing(f"the image of the task has no Node at {' or '.join(config['nodePaths'])}; add one to the image")
    said = subprocess.run([node, "--version"], capture_output=True, text=True, env={}).stdout.strip()
    numbers = said.lstrip("v").split(".")
    if not numbers[0].isdigit() or int(numbers[0]) < 20:
        raise Missing(f"{node} is {said or 'no Node'}, and hidden node:test files need version 20 or later")
    config["node"] = node
    # Stable since 23.5; before it, the same under another name.
    config["permission"] = "--permission" if int(numbers[0]) >= 24 else "--experimental-permission"


def run(config, file, done, socket):
    link = Link(socket)
    planned = [test for test in config["manifest"] if test.startswith(f"{file}::")]
    link.send(kind="plan", ids=planned)
    os.dup2(socket.fileno(), LINK)
    settings = {"folder": TESTS, "file": file, "gradingSeed": config["gradingSeed"], "collected": config["collected"]}
    argv = [
        config["node"],
        config["permission"],
        *[f"--allow-fs-read={folder}/*" for folder in (TESTS, FOLDER, "/artifacts")],
        "--disallow-code-generation-from-strings",
        "--no-warnings",
        f"--test-reporter={FOLDER}/test-reporter.mjs",
        "--test-reporter-destination=stdout",
        f"{FOLDER}/node-test-main.mjs",
        json.dumps(settings),
    ]
    os.execve(config["node"], argv, {"LANG": "C.UTF-8", "TZ": "UTC", "HOME": "/nonexistent"})
