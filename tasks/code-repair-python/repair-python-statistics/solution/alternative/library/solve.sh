#!/bin/bash
# Another way: the standard library's inclusive quantiles, and a slice for each window.
set -eu
cat > /app/tally/describe.py <<'PYTHON'
"""Mean, quantiles and spread of a list of numbers."""

import math
import statistics
from fractions import Fraction


def mean(values):
    if len(values) == 0:
        raise ValueError("mean of no values")
    return statistics.fmean(values)


def quantile(values, share):
    if share < 0 or share > 1:
        raise ValueError("share must be from 0 to 1")
    ordered = sorted(values)
    if not ordered:
        raise ValueError("quantile of no values")
    whole, part = divmod(Fraction(share) * (len(ordered) - 1), 1)
    if part == 0:
        return ordered[int(whole)]
    low, high = ordered[int(whole)], ordered[int(whole) + 1]
    return float(low + (high - low) * part)


def median(values):
    return quantile(values, 0.5)


def spread(values):
    middle = mean(values)
    return math.sqrt(mean([(value - middle) ** 2 for value in values]))
PYTHON
cat > /app/tally/window.py <<'PYTHON'
"""Averages over a window that moves along a list."""


def moving_average(values, width):
    if width < 1:
        raise ValueError("width must be at least 1")
    windows = [values[max(0, end - width) : end] for end in range(1, len(values) + 1)]
    return [sum(window) / len(window) for window in windows]
PYTHON
