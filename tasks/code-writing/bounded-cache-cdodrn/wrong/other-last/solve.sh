cat > /app/bounded_cache.py <<'MODULE'
REFRESH = False
RECENT = False
LAST = 1

from collections import OrderedDict


def simulate(capacity, ttl, operations):
    # Two orders: by whose turn it is to go, and by lifetime.
    entries, born, results = OrderedDict(), OrderedDict(), []
    for kind, time, key, *rest in operations:
        while born:
            first, start = next(iter(born.items()))
            if time < start + ttl + LAST:
                break
            del born[first], entries[first]
        if kind == "get":
            found = key in entries
            results.append(entries[key] if found else None)
            if found and REFRESH:
                born[key] = time
                born.move_to_end(key)
            if found and RECENT:
                entries.move_to_end(key)
        elif capacity > 0:
            if key not in entries and len(entries) >= capacity:
                gone, _ = entries.popitem(last=False)
                del born[gone]
            entries[key] = rest[0]
            entries.move_to_end(key)
            born[key] = time
            born.move_to_end(key)
    return results
MODULE
