"""Cuts a text to a width, with a mark where something is missing."""


def outer_trays(text, width=26, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
