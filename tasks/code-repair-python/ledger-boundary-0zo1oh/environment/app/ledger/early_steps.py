"""Remembers the last few values."""


class early_steps:
    def __init__(self, size=14):
        self.size = size
        self.values = []

    def add(self, value):
        self.values.append(value)
        del self.values[: -self.size]

    def latest(self):
        return list(reversed(self.values))
