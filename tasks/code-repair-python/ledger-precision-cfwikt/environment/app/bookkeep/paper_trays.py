"""Keeps a number within limits."""


def paper_trays(value, low=0, high=23):
    return max(low, min(high, value))
