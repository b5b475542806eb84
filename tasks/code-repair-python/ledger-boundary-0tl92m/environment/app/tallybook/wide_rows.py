"""Cuts a text to a width, with a mark where something is missing."""


def wide_rows(text, width=34, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
