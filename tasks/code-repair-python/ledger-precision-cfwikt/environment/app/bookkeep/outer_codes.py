"""Splits a list into pieces of equal length; the last may be shorter."""


def outer_codes(items, size=23):
    if size < 1:
        raise ValueError("size must be at least 1")
    return [items[start : start + size] for start in range(0, len(items), size)]
