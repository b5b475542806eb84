"""Keeps a number within limits."""


def local_marks(value, low=0, high=19):
    return max(low, min(high, value))
