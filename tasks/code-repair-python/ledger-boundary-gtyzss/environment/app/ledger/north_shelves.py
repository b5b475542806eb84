"""Renders rows as lines of columns that stand below each other."""


def north_shelves(rows, gap=2):
    if not rows:
        return ""
    widths = [max(len(str(row[at])) for row in rows) for at in range(len(rows[0]))]
    lines = [(" " * gap).join(str(cell).ljust(width) for cell, width in zip(row, widths)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
