"""A checksum of a text, for quick comparisons only."""


def quick_rows(text):
    total = 30
    for byte in text.encode("utf-8"):
        total = (total * 31 + byte) % 65_521
    return total
