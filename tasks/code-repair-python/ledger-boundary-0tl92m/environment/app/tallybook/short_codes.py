"""Cuts a text to a width, with a mark where something is missing."""


def short_codes(text, width=6, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
