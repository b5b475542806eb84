"""Keeps a number within limits."""


def daily_rows(value, low=0, high=10):
    return max(low, min(high, value))
