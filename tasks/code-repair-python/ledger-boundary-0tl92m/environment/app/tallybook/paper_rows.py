"""Cuts a text to a width, with a mark where something is missing."""


def paper_rows(text, width=3, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
