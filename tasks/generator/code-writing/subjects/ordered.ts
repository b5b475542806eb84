/** Modules that keep things in order: a cache, intervals, dependencies, a limiter, medians, a scheduler. */
import type { Subject } from "../subject.ts";

const cache: Subject = {
  id: "bounded-cache",
  language: "python",
  title: "A bounded cache on a given clock",
  entry: "simulate",
  signature: "simulate(capacity: int, ttl: int, operations: list) -> list",
  text: 'Acts out a cache that holds at most `capacity` keys and gives, in order, the result of every `get`. An operation is `["put", time, key, value]` or `["get", time, key]`; times are whole numbers and never fall. A `get` gives the value that was last put under the key, or `None` where there is none. An entry expires after `ttl`; expired entries are removed before each operation, whatever it is, and take no room.',
  options: [
    {
      name: "REFRESH",
      choices: [
        { value: "True", rule: "A `get` that finds its key starts the entry's lifetime anew." },
        { value: "False", rule: "The lifetime of an entry starts at its last `put`; a `get` does not prolong it." },
      ],
      probes:
        '[[9, 10, [["put", 0, "a", 1], ["get", 6, "a"], ["get", 14, "a"]]], [9, 20, [["put", 0, "a", 1], ["get", 15, "a"], ["get", 32, "a"]]]]',
    },
    {
      name: "RECENT",
      choices: [
        {
          value: "True",
          rule: "Where a new key finds no room, the key whose last `put` or successful `get` lies back farthest goes.",
        },
        {
          value: "False",
          rule: "Where a new key finds no room, the key whose last `put` lies back farthest goes, whatever was asked since.",
        },
      ],
      probes:
        '[[2, 99, [["put", 0, "a", 1], ["put", 1, "b", 2], ["get", 2, "a"], ["put", 3, "c", 3], ["get", 4, "a"], ["get", 5, "b"]]]]',
    },
    {
      name: "LAST",
      choices: [
        { value: "0", rule: "An entry whose lifetime started at time s is gone at time s + ttl." },
        {
          value: "1",
          rule: "An entry whose lifetime started at time s is still there at time s + ttl and gone one later.",
        },
      ],
      probes:
        '[[9, 5, [["put", 0, "a", 1], ["get", 5, "a"]]], [9, 7, [["put", 3, "b", 2], ["get", 10, "b"], ["get", 11, "b"]]]]',
    },
  ],
  oracle: `
from collections import OrderedDict


def simulate(capacity, ttl, operations):
    # Two orders: by whose turn it is to go, and by lifetime.
    entries, born, results = OrderedDict(), OrderedDict(), []
    for kind, time, key, *rest in operations:
        while born:
            first, start = next(iter(born.items()))
            if time < start + ttl + LAST:
                break
            del born[first], entries[first]
        if kind == "get":
            found = key in entries
            results.append(entries[key] if found else None)
            if found and REFRESH:
                born[key] = time
                born.move_to_end(key)
            if found and RECENT:
                entries.move_to_end(key)
        elif capacity > 0:
            if key not in entries and len(entries) >= capacity:
                gone, _ = entries.popitem(last=False)
                del born[gone]
            entries[key] = rest[0]
            entries.move_to_end(key)
            born[key] = time
            born.move_to_end(key)
    return results
`,
  other: `
def simulate(capacity, ttl, operations):
    held, results = {}, []  # key -> [value, start, last use]
    for count, (kind, time, key, *rest) in enumerate(operations):
        for old in [one for one, entry in held.items() if time - entry[1] >= ttl + LAST]:
            del held[old]
        if kind == "get":
            entry = held.get(key)
            results.append(entry[0] if entry else None)
            if entry and REFRESH:
                entry[1] = time
            if entry and RECENT:
                entry[2] = count
            continue
        if capacity <= 0:
            continue
        if key not in held and len(held) == capacity:
            del held[min(held, key=lambda one: held[one][2])]
        held[key] = [rest[0], time, count]
    return results
`,
  plain:
    '[[3, 100, [["put", 0, "a", 1], ["get", 1, "a"], ["get", 2, "b"], ["put", 3, "b", "two"], ["get", 3, "b"]]], [5, 10, []], [4, 50, [["get", 1, "x"]]]]',
  results: "[[1, None, 'two'], [], [None]]",
  draw: `
def draw(r):
    time, operations = 0, []
    for _ in range(r.randrange(20, 60)):
        time += r.randrange(4)
        key = r.choice("abcdef")
        operations.append(["put", time, key, r.randrange(100)] if r.random() < 0.5 else ["get", time, key])
    return [r.randrange(1, 5), r.randrange(3, 15), operations]
`,
  slip: { name: "overwriting-evicts", from: "if key not in entries and len", to: "if len" },
  edge: {
    rule: "A `put` under a key that is held replaces its value and pushes nothing out. A capacity of 0 keeps nothing.",
    probes:
      '[[2, 99, [["put", 0, "a", 1], ["put", 1, "b", 2], ["put", 2, "b", 3], ["get", 3, "a"], ["get", 4, "b"]]], [0, 9, [["put", 0, "a", 1], ["get", 0, "a"]]]]',
  },
};

const intervals: Subject = {
  id: "intervals",
  language: "python",
  title: "Joining intervals",
  entry: "joined",
  signature: "joined(intervals: list[list[int]]) -> list[list[int]]",
  text: "Joins intervals that overlap and gives the joined ones. An interval is `[start, end]` with `start` and `end` different. Two intervals overlap where they share more than one point; whatever is joined may overlap more intervals, and in the end no two of the result overlap.",
  options: [
    {
      name: "TOUCHING",
      choices: [
        {
          value: "True",
          rule: "Intervals that only touch, where one ends at the start of another, are joined as well.",
        },
        { value: "False", rule: "Intervals that only touch, where one ends at the start of another, stay apart." },
      ],
      probes: "[[[[1, 3], [3, 5]]], [[[0, 2], [2, 4], [4, 9]]]]",
    },
    {
      name: "SWAPPED",
      choices: [
        { value: "True", rule: "Where `start` is larger than `end`, the two are exchanged first." },
        { value: "False", rule: "An interval whose `start` is larger than its `end` is left out." },
      ],
      probes: "[[[[8, 5]]], [[[9, 6], [7, 12]]]]",
    },
    {
      name: "FALLING",
      choices: [
        { value: "True", rule: "The result is in falling order of the starts." },
        { value: "False", rule: "The result is in rising order of the starts." },
      ],
      probes: "[[[[1, 2], [4, 5]]], [[[10, 12], [1, 3], [5, 8]]]]",
    },
  ],
  oracle: `
def joined(intervals):
    ready = [sorted(pair) for pair in intervals if SWAPPED or pair[0] < pair[1]]
    result = []
    for start, end in sorted(ready):
        if result and (start < result[-1][1] or TOUCHING and start == result[-1][1]):
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result[::-1] if FALLING else result
`,
  other: `
def joined(intervals):
    events = []
    for start, end in intervals:
        if start > end:
            if not SWAPPED:
                continue
            start, end = end, start
        # At one point ends come before starts, unless touching joins.
        events.append((start, 0 if TOUCHING else 1, 1))
        events.append((end, 1 if TOUCHING else 0, -1))
    depth, result, begun = 0, [], None
    for point, _, change in sorted(events):
        if depth == 0:
            begun = point
        depth += change
        if depth == 0:
            result.append([begun, point])
    result.sort(reverse=FALLING)
    return result
`,
  plain: "[[[]], [[[2, 5]]], [[[1, 4], [2, 6]]], [[[5, 9], [1, 6], [8, 20]]]]",
  results: "[[], [[2, 5]], [[1, 6]], [[1, 20]]]",
  draw: `
def draw(r):
    pairs = []
    for _ in range(r.randrange(3, 25)):
        start = r.randrange(60)
        end = start + r.choice([-1, 1, 1]) * r.randrange(1, 6)
        pairs.append([start, end])
    return [pairs]
`,
  slip: { name: "end-of-the-last", from: "max(result[-1][1], end)", to: "end" },
  edge: {
    rule: "An interval may lie wholly within another, or be given twice.",
    probes: "[[[[1, 10], [2, 3]]], [[[1, 10], [2, 3], [5, 12], [6, 7]]], [[[4, 6], [4, 6]]]]",
  },
  speed: {
    baseline: `
def joined(intervals):
    waiting = [sorted(pair) for pair in intervals if SWAPPED or pair[0] < pair[1]]
    result = []
    for start, end in waiting:
        apart = []
        for other in result:
            if start < other[1] and other[0] < end or TOUCHING and (start == other[1] or other[0] == end):
                start, end = min(start, other[0]), max(end, other[1])
            else:
                apart.append(other)
        result = apart + [[start, end]]
    return sorted(result, reverse=FALLING)
`,
    make: "[[[start, start + random.randrange(1, 60)] for start in (random.randrange(200_000) for _ in range(2_500))]]",
    told: "2,500 intervals with starts below 200,000 and lengths below 60",
  },
};

const order: Subject = {
  id: "dependency-order",
  language: "python",
  title: "An order of dependencies",
  entry: "ordered",
  signature: "ordered(needs: dict[str, list[str]]) -> list[str]",
  text: "Orders names so that each comes after all that it needs. `needs` has, for each name, the names that it needs. The order is made by taking, again and again, one name out of all that are ready, which are those whose needs have all been taken.",
  options: [
    {
      name: "LARGEST",
      choices: [
        { value: "False", rule: "Of several names that are ready, the one that sorts first is taken." },
        { value: "True", rule: "Of several names that are ready, the one that sorts last is taken." },
      ],
      probes: '[[{"b": [], "a": [], "c": []}], [{"x": ["y"], "y": [], "z": []}]]',
    },
    {
      name: "UNLISTED",
      choices: [
        {
          value: "True",
          rule: "A name that is needed and is no key of `needs` belongs to the order; it needs nothing.",
        },
        {
          value: "False",
          rule: "A name that is needed and is no key of `needs` counts as taken from the beginning and is left out of the order.",
        },
      ],
      probes: '[[{"a": ["outside"]}], [{"b": ["a"], "a": ["z0"]}]]',
    },
    {
      name: "PARTIAL",
      choices: [
        {
          value: "True",
          rule: "Where names need one another in a circle, the order of what could be taken is given, without the rest.",
        },
        { value: "False", rule: "Where names need one another in a circle, the result is an empty list." },
      ],
      probes: '[[{"a": [], "b": ["c"], "c": ["b"]}], [{"k": [], "l": ["k"], "m": ["n"], "n": ["m"]}]]',
    },
  ],
  oracle: `
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
`,
  other: `
def ordered(needs):
    left = {name: set(wanted) for name, wanted in needs.items()}
    outside = {other for wanted in needs.values() for other in wanted} - set(needs)
    if UNLISTED:
        left.update((name, set()) for name in outside)
    else:
        left = {name: wanted - outside for name, wanted in left.items()}
    result = []
    while left:
        ready = [name for name, wanted in left.items() if not wanted]
        if not ready:
            return result if PARTIAL else []
        name = max(ready) if LARGEST else min(ready)
        result.append(name)
        del left[name]
        for wanted in left.values():
            wanted.discard(name)
    return result
`,
  plain: '[[{}], [{"a": []}], [{"c": ["b"], "b": ["a"], "a": []}], [{"one": ["two"], "two": ["three"], "three": []}]]',
  results: "[[], ['a'], ['a', 'b', 'c'], ['three', 'two', 'one']]",
  draw: `
def draw(r):
    names = [f"{r.choice('klmnop')}{index}" for index in range(r.randrange(4, 14))]
    needs = {name: [r.choice(names[: index + (r.random() < 0.03)] or ["base"]) for _ in range(r.randrange(3))] for index, name in enumerate(names)}
    items = list(needs.items())
    r.shuffle(items)
    return [dict(items)]
`,
  slip: { name: "no-circle-of-one", from: "set(wanted):", to: "set(wanted) - {name}:" },
  edge: {
    rule: "A name may be listed twice among the needs of another, which changes nothing. A name that needs itself is a circle.",
    probes: '[[{"b": ["a", "a"], "a": []}], [{"c": ["b", "b"], "b": ["a"], "a": []}], [{"a": ["a"]}]]',
  },
};

export const ORDERED: readonly Subject[] = [cache, intervals, order];
