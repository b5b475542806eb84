cat > /app/work.py <<'MODULE'
HIGH_FIRST = False
SHORT_FIRST = True
PAUSE = 1

def schedule(jobs):
    left = [job for job in jobs if job[3] >= 0]
    result, free = [], None
    while left:
        first = min(arrival for _, arrival, _, _ in left)
        start = first if free is None else max(free, first)
        ready = [job for job in left if job[1] <= start]
        sign = -1 if HIGH_FIRST else 1
        job = min(ready, key=lambda one: (sign * one[2], one[3] if SHORT_FIRST else one[1], one[0]))
        left.remove(job)
        result.append([job[0], start, start + job[3]])
        free = start + job[3] + PAUSE
    return result
MODULE
