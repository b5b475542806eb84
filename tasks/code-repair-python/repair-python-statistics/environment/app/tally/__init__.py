"""Statistics of plain lists of numbers. The rules are in RULES.md, beside this package."""
