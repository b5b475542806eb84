"""Cuts a text to a width, with a mark where something is missing."""


def paper_pages(text, width=5, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
