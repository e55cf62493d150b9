-- The view of a packed table, as in schema_packed.sql. It has to work in any program with SQLite.

CREATE VIEW @ AS
SELECT time_ns{~|,
CASE typeof(%) WHEN 'blob' THEN CAST(% AS INTEGER) + (SELECT nullif(sum(instr(bytes, substr(%, -1 - r.i - k.i * row_count, 1)) - 1 << 8 * k.i), 0) FROM number k WHERE k.i < (length(%) - instr(%, x'3b')) / row_count) ELSE % END# AS %}
FROM @_packed CROSS JOIN byte CROSS JOIN number r WHERE r.i < row_count;
