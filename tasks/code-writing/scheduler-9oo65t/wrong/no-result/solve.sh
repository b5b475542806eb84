cat > /app/work.py <<'MODULE'
def schedule(*given):
    return "?"
MODULE
