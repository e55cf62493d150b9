/* SPDX-License-Identifier: MIT */
/* store_counts - what is counted of a core as columns. */
#include "shared/store/store_counts.h"

#include <assert.h>
#include <string.h>

#include "shared/store/store_sql.h"

static const struct {
    const char *name;
    enum ntk_store_counts set;
    const char *const *names; /* only the list that has these */
    size_t first;             /* of the list */
} sets[] = {
    { "core", NTK_STORE_COUNTS_CORE, NULL, 0 },
    { "execution", NTK_STORE_COUNTS_EXECUTION, NULL, 0 },
    { "count", NTK_STORE_COUNTS_ALL, NULL, 0 },
    { "outcome", NTK_STORE_COUNTS_EXECUTION, ntk_outcome_names, 0 },
    { "failed", NTK_STORE_COUNTS_EXECUTION, ntk_outcome_names, NTK_OUTCOME_COMPLETED + 1 },
    { "error", NTK_STORE_COUNTS_EXECUTION, ntk_error_class_names, 0 },
};

bool ntk_store_counts_have(enum ntk_store_counts set, const struct ntk_core_count_row *row)
{
    return set == NTK_STORE_COUNTS_ALL ||
           (set == NTK_STORE_COUNTS_EXECUTION) == (row->has == NTK_CORE_HAS_EXECUTIONS);
}

/* The text up to its end for one column. */
static void tell_column(struct ntk_buf *sql, const char *text, const char *end,
                        const struct ntk_core_count_row *row, size_t index)
{
    for (; text < end; text++) {
        if (*text == '%') {
            ntk_buf_add_text(sql, row->names ? row->names[index] : "");
            ntk_buf_add_text(sql, row->column);
        } else {
            ntk_buf_add_char(sql, *text);
        }
    }
}

static void tell_set(struct ntk_buf *sql, size_t set, const char *text, const char *end)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        if (!ntk_store_counts_have(sets[set].set, row) ||
            (sets[set].names && sets[set].names != row->names)) {
            continue;
        }
        for (size_t k = sets[set].first; k < row->count; k++) {
            tell_column(sql, text, end, row, k);
        }
    }
}

void ntk_store_counts_tell(struct ntk_buf *sql, const char *text)
{
    const char *begin;

    while ((begin = strchr(text, '{'))) {
        const char *bar = strchr(begin, '|');
        const char *end = strchr(bar, '}');
        size_t length = (size_t)(bar - begin - 1);
        size_t set = 0;

        while (strlen(sets[set].name) != length || memcmp(sets[set].name, begin + 1, length) != 0) {
            set++;
            assert(set < sizeof sets / sizeof *sets);
        }
        ntk_buf_add(sql, text, (size_t)(begin - text));
        tell_set(sql, set, bar + 1, end);
        text = end + 1;
    }
    ntk_buf_add_text(sql, text);
}

int ntk_store_counts_prepare(sqlite3 *db, const char *text, sqlite3_stmt **out_statement,
                             struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_store_counts_tell(&sql, text);
    int ret = ntk_buf_ok(&sql)
                  ? ntk_store_sql_prepare(db, ntk_buf_text_get(&sql), out_statement, err)
                  : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}

int ntk_store_counts_exec(sqlite3 *db, const char *text, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_store_counts_tell(&sql, text);
    int ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}
