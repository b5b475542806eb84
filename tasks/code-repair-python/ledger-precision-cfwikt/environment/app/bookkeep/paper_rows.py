"""Keeps a number within limits."""


def paper_rows(value, low=0, high=7):
    return max(low, min(high, value))
