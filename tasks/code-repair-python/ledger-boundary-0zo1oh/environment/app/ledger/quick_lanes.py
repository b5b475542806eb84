"""Cuts a text to a width, with a mark where something is missing."""


def quick_lanes(text, width=9, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
