/* SPDX-License-Identifier: MIT */
/* query_groups - builds a hash table of groups, and an SQLite table from it. */
#include "profiler/output/tables/query_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/tables/rows.h"
#include "profiler/output/tables/sqlite_tables.h"
#include "shared/base/buf.h"
#include "shared/base/hash.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

#define EXACT_MAX (UINT64_C(1) << 53) /* maximum of the integers that a double represents exactly */
#define FIRST_SLOTS 1024
#define ROWS_BETWEEN_LOOKS 16384

union value {
    int64_t i64;
    double f64;
    uint64_t bits;
};

struct groups {
    const struct ntk_query_plan *plan;
    const struct ntk_table *table;
    const struct ntk_column *columns[NTK_PLAN_KEYS_MAX + NTK_PLAN_PARTIALS_MAX];
    /* Each group has its keys, a mask of absent keys, the partial values, and a mask of present
     * values. A text is 1 + its index in texts. */
    size_t words; /* number of words per group */
    struct ntk_vec groups;
    uint32_t *slots; /* hash table with open addressing: 1 + index in groups */
    size_t slot_count;
    struct ntk_map texts;
    uintptr_t last_texts[NTK_PLAN_KEYS_MAX];
    uint64_t largest[NTK_PLAN_PARTIALS_MAX]; /* sum of absolute values */
    uint64_t row_count, expected_count;
    struct ntk_progress *progress;
};

static bool is_text(const struct ntk_column *column)
{
    return column->kind == NTK_COLUMN_TEXT || column->kind == NTK_COLUMN_JSON;
}

static bool is_float(const struct ntk_column *column)
{
    return column->kind == NTK_COLUMN_F64 || column->kind == NTK_COLUMN_F32;
}

/* Returns 0 if out of memory. */
static uintptr_t text_number(struct groups *g, size_t key, const char *text)
{
    uintptr_t *last = &g->last_texts[key];

    if (*last && strcmp(g->texts.entries[*last - 1].key, text) == 0) {
        return *last;
    }
    uintptr_t at = (uintptr_t)ntk_map_get(&g->texts, text);
    if (!at) {
        at = g->texts.count + 1;
        if (ntk_map_put(&g->texts, text, (void *)at) < 0) { // NOLINT(*-int-to-ptr)
            return 0;
        }
    }
    *last = at;
    return at;
}

/* ---- finding ---- */

static size_t hash_of(const union value *key, size_t words)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < words; i++) {
        hash = ntk_hash_number(hash ^ key[i].bits);
    }
    return hash;
}

static uint32_t *slot_of(const struct groups *g, const union value *key)
{
    size_t words = g->plan->key_count + 1;
    size_t at = hash_of(key, words) & (g->slot_count - 1);

    while (g->slots[at]) {
        const union value *group = ntk_vec_at(&g->groups, g->slots[at] - 1);
        if (memcmp(group, key, words * sizeof *key) == 0) {
            break;
        }
        at = (at + 1) & (g->slot_count - 1);
    }
    return &g->slots[at];
}

static int make_room(struct groups *g)
{
    if (g->groups.count * 2 < g->slot_count) {
        return 0;
    }
    size_t count = g->slot_count ? 2 * g->slot_count : FIRST_SLOTS;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        return -ENOMEM;
    }
    free(g->slots);
    g->slots = slots;
    g->slot_count = count;
    for (uint32_t i = 0; i < g->groups.count; i++) {
        *slot_of(g, ntk_vec_at(&g->groups, i)) = i + 1;
    }
    return 0;
}

/* Returns NULL if out of memory. */
static union value *group_of(struct groups *g, const union value *key)
{
    if (make_room(g) < 0) {
        return NULL;
    }
    uint32_t *slot = slot_of(g, key);
    if (!*slot) {
        union value *group = ntk_vec_add(&g->groups);
        if (!group) {
            return NULL;
        }
        memcpy(group, key, (g->plan->key_count + 1) * sizeof *key);
        *slot = (uint32_t)g->groups.count;
    }
    return ntk_vec_at(&g->groups, *slot - 1);
}

/* ---- adding up ---- */

static bool is_beyond(const struct ntk_column *column, enum ntk_partial_kind kind, union value now,
                      union ntk_cell cell)
{
    if (is_float(column)) {
        return kind == NTK_PARTIAL_MIN ? cell.f64 < now.f64 : cell.f64 > now.f64;
    }
    return kind == NTK_PARTIAL_MIN ? cell.i64 < now.i64 : cell.i64 > now.i64;
}

static void add_partial(struct groups *g, size_t index, const void *row, union value *value,
                        uint64_t *has)
{
    const struct ntk_partial *partial = &g->plan->partials[index];
    const struct ntk_column *column = g->columns[g->plan->key_count + index];
    uint64_t bit = UINT64_C(1) << index;
    union ntk_cell cell;

    if (partial->kind == NTK_PARTIAL_ROWS || partial->kind == NTK_PARTIAL_COUNT) {
        value->i64 += partial->kind == NTK_PARTIAL_ROWS || ntk_cell_get(column, row, &cell);
        *has |= bit;
        return;
    }
    if (!ntk_cell_get(column, row, &cell)) {
        return;
    }
    if (partial->kind == NTK_PARTIAL_SUM) {
        uint64_t size = cell.i64 < 0 ? 0 - (uint64_t)cell.i64 : (uint64_t)cell.i64;
        if (__builtin_add_overflow(g->largest[index], size, &g->largest[index])) {
            g->largest[index] = UINT64_MAX;
        }
        value->bits += (uint64_t)cell.i64; /* overflow is checked at the end */
    } else if (!(*has & bit) || is_beyond(column, partial->kind, *value, cell)) {
        if (is_float(column)) {
            value->f64 = cell.f64;
        } else {
            value->i64 = cell.i64;
        }
    }
    *has |= bit;
}

static int add_row(void *ctx, const void *row)
{
    struct groups *g = ctx;
    union value key[NTK_PLAN_KEYS_MAX + 1] = { 0 };
    size_t count = g->plan->key_count;

    for (size_t k = 0; k < count; k++) {
        union ntk_cell cell;
        if (!ntk_cell_get(g->columns[k], row, &cell)) {
            key[count].bits |= UINT64_C(1) << k;
        } else if (is_text(g->columns[k])) {
            key[k].bits = text_number(g, k, cell.text);
            if (!key[k].bits) {
                return -ENOMEM;
            }
        } else if (is_float(g->columns[k])) {
            key[k].f64 = cell.f64;
        } else {
            key[k].i64 = cell.i64;
        }
    }
    union value *group = group_of(g, key);
    if (!group) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < g->plan->partial_count; i++) {
        add_partial(g, i, row, &group[count + 1 + i], &group[g->words - 1].bits);
    }
    if (++g->row_count % ROWS_BETWEEN_LOOKS == 0) {
        if (g->row_count <= g->expected_count) {
            ntk_progress_show(g->progress, (double)g->row_count / (double)g->expected_count);
        }
        if (g->groups.count > NTK_GROUPS_MANY &&
            g->groups.count > g->row_count / NTK_GROUPS_SHARE) {
            return -E2BIG;
        }
    }
    return 0;
}

static bool is_exact(const struct groups *g)
{
    for (size_t i = 0; i < g->plan->partial_count; i++) {
        if (g->largest[i] > (g->plan->partials[i].is_divided ? EXACT_MAX : INT64_MAX)) {
            return false;
        }
    }
    return true;
}

/* ---- the table ---- */

static int create(const struct groups *g, sqlite3 *db)
{
    const struct ntk_query_plan *plan = g->plan;
    struct ntk_buf sql = { 0 };

    ntk_buf_add_format(&sql, "DROP TABLE \"%s\"; CREATE TABLE \"%s\" (", g->table->name,
                       g->table->name);
    for (size_t k = 0; k < plan->key_count; k++) {
        ntk_buf_add_format(&sql, "\"%s\" %s%s, ", g->columns[k]->name,
                           ntk_sqlite_type(g->columns[k]->kind),
                           ntk_sqlite_collation(g->columns[k]));
    }
    for (size_t i = 0; i < plan->partial_count; i++) {
        bool is_real =
            plan->partials[i].kind >= NTK_PARTIAL_MIN && is_float(g->columns[plan->key_count + i]);
        ntk_buf_add_format(&sql, "\"ntk %zu\" %s, ", i, is_real ? "REAL" : "INTEGER");
    }
    ntk_buf_add_text(&sql, "\"ntk\" INTEGER) STRICT"); /* a table needs at least one column */
    int ret = ntk_buf_ok(&sql)
                  ? ntk_sqlite_errno(sqlite3_exec(db, ntk_buf_text_get(&sql), NULL, NULL, NULL))
                  : -ENOMEM;
    ntk_buf_fini(&sql);
    return ret;
}

static int bind(const struct groups *g, sqlite3_stmt *insert, const union value *group)
{
    const struct ntk_query_plan *plan = g->plan;
    uint64_t absent = group[plan->key_count].bits;
    uint64_t has = group[g->words - 1].bits;
    int code = SQLITE_OK;

    for (size_t c = 0; c < plan->key_count + plan->partial_count && code == SQLITE_OK; c++) {
        bool is_key = c < plan->key_count;
        const struct ntk_column *column = g->columns[c];
        union value value = group[is_key ? c : c + 1];
        bool is_there = is_key ? !(absent >> c & 1) : has >> (c - plan->key_count) & 1;
        bool is_real = is_float(column) &&
                       (is_key || plan->partials[c - plan->key_count].kind >= NTK_PARTIAL_MIN);
        int at = (int)c + 1;
        if (!is_there) {
            code = sqlite3_bind_null(insert, at);
        } else if (is_key && is_text(column)) {
            code = sqlite3_bind_text(insert, at, g->texts.entries[value.bits - 1].key, -1,
                                     SQLITE_STATIC);
        } else {
            code = is_real ? sqlite3_bind_double(insert, at, value.f64)
                           : sqlite3_bind_int64(insert, at, value.i64);
        }
    }
    return code;
}

static int put_groups(const struct groups *g, sqlite3 *db)
{
    struct ntk_buf sql = { 0 };
    sqlite3_stmt *insert = NULL;

    ntk_buf_add_format(&sql, "INSERT INTO \"%s\" VALUES (", g->table->name);
    for (size_t c = 0; c < g->plan->key_count + g->plan->partial_count; c++) {
        ntk_buf_add_text(&sql, "?,");
    }
    ntk_buf_add_text(&sql, "NULL)");
    int ret =
        ntk_buf_ok(&sql)
            ? ntk_sqlite_errno(sqlite3_prepare_v2(db, ntk_buf_text_get(&sql), -1, &insert, NULL))
            : -ENOMEM;
    for (size_t i = 0; i < g->groups.count && ret == 0; i++) {
        int code = bind(g, insert, ntk_vec_at(&g->groups, i));
        code = code == SQLITE_OK ? sqlite3_step(insert) : code;
        ret = ntk_sqlite_errno(code);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    ntk_buf_fini(&sql);
    return ret;
}

int ntk_query_groups_fill(sqlite3 *db, const struct ntk_export *export,
                          const struct ntk_table *table, const struct ntk_query_plan *plan,
                          struct ntk_progress *progress)
{
    struct ntk_export part = *export;
    struct ntk_column read[NTK_PLAN_KEYS_MAX + NTK_PLAN_PARTIALS_MAX];
    struct groups g = { .plan = plan,
                        .table = table,
                        .words = plan->key_count + plan->partial_count + 2,
                        .expected_count = ntk_sqlite_rows_expected(export, table),
                        .progress = progress };
    size_t count = 0;

    for (size_t k = 0; k < plan->key_count; k++) {
        g.columns[count++] = &table->columns[plan->keys[k]];
    }
    for (size_t i = 0; i < plan->partial_count; i++) {
        g.columns[count++] = &table->columns[plan->partials[i].column];
    }
    for (size_t c = 0; c < count; c++) {
        read[c] = *g.columns[c];
    }
    part.skipped_parts = ntk_rows_unused(table, read, count);
    ntk_vec_init(&g.groups, g.words * sizeof(union value));
    int ret = table->rows(&part, add_row, &g);
    if (ret == -E2BIG || (ret == 0 && !is_exact(&g))) {
        ret = 0;
    } else if (ret == 0) {
        ret = create(&g, db);
        ret = ret < 0 ? ret : put_groups(&g, db);
        ret = ret < 0 ? ret : 1;
    }
    ntk_vec_fini(&g.groups);
    ntk_map_fini(&g.texts);
    free(g.slots);
    return ret;
}
