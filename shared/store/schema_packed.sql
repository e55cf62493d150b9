-- A packed table: @ is the name of the table that it stores, ~ the set of its columns (columns.h). See "Packed tables"
-- in docs/formats/store.md.

CREATE TABLE @_packed (
    time_ns INTEGER PRIMARY KEY,
    row_count INTEGER NOT NULL{~|,
    % ANY}
) STRICT;
