"""pack.py DB: moves the rows of each table x_plain to x_packed, as docs/formats/store.md describes, and drops x_plain."""
import sqlite3
import sys


def pack(values):
    values = [round(v * 1e9) if isinstance(v, float) else v for v in values]
    known = [v for v in values if v is not None]
    if not known:
        return None
    if len(known) == len(values) and min(known) == max(known):
        return known[0]
    base = min(known) - 1
    width = (max(known) - base).bit_length() // 8 + 1
    offsets = [0 if v is None else v - base for v in reversed(values)]
    planes = [bytes(o >> 8 * k & 255 for o in offsets) for k in reversed(range(width))]
    return b"%d;" % base + b"".join(planes)


db = sqlite3.connect(sys.argv[1])
tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE name LIKE '%\\_plain' ESCAPE '\\'")]
for table in tables:
    rows = db.execute(f"SELECT * FROM {table} ORDER BY time_ns")
    columns = [column[0] for column in rows.description]
    periods = {}
    for row in rows:
        periods.setdefault(row[columns.index("time_ns")], []).append(row)
    names = [name for name in columns if name != "time_ns"]
    for time_ns, period in periods.items():
        packed = [pack([row[columns.index(name)] for row in period]) for name in names]
        db.execute(f"INSERT INTO {table[:-6]}_packed (time_ns, row_count, {', '.join(names)})"
                   f" VALUES (?, ?{', ?' * len(names)})", [time_ns, len(period), *packed])
    most = max(map(len, periods.values()), default=0)
    db.executemany("INSERT OR IGNORE INTO number VALUES (?)", [(i,) for i in range(most)])
    db.execute(f"DROP TABLE {table}")
db.commit()
