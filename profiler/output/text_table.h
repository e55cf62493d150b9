/* SPDX-License-Identifier: MIT */
/*
 * text_table - rows of cells as aligned text: the first columns to the left, numbers to the right.
 *
 * Owner:   caller's storage, _fini frees. Threads: one. A lack of memory shows in the buffer it is
 *          written to.
 */
#ifndef NTK_PROFILER_OUTPUT_TEXT_TABLE_H
#define NTK_PROFILER_OUTPUT_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/vec.h"

struct ntk_text_table {
    size_t column_count;
    uint32_t left;        /* mask of columns that are texts */
    struct ntk_vec cells; /* of char *, malloc'ed */
    bool has_failed;
};

/* heads: column_count of them. */
void ntk_text_table_init(struct ntk_text_table *table, size_t column_count, uint32_t left,
                         const char *const *heads);
/* The next cell; control characters become blanks. */
void ntk_text_table_text(struct ntk_text_table *table, const char *text);
void ntk_text_table_format(struct ntk_text_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Nanoseconds as microseconds with one digit; "-" for none. */
void ntk_text_table_us(struct ntk_text_table *table, uint64_t ns, bool is_present);
void ntk_text_table_put(const struct ntk_text_table *table, struct ntk_buf *out);
void ntk_text_table_fini(struct ntk_text_table *table);

#endif
