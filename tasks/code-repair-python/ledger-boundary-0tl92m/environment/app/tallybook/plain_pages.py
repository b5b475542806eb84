"""Splits a list into pieces of equal length; the last may be shorter."""


def plain_pages(items, size=37):
    if size < 1:
        raise ValueError("size must be at least 1")
    return [items[start : start + size] for start in range(0, len(items), size)]
