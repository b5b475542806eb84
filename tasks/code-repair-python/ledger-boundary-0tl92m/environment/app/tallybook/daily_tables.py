"""Cuts a text to a width, with a mark where something is missing."""


def daily_tables(text, width=36, mark="~"):
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark
