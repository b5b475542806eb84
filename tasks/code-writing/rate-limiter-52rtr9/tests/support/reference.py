"""What is right, and random arguments."""

REFUSED_COUNT = True
EDGE = 1
CLAMPED = True

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



def draw(r):
    time, times = 0, []
    for _ in range(r.randrange(10, 40)):
        time += r.randrange(4)
        times.append(time - (r.randrange(1, 6) if r.random() < 0.1 else 0))
    return [r.randrange(1, 5), r.randrange(3, 12), times]
