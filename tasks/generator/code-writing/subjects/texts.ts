/** Modules that read texts and trees: an evaluator, a table reader, a scheduler; in JavaScript versions, words, trees. */
import type { Subject } from "../subject.ts";

const evaluator: Subject = {
  id: "evaluator",
  language: "python",
  title: "An evaluator of expressions",
  entry: "evaluate",
  signature: "evaluate(text: str) -> int | None",
  text: "Gives the value of an expression of whole numbers, `+`, `-`, `*`, `/`, `^` for powers, a minus sign before an operand, and parentheses; blanks between parts mean nothing. `^` binds tightest, then `*` and `/`, then `+` and `-`; these four take their operands from the left. All values are whole numbers. Expressions are well formed and exponents are from 0 to 9.",
  options: [
    {
      name: "POWER_FROM_RIGHT",
      choices: [
        { value: "True", rule: "Of several `^` in a row the last is done first: `2^3^2` is 512." },
        { value: "False", rule: "Of several `^` in a row the first is done first: `2^3^2` is 64." },
      ],
      probes: '[["2^3^2"], ["3^1^2^2 + 3^2^2"]]',
    },
    {
      name: "FLOOR",
      choices: [
        { value: "True", rule: "A division that leaves a remainder is rounded down: `(0-7)/2` is -4." },
        { value: "False", rule: "A division that leaves a remainder is rounded towards zero: `(0-7)/2` is -3." },
      ],
      probes: '[["(0-7)/2"], ["9/(1-5)"]]',
    },
    {
      name: "MINUS_FIRST",
      choices: [
        { value: "False", rule: "A minus sign before an operand applies after `^`: `-2^2` is -4." },
        { value: "True", rule: "A minus sign before an operand applies before `^`: `-2^2` is 4." },
      ],
      probes: '[["-2^2"], ["1 - -3^2"]]',
    },
  ],
  oracle: `
import re


def evaluate(text):
    words = re.findall(r"[0-9]+|[^ ]", text) + [""]
    place = 0

    def take():
        nonlocal place
        place += 1
        return words[place - 1]

    def total():
        value = product()
        while words[place] in ("+", "-"):
            value = value + product() if take() == "+" else value - product()
        return value

    def product():
        value = signed()
        while words[place] in ("*", "/"):
            if take() == "*":
                value *= signed()
            else:
                below = signed()
                quotient = abs(value) // abs(below)
                value = value // below if FLOOR else quotient if (value < 0) == (below < 0) else -quotient
        return value

    def signed():
        if words[place] == "-" and not MINUS_FIRST:
            take()
            return -signed()
        return power()

    def power():
        value = operand()
        while words[place] == "^":
            take()
            value = value ** (power() if POWER_FROM_RIGHT else operand())
        return value

    def operand():
        word = take()
        if word == "-":
            return -operand()
        if word == "(":
            value = total()
            take()
            return value
        return int(word)

    try:
        return total()
    except ZeroDivisionError:
        return None
`,
  other: `
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
`,
  plain: '[["7"], ["1 + 2*3"], ["(1+2) * 3 - 4"], ["20/4/5"], ["-5 + 2^3"]]',
  results: "[7, 7, 5, 1, 3]",
  draw: `
def draw(r):
    def one(depth):
        kind = r.randrange(7 if depth else 1)
        if kind == 0:
            return str(r.randrange(1, 20))
        if kind == 1:
            return f"({one(depth - 1)})"
        if kind == 2:
            return f"-{r.randrange(1, 9)}"
        if kind == 3:
            return f"{r.choice(['', '-'])}{r.randrange(1, 4)}^{r.randrange(3)}^{r.randrange(3)}"
        return f"{one(depth - 1)} {r.choice('+-*/')} {one(depth - 1)}"

    return [one(4)]
`,
  slip: { name: "division-by-zero-is-zero", from: "        return None", to: "        return 0" },
  edge: { rule: "A division by zero anywhere makes the result `None`.", probes: '[["1/0"], ["5 + 2/(3-3) * 0"]]' },
};

const table: Subject = {
  id: "table-reader",
  language: "python",
  title: "A reader of tables",
  entry: "rows",
  signature: "rows(text: str) -> list[list[str]]",
  text: 'Reads a table. Lines end with `\\n`, the last one with or without it; fields are parted by `;`. A field that begins with `"` is quoted and ends at the closing `"`, which the end of the field follows at once; within it `;` and line ends are ordinary characters. The empty text has no rows. Only well-formed tables are given.',
  options: [
    {
      name: "BACKSLASH",
      choices: [
        {
          value: "False",
          rule: "Within a quoted field two quotation marks stand for one, and a backslash is an ordinary character.",
        },
        {
          value: "True",
          rule: "Within a quoted field a backslash makes the character after it an ordinary one and is dropped itself.",
        },
      ],
      probes: `[['"a\\\\\\\\b";c']]`,
    },
    {
      name: "TRIMMED",
      choices: [
        { value: "True", rule: "Spaces at both ends of a field that is not quoted are dropped." },
        { value: "False", rule: "Spaces at the ends of a field that is not quoted belong to it." },
      ],
      probes: "[['a ;b'], ['x;y   \\n1;2\\n']]",
    },
    {
      name: "BLANK_ROWS",
      choices: [
        { value: "True", rule: "An empty line is a row with one empty field." },
        { value: "False", rule: "An empty line is no row." },
      ],
      probes: "[['a\\n\\nb'], ['\\n']]",
    },
  ],
  oracle: `
def rows(text):
    result, row, place = [], [], 0
    while place < len(text):
        quoted = text[place] == '"'
        field = []
        if quoted:
            place += 1
            while True:
                letter = text[place]
                if letter == "\\\\" and BACKSLASH:
                    place += 1
                    field.append(text[place])
                elif letter == '"' and not BACKSLASH and text[place + 1 : place + 2] == '"':
                    place += 1
                    field.append(letter)
                elif letter == '"':
                    break
                else:
                    field.append(letter)
                place += 1
            place += 1
        else:
            while place < len(text) and text[place] not in ";\\n":
                field.append(text[place])
                place += 1
        value = "".join(field)
        row.append(value if quoted or not TRIMMED else value.strip(" "))
        ends = place >= len(text) or text[place] == "\\n"
        if not ends and place + 1 == len(text):
            row.append("")
        if ends or place + 1 == len(text):
            if BLANK_ROWS or quoted or len(row) > 1 or field:
                result.append(row)
            row = []
        elif text[place + 1] == "\\n":
            row.append("")
            result.append(row)
            row = []
            place += 1
        place += 1
    return result
`,
  other: `
import re


def rows(text):
    inside = r'"((?:[^"\\\\]|\\\\.)*)"' if BACKSLASH else r'"((?:[^"]|"")*)"'
    pattern = re.compile(rf"(?:{inside}|([^;\\n]*))(;|\\n|\\Z)", re.S)
    result, row, place = [], [], 0
    while place < len(text) or row:
        found = pattern.match(text, place)
        quoted, bare, end = found.groups()
        if quoted is not None:
            row.append(re.sub(r"\\\\(.)", r"\\1", quoted, flags=re.S) if BACKSLASH else quoted.replace('""', '"'))
        else:
            row.append(bare.strip(" ") if TRIMMED else bare)
        place = found.end()
        if end != ";":
            if BLANK_ROWS or found.group(0) not in ("", "\\n") or len(row) > 1:
                result.append(row)
            row = []
    return result
`,
  plain: `[[''], ['a;b'], ['a;b\\nc;d\\n'], ['"x;y";z'], ['1;;3'], ['4;5;\\n6;7;8']]`,
  results:
    "[[], [['a', 'b']], [['a', 'b'], ['c', 'd']], [['x;y', 'z']], [['1', '', '3']], [['4', '5', ''], ['6', '7', '8']]]",
  draw: `
def draw(r):
    def field():
        kind = r.randrange(4)
        letters = "".join(r.choice("abc xyz") for _ in range(r.randrange(1, 6)))
        if kind == 0:
            return '"' + letters + r.choice([";", "\\\\\\\\", "\\n"]) + '"'
        return "" if kind == 1 else letters

    lines = [";".join(field() for _ in range(r.randrange(1, 5))) for _ in range(r.randrange(1, 8))]
    return ["\\n".join(lines) + r.choice(["", "\\n"])]
`,
  slip: {
    name: "quoted-trimmed",
    from: 'value if quoted or not TRIMMED else value.strip(" ")',
    to: 'value.strip(" ") if quoted else value if not TRIMMED else value.strip(" ")',
  },
  edge: {
    rule: "A quoted field keeps every space and line end, and may be empty.",
    probes: `[['" a ";b'], ['"\\n ";"x"']]`,
  },
};

export const TEXTS: readonly Subject[] = [evaluator, table];
