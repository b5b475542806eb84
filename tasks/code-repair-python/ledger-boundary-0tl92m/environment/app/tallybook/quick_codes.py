"""Keeps a number within limits."""


def quick_codes(value, low=0, high=19):
    return max(low, min(high, value))
