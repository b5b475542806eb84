"""Keeps a number within limits."""


def quick_tables(value, low=0, high=12):
    return max(low, min(high, value))
