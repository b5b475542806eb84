"""Keeps a number within limits."""


def wide_labels(value, low=0, high=40):
    return max(low, min(high, value))
