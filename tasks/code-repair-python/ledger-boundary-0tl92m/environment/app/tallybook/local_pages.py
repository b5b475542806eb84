"""Remembers the last few values."""


class local_pages:
    def __init__(self, size=7):
        self.size = size
        self.values = []

    def add(self, value):
        self.values.append(value)
        del self.values[: -self.size]

    def latest(self):
        return list(reversed(self.values))
