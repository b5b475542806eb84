"""One large call."""

from support import reference


def make(random):
    return [4, 100, sorted(random.randrange(3_000_000) for _ in range(2_500))]


def check(args, value):
    return value == reference.allowed(*args)
