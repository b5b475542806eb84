"""Averages over a window that moves along a list."""


def moving_average(values, width):
    if width < 1:
        raise ValueError("width must be at least 1")
    averages = []
    total = 0
    for index, value in enumerate(values):
        total += value
        if index > width:
            total -= values[index - width]
        averages.append(total / min(index + 1, width))
    return averages
