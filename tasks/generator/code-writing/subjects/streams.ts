/** Subjects that take what comes one at a time: a rate limiter and a running median. */
import type { Subject } from "../subject.ts";

const limiter: Subject = {
  id: "rate-limiter",
  language: "python",
  title: "A rate limiter",
  entry: "allowed",
  signature: "allowed(limit: int, window: int, times: list[int]) -> list[bool]",
  text: "Says for each request, by its time, whether it is allowed: it is where fewer than `limit` requests that count lie in the `window` before it. `limit` and `window` are whole numbers; the result has one boolean for each time, in order. Requests at equal times are judged one after the other.",
  options: [
    {
      name: "REFUSED_COUNT",
      choices: [
        { value: "False", rule: "Only allowed requests count against later ones." },
        { value: "True", rule: "Refused requests count against later ones too." },
      ],
      probes: "[[1, 10, [0, 5, 12]], [2, 10, [0, 1, 8, 9, 15]]]",
    },
    {
      name: "EDGE",
      choices: [
        { value: "0", rule: "A request that is exactly `window` old does not count any more." },
        { value: "1", rule: "A request that is exactly `window` old still counts; one older does not." },
      ],
      probes: "[[1, 10, [0, 10]], [2, 4, [0, 1, 5]]]",
    },
    {
      name: "CLAMPED",
      choices: [
        { value: "True", rule: "A time earlier than the latest one so far is taken for that latest time." },
        {
          value: "False",
          rule: "A request with a time earlier than the latest one so far is refused and never counts.",
        },
      ],
      probes: "[[5, 10, [9, 3]], [3, 10, [20, 4, 25]]]",
    },
  ],
  oracle: `
from collections import deque


def allowed(limit, window, times):
    counted, latest, result = deque(), None, []
    for time in times:
        if latest is not None and time < latest:
            if not CLAMPED:
                result.append(False)
                continue
            time = latest
        latest = time
        while counted and counted[0] <= time - window - EDGE:
            counted.popleft()
        fits = len(counted) < limit
        result.append(fits)
        if fits or REFUSED_COUNT:
            counted.append(time)
    return result
`,
  other: `
from bisect import bisect_right


def allowed(limit, window, times):
    counted, result = [], []
    latest = min(times, default=0)
    for time in times:
        if time < latest and not CLAMPED:
            result.append(False)
            continue
        latest = max(latest, time)
        recent = len(counted) - bisect_right(counted, latest - window - EDGE)
        result.append(recent < limit)
        if recent < limit or REFUSED_COUNT:
            counted.append(latest)
    return result
`,
  plain: "[[3, 10, []], [3, 10, [1, 2, 3]], [2, 5, [0, 10, 20, 30]], [1, 2, [5]]]",
  results: "[[], [True, True, True], [True, True, True, True], [True]]",
  draw: `
def draw(r):
    time, times = 0, []
    for _ in range(r.randrange(10, 40)):
        time += r.randrange(4)
        times.append(time - (r.randrange(1, 6) if r.random() < 0.1 else 0))
    return [r.randrange(1, 5), r.randrange(3, 12), times]
`,
  slip: { name: "one-always-fits", from: "len(counted) < limit", to: "len(counted) < max(1, limit)" },
  edge: { rule: "A `limit` of 0 allows nothing.", probes: "[[0, 5, [1, 2]], [0, 1, [7]]]" },
  speed: {
    baseline: `
def allowed(limit, window, times):
    counted, latest, result = [], None, []
    for time in times:
        if latest is not None and time < latest:
            if not CLAMPED:
                result.append(False)
                continue
            time = latest
        latest = time
        fits = sum(1 for old in counted if old > time - window - EDGE) < limit
        result.append(fits)
        if fits or REFUSED_COUNT:
            counted.append(time)
    return result
`,
    make: "[4, 100, sorted(random.randrange(3_000_000) for _ in range(2_500))]",
    told: "2,500 rising times below 3,000,000, a limit of 4 and a window of 100",
  },
};

const medians: Subject = {
  id: "running-median",
  language: "python",
  title: "A running median",
  entry: "medians",
  signature: "medians(values: list) -> list",
  text: "Gives, after each number of the list, the median of all numbers so far. A value is a whole number or `None`.",
  options: [
    {
      name: "UPPER",
      choices: [
        { value: "False", rule: "Of an even count of numbers, the median is the lower of the two in the middle." },
        { value: "True", rule: "Of an even count of numbers, the median is the higher of the two in the middle." },
      ],
      probes: "[[[1, 5]], [[9, 2, 4, 7]]]",
    },
    {
      name: "REPEATS",
      choices: [
        { value: "True", rule: "A `None` gives the median before it once more." },
        { value: "False", rule: "A `None` is passed over and gives nothing." },
      ],
      probes: "[[[4, None]], [[3, None, None, 3]]]",
    },
    {
      name: "RESETS",
      choices: [
        {
          value: "True",
          rule: "A 0 makes a new beginning: all numbers so far are forgotten, and it gives 0 itself without counting as a number later.",
        },
        { value: "False", rule: "A 0 is a number like any other." },
      ],
      probes: "[[[5, 0, 9]], [[5, 5, 0, 9]]]",
    },
  ],
  oracle: `
from bisect import insort


def medians(values):
    held, result, last = [], [], None
    for value in values:
        if value is None:
            if REPEATS:
                result.append(last)
            continue
        if value == 0 and RESETS:
            held, last = [], 0
        else:
            insort(held, value)
            last = held[len(held) // 2 if UPPER else (len(held) - 1) // 2]
        result.append(last)
    return result
`,
  other: `
import heapq


def medians(values):
    low, high, result, last = [], [], [], None  # low: negated, the larger half where UPPER is not set
    for value in values:
        if value is None:
            result += [last] if REPEATS else []
            continue
        if RESETS and value == 0:
            low, high, last = [], [], 0
        else:
            heapq.heappush(high, -heapq.heappushpop(low, -value))
            if len(high) > len(low) + (1 if UPPER else 0):
                heapq.heappush(low, -heapq.heappop(high))
            last = high[0] if UPPER else -low[0]
        result.append(last)
    return result
`,
  plain: "[[[]], [[7]], [[3, 3]], [[-4, -4, -4]]]",
  results: "[[], [7], [3, 3], [-4, -4, -4]]",
  draw: `
def draw(r):
    return [[r.choice([None, 0, *(r.randrange(-50, 50) for _ in range(8))]) for _ in range(r.randrange(3, 40))]]
`,
  slip: {
    name: "forgets-twins",
    from: "insort(held, value)",
    to: "insort(held, value) if held.count(value) < 3 else None",
  },
  edge: {
    rule: "Equal numbers all count. A `None` before any number has `None` for the median before it.",
    probes: "[[[5, 5, 5, 5, 5, 9, 9, 9, 9, 9, 9]], [[1, 2, 2, 2, 2, 2, 9, 9, 9]], [[2, 2, 2, 2, 8, 8, 8, 9, 9]]]",
  },
  speed: {
    baseline: `
def medians(values):
    held, result, last = [], [], None
    for value in values:
        if value is None:
            if REPEATS:
                result.append(last)
            continue
        if value == 0 and RESETS:
            held, last = [], 0
        else:
            held = held + [value]
            ranked = sorted(held, key=lambda one: one)
            last = ranked[len(ranked) // 2 if UPPER else (len(ranked) - 1) // 2]
        result.append(last)
    return result
`,
    make: "[[random.randrange(1, 1_000_000) for _ in range(1_500)]]",
    told: "1,500 numbers from 1 to 1,000,000",
  },
};

export const STREAMS: readonly Subject[] = [limiter, medians];
