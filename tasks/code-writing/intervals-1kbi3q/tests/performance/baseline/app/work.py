TOUCHING = True
SWAPPED = False
FALLING = False

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
