cat > /app/evaluator.py <<'MODULE'
POWER_FROM_RIGHT = False
FLOOR = False
MINUS_FIRST = True

import re


def evaluate(text):
    # Two stacks; "n" is the minus sign before an operand.
    level = {"+": 1, "-": 1, "*": 2, "/": 2, "n": 5 if MINUS_FIRST else 3, "^": 4}
    values, signs, wants_operand = [], [], True

    def apply(sign):
        b = values.pop()
        if sign == "n":
            return values.append(-b)
        a = values.pop()
        if sign == "/":
            low = a // b
            values.append(low if FLOOR or low >= 0 or low * b == a else low + 1)
        else:
            values.append({"+": a + b, "-": a - b, "*": a * b}[sign] if sign != "^" else a**b)

    try:
        for word in re.findall("[0-9]+|[-+*/^()]", text):
            if word.isdigit():
                values.append(int(word))
                wants_operand = False
            elif word == "(":
                signs.append(word)
            elif word == ")":
                while signs[-1] != "(":
                    apply(signs.pop())
                signs.pop()
            elif wants_operand:
                signs.append("n")
            else:
                right = word == "^" and POWER_FROM_RIGHT
                while signs and signs[-1] != "(" and level[signs[-1]] + (not right) > level[word]:
                    apply(signs.pop())
                signs.append(word)
                wants_operand = True
        while signs:
            apply(signs.pop())
    except ZeroDivisionError:
        return None
    return values[0]
MODULE
