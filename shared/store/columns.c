/* SPDX-License-Identifier: MIT */
/* columns - the rows of columns.def, and SQL texts that are expanded for each of them. */
#include "shared/store/columns.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shared/store/store_sql.h"

static const struct {
    const char *name;
    enum ntk_store_counts set;
    const char *const *names; /* use only the list with these names */
    size_t first;             /* index of the list's first element */
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

/* ---- rows ---- */

#define ROW(family, merge, name, type, from) \
    { NTK_FAMILY_##family, NTK_COLUMN_##merge, name, type, from },
#define NONE(...)

#define STEP_KEY(family, name, type, from) ROW(family, KEY, name, type, from)
#define STEP_SUM(family, name, type, from) ROW(family, SUM, name, type, from)
#define STEP_LARGEST(family, name, type, from) ROW(family, LARGEST, name, type, from)
#define STEP_NEWEST(family, name, type, from) ROW(family, NEWEST, name, type, from)
#define STEP_HISTOGRAM(family, name, type, from) ROW(family, HISTOGRAM, name, type, from)
#define STEP_DERIVED(family, name, type, from) ROW(family, DERIVED, name, type, from)
#define STEP_MAX(family, name, type, from) ROW(family, LARGEST, name "_max", type, name)
#define STEP_GAUGE(family, name, type, from) \
    STEP_MAX(family, name, type, from) ROW(family, NEWEST, name "_last", type, name)
#define STEP_SECOND NONE
#define STEP_STEP_SUM STEP_SUM
#define STEP_STEP_LARGEST STEP_LARGEST

static const struct ntk_column steps[] = {
#define NTK_COLUMN(family, rule, name, type, from) STEP_##rule(family, name, type, from)
#define NTK_COLUMN_COUNTS(family, set, type) ROW(family, COUNTS, #set, type, NULL)
#include "shared/store/columns.def"
};

/* A row of seconds has each column unchanged. */
#define SAMPLE(family, name, type, from) ROW(family, SUM, name, type, NULL)
#define SAMPLE_KEY STEP_KEY
#define SAMPLE_SUM SAMPLE
#define SAMPLE_LARGEST SAMPLE
#define SAMPLE_NEWEST SAMPLE
#define SAMPLE_HISTOGRAM SAMPLE
#define SAMPLE_DERIVED SAMPLE
#define SAMPLE_MAX SAMPLE
#define SAMPLE_GAUGE SAMPLE
#define SAMPLE_SECOND SAMPLE
#define SAMPLE_STEP_SUM NONE
#define SAMPLE_STEP_LARGEST NONE

static const struct ntk_column samples[] = {
#define NTK_COLUMN(family, rule, name, type, from) SAMPLE_##rule(family, name, type, from)
#define NTK_COLUMN_COUNTS(family, set, type) ROW(family, COUNTS, #set, type, NULL)
#include "shared/store/columns.def"
};

static const struct {
    const char *suffix;
    const struct ntk_column *rows;
    size_t count;
    bool has_keys;
} tables[] = {
    { "_step", steps, sizeof steps / sizeof *steps, false },
    { "_sample", samples, sizeof samples / sizeof *samples, false },
    { "_steps", steps, sizeof steps / sizeof *steps, true },
    { "_samples", samples, sizeof samples / sizeof *samples, true },
};
#define TABLES (sizeof tables / sizeof *tables)

const struct ntk_column *ntk_column_next(enum ntk_tier_family family,
                                         const struct ntk_column *column)
{
    const struct ntk_column *end = steps + sizeof steps / sizeof *steps;

    column = column ? column + 1 : steps;
    while (column < end && column->family != family) {
        column++;
    }
    return column < end ? column : NULL;
}

static char count_names[NTK_CORE_COUNTS][64];

static void name_counts(void)
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        for (size_t k = 0; k < row->count; k++) {
            (void)snprintf(count_names[row->at + k], sizeof count_names[0], "%s%s",
                           row->names ? row->names[k] : "", row->column);
        }
    }
}

const char *ntk_store_count_name(const struct ntk_core_count_row *row, size_t k)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, name_counts);
    return count_names[row->at + k];
}

void ntk_store_executions_get(sqlite3_stmt *statement,
                              uint64_t (*number)(sqlite3_stmt *statement, const char *column),
                              uint64_t outcome[NTK_OUTCOME_COUNT],
                              uint64_t error_class[NTK_ERROR_CLASS_COUNT])
{
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];
        uint64_t *to = row->names == ntk_outcome_names ? outcome : error_class;

        for (size_t k = 0; k < row->count && ntk_store_counts_have(NTK_STORE_COUNTS_EXECUTION, row);
             k++) {
            to[k] = number(statement, ntk_store_count_name(row, k));
        }
    }
}

/* ---- texts ---- */

/* A part of a text, with its end. */
struct part {
    const char *begin;
    const char *end;
};

/* Appends the text for the column; its name is given in two parts. */
static void tell_column(struct ntk_buf *sql, struct part text, const char *item, const char *name,
                        const char *type)
{
    for (const char *at = text.begin; at < text.end; at++) {
        if (*at == '%') {
            ntk_buf_add_format(sql, "%s%s", item, name);
        } else if (*at == '$') {
            ntk_buf_add_text(sql, type);
        } else if (*at == '#') {
            ntk_buf_add_text(sql, strcmp(type, "REAL") == 0 ? " / 1e9" : "");
        } else {
            ntk_buf_add_char(sql, *at);
        }
    }
}

static bool is_called(struct part name, const char *first, const char *second)
{
    size_t length = strlen(first);

    return (size_t)(name.end - name.begin) == length + strlen(second) &&
           memcmp(name.begin, first, length) == 0 &&
           memcmp(name.begin + length, second, strlen(second)) == 0;
}

static void tell_counts(struct ntk_buf *sql, struct part name, const char *type, struct part text)
{
    size_t set = 0;

    while (!is_called(name, sets[set].name, "")) {
        set++;
        assert(set < sizeof sets / sizeof *sets);
    }
    for (size_t i = 0; i < NTK_CORE_COUNT_ROWS; i++) {
        const struct ntk_core_count_row *row = &ntk_core_count_rows[i];

        if (!ntk_store_counts_have(sets[set].set, row) ||
            (sets[set].names && sets[set].names != row->names)) {
            continue;
        }
        for (size_t k = sets[set].first; k < row->count; k++) {
            tell_column(sql, text, row->names ? row->names[k] : "", row->column, type);
        }
    }
}

/* Returns false if the set is not a table of a family. */
static bool tell_table(struct ntk_buf *sql, struct part name, struct part text)
{
    for (size_t i = 0; i < NTK_FAMILY_COUNT * TABLES; i++) {
        const struct ntk_column *row = tables[i % TABLES].rows;
        const struct ntk_column *end = row + tables[i % TABLES].count;
        bool is_key;

        if (!is_called(name, ntk_tier_families[i / TABLES], tables[i % TABLES].suffix)) {
            continue;
        }
        for (; row < end; row++) {
            is_key = row->merge == NTK_COLUMN_KEY;
            if (row->family != i / TABLES || (is_key && !tables[i % TABLES].has_keys)) {
                continue;
            }
            if (row->merge == NTK_COLUMN_COUNTS) {
                tell_counts(sql, (struct part){ row->name, row->name + strlen(row->name) },
                            row->type, text);
            } else {
                tell_column(sql, text, "", row->name, is_key ? "INTEGER NOT NULL" : row->type);
            }
        }
        return true;
    }
    return false;
}

static const struct {
    const char *set;
    const char *column; /* NULL: not stored */
    const char *type;
} texts[] = {
#define NTK_PROCESS_TEXT(name) { "process_text", #name, "TEXT NOT NULL" },
#include "shared/metrics/process.def"
#define NTK_INSTANCE_TEXT(name, reported, key, column, ...) \
    { "instance_text", column, "TEXT NOT NULL" },
#define NTK_HARDWARE_TEXT(name, part, key, column) { "hardware_text", column, "TEXT" },
#include "shared/metrics/machine.def"
#define NTK_JOB_TEXT(name, column, ...) { "job_text", column, "TEXT NOT NULL" },
#include "shared/metrics/job.def"
};

/* Returns false if the set is not a set of texts. */
static bool tell_texts(struct ntk_buf *sql, struct part name, struct part text)
{
    bool any = false;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        bool is_its = is_called(name, texts[i].set, "");
        any = any || is_its;
        if (is_its && texts[i].column) {
            tell_column(sql, text, "", texts[i].column, texts[i].type);
        }
    }
    return any;
}

void ntk_columns_tell(struct ntk_buf *sql, const char *text)
{
    const char *begin;

    while ((begin = strchr(text, '{'))) {
        const char *bar = strchr(begin, '|');
        const char *end = strchr(bar, '}');
        struct part name = { begin + 1, bar };
        struct part pattern = { bar + 1, end };

        ntk_buf_add(sql, text, (size_t)(begin - text));
        if (!tell_table(sql, name, pattern) && !tell_texts(sql, name, pattern)) {
            tell_counts(sql, name, "INTEGER", pattern);
        }
        text = end + 1;
    }
    ntk_buf_add_text(sql, text);
}

int ntk_columns_prepare(sqlite3 *db, const char *text, sqlite3_stmt **out_statement,
                        struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_columns_tell(&sql, text);
    return ntk_store_sql_prepare_buf(db, &sql, out_statement, err);
}

int ntk_columns_exec(sqlite3 *db, const char *text, struct ntk_err *err)
{
    struct ntk_buf sql = { 0 };

    ntk_columns_tell(&sql, text);
    int ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                               : ntk_err_no_memory(err);
    ntk_buf_fini(&sql);
    return ret;
}
