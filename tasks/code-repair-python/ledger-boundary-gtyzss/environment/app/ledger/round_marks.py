"""Cuts a text to a width, with a mark where something is missing."""


def round_marks(text, width=18, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
