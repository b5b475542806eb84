cat > /app/bounded_cache.py <<'MODULE'
def simulate(*given):
    return "?"
MODULE
