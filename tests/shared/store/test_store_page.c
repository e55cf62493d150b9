/* SPDX-License-Identifier: MIT */
/* The tables of docs/formats/store.md are generated from tables.def and columns.def, which have
 * every table of the database. NTK_UPDATE=1 in the environment rewrites them. */
#include <sqlite3.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/store/columns.h"
#include "shared/store/store_schema.h"
#include "shared/store/store_sql.h"
#include "tests/support/page.h"
#include "tests/support/unit.h"

static const struct {
    const char *name;
    const char *kept; /* NULL: a view */
    const char *text;
    bool is_family; /* three tables, one per tier */
    bool is_packed; /* views of tables */
} rows[] = {
#define SECOND "seconds"
#define MINUTE "minutes"
#define HOUR "hours"
#define ENDED "hours after its end"
#define LIFE "hours after its process was last seen"
#define SHORT_LIFE "seconds after its process was last seen"
#define EVER "forever"
#define NTK_STORE_TABLE(name, kept, text) { #name, kept, text, false, false },
#define NTK_STORE_TABLE_TIERS(family, text) { #family, "as its tier", text, true, false },
#define NTK_STORE_TABLE_PACKED_TIERS(family, text) { #family, "as its tier", text, true, true },
#define NTK_STORE_VIEW(name, text) { #name, NULL, text, false, false },
#include "shared/store/tables.def"
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static void draw_tables(struct ntk_buf *out)
{
    ntk_buf_add_text(out, "| Table | One row per | Kept |\n|---|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT && rows[i].kept; i++) {
        const char *separator = "| ";
        for (size_t t = 0; t < (rows[i].is_family ? NTK_STORE_TIER_COUNT : 1); t++) {
            ntk_buf_add_format(out, "%s`%s%s`", separator, rows[i].name,
                               rows[i].is_family ? ntk_tier_suffixes[t] : "");
            separator = ", ";
        }
        ntk_buf_add_format(out, " | %s | %s |\n", rows[i].text, rows[i].kept);
    }
}

static void draw_views(struct ntk_buf *out)
{
    ntk_buf_add_text(out, "| View for interactive use | Content |\n|---|---|");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        bool is_same = i > 0 && strcmp(rows[i].text, rows[i - 1].text) == 0;
        bool has_more = i + 1 < ROW_COUNT && strcmp(rows[i].text, rows[i + 1].text) == 0;
        if (!rows[i].kept) {
            ntk_buf_add_format(out, "%s`%s`", is_same ? ", " : "\n| ", rows[i].name);
            ntk_buf_add_format(out, has_more ? "" : " | %s |", rows[i].text);
        }
    }
    ntk_buf_add_char(out, '\n');
}

static void draw_tiers(struct ntk_buf *out)
{
    ntk_buf_add_text(out, "| Tier | Tables | Step | Kept by default | Share of the file |\n"
                          "|---|---|---|---|---|\n");
    for (size_t t = 0; t < NTK_STORE_TIER_COUNT; t++) {
        ntk_buf_add_format(out, "| `%s` | `*%s` | %s%llu s | %llu days | %.0f %% |\n",
                           ntk_tier_names[t], ntk_tier_suffixes[t],
                           t == NTK_STORE_SECOND ? "a period of the agent, about " : "",
                           (unsigned long long)(ntk_tier_step_ns[t] / NTK_NS_PER_SECOND),
                           (unsigned long long)(ntk_tier_keep_ns[t] / (86400 * NTK_NS_PER_SECOND)),
                           100 * ntk_tier_shares[t]);
    }
}

/* The values that a coarser tier has for a column. */
static void add_merge(struct ntk_buf *out, const struct ntk_column *column)
{
    static const char *const words[] = {
        [NTK_COLUMN_KEY] = "key",         [NTK_COLUMN_SUM] = "sum",
        [NTK_COLUMN_LARGEST] = "largest", [NTK_COLUMN_NEWEST] = "latest",
        [NTK_COLUMN_COUNTS] = "sum",      [NTK_COLUMN_HISTOGRAM] = "merged",
        [NTK_COLUMN_DERIVED] = "",
    };

    if (column->from && strcmp(column->from, "1") == 0) {
        ntk_buf_add_text(out, "number of seconds with a sample");
        return;
    }
    ntk_buf_add_text(out, words[column->merge]);
    if (column->from) {
        ntk_buf_add_format(out, "%s`%s`", words[column->merge][0] ? " of " : "", column->from);
    }
}

static bool is_same_merge(const struct ntk_column *a, const struct ntk_column *b)
{
    struct ntk_buf texts[2] = { 0 };

    add_merge(&texts[0], a);
    add_merge(&texts[1], b);
    bool is_same = strcmp(ntk_buf_text_get(&texts[0]), ntk_buf_text_get(&texts[1])) == 0;
    ntk_buf_fini(&texts[0]);
    ntk_buf_fini(&texts[1]);
    return is_same;
}

static void add_name(struct ntk_buf *out, const struct ntk_column *column)
{
    ntk_buf_add_text(out, out->bytes_count > 0 ? ", " : "");
    if (column->merge == NTK_COLUMN_COUNTS) {
        struct ntk_buf set = { 0 };
        struct ntk_buf names = { 0 };
        ntk_buf_add_format(&set, "{%s|, `%%`}", column->name);
        ntk_columns_tell(&names, ntk_buf_text_get(&set));
        ntk_buf_add_text(out, ntk_buf_text_get(&names) + 2);
        ntk_buf_fini(&names);
        ntk_buf_fini(&set);
    } else {
        ntk_buf_add_format(out, "`%s`", column->name);
    }
}

/* Consecutive columns that are merged the same way share one line. */
static void draw_columns(struct ntk_buf *out)
{
    ntk_buf_add_text(out, "| Samples of | Merged value | Columns of minutes and hours |\n"
                          "|---|---|---|\n");
    for (int family = 0; family < NTK_FAMILY_COUNT; family++) {
        const struct ntk_column *next;
        for (const struct ntk_column *column = ntk_column_next(family, NULL); column;
             column = next) {
            struct ntk_buf merge = { 0 };
            struct ntk_buf names = { 0 };
            for (next = column; next && is_same_merge(column, next);
                 next = ntk_column_next(family, next)) {
                add_name(&names, next);
            }
            add_merge(&merge, column);
            const char *const cells[] = { ntk_tier_families[family], ntk_buf_text_get(&merge),
                                          ntk_buf_text_get(&names) };
            test_page_add_row(out, cells, 3, 2);
            ntk_buf_fini(&merge);
            ntk_buf_fini(&names);
        }
    }
}

static void the_store_page_has_the_table_descriptions(void **state)
{
    struct ntk_buf tables[4] = { 0 };

    draw_tables(&tables[0]);
    draw_tiers(&tables[1]);
    draw_columns(&tables[2]);
    draw_views(&tables[3]);
    test_page_check("docs/formats/store.md", tables, 4);
    for (size_t i = 0; i < 4; i++) {
        ntk_buf_fini(&tables[i]);
    }
}

/* "core_sample" and "core_sample_packed" belong to the row of the family core. */
static bool is_row(const char *name, bool is_view)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        size_t length = strlen(rows[i].name);
        bool has_type = is_view == (!rows[i].kept || rows[i].is_packed);
        bool is_its = strncmp(name, rows[i].name, length) == 0 && (has_type || rows[i].is_packed);
        for (size_t t = 0; is_its && rows[i].is_family && t < NTK_STORE_TIER_COUNT; t++) {
            size_t end = length + strlen(ntk_tier_suffixes[t]);
            if (strncmp(name + length, ntk_tier_suffixes[t], end - length) == 0 &&
                strcmp(name + end, has_type ? "" : "_packed") == 0) {
                return true;
            }
        }
        if (is_its && !rows[i].is_family && name[length] == '\0') {
            return true;
        }
    }
    return false;
}

static void every_database_table_is_described(void **state)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    struct ntk_err err = { 0 };
    size_t count = 0;
    size_t wanted = 0;
    int ret = 0;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(ntk_store_schema_make(db, &err), 0);
    assert_int_equal(ntk_store_sql_prepare(db,
                                           "SELECT name, type = 'view' AS is_view"
                                           " FROM sqlite_schema WHERE type IN ('table', 'view')",
                                           &statement, &err),
                     0);
    for (; ntk_store_sql_next(db, statement, &ret, &err); count++) {
        const char *name = ntk_store_sql_text(statement, "name");
        if (!is_row(name, ntk_store_sql_u64(statement, "is_view") != 0)) {
            fail_msg("tables.def has no row for %s", name);
        }
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        wanted += rows[i].is_packed   ? 2 * NTK_STORE_TIER_COUNT
                  : rows[i].is_family ? NTK_STORE_TIER_COUNT
                                      : 1;
    }
    assert_int_equal(count, wanted);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_store_page_has_the_table_descriptions),
        cmocka_unit_test(every_database_table_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
