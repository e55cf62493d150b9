/* SPDX-License-Identifier: MIT */
/*
 * thrift - writes structs in Thrift's compact protocol, as far as Parquet's footers need it.
 *
 * Source of the format: the Apache Thrift compact protocol specification. Fields of a struct must
 * be written in ascending order of their numbers. Owner: borrows the buffer. Threads: one.
 */
#ifndef NTK_SHARED_PARQUET_THRIFT_H
#define NTK_SHARED_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"

#define NTK_THRIFT_DEPTH_MAX 8

struct ntk_thrift {
    struct ntk_buf *buf;
    int depth;
    int last[NTK_THRIFT_DEPTH_MAX]; /* last field number of each open struct */
};

enum ntk_thrift_type { /* types of list elements */
                       NTK_THRIFT_I32 = 5,
                       NTK_THRIFT_BINARY = 8,
                       NTK_THRIFT_STRUCT = 12,
};

void ntk_thrift_init(struct ntk_thrift *thrift, struct ntk_buf *buf);
void ntk_thrift_varint(struct ntk_buf *buf, uint64_t value);

void ntk_thrift_i32(struct ntk_thrift *thrift, int field, int32_t value);
void ntk_thrift_i64(struct ntk_thrift *thrift, int field, int64_t value);
void ntk_thrift_bool(struct ntk_thrift *thrift, int field, bool value);
void ntk_thrift_text(struct ntk_thrift *thrift, int field, const char *text);
void ntk_thrift_binary(struct ntk_thrift *thrift, int field, const void *bytes, size_t bytes_count);
/* Begins a list: count elements must follow, each written by one of the functions below. */
void ntk_thrift_list(struct ntk_thrift *thrift, int field, enum ntk_thrift_type type, size_t count);
void ntk_thrift_element_i32(struct ntk_thrift *thrift, int32_t value);
void ntk_thrift_element_text(struct ntk_thrift *thrift, const char *text);
/* Begins a struct: a field, an element (field 0) or the outermost value. */
void ntk_thrift_begin(struct ntk_thrift *thrift, int field);
void ntk_thrift_end(struct ntk_thrift *thrift);

#endif
