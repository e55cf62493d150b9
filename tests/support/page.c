/* SPDX-License-Identifier: MIT */
#include "tests/support/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "tests/support/unit.h"

#define CELL_BYTES 190
#define CELLS_MAX 8

/* The length of the list that fits into a cell. */
static size_t fitting(const char *text)
{
    size_t fits = strlen(text);

    while (fits > CELL_BYTES) {
        do {
            fits--;
        } while (fits > 0 && strncmp(text + fits, ", ", 2) != 0);
        assert_true(fits > 0);
    }
    return fits;
}

void test_page_add_row(struct ntk_buf *out, const char *const *cells, size_t count, size_t repeated)
{
    const char *rest[CELLS_MAX];
    bool has_more = true;

    assert_true(count <= CELLS_MAX);
    memcpy(rest, cells, count * sizeof *rest);
    while (has_more) {
        has_more = false;
        for (size_t i = 0; i < count; i++) {
            size_t bytes = i < repeated ? strlen(rest[i]) : fitting(rest[i]);
            ntk_buf_add_format(out, "| %.*s%s", (int)bytes, rest[i], bytes > 0 ? " " : "");
            if (i >= repeated) {
                rest[i] += bytes;
                rest[i] += rest[i][0] ? 2 : 0;
                has_more = has_more || rest[i][0];
            }
        }
        ntk_buf_add_text(out, "|\n");
    }
}

/* The end of a block: a table ends before an empty line, a list of a man page with .fi. */
static char *find_end(char *old, const char *table)
{
    bool is_manual = strstr(table, "\n.fi\n") != NULL;
    char *end = strstr(old, is_manual ? "\n.fi\n" : "\n\n");

    return end ? end + (is_manual ? strlen("\n.fi\n") : 1) : old + strlen(old);
}

/* The table of the page that starts with the same line. */
static char *find_table(char *page, const char *table)
{
    size_t bytes = strcspn(table, "\n") + 1;

    for (char *at = page; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, table, bytes) == 0) {
            return at;
        }
    }
    fail_msg("the page has no table '%.*s'", (int)bytes - 1, table);
    return NULL;
}

void test_page_check(const char *path, const struct ntk_buf *tables, size_t count)
{
    const char *source = getenv("NTK_SOURCE_DIR");
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;
    char full[4096];

    (void)snprintf(full, sizeof full, "%s/%s", source ? source : ".", path);
    for (size_t i = 0; i < count; i++) {
        assert_true(ntk_buf_ok(&tables[i]));
        const char *table = ntk_buf_text_get(&tables[i]);
        assert_int_equal(ntk_fs_read(full, 1 << 20, &bytes, &bytes_count, NULL), 0);
        char *page = (char *)bytes;
        char *old = find_table(page, table);
        char *rest = find_end(old, table);
        if (getenv("NTK_UPDATE")) {
            struct ntk_buf to = { 0 };
            ntk_buf_add(&to, page, (size_t)(old - page));
            ntk_buf_add_text(&to, table);
            ntk_buf_add_text(&to, rest);
            assert_int_equal(ntk_fs_write(full, to.bytes, to.bytes_count, NULL), 0);
            ntk_buf_fini(&to);
        } else {
            *rest = '\0';
            assert_string_equal(old, table);
        }
        free(bytes);
    }
}
