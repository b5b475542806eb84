"""Keeps a number within limits."""


def short_parts(value, low=0, high=24):
    return max(low, min(high, value))
