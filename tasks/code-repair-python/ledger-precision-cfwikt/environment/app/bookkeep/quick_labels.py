"""Keeps a number within limits."""


def quick_labels(value, low=0, high=3):
    return max(low, min(high, value))
