/* SPDX-License-Identifier: MIT */
/*
 * page - tables of a document that a test generates, within hand-written prose; in a man page, a
 * list that ends with .fi.
 *
 * A table of the page is found by its first line. NTK_UPDATE=1 in the environment puts the tests'
 * tables in place of those of the page.
 *
 * Owner: nothing.
 */
#ifndef NTK_TESTS_SUPPORT_PAGE_H
#define NTK_TESTS_SUPPORT_PAGE_H

#include "shared/base/buf.h"

/* Adds a row of cells. A cell that is too long continues in more rows, after a comma; these repeat
 * the first `repeated` cells. */
void test_page_add_row(struct ntk_buf *out, const char *const *cells, size_t count,
                       size_t repeated);
/* Fails unless the page below NTK_SOURCE_DIR contains each of the tables, which end with a
 * newline. */
void test_page_check(const char *path, const struct ntk_buf *tables, size_t count);

#endif
