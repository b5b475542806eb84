cat > /app/bounded_cache.py <<'MODULE'
REFRESH = False
RECENT = False
LAST = 0

def simulate(capacity, ttl, operations):
    held, results = {}, []  # key -> [value, start, last use]
    for count, (kind, time, key, *rest) in enumerate(operations):
        for old in [one for one, entry in held.items() if time - entry[1] >= ttl + LAST]:
            del held[old]
        if kind == "get":
            entry = held.get(key)
            results.append(entry[0] if entry else None)
            if entry and REFRESH:
                entry[1] = time
            if entry and RECENT:
                entry[2] = count
            continue
        if capacity <= 0:
            continue
        if key not in held and len(held) == capacity:
            del held[min(held, key=lambda one: held[one][2])]
        held[key] = [rest[0], time, count]
    return results
MODULE
