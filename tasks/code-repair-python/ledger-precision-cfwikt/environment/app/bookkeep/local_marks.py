"""Cuts a text to a width, with a mark where something is missing."""


def local_marks(text, width=39, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
