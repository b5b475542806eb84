cat > /app/work.py <<'MODULE'
REFUSED_COUNT = False
EDGE = 0
CLAMPED = True

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
MODULE
