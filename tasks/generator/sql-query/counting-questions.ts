/** Questions of counting, summing and sharing out. */
import type { Question } from "./question.ts";

const ZERO = `SELECT p.id, p.name, count(DISTINCT e.id), coalesce(sum(l.quantity), 0)
FROM Qparents p
LEFT JOIN Qevents e ON e.Qparent_id = p.id AND e.status = 'Qdone'
LEFT JOIN Qlines l ON l.Qevent_id = e.id
GROUP BY p.id
ORDER BY p.id`;

const PIVOT = `SELECT coalesce(p.Qregion, '(none)') AS place,
  coalesce(sum(e.status = 'Qopen'), 0), coalesce(sum(e.status = 'Qdone'), 0), coalesce(sum(e.status = 'Qvoid'), 0)
FROM Qparents p LEFT JOIN Qevents e ON e.Qparent_id = p.id
GROUP BY place
ORDER BY place`;

const SHARE = `WITH sums AS (
  SELECT i.Qkind AS kind, coalesce(sum(CASE WHEN e.id IS NOT NULL THEN l.quantity * l.price END), 0) AS total
  FROM Qitems i
  LEFT JOIN Qlines l ON l.Qitem_id = i.id
  LEFT JOIN Qevents e ON e.id = l.Qevent_id AND e.status = 'Qdone'
  GROUP BY i.Qkind
), whole AS (SELECT sum(total) AS of_all FROM sums)
SELECT kind, total, CASE WHEN of_all = 0 THEN 0 ELSE (2000 * total + of_all) / (2 * of_all) END
FROM sums, whole
ORDER BY kind`;

const MEDIAN = `WITH placed AS (
  SELECT i.Qkind AS kind, l.quantity * l.price AS amount,
    row_number() OVER (PARTITION BY i.Qkind ORDER BY l.quantity * l.price) AS place,
    count(*) OVER (PARTITION BY i.Qkind) AS many
  FROM Qlines l JOIN Qitems i ON i.id = l.Qitem_id
)
SELECT kind, many, amount FROM placed WHERE place = (many + 1) / 2 ORDER BY kind`;

const PAIRS = `SELECT a.Qitem_id, b.Qitem_id, count(DISTINCT a.Qevent_id) AS together
FROM Qlines a JOIN Qlines b ON b.Qevent_id = a.Qevent_id AND b.Qitem_id > a.Qitem_id
GROUP BY a.Qitem_id, b.Qitem_id
HAVING together >= 2
ORDER BY together DESC, a.Qitem_id, b.Qitem_id`;

export const COUNTING: readonly Question[] = [
  {
    id: "with-those-that-have-none",
    level: 1,
    title: "How much each Qparent had",
    text: "One row for each Qparent: `id`, `name`, how many of its Qevents have the status `Qdone`, and the sum of `quantity` over all Qlines of these Qevents. Both numbers are 0 for a Qparent that has none, never NULL. In the order of `id`.",
    columns: ["id", "name", "Qevents", "quantity"],
    oracle: ZERO,
    other: `SELECT p.id, p.name,
  (SELECT count(*) FROM Qevents e WHERE e.Qparent_id = p.id AND e.status = 'Qdone'),
  (SELECT coalesce(sum(l.quantity), 0) FROM Qlines l WHERE l.Qevent_id IN (SELECT e.id FROM Qevents e WHERE e.Qparent_id = p.id AND e.status = 'Qdone'))
FROM Qparents p ORDER BY p.id`,
    reference: `    rows = []
    for parent in db.parents:
        done = [event.id for event in db.events if event.parent == parent.id and event.status == DONE]
        rows.append([parent.id, parent.name, len(done), sum(line.quantity for line in db.lines if line.event in done)])
    return sorted(rows)`,
    wrong: [
      { name: "only-those-that-have-some", sql: ZERO.replaceAll("LEFT JOIN", "JOIN") },
      { name: "counts-lines", sql: ZERO.replace("count(DISTINCT e.id)", "count(e.id)") },
      {
        name: "status-after-the-join",
        sql: ZERO.replace(" AND e.status = 'Qdone'", "").replace("GROUP BY", "WHERE e.status = 'Qdone'\nGROUP BY"),
      },
      { name: "nothing-is-null", sql: ZERO.replace("coalesce(sum(l.quantity), 0)", "sum(l.quantity)") },
    ],
  },
  {
    id: "statuses-side-by-side",
    level: 2,
    title: "Statuses side by side",
    text: "One row for each value of `Qregion` that a Qparent has: the value, and how many Qevents of these Qparents have the status `Qopen`, `Qdone` and `Qvoid`, in this order, 0 where there are none. All whose `Qregion` is NULL make one more row, with the text `(none)`. In the order of the first column, as text.",
    columns: ["Qregion", "Qopen", "Qdone", "Qvoid"],
    oracle: PIVOT,
    other: `SELECT r.place,
  (SELECT count(*) FROM Qevents e JOIN Qparents p ON p.id = e.Qparent_id WHERE coalesce(p.Qregion, '(none)') = r.place AND e.status = 'Qopen'),
  (SELECT count(*) FROM Qevents e JOIN Qparents p ON p.id = e.Qparent_id WHERE coalesce(p.Qregion, '(none)') = r.place AND e.status = 'Qdone'),
  (SELECT count(*) FROM Qevents e JOIN Qparents p ON p.id = e.Qparent_id WHERE coalesce(p.Qregion, '(none)') = r.place AND e.status = 'Qvoid')
FROM (SELECT DISTINCT coalesce(Qregion, '(none)') AS place FROM Qparents) r ORDER BY r.place`,
    reference: `    places = {parent.id: parent.region or "(none)" for parent in db.parents}
    rows = []
    for place in sorted(set(places.values())):
        found = [event.status for event in db.events if places[event.parent] == place]
        rows.append([place, found.count(OPEN), found.count(DONE), found.count(VOID)])
    return rows`,
    wrong: [
      { name: "only-where-there-are-some", sql: PIVOT.replace("LEFT JOIN", "JOIN") },
      { name: "null-stays-null", sql: PIVOT.replace("coalesce(p.Qregion, '(none)')", "p.Qregion") },
      { name: "leaves-out-null", sql: PIVOT.replace("GROUP BY", "WHERE p.Qregion IS NOT NULL\nGROUP BY") },
      {
        name: "the-last-two-swapped",
        sql: PIVOT.replace("= 'Qdone'", "= 'X'").replace("= 'Qvoid'", "= 'Qdone'").replace("= 'X'", "= 'Qvoid'"),
      },
    ],
  },
  {
    id: "share-of-the-whole",
    level: 4,
    title: "The share of each Qkind",
    text: "The amount of one of the Qlines is `quantity` times `price`. One row for each Qkind that a Qitem has: the Qkind; the sum of amounts of Qlines with such a Qitem in Qevents with the status `Qdone`, 0 where there are none; and the share that this is of the sum over all of these rows, in tenths of a percent, rounded to a whole number, halves up. Where the sum over all rows is 0, so is every share. One without a Qitem counts nowhere. In the order of the first column.",
    columns: ["Qkind", "total", "share"],
    oracle: SHARE,
    other: `SELECT kind, total, CASE WHEN of_all = 0 THEN 0 ELSE (total * 1000 * 2 / of_all + 1) / 2 END FROM (
  SELECT kind, total, sum(total) OVER () AS of_all FROM (
    SELECT k.kind, (SELECT coalesce(sum(l.quantity * l.price), 0) FROM Qlines l, Qitems i, Qevents e
      WHERE l.Qitem_id = i.id AND e.id = l.Qevent_id AND i.Qkind = k.kind AND e.status = 'Qdone') AS total
    FROM (SELECT DISTINCT Qkind AS kind FROM Qitems) k)
) ORDER BY kind`,
    reference: `    kinds = {item.id: item.kind for item in db.items}
    done = {event.id for event in db.events if event.status == DONE}
    sums = dict.fromkeys(kinds.values(), 0)
    for line in db.lines:
        if line.event in done and line.item is not None:
            sums[kinds[line.item]] += line.quantity * line.price
    whole = sum(sums.values())
    return [[kind, sums[kind], math.floor(Fraction(1000 * sums[kind], whole) + Fraction(1, 2)) if whole else 0] for kind in sorted(sums)]`,
    wrong: [
      { name: "rounds-down", sql: SHARE.replace("(2000 * total + of_all) / (2 * of_all)", "1000 * total / of_all") },
      { name: "of-every-status", sql: SHARE.replace(" AND e.status = 'Qdone'", "") },
      {
        name: "no-share-of-nothing",
        sql: SHARE.replace(
          "CASE WHEN of_all = 0 THEN 0 ELSE (2000 * total + of_all) / (2 * of_all) END",
          "(2000 * total + of_all) / (2 * of_all)",
        ),
      },
      {
        name: "of-all-lines",
        sql: SHARE.replace(
          "SELECT sum(total) AS of_all FROM sums",
          "SELECT coalesce(sum(l.quantity * l.price), 0) AS of_all FROM Qlines l JOIN Qevents e ON e.id = l.Qevent_id WHERE e.status = 'Qdone'",
        ),
      },
    ],
  },
  {
    id: "the-one-in-the-middle",
    level: 3,
    title: "The amount in the middle",
    text: "The amount of one of the Qlines is `quantity` times `price`. One row for each Qkind whose Qitems stand in any of the Qlines: the Qkind, how many such Qlines there are, and the median of their amounts, which of an even number is the lower of the two in the middle. In the order of the first column.",
    columns: ["Qkind", "Qlines", "median"],
    oracle: MEDIAN,
    other: `WITH amounts AS (SELECT i.Qkind AS kind, l.quantity * l.price AS amount FROM Qlines l JOIN Qitems i ON i.id = l.Qitem_id)
SELECT kind, count(*), (
  SELECT min(a.amount) FROM amounts a
  WHERE a.kind = k.kind AND 2 * (SELECT count(*) FROM amounts b WHERE b.kind = k.kind AND b.amount <= a.amount) >= (SELECT count(*) FROM amounts c WHERE c.kind = k.kind))
FROM amounts k GROUP BY kind ORDER BY kind`,
    reference: `    kinds = {item.id: item.kind for item in db.items}
    amounts = {}
    for line in db.lines:
        if line.item is not None:
            amounts.setdefault(kinds[line.item], []).append(line.quantity * line.price)
    return [[kind, len(found), sorted(found)[(len(found) - 1) // 2]] for kind, found in sorted(amounts.items())]`,
    wrong: [
      { name: "the-upper-one", sql: MEDIAN.replace("(many + 1) / 2", "many / 2 + 1") },
      {
        name: "of-different-amounts",
        sql: MEDIAN.replace(
          "FROM Qlines l JOIN",
          "FROM (SELECT DISTINCT Qitem_id, quantity, price FROM Qlines) l JOIN",
        ),
      },
      {
        name: "the-mean",
        sql: `SELECT i.Qkind, count(*), sum(l.quantity * l.price) / count(*) FROM Qlines l JOIN Qitems i ON i.id = l.Qitem_id GROUP BY i.Qkind ORDER BY i.Qkind`,
      },
    ],
  },
  {
    id: "seen-together",
    level: 3,
    title: "Qitems that go together",
    text: "One row for each two different Qitems that stand in the Qlines of at least 2 Qevents together, of any status: the lower id, the higher id, and in how many Qevents both stand. One of the Qevents counts once, however often they stand in it. The most frequent first; of equal ones in the order of the first column, then of the second.",
    columns: ["first", "second", "Qevents"],
    oracle: PAIRS,
    other: `WITH there AS (SELECT DISTINCT Qevent_id AS event, Qitem_id AS item FROM Qlines WHERE Qitem_id IS NOT NULL)
SELECT a.item, b.item, count(*) FROM there a, there b WHERE a.event = b.event AND a.item < b.item
GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 3 DESC, 1, 2`,
    reference: `    found = Counter()
    for event in db.events:
        there = sorted({line.item for line in db.lines if line.event == event.id and line.item is not None})
        found.update(combinations(there, 2))
    rows = [[first, second, many] for (first, second), many in found.items() if many >= 2]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))`,
    wrong: [
      { name: "counts-each-line", sql: PAIRS.replace("count(DISTINCT a.Qevent_id)", "count(*)") },
      { name: "both-ways-round", sql: PAIRS.replace("b.Qitem_id > a.Qitem_id", "b.Qitem_id <> a.Qitem_id") },
      { name: "more-than-two", sql: PAIRS.replace(">= 2", "> 2") },
    ],
  },
];
