"""A summary of rows, group by group."""

from tally.describe import mean, median, quantile


def summarise(rows, key, value):
    groups = {}
    for row in rows:
        number = row.get(value)
        if number is None:
            continue
        groups.setdefault(row[key], []).append(number)
    return [
        {
            "key": name,
            "count": len(numbers),
            "mean": mean(numbers),
            "median": median(numbers),
            "p90": quantile(numbers, 0.9),
            "first": numbers[0],
            "last": numbers[-1],
        }
        for name, numbers in groups.items()
    ]
