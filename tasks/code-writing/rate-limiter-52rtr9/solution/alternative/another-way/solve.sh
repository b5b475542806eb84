cat > /app/work.py <<'MODULE'
REFUSED_COUNT = True
EDGE = 1
CLAMPED = True

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
MODULE
