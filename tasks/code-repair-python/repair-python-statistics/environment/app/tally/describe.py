"""Mean, quantiles and spread of a list of numbers."""

import math


def mean(values):
    if not values:
        raise ValueError("mean of no values")
    return sum(values) / len(values)


def quantile(values, share):
    if not 0 <= share <= 1:
        raise ValueError("share must be from 0 to 1")
    if not values:
        raise ValueError("quantile of no values")
    if isinstance(values, list):
        values.sort()
    else:
        values = sorted(values)
    position = share * len(values)
    low = min(int(position), len(values) - 1)
    high = min(low + 1, len(values) - 1)
    part = position - int(position)
    return values[low] + (values[high] - values[low]) * part


def median(values):
    return quantile(values, 0.5)


def spread(values):
    middle = mean(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / len(values))
