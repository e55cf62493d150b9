-- The view of a packed table, as in schema_packed.sql. It has to work in any program with SQLite.
-- The highest of 8 bytes counts half, twice: with it, a sum that begins with the base cannot exceed 63 bits.

CREATE VIEW @ AS
SELECT time_ns{~|,
CASE typeof(%) WHEN 'blob' THEN (SELECT nullif(sum((k.i = 0) * CAST(% AS INTEGER) + (instr(bytes, substr(%, -1 - r.i - min(k.i, 7) * row_count, 1)) - 1 << min(8 * k.i, 55))), CAST(% AS INTEGER)) FROM number k WHERE k.i < (length(%) - instr(%, x'3b')) / row_count * 9 / 8) ELSE % END# AS %}
FROM @_packed CROSS JOIN byte CROSS JOIN number r WHERE r.i < row_count;
