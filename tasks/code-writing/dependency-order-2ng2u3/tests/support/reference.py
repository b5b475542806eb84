"""What is right, and random arguments."""

LARGEST = False
UNLISTED = True
PARTIAL = False

import heapq


class Name:
    def __init__(self, text):
        self.text = text

    def __lt__(self, other):
        return self.text > other.text if LARGEST else self.text < other.text


def ordered(needs):
    waits, after = {}, {}
    for name, wanted in needs.items():
        waits.setdefault(name, 0)
        for other in set(wanted):
            if other in needs or UNLISTED:
                waits.setdefault(other, 0)
                waits[name] += 1
                after.setdefault(other, []).append(name)
    ready = [Name(name) for name, count in waits.items() if count == 0]
    heapq.heapify(ready)
    result = []
    while ready:
        name = heapq.heappop(ready).text
        result.append(name)
        for later in after.get(name, []):
            waits[later] -= 1
            if waits[later] == 0:
                heapq.heappush(ready, Name(later))
    return result if PARTIAL or len(result) == len(waits) else []



def draw(r):
    names = [f"{r.choice('klmnop')}{index}" for index in range(r.randrange(4, 14))]
    needs = {name: [r.choice(names[: index + (r.random() < 0.03)] or ["base"]) for _ in range(r.randrange(3))] for index, name in enumerate(names)}
    items = list(needs.items())
    r.shuffle(items)
    return [dict(items)]
