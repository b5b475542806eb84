"""Keeps a number within limits."""


def short_lanes(value, low=0, high=38):
    return max(low, min(high, value))
