"""Runs a piece of Python beside the graded package and gives back what it shows, as JSON."""
import json
import textwrap

from sandlot_subject import subject

HEAD = """import json, sys
given = json.load(sys.stdin)
def show(value):
    print(json.dumps(value))
"""


def ask(script, given=None):
    ran = subject.run(["python3", "-c", HEAD + textwrap.dedent(script)], stdin=json.dumps(given).encode())
    if ran.exit_code != 0:
        raise AssertionError("the program failed: " + ran.stderr.decode(errors="replace")[-600:])
    lines = ran.stdout.decode(errors="replace").splitlines()
    if not lines:
        raise AssertionError("the program said nothing")
    return json.loads(lines[-1])
