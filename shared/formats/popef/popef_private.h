/* SPDX-License-Identifier: MIT */
/*
 * popef_private - shared by the files of this folder: errors, the storage of blobs, memory of
 * parsed blobs, and the interface of an encoding.
 *
 * Owner:   a file is reference-counted: open and keep take a reference, release drops it; an arena
 *          frees all of its memory at once; the caller that opened a stream owns it.
 */
#ifndef NTK_SHARED_FORMATS_POPEF_POPEF_PRIVATE_H
#define NTK_SHARED_FORMATS_POPEF_POPEF_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/formats/popef/popef.h"

struct ntk_err;

/* Fills err, where not NULL, with a message that is safe to print; returns -code. */
int ntk_popef_fail(struct popef_error *err, enum popef_error_code code, uint64_t offset,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
int ntk_popef_no_memory(struct popef_error *err);
/* An error of shared/base, as code. */
int ntk_popef_fail_from(struct popef_error *err, enum popef_error_code code,
                        const struct ntk_err *from);

/* ---- the file: a descriptor or borrowed bytes, shared by a reader and its streams ---- */

struct ntk_popef_file {
    atomic_uint references;
    int fd;               /* -1: bytes */
    const uint8_t *bytes; /* NULL: fd */
    uint64_t size;
    char name[];
};

int ntk_popef_file_open(const char *path, struct ntk_popef_file **out_file,
                        struct popef_error *err);
/* Duplicates the descriptor. */
int ntk_popef_file_open_fd(int fd, const char *name, struct ntk_popef_file **out_file,
                           struct popef_error *err);
int ntk_popef_file_open_bytes(const void *bytes, size_t bytes_count, const char *name,
                              struct ntk_popef_file **out_file, struct popef_error *err);
struct ntk_popef_file *ntk_popef_file_keep(struct ntk_popef_file *file);
void ntk_popef_file_release(struct ntk_popef_file *file); /* NULL is fine */
/* Reads all of it; the range is inside file->size, unless the file was truncated since then. */
int ntk_popef_file_read(const struct ntk_popef_file *file, uint64_t offset, void *to,
                        size_t bytes_count, struct popef_error *err);

/* ---- memory that is freed at once ---- */

struct ntk_popef_arena {
    struct ntk_popef_chunk *chunks;
    size_t bytes; /* of all chunks */
};

/* Zeroed; NULL if out of memory. */
void *ntk_popef_arena_take(struct ntk_popef_arena *arena, size_t bytes);
void ntk_popef_arena_fini(struct ntk_popef_arena *arena);

/* ---- an encoding: the form of blobs in a file ---- */

struct ntk_popef_head {
    struct popef_blob blob; /* version points to the text below */
    char version[POPEF_VERSION_BYTES_MAX + 1];
    uint64_t info_offset; /* in the file */
    uint64_t info_bytes;
};

/* The content of a blob's info section, by its type. */
struct ntk_popef_info {
    const char *name;       /* of all but metadata */
    const char *executable; /* opaque */
    struct popef_tensor_info tensor_info;
    uint64_t num_tensors;
    struct popef_metadata *metadata;
};

struct ntk_popef_encoding {
    const char *name;
    /* Whether a file with this beginning has this encoding. */
    bool (*recognise)(const uint8_t *start, size_t bytes_count);
    /* The blob at an offset below the file's size; its size is inside the file and is above 0. */
    int (*read_head)(const struct ntk_popef_file *file, uint64_t offset,
                     struct ntk_popef_head *out_head, struct popef_error *err);
    /* For a known type; texts and lists come from the arena. */
    int (*read_info)(const struct ntk_popef_file *file, const struct ntk_popef_head *head,
                     struct ntk_popef_arena *arena, struct ntk_popef_info *out_info,
                     struct popef_error *err);
};

extern const struct ntk_popef_encoding ntk_popef_opef1;
/* The encoding of a file; that of an empty file is ours. NULL: -POPEF_ERROR_MAGIC in err. */
const struct ntk_popef_encoding *ntk_popef_encoding_of(const struct ntk_popef_file *file,
                                                       struct popef_error *err);

int ntk_popef_stream_open(struct ntk_popef_file *file, const struct popef_blob *blob,
                          struct popef_stream **out_stream, struct popef_error *err);

/* "executable", "metadata" …; "unknown". */
const char *ntk_popef_kind(uint32_t type);

/* ---- the writing side of OPEF 1 ---- */

/* Appends version string and info section with their padding; *out_info_bytes without it. */
void ntk_opef1_put_info(struct ntk_buf *buf, uint32_t type, const struct ntk_popef_info *info,
                        uint64_t *out_info_bytes);
/* The header, NTK_OPEF_HEADER_BYTES of it. */
void ntk_opef1_header(uint8_t *to, uint32_t type, bool is_compressed, uint64_t info_bytes,
                      uint64_t data_bytes, uint64_t full_bytes);
/* Whether a record can be written: limits on texts, lists and shapes, as in the reader. */
int ntk_opef1_check(uint32_t type, const struct ntk_popef_info *info, struct popef_error *err);

/* ---- the log ---- */

void ntk_popef_log(enum popef_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
