cat > /app/dependency_order.py <<'MODULE'
def ordered(*given):
    return "?"
MODULE
