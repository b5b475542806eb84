cat > /app/work.py <<'MODULE'
TOUCHING = True
SWAPPED = True
FALLING = False

def joined(intervals):
    ready = [sorted(pair) for pair in intervals if SWAPPED or pair[0] < pair[1]]
    result = []
    for start, end in sorted(ready):
        if result and (start < result[-1][1] or TOUCHING and start == result[-1][1]):
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result[::-1] if FALLING else result
MODULE
