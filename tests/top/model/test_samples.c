/* SPDX-License-Identifier: MIT */
/* The tables of docs/formats/top-samples.md are generated from samples.def, and names have one
 * form. NTK_UPDATE=1 in the environment rewrites the tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "top/model/samples.h"
#include "tests/support/unit.h"

static const struct row {
    const char *table;
    const char *name;
    const char *meaning;
} rows[] = {
#define NTK_TOP_COLUMN(table, id, name, meaning) { #table, name, meaning },
#include "top/model/samples.def"
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

/* Consecutive columns with the same meaning share one line. */
static void render(struct ntk_buf *out, const char *table)
{
    const struct row *before = NULL;

    ntk_buf_add_text(out, "| Name | Meaning |\n|---|---|\n");
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].table, table) != 0) {
            continue;
        }
        if (before && strcmp(before->meaning, rows[i].meaning) == 0) {
            ntk_buf_add_format(out, ", `%s`", rows[i].name);
        } else {
            ntk_buf_add_format(out, "%s%s%s| `%s`", before ? " | " : "",
                               before ? before->meaning : "", before ? " |\n" : "", rows[i].name);
        }
        before = &rows[i];
    }
    assert_non_null(before);
    ntk_buf_add_format(out, " | %s |\n", before->meaning);
}

/* Copies the page, and replaces the tables of the section. */
static void replace(struct ntk_buf *page, const char *table)
{
    struct ntk_buf out = { 0 };
    char heading[64];

    snprintf(heading, sizeof heading, "\n## %s\n\n", table);
    const char *text = ntk_buf_text_get(page);
    const char *from = strstr(text, heading);
    assert_non_null(from);
    from += strlen(heading);
    const char *to = strstr(from, "\n\n");
    assert_non_null(to);
    ntk_buf_add_format(&out, "%.*s", (int)(from - text), text);
    render(&out, table);
    ntk_buf_add_text(&out, to + 1);
    assert_true(ntk_buf_ok(&out));
    ntk_buf_fini(page);
    *page = out;
}

static void the_samples_page_lists_the_columns(void **state)
{
    static const char *const tables[] = { "machine", "devices", "cores", "applications", "models" };
    const char *source = getenv("NTK_SOURCE_DIR");
    struct ntk_buf page = { 0 };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    char path[1024];

    assert_non_null(source);
    snprintf(path, sizeof path, "%s/docs/formats/top-samples.md", source);
    assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, &err), 0);
    ntk_buf_add_text(&page, (const char *)bytes);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        assert_true(ntk_top_samples_table_find(tables[t]) >= 0);
        replace(&page, tables[t]);
    }
    if (getenv("NTK_UPDATE")) {
        assert_int_equal(ntk_fs_write(path, page.bytes, page.bytes_count, &err), 0);
    } else {
        assert_string_equal((const char *)bytes, ntk_buf_text_get(&page));
    }
    free(bytes);
    ntk_buf_fini(&page);
}

static void each_sample_table_has_unique_lowercase_column_names(void **state)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        assert_int_equal(strspn(rows[i].name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(rows[i].name));
        for (size_t k = 0; k < i; k++) {
            if (strcmp(rows[i].table, rows[k].table) == 0) {
                assert_string_not_equal(rows[i].name, rows[k].name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_samples_page_lists_the_columns),
        cmocka_unit_test(each_sample_table_has_unique_lowercase_column_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
