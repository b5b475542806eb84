"""Asks the workload of a performance tier: makes the arguments of a round, or checks what a contender returned for them.

Runs under the subject driver in a verifier sandbox that holds no product code. The arguments of a round are made anew
from its seed for the check, so that nothing a contender did can reach them.
"""
import random
import sys

WORKLOADS = {}


def workload(path):
    found = WORKLOADS.get(path)
    if found is None:
        sys.path[:0] = [path.rpartition("/")[0], "/tests"]
        found = WORKLOADS[path] = {"__name__": "workload", "__file__": path}
        with open(path, "rb") as file:
            exec(compile(file.read(), path, "exec"), found)
        for name, given in (("make", "(random), a list of arguments"), ("check", "(args, value), True or False")):
            if not callable(found.get(name)):
                raise TypeError("it defines no " + name + given)
    return found


def ask(path, what, seed, *given):
    named = workload(path)
    args = named["make"](random.Random(seed))
    if type(args) is not list and type(args) is not tuple:
        raise TypeError("make() must return a list of arguments, not " + type(args).__name__)
    if what == "make":
        return list(args)
    verdict = named["check"](args, *given)
    if type(verdict) is not bool:
        raise TypeError("check() must return True or False, not " + type(verdict).__name__)
    return verdict
