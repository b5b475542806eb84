"""A checksum of a text, for quick comparisons only."""


def spare_labels(text):
    total = 28
    for byte in text.encode("utf-8"):
        total = (total * 31 + byte) % 65_521
    return total
