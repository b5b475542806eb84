cat > /app/solution.py <<'MODULE'
LARGEST = False
UNLISTED = True
PARTIAL = False

def ordered(needs):
    left = {name: set(wanted) for name, wanted in needs.items()}
    outside = {other for wanted in needs.values() for other in wanted} - set(needs)
    if UNLISTED:
        left.update((name, set()) for name in outside)
    else:
        left = {name: wanted - outside for name, wanted in left.items()}
    result = []
    while left:
        ready = [name for name, wanted in left.items() if not wanted]
        if not ready:
            return result if PARTIAL else []
        name = max(ready) if LARGEST else min(ready)
        result.append(name)
        del left[name]
        for wanted in left.values():
            wanted.discard(name)
    return result
MODULE
