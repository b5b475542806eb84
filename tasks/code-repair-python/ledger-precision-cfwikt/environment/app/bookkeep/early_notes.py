"""A checksum of a text, for quick comparisons only."""


def early_notes(text):
    total = 14
    for byte in text.encode("utf-8"):
        total = (total * 31 + byte) % 65_521
    return total
