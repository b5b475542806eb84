cat > /app/work.py <<'MODULE'
HIGH_FIRST = False
SHORT_FIRST = True
PAUSE = 0

import heapq


def schedule(jobs):
    coming = sorted((job for job in jobs if job[3] >= 0), key=lambda job: job[1])
    waiting, result, now, index = [], [], None, 0
    while index < len(coming) or waiting:
        if not waiting and (now is None or coming[index][1] > now):
            now = coming[index][1]
        while index < len(coming) and coming[index][1] <= now:
            name, arrival, priority, duration = coming[index]
            second = duration if SHORT_FIRST else arrival
            heapq.heappush(waiting, (-priority if HIGH_FIRST else priority, second, name, duration))
            index += 1
        _, _, name, duration = heapq.heappop(waiting)
        result.append([name, now, now + duration])
        now += duration + PAUSE
    return result
MODULE
