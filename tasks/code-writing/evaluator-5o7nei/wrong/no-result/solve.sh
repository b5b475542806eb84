cat > /app/evaluator.py <<'MODULE'
def evaluate(*given):
    return "?"
MODULE
