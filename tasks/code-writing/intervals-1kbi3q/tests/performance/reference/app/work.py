TOUCHING = True
SWAPPED = False
FALLING = False

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
