"""Keeps a number within limits."""


def daily_trays(value, low=0, high=30):
    return max(low, min(high, value))
