/* SPDX-License-Identifier: MIT */
/* packed - packs the values of a column, and the samples of a period. */
#include "shared/store/packed.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/store/columns.h"
#include "shared/store/store_sql.h"

#define BASE_END ';'
#define BASE_BYTES 24

bool ntk_packed_is(enum ntk_tier_family family)
{
    return family == NTK_FAMILY_DEVICE || family == NTK_FAMILY_PROCESS || family == NTK_FAMILY_CORE;
}

void ntk_packed_name(enum ntk_tier_family family, enum ntk_store_tier tier,
                     char name[static NTK_PACKED_NAME_BYTES])
{
    (void)snprintf(name, NTK_PACKED_NAME_BYTES, "%s%s", ntk_tier_families[family],
                   ntk_tier_suffixes[tier]);
}

void ntk_packed_tell(struct ntk_buf *sql, const char *text, const char *name)
{
    const char *suffix = strrchr(name, '_');
    bool is_sample = strcmp(suffix, ntk_tier_suffixes[NTK_STORE_SECOND]) == 0;
    struct ntk_buf spelled = { 0 };

    for (; *text; text++) {
        if (*text == '@') {
            ntk_buf_add_text(&spelled, name);
        } else if (*text == '~') {
            ntk_buf_add_format(&spelled, "%.*s%s", (int)(suffix - name), name,
                               is_sample ? "_samples" : "_steps");
        } else {
            ntk_buf_add_char(&spelled, *text);
        }
    }
    ntk_columns_tell(sql, ntk_buf_text_get(&spelled));
    sql->failed = sql->failed || !ntk_buf_ok(&spelled);
    ntk_buf_fini(&spelled);
}

int64_t ntk_packed_parts(double value)
{
    double parts = value * NTK_PACKED_PARTS;

    return parts > -9e18 && parts < 9e18 ? llround(parts) : NTK_PACKED_NULL;
}

/* ---- a column ---- */

static size_t width_of(uint64_t value)
{
    return value == 0 ? 1 : (size_t)(64 - __builtin_clzll(value) + 7) / 8;
}

/* Adds the values minus `base`, which is below all of them, in planes: the lowest bytes of all
 * values are last, and each plane begins with the last row. 0 is an unknown value. */
static void add_planes(struct ntk_buf *blob, const int64_t *values, size_t stride, size_t count,
                       int64_t base, size_t width)
{
    unsigned char *bytes = ntk_buf_extend(blob, width * count);

    for (size_t i = 0; bytes && i < count; i++) {
        int64_t value = values[i * stride];
        uint64_t rest = value == NTK_PACKED_NULL ? 0 : (uint64_t)value - (uint64_t)base;
        unsigned char *at = bytes + width * count - 1 - i;

        for (size_t k = 0; k < width; k++, at -= count, rest >>= 8) {
            *at = (unsigned char)rest;
        }
    }
}

int ntk_packed_encode(const int64_t *values, size_t stride, size_t count, struct ntk_buf *blob)
{
    int64_t least = INT64_MAX;
    int64_t most = NTK_PACKED_NULL;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        int64_t value = values[i * stride];
        if (value != NTK_PACKED_NULL) {
            least = value < least ? value : least;
            most = value > most ? value : most;
            known++;
        }
    }
    if (known == 0) {
        return SQLITE_NULL;
    }
    if (known == count && least == most) {
        return SQLITE_INTEGER;
    }
    char base[BASE_BYTES];
    size_t width = width_of((uint64_t)most - (uint64_t)least + 1);
    size_t length = (size_t)snprintf(base, sizeof base, "%lld", (long long)least - 1);
    int64_t from = least - 1;

    if (least > 0 && width_of((uint64_t)most) * count <= length + width * count) {
        from = 0; /* the empty text */
        length = 0;
        width = width_of((uint64_t)most);
    }
    ntk_buf_reset(blob);
    ntk_buf_add(blob, base, length);
    ntk_buf_add_char(blob, BASE_END);
    add_planes(blob, values, stride, count, from, width);
    return SQLITE_BLOB;
}

/* Reads the base; returns its length with the end, or 0 if it has none. */
static size_t read_base(const unsigned char *bytes, size_t bytes_count, int64_t *out_base)
{
    size_t at = bytes_count > 0 && bytes[0] == '-';
    uint64_t number = 0;

    for (; at < bytes_count && at < BASE_BYTES && bytes[at] >= '0' && bytes[at] <= '9'; at++) {
        number = number * 10 + (uint64_t)(bytes[at] - '0');
    }
    *out_base = (int64_t)(bytes_count > 0 && bytes[0] == '-' ? -number : number);
    return at < bytes_count && bytes[at] == BASE_END ? at + 1 : 0;
}

struct ntk_packed_column ntk_packed_open(sqlite3_stmt *statement, int column, size_t row_count)
{
    struct ntk_packed_column opened = { .base = NTK_PACKED_NULL };
    int type = sqlite3_column_type(statement, column);

    if (type == SQLITE_BLOB) {
        const unsigned char *bytes = sqlite3_column_blob(statement, column);
        size_t bytes_count = (size_t)sqlite3_column_bytes(statement, column);
        int64_t base;
        size_t length = read_base(bytes, bytes_count, &base);
        size_t width = (bytes_count - length) / row_count;

        /* A malformed column is unknown. */
        if (length > 0 && width > 0 && width <= 8 && length + width * row_count == bytes_count) {
            opened = (struct ntk_packed_column){ bytes + bytes_count, base, width };
        }
    } else if (type != SQLITE_NULL) {
        opened.base = sqlite3_column_int64(statement, column);
    }
    return opened;
}

int64_t ntk_packed_get(const struct ntk_packed_column *column, size_t row, size_t row_count)
{
    if (!column->end) {
        return column->base;
    }
    const unsigned char *at = column->end - 1 - row;
    uint64_t value = 0;

    for (size_t k = 0; k < column->width; k++, at -= row_count) {
        value |= (uint64_t)*at << (8 * k);
    }
    return value == 0 ? NTK_PACKED_NULL : (int64_t)((uint64_t)column->base + value);
}

/* ---- the rows of a period ---- */

struct ntk_packer {
    sqlite3 *db;
    sqlite3_stmt *insert;
    int64_t *values; /* all columns of the first row, then those of the second */
    size_t column_count;
    size_t row_count;
    size_t capacity; /* rows */
    int64_t numbers; /* rows that the views can count to */
    bool failed;
    struct ntk_buf *blobs; /* one per column */
};

int ntk_packer_create(sqlite3 *db, enum ntk_tier_family family, struct ntk_packer **out_packer,
                      struct ntk_err *err)
{
    struct ntk_packer *packer = calloc(1, sizeof *packer);
    char name[NTK_PACKED_NAME_BYTES];
    char table[NTK_PACKED_NAME_BYTES + sizeof "_packed"];

    if (!packer) {
        return ntk_err_no_memory(err);
    }
    packer->db = db;
    ntk_packed_name(family, NTK_STORE_SECOND, name);
    (void)snprintf(table, sizeof table, "%s_packed", name);
    int ret = ntk_store_sql_prepare_row(db, table, NULL, &packer->insert, err);
    if (ret == 0) { /* without time_ns and row_count */
        packer->column_count = (size_t)sqlite3_bind_parameter_count(packer->insert) - 2;
        packer->blobs = calloc(packer->column_count, sizeof *packer->blobs);
        ret = packer->blobs ? 0 : ntk_err_no_memory(err);
    }
    if (ret < 0) {
        ntk_packer_destroy(packer);
        return ret;
    }
    *out_packer = packer;
    return 0;
}

void ntk_packer_destroy(struct ntk_packer *packer)
{
    if (!packer) {
        return;
    }
    for (size_t i = 0; packer->blobs && i < packer->column_count; i++) {
        ntk_buf_fini(&packer->blobs[i]);
    }
    sqlite3_finalize(packer->insert);
    free(packer->blobs);
    free(packer->values);
    free(packer);
}

void ntk_packer_reset(struct ntk_packer *packer)
{
    packer->row_count = 0;
    packer->failed = false;
}

void ntk_packer_forget(struct ntk_packer *packer)
{
    ntk_packer_reset(packer);
    packer->numbers = 0;
}

void ntk_packer_add(struct ntk_packer *packer)
{
    if (packer->row_count == packer->capacity) {
        size_t capacity = packer->capacity ? 2 * packer->capacity : 16;
        int64_t *values = realloc(packer->values, capacity * packer->column_count * sizeof *values);
        if (!values) {
            packer->failed = true;
            return;
        }
        packer->values = values;
        packer->capacity = capacity;
    }
    int64_t *row = packer->values + packer->row_count * packer->column_count;
    for (size_t i = 0; i < packer->column_count; i++) {
        row[i] = NTK_PACKED_NULL;
    }
    packer->row_count++;
}

int ntk_packer_column(const struct ntk_packer *packer, const char *name)
{
    int at = ntk_store_sql_parameter(packer->insert, name);

    return at > 0 ? at - 3 : -1;
}

void ntk_packer_set(struct ntk_packer *packer, int column, int64_t value)
{
    if (!packer->failed) {
        packer->values[(packer->row_count - 1) * packer->column_count + (size_t)column] = value;
    }
}

static bool bind_column(struct ntk_packer *packer, size_t column)
{
    struct ntk_buf *blob = &packer->blobs[column];
    const int64_t *values = packer->values + column;
    int parameter = (int)column + 3;

    switch (ntk_packed_encode(values, packer->column_count, packer->row_count, blob)) {
    case SQLITE_INTEGER:
        sqlite3_bind_int64(packer->insert, parameter, *values);
        break;
    case SQLITE_BLOB:
        return ntk_buf_ok(blob) &&
               sqlite3_bind_blob64(packer->insert, parameter, blob->bytes, blob->bytes_count,
                                   SQLITE_STATIC) == SQLITE_OK;
    default:
        break; /* unbound parameters are NULL */
    }
    return true;
}

int ntk_packer_write(struct ntk_packer *packer, uint64_t time_ns, uint64_t *row_count,
                     struct ntk_err *err)
{
    uint64_t written = 0;
    int ret = 0;

    if (packer->row_count == 0 && !packer->failed) {
        return 0;
    }
    for (size_t i = 0; !packer->failed && i < packer->column_count; i++) {
        packer->failed = !bind_column(packer, i);
    }
    if (packer->failed) {
        sqlite3_clear_bindings(packer->insert);
        ret = ntk_err_no_memory(err);
    } else {
        ntk_store_sql_bind(packer->insert, "time_ns", time_ns);
        ntk_store_sql_bind(packer->insert, "row_count", packer->row_count);
        ret = ntk_store_sql_run(packer->db, packer->insert, &written, err);
    }
    if (ret == 0 && (int64_t)packer->row_count > packer->numbers) {
        ret = ntk_packed_count_to(packer->db, (int64_t)packer->row_count, err);
        packer->numbers = ret == 0 ? (int64_t)packer->row_count : 0;
    }
    *row_count += packer->row_count;
    ntk_packer_reset(packer);
    return ret;
}

int ntk_packed_count_to(sqlite3 *db, int64_t row_count, struct ntk_err *err)
{
    char sql[256];

    /* All of them, because another program may have deleted some. */
    (void)snprintf(sql, sizeof sql,
                   "INSERT OR IGNORE INTO number WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
                   " SELECT i + 1 FROM n WHERE i < max(%lld, 8)) SELECT i FROM n",
                   (long long)row_count - 1);
    return ntk_store_sql_exec(db, sql, err);
}
