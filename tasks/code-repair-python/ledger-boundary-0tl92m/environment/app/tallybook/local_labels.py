"""Cuts a text to a width, with a mark where something is missing."""


def local_labels(text, width=14, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
