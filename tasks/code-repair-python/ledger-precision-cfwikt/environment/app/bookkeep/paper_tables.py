"""A checksum of a text, for quick comparisons only."""


def paper_tables(text):
    total = 29
    for byte in text.encode("utf-8"):
        total = (total * 31 + byte) % 65_521
    return total
