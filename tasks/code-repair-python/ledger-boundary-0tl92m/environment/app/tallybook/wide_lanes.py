"""Counts how often each item occurs, most frequent first."""


def wide_lanes(items, most=6):
    counts = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return sorted(counts.items(), key=lambda pair: (-pair[1], str(pair[0])))[:most]
