"""Keeps a number within limits."""


def local_pages(value, low=0, high=28):
    return max(low, min(high, value))
