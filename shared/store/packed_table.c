/* SPDX-License-Identifier: MIT */
/* packed_table - packed tables as virtual tables with one row per entity, and the aggregate pack().
 *
 * The tables are in the temporary schema, so our statements find them before the views in the
 * file. A cursor reads one packed row at a time, with only the columns that the statement uses. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/columns.h"
#include "shared/store/packed.h"
#include "shared/store/store_sql.h"

#define COLUMNS_MAX 63 /* SQLite reports the use of as many */
#define TIME_COLUMN 0

#define ARGUMENTS 3    /* of xConnect, before those of the module: the columns of the key */
#define FIRST_COLUMN 3 /* after time_ns, row_count and the bytes of the key */

/* idxNum */
enum { FROM_TIME = 1, TO_TIME = 2, BACKWARDS = 4 };

struct table {
    sqlite3_vtab base;
    sqlite3 *db;
    char name[NTK_PACKED_NAME_BYTES];
    uint64_t keys; /* a bit per column; older versions of SQLite do not report their use */
    bool is_real[COLUMNS_MAX];
};

struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *statement;
    char *sql; /* of the statement; from sqlite3_mprintf() */
    int64_t time_ns;
    size_t row;
    size_t row_count; /* 0: at the end */
    size_t used_count;
    unsigned char used[COLUMNS_MAX]; /* the columns that the statement reads, in order */
    struct ntk_packed_column columns[COLUMNS_MAX];
};

/* ---- tables ---- */

/* Marks the columns that are real numbers. */
static void find_real(const char *sql, bool is_real[static COLUMNS_MAX])
{
    size_t column = 0;

    for (; *sql; sql++) {
        column += *sql == ',';
        assert(column < COLUMNS_MAX);
        if (strncmp(sql, " REAL", 5) == 0) {
            is_real[column] = true;
        }
    }
}

static int connect_table(sqlite3 *db, void *ctx, int argc, const char *const *argv,
                         sqlite3_vtab **out_table, char **out_error)
{
    struct table *table = sqlite3_malloc64(sizeof *table);
    struct ntk_buf sql = { 0 };
    (void)ctx;
    (void)out_error;

    if (!table) {
        return SQLITE_NOMEM;
    }
    memset(table, 0, sizeof *table);
    table->db = db;
    (void)snprintf(table->name, sizeof table->name, "%s", argv[2]);
    /* The key identifies a row where SQLite combines the conditions of OR. Its columns come
     * first. */
    ntk_packed_tell(&sql, "CREATE TABLE x(time_ns INTEGER NOT NULL{~|, % $}", table->name);
    find_real(ntk_buf_text_get(&sql), table->is_real);
    ntk_buf_add_text(&sql, ", PRIMARY KEY (time_ns");
    for (int i = ARGUMENTS; i < argc; i++) {
        ntk_buf_add_format(&sql, ", %s", argv[i]);
        table->keys |= UINT64_C(1) << (TIME_COLUMN + 1 + i - ARGUMENTS);
    }
    ntk_buf_add_text(&sql, ")) WITHOUT ROWID");
    int code = ntk_buf_ok(&sql) ? sqlite3_declare_vtab(db, ntk_buf_text_get(&sql)) : SQLITE_NOMEM;
    if (code == SQLITE_OK) {
        *out_table = &table->base;
    } else {
        sqlite3_free(table);
    }
    ntk_buf_fini(&sql);
    return code;
}

static int disconnect_table(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

/* The range of times becomes arguments of the statement: FROM_TIME first. SQLite checks every
 * condition again, so a range may be too wide. */
static int choose_plan(sqlite3_vtab *base, sqlite3_index_info *plan)
{
    int from = -1;
    int to = -1;
    (void)base;

    for (int i = 0; i < plan->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &plan->aConstraint[i];
        if (!constraint->usable || constraint->iColumn != TIME_COLUMN) {
            continue;
        }
        switch (constraint->op) {
        case SQLITE_INDEX_CONSTRAINT_EQ:
            from = to = i;
            break;
        case SQLITE_INDEX_CONSTRAINT_GT:
        case SQLITE_INDEX_CONSTRAINT_GE:
            from = from < 0 ? i : from;
            break;
        case SQLITE_INDEX_CONSTRAINT_LT:
        case SQLITE_INDEX_CONSTRAINT_LE:
            to = to < 0 ? i : to;
            break;
        default:
            break;
        }
    }
    bool is_one = from >= 0 && from == to;
    if (from >= 0) {
        plan->aConstraintUsage[from].argvIndex = 1;
        plan->idxNum |= FROM_TIME | (is_one ? TO_TIME : 0);
    }
    if (to >= 0 && !is_one) {
        plan->aConstraintUsage[to].argvIndex = from >= 0 ? 2 : 1;
        plan->idxNum |= TO_TIME;
    }
    if (plan->nOrderBy == 1 && plan->aOrderBy[0].iColumn == TIME_COLUMN) {
        plan->orderByConsumed = 1;
        plan->idxNum |= plan->aOrderBy[0].desc ? BACKWARDS : 0;
    }
    plan->estimatedRows = is_one ? 100 : from >= 0 && to >= 0 ? 100000 : 1000000;
    plan->estimatedCost = (double)plan->estimatedRows;
    plan->idxStr = sqlite3_mprintf("%llx", (unsigned long long)plan->colUsed);
    plan->needToFreeIdxStr = 1;
    return plan->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- cursors ---- */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **out_cursor)
{
    struct cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    (void)base;

    if (!cursor) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof *cursor);
    for (size_t i = 0; i < COLUMNS_MAX; i++) {
        cursor->columns[i].base = NTK_PACKED_NULL;
    }
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    sqlite3_finalize(cursor->statement);
    sqlite3_free(cursor->sql);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int fail(const struct cursor *cursor, int code)
{
    struct table *table = (struct table *)cursor->base.pVtab;

    sqlite3_free(table->base.zErrMsg);
    table->base.zErrMsg = sqlite3_mprintf("%s", sqlite3_errmsg(table->db));
    return code;
}

/* Reads the next packed row that has rows. */
static int next_packed(struct cursor *cursor)
{
    cursor->row = 0;
    cursor->row_count = 0;
    while (cursor->row_count == 0) {
        int step = sqlite3_step(cursor->statement);
        if (step != SQLITE_ROW) {
            return step == SQLITE_DONE ? SQLITE_OK : fail(cursor, step);
        }
        int64_t row_count = (int64_t)ntk_store_sql_u64(cursor->statement, "row_count");
        int64_t key_bytes = (int64_t)ntk_store_sql_u64(cursor->statement, "key_bytes");
        /* Two rows have different keys. Skips a damaged packed row: the others matter more than an
         * error. */
        bool is_sound = row_count == 1 || (row_count > 1 && row_count <= key_bytes);
        cursor->row_count = is_sound ? (size_t)row_count : 0;
    }
    cursor->time_ns = (int64_t)ntk_store_sql_u64(cursor->statement, "time_ns");
    for (size_t i = 0; i < cursor->used_count; i++) {
        cursor->columns[cursor->used[i]] =
            ntk_packed_open(cursor->statement, (int)i + FIRST_COLUMN, cursor->row_count);
    }
    return SQLITE_OK;
}

/* Adds the statement up to its order, with the columns that are used. */
static void tell_select(struct cursor *cursor, const char *used_text, struct ntk_buf *sql)
{
    const struct table *table = (const struct table *)cursor->base.pVtab;
    uint64_t used = strtoull(used_text, NULL, 16) | table->keys;
    struct ntk_buf names = { 0 };
    size_t column = TIME_COLUMN + 1;

    ntk_packed_tell(&names, "{~|% }", table->name);
    if (!ntk_buf_ok(&names)) {
        sql->failed = true;
        ntk_buf_fini(&names);
        return;
    }
    int first = (int)strcspn(ntk_buf_text_get(&names), " ");
    const char *second = ntk_buf_text_get(&names) + first + 1;
    /* The key is within the first two columns. A leading comment marks a statement inside
     * another one. */
    ntk_buf_add_format(sql,
                       "--\nSELECT time_ns, row_count,"
                       " coalesce(length(%.*s), 0) + coalesce(length(%.*s), 0) AS key_bytes",
                       first, ntk_buf_text_get(&names), (int)strcspn(second, " "), second);
    cursor->used_count = 0;
    for (char *rest = names.bytes, *name; rest && (name = strtok_r(rest, " ", &rest)); column++) {
        if (used >> column & 1) {
            ntk_buf_add_format(sql, ", %s", name);
            cursor->used[cursor->used_count++] = (unsigned char)column;
        }
    }
    ntk_buf_fini(&names);
    ntk_buf_add_format(sql, " FROM main.%s_packed WHERE time_ns >= :from_ns AND time_ns <= :to_ns",
                       table->name);
}

static int prepare(struct cursor *cursor, bool is_backwards, const char *used_text)
{
    const struct table *table = (const struct table *)cursor->base.pVtab;
    struct ntk_buf sql = { 0 };

    tell_select(cursor, used_text, &sql);
    ntk_buf_add_text(&sql, is_backwards ? " ORDER BY time_ns DESC" : " ORDER BY time_ns");
    int code = ntk_buf_ok(&sql)
                   ? sqlite3_prepare_v3(table->db, ntk_buf_text_get(&sql), -1,
                                        SQLITE_PREPARE_PERSISTENT, &cursor->statement, NULL)
                   : SQLITE_NOMEM;
    ntk_buf_fini(&sql);
    return code == SQLITE_OK ? code : fail(cursor, code);
}

/* A text is greater than any number, and SQLite checks the condition again. */
static int64_t bound_of(sqlite3_value *value, int64_t without)
{
    int type = sqlite3_value_numeric_type(value);

    return type == SQLITE_TEXT || type == SQLITE_BLOB ? without : sqlite3_value_int64(value);
}

/* In a loop over another table, SQLite calls this repeatedly with the same plan. */
static int begin(sqlite3_vtab_cursor *base, int plan, const char *used_text, int argc,
                 sqlite3_value **argv)
{
    struct cursor *cursor = (struct cursor *)base;
    int code = SQLITE_OK;

    if (cursor->statement) {
        sqlite3_reset(cursor->statement);
    } else {
        code = prepare(cursor, plan & BACKWARDS, used_text);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    ntk_store_sql_bind(cursor->statement, "from_ns",
                       (uint64_t)(plan & FROM_TIME ? bound_of(argv[0], INT64_MIN) : INT64_MIN));
    ntk_store_sql_bind(
        cursor->statement, "to_ns",
        (uint64_t)(plan & TO_TIME ? bound_of(argv[argc - 1], INT64_MAX) : INT64_MAX));
    return next_packed(cursor);
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;

    return ++cursor->row < cursor->row_count ? SQLITE_OK : next_packed(cursor);
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return ((struct cursor *)base)->row_count == 0;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct cursor *cursor = (const struct cursor *)base;
    const struct table *table = (const struct table *)base->pVtab;

    if (column == TIME_COLUMN) {
        sqlite3_result_int64(context, cursor->time_ns);
        return SQLITE_OK;
    }
    int64_t value = ntk_packed_get(&cursor->columns[column], cursor->row, cursor->row_count);
    if (value == NTK_PACKED_NULL) {
        return SQLITE_OK;
    }
    if (table->is_real[column]) {
        sqlite3_result_double(context, (double)value / NTK_PACKED_PARTS);
    } else {
        sqlite3_result_int64(context, value);
    }
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xCreate = connect_table,
    .xConnect = connect_table,
    .xBestIndex = choose_plan,
    .xDisconnect = disconnect_table,
    .xDestroy = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = begin,
    .xNext = next_row,
    .xEof = is_at_end,
    .xColumn = get_column,
};

/* ---- pack(x) ---- */

static void pack_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct ntk_buf *buf = sqlite3_aggregate_context(context, sizeof *buf);
    int64_t value = NTK_PACKED_NULL;
    (void)count;

    if (!buf) {
        return;
    }
    if (sqlite3_value_type(values[0]) == SQLITE_FLOAT) {
        value = ntk_packed_parts(sqlite3_value_double(values[0]));
    } else if (sqlite3_value_type(values[0]) != SQLITE_NULL) {
        value = sqlite3_value_int64(values[0]);
    }
    ntk_buf_add(buf, &value, sizeof value);
}

static void pack_final(sqlite3_context *context)
{
    struct ntk_buf *buf = sqlite3_aggregate_context(context, 0);
    struct ntk_buf blob = { 0 };

    if (!buf) {
        return;
    }
    const int64_t *values = (const int64_t *)(const void *)buf->bytes;
    int type = ntk_buf_ok(buf)
                   ? ntk_packed_encode(values, 1, buf->bytes_count / sizeof *values, &blob)
                   : SQLITE_NULL;
    if (!ntk_buf_ok(buf) || !ntk_buf_ok(&blob)) {
        sqlite3_result_error_nomem(context);
    } else if (type == SQLITE_INTEGER) {
        sqlite3_result_int64(context, values[0]);
    } else if (type == SQLITE_BLOB) {
        sqlite3_result_blob64(context, blob.bytes, blob.bytes_count, SQLITE_TRANSIENT);
    }
    ntk_buf_fini(&blob);
    ntk_buf_fini(buf);
}

int ntk_packed_add_tables(sqlite3 *db, struct ntk_err *err)
{
    if (sqlite3_create_module(db, "ntk_packed", &module, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "pack", 1,
                                SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL, NULL,
                                pack_step, pack_final) != SQLITE_OK) {
        return ntk_store_sql_error(db, "database", err);
    }
    int ret = ntk_store_sql_exec(db, "PRAGMA temp_store = MEMORY", err);
    for (int i = 0; ret == 0 && i < NTK_FAMILY_COUNT * NTK_STORE_TIER_COUNT; i++) {
        enum ntk_tier_family family = (enum ntk_tier_family)(i / NTK_STORE_TIER_COUNT);
        char name[NTK_PACKED_NAME_BYTES];
        struct ntk_buf sql = { 0 };
        if (ntk_packed_is(family)) {
            ntk_packed_name(family, (enum ntk_store_tier)(i % NTK_STORE_TIER_COUNT), name);
            ntk_buf_add_format(&sql, "CREATE VIRTUAL TABLE temp.%s USING ntk_packed", name);
            ntk_tier_add_keys(&sql, family, "(");
            ntk_buf_add_char(&sql, ')');
            ret = ntk_buf_ok(&sql) ? ntk_store_sql_exec(db, ntk_buf_text_get(&sql), err)
                                   : ntk_err_no_memory(err);
            ntk_buf_fini(&sql);
        }
    }
    return ret;
}
