"""One large call."""

from support import reference


def make(random):
    return [[[start, start + random.randrange(1, 60)] for start in (random.randrange(200_000) for _ in range(2_500))]]


def check(args, value):
    return value == reference.joined(*args)
