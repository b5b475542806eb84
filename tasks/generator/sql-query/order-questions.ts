/** Questions of order: the first, the last, what comes before, what is missing between, and what is there for all. */
import type { Question } from "./question.ts";

const TOP = `WITH sums AS (
  SELECT p.id, p.name, coalesce(p.Qregion, '(none)') AS place,
    coalesce(sum(CASE WHEN e.status = 'Qdone' THEN l.quantity * l.price END), 0) AS total
  FROM Qparents p LEFT JOIN Qevents e ON e.Qparent_id = p.id LEFT JOIN Qlines l ON l.Qevent_id = e.id
  GROUP BY p.id
), placed AS (SELECT *, row_number() OVER (PARTITION BY place ORDER BY total DESC, id) AS rank FROM sums)
SELECT place, id, total FROM placed WHERE rank = 1 ORDER BY place`;

const NEVER = `SELECT i.id, i.name FROM Qitems i
WHERE NOT EXISTS (SELECT 1 FROM Qlines l JOIN Qevents e ON e.id = l.Qevent_id WHERE l.Qitem_id = i.id AND e.status = 'Qdone')
ORDER BY i.id`;

const RUNNING = `WITH sums AS (
  SELECT e.id, e.Qparent_id AS parent, e.Qdate AS day, coalesce(sum(l.quantity * l.price), 0) AS amount
  FROM Qevents e LEFT JOIN Qlines l ON l.Qevent_id = e.id
  WHERE e.status = 'Qdone' AND e.Qdate IS NOT NULL
  GROUP BY e.id
)
SELECT parent, id, amount, sum(amount) OVER (PARTITION BY parent ORDER BY day, id ROWS UNBOUNDED PRECEDING)
FROM sums
ORDER BY parent, day, id`;

const RUNS = `WITH days AS (SELECT DISTINCT Qdate AS day FROM Qevents WHERE status = 'Qdone' AND Qdate IS NOT NULL),
marked AS (SELECT day, julianday(day) - row_number() OVER (ORDER BY day) AS island FROM days)
SELECT min(day), max(day), count(*) FROM marked GROUP BY island ORDER BY count(*) DESC, min(day) LIMIT 1`;

const ALL = `SELECT p.id, p.name FROM Qparents p
WHERE NOT EXISTS (
  SELECT 1 FROM Qitems i WHERE i.Qkind = 'Qfirst' AND NOT EXISTS (
    SELECT 1 FROM Qevents e JOIN Qlines l ON l.Qevent_id = e.id
    WHERE e.Qparent_id = p.id AND e.status = 'Qdone' AND l.Qitem_id = i.id))
ORDER BY p.id`;

const CALENDAR = `WITH RECURSIVE days (day) AS (
  SELECT min(Qdate) FROM Qevents WHERE Qdate IS NOT NULL
  UNION ALL
  SELECT date(day, '+1 day') FROM days WHERE day < (SELECT max(Qdate) FROM Qevents)
)
SELECT day, (SELECT count(*) FROM Qevents e WHERE e.Qdate = day) FROM days WHERE day IS NOT NULL ORDER BY day`;

const LATEST = `SELECT p.id, e.id, e.Qdate, e.status FROM Qparents p
LEFT JOIN (
  SELECT *, row_number() OVER (PARTITION BY Qparent_id ORDER BY Qdate DESC, id DESC) AS place FROM Qevents
) e ON e.Qparent_id = p.id AND e.place = 1
ORDER BY p.id`;

export const ORDER: readonly Question[] = [
  {
    id: "first-of-each",
    level: 3,
    title: "The largest Qparent of each Qregion",
    text: "The total of a Qparent is the sum of `quantity` times `price` over all Qlines of its Qevents with the status `Qdone`, 0 where there are none. One row for each value of `Qregion` that a Qparent has: the value, the `id` of the Qparent with the highest total, and that total. Of equal totals the lowest `id` counts. All whose `Qregion` is NULL make one more row, with the text `(none)`. In the order of the first column, as text.",
    columns: ["Qregion", "Qparent", "total"],
    oracle: TOP,
    other: `WITH sums AS (
  SELECT p.id, coalesce(p.Qregion, '(none)') AS place, (
    SELECT coalesce(sum(l.quantity * l.price), 0) FROM Qevents e JOIN Qlines l ON l.Qevent_id = e.id
    WHERE e.Qparent_id = p.id AND e.status = 'Qdone') AS total
  FROM Qparents p
)
SELECT place, id, total FROM sums s
WHERE NOT EXISTS (SELECT 1 FROM sums o WHERE o.place = s.place AND (o.total > s.total OR (o.total = s.total AND o.id < s.id)))
ORDER BY place`,
    reference: `    best = {}
    for parent in db.parents:
        done = {event.id for event in db.events if event.parent == parent.id and event.status == DONE}
        total = sum(line.quantity * line.price for line in db.lines if line.event in done)
        place = parent.region or "(none)"
        best[place] = min(best.get(place, (1, 0)), (-total, parent.id))
    return [[place, number, -total] for place, (total, number) in sorted(best.items())]`,
    wrong: [
      { name: "the-highest-of-equals", sql: TOP.replace("total DESC, id)", "total DESC, id DESC)") },
      { name: "only-with-events", sql: TOP.replaceAll("LEFT JOIN", "JOIN") },
      { name: "leaves-out-null", sql: TOP.replace("GROUP BY p.id", "WHERE p.Qregion IS NOT NULL\n  GROUP BY p.id") },
      {
        name: "all-of-the-equals",
        sql: TOP.replace("row_number()", "rank()").replace("total DESC, id)", "total DESC)"),
      },
    ],
  },
  {
    id: "never-there",
    level: 2,
    title: "What was never used",
    text: "One row for each Qitem that stands in none of the Qlines whose Qevent has the status `Qdone`: `id` and `name`. In the order of `id`.",
    columns: ["id", "name"],
    oracle: NEVER,
    other: `SELECT i.id, i.name FROM Qitems i
LEFT JOIN (SELECT DISTINCT l.Qitem_id AS used FROM Qlines l JOIN Qevents e ON e.id = l.Qevent_id WHERE e.status = 'Qdone') u ON u.used = i.id
WHERE u.used IS NULL ORDER BY i.id`,
    reference: `    done = {event.id for event in db.events if event.status == DONE}
    used = {line.item for line in db.lines if line.event in done}
    return sorted([item.id, item.name] for item in db.items if item.id not in used)`,
    wrong: [
      {
        name: "not-in-with-null",
        sql: `SELECT i.id, i.name FROM Qitems i WHERE i.id NOT IN (SELECT l.Qitem_id FROM Qlines l JOIN Qevents e ON e.id = l.Qevent_id WHERE e.status = 'Qdone') ORDER BY i.id`,
      },
      { name: "in-no-line-at-all", sql: NEVER.replace(" AND e.status = 'Qdone'", "") },
      {
        name: "in-a-line-of-another-status",
        sql: NEVER.replace("NOT EXISTS", "EXISTS").replace("= 'Qdone'", "<> 'Qdone'"),
      },
    ],
  },
  {
    id: "sums-so-far",
    level: 3,
    title: "Sums so far",
    text: "The amount of one of the Qevents is the sum of `quantity` times `price` over its Qlines, 0 where it has none. One row for each of the Qevents that has the status `Qdone` and a `Qdate`: the id of its Qparent, its own id, its amount, and the sum of the amounts of this and all earlier rows of the same Qparent. A Qparent's rows are in the order of `Qdate`, those of one day in the order of their id; the result is in the order of the Qparent's id, then in that order.",
    columns: ["Qparent_id", "Qevent_id", "amount", "so_far"],
    oracle: RUNNING,
    other: `WITH sums AS (
  SELECT e.id, e.Qparent_id AS parent, e.Qdate AS day, (SELECT coalesce(sum(quantity * price), 0) FROM Qlines l WHERE l.Qevent_id = e.id) AS amount
  FROM Qevents e WHERE e.status = 'Qdone' AND e.Qdate IS NOT NULL
)
SELECT parent, id, amount, (SELECT sum(o.amount) FROM sums o WHERE o.parent = s.parent AND (o.day < s.day OR (o.day = s.day AND o.id <= s.id)))
FROM sums s ORDER BY parent, day, id`,
    reference: `    rows, so_far = [], Counter()
    dated = [event for event in db.events if event.status == DONE and event.date is not None]
    for event in sorted(dated, key=lambda event: (event.parent, event.date, event.id)):
        amount = sum(line.quantity * line.price for line in db.lines if line.event == event.id)
        so_far[event.parent] += amount
        rows.append([event.parent, event.id, amount, so_far[event.parent]])
    return rows`,
    wrong: [
      { name: "whole-days-at-once", sql: RUNNING.replace("ORDER BY day, id ROWS UNBOUNDED PRECEDING", "ORDER BY day") },
      { name: "in-the-order-of-ids", sql: RUNNING.replace("ORDER BY day, id ROWS", "ORDER BY id ROWS") },
      { name: "only-with-lines", sql: RUNNING.replace("LEFT JOIN", "JOIN") },
      { name: "without-a-date-too", sql: RUNNING.replace(" AND e.Qdate IS NOT NULL", "") },
    ],
  },
  {
    id: "days-in-a-row",
    level: 4,
    title: "Days in a row",
    text: "A run is a number of days one after the other, on each of which at least one of the Qevents has the status `Qdone`, as `Qdate` tells, and which is not part of a longer run. One row for the longest run: its first day, its last day, how many days it has. Of runs of equal length the earliest. No row where there is no such day.",
    columns: ["first_day", "last_day", "days"],
    oracle: RUNS,
    other: `WITH RECURSIVE days AS (SELECT DISTINCT Qdate AS day FROM Qevents WHERE status = 'Qdone' AND Qdate IS NOT NULL),
walk (first, last, many) AS (
  SELECT day, day, 1 FROM days WHERE date(day, '-1 day') NOT IN (SELECT day FROM days)
  UNION ALL
  SELECT first, date(last, '+1 day'), many + 1 FROM walk WHERE date(last, '+1 day') IN (SELECT day FROM days)
)
SELECT first, last, many FROM walk ORDER BY many DESC, first LIMIT 1`,
    reference: `    days = {date.fromisoformat(event.date) for event in db.events if event.status == DONE and event.date is not None}
    runs = []
    for day in days:
        if day - timedelta(1) not in days:
            last = day
            while last + timedelta(1) in days:
                last += timedelta(1)
            runs.append((-(last - day).days - 1, day.isoformat(), last.isoformat()))
    return [[first, last, -many] for many, first, last in sorted(runs)[:1]]`,
    wrong: [
      { name: "a-day-as-often-as-it-comes", sql: RUNS.replace("SELECT DISTINCT", "SELECT") },
      { name: "the-latest-of-equals", sql: RUNS.replace("min(day) LIMIT", "min(day) DESC LIMIT") },
      { name: "of-every-status", sql: RUNS.replace("status = 'Qdone' AND ", "") },
    ],
  },
  {
    id: "all-of-a-kind",
    level: 4,
    title: "Who had all of them",
    text: "One row for each Qparent that had every Qitem whose `Qkind` is `Qfirst`: `id` and `name`. A Qparent had a Qitem if it stands in any of the Qlines of one of this Qparent's Qevents with the status `Qdone`. Where there is no such Qitem, every Qparent had all of them. In the order of `id`.",
    columns: ["id", "name"],
    oracle: ALL,
    other: `SELECT p.id, p.name FROM Qparents p WHERE (SELECT count(*) FROM Qitems WHERE Qkind = 'Qfirst') = (
  SELECT count(DISTINCT i.id) FROM Qevents e JOIN Qlines l ON l.Qevent_id = e.id JOIN Qitems i ON i.id = l.Qitem_id
  WHERE e.Qparent_id = p.id AND e.status = 'Qdone' AND i.Qkind = 'Qfirst')
ORDER BY p.id`,
    reference: `    wanted = {item.id for item in db.items if item.kind == FIRST}
    rows = []
    for parent in db.parents:
        done = {event.id for event in db.events if event.parent == parent.id and event.status == DONE}
        if wanted <= {line.item for line in db.lines if line.event in done}:
            rows.append([parent.id, parent.name])
    return sorted(rows)`,
    wrong: [
      {
        name: "any-of-them",
        sql: `SELECT p.id, p.name FROM Qparents p WHERE EXISTS (SELECT 1 FROM Qevents e JOIN Qlines l ON l.Qevent_id = e.id JOIN Qitems i ON i.id = l.Qitem_id WHERE e.Qparent_id = p.id AND e.status = 'Qdone' AND i.Qkind = 'Qfirst') ORDER BY p.id`,
      },
      { name: "of-every-status", sql: ALL.replace(" AND e.status = 'Qdone'", "") },
      {
        name: "counts-each-line",
        sql: `SELECT p.id, p.name FROM Qparents p WHERE (SELECT count(*) FROM Qitems WHERE Qkind = 'Qfirst') <= (SELECT count(i.id) FROM Qevents e JOIN Qlines l ON l.Qevent_id = e.id JOIN Qitems i ON i.id = l.Qitem_id WHERE e.Qparent_id = p.id AND e.status = 'Qdone' AND i.Qkind = 'Qfirst') ORDER BY p.id`,
      },
    ],
  },
  {
    id: "every-day-between",
    level: 2,
    title: "Every day between",
    text: "One row for each day from the first to the last `Qdate` of all Qevents, of any status: the day, and how many Qevents there are on it, 0 included. Qevents without a `Qdate` count nowhere. No row where none has one. In the order of days.",
    columns: ["day", "Qevents"],
    oracle: CALENDAR,
    other: `WITH RECURSIVE ends AS (SELECT min(Qdate) AS low, max(Qdate) AS high FROM Qevents),
steps (step) AS (SELECT 0 FROM ends WHERE low IS NOT NULL UNION ALL SELECT step + 1 FROM steps, ends WHERE step < julianday(high) - julianday(low))
SELECT date(low, '+' || step || ' days'), count(e.id) FROM steps CROSS JOIN ends LEFT JOIN Qevents e ON e.Qdate = date(low, '+' || step || ' days')
GROUP BY step ORDER BY step`,
    reference: `    dates = Counter(event.date for event in db.events if event.date is not None)
    if not dates:
        return []
    day, last, rows = date.fromisoformat(min(dates)), date.fromisoformat(max(dates)), []
    while day <= last:
        rows.append([day.isoformat(), dates[day.isoformat()]])
        day += timedelta(1)
    return rows`,
    wrong: [
      {
        name: "only-days-with-some",
        sql: `SELECT Qdate, count(*) FROM Qevents WHERE Qdate IS NOT NULL GROUP BY Qdate ORDER BY Qdate`,
      },
      {
        name: "ends-a-day-early",
        sql: CALENDAR.replace(
          "WHERE day IS NOT NULL ORDER",
          "WHERE day IS NOT NULL AND day < (SELECT max(Qdate) FROM Qevents) ORDER",
        ),
      },
      {
        name: "counts-one-status",
        sql: CALENDAR.replace("WHERE e.Qdate = day", "WHERE e.Qdate = day AND e.status = 'Qdone'"),
      },
      { name: "a-row-for-nothing", sql: CALENDAR.replace(" WHERE day IS NOT NULL ORDER", " ORDER") },
    ],
  },
  {
    id: "latest-of-each",
    level: 2,
    title: "The latest of each Qparent",
    text: "One row for each Qparent: its id, and of its latest Qevent the id, the `Qdate` and the status. The latest is the one with the last `Qdate`; a Qevent without one is earlier than all that have one; of several on one day, or of several without, the highest id is the latest. A Qparent without Qevents has NULL three times. In the order of the first column.",
    columns: ["Qparent_id", "Qevent_id", "Qdate", "status"],
    oracle: LATEST,
    other: `SELECT p.id, e.id, e.Qdate, e.status FROM Qparents p LEFT JOIN Qevents e ON e.id = (
  SELECT o.id FROM Qevents o WHERE o.Qparent_id = p.id ORDER BY coalesce(o.Qdate, '') DESC, o.id DESC LIMIT 1)
ORDER BY p.id`,
    reference: `    rows = []
    for parent in sorted(db.parents, key=lambda parent: parent.id):
        own = sorted((event for event in db.events if event.parent == parent.id), key=lambda event: (event.date or "", event.id))
        rows.append([parent.id, own[-1].id, own[-1].date, own[-1].status] if own else [parent.id, None, None, None])
    return rows`,
    wrong: [
      { name: "the-highest-id", sql: LATEST.replace("ORDER BY Qdate DESC, id DESC", "ORDER BY id DESC") },
      { name: "the-lowest-id-of-a-day", sql: LATEST.replace("Qdate DESC, id DESC", "Qdate DESC, id") },
      { name: "without-those-that-have-none", sql: LATEST.replace("LEFT JOIN", "JOIN") },
      {
        name: "undated-is-latest",
        sql: LATEST.replace("ORDER BY Qdate DESC", "ORDER BY Qdate IS NULL DESC, Qdate DESC"),
      },
    ],
  },
];
