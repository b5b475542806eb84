cat > /app/work.py <<'MODULE'
REFUSED_COUNT = False
EDGE = 0
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
MODULE
