cat > /app/work.py <<'MODULE'
def allowed(*given):
    return "?"
MODULE
