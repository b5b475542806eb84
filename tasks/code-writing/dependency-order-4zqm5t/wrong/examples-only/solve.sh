cat > /app/dependency_order.py <<'MODULE'
KNOWN = list(zip([[{}], [{"a": []}], [{"c": ["b"], "b": ["a"], "a": []}], [{"one": ["two"], "two": ["three"], "three": []}]], [[], ['a'], ['a', 'b', 'c'], ['three', 'two', 'one']]))


def ordered(*given):
    return next((result for known, result in KNOWN if known == list(given)), "?")
MODULE
