cat > /app/solution.py <<'MODULE'
def ordered(*given):
    return "?"
MODULE
