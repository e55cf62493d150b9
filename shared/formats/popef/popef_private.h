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

/* Fills err, unless NULL, with a message that is safe to print; returns -code. */
int ntk_popef_fail(struct popef_error *err, enum popef_error_code code, uint64_t offset,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));
int ntk_popef_no_memory(struct popef_error *err);
/* Converts an error of shared/base, with this code. */
int ntk_popef_fail_from(struct popef_error *err, enum popef_error_code code,
                        const struct ntk_err *from);

/* ---- the file: a descriptor or borrowed bytes, shared by a reader and its streams ---- */

struct ntk_popef_file {
    atomic_uint references;
    int fd;               /* -1 for bytes in memory */
    const uint8_t *bytes; /* NULL for a descriptor */
    uint64_t size;
    char name[];
};

int ntk_popef_file_open(const char *path, struct ntk_popef_file **out_file,
                        struct popef_error *err);
/* Same, for a descriptor, which it duplicates. */
int ntk_popef_file_open_fd(int fd, const char *name, struct ntk_popef_file **out_file,
                           struct popef_error *err);
int ntk_popef_file_open_bytes(const void *bytes, size_t bytes_count, const char *name,
                              struct ntk_popef_file **out_file, struct popef_error *err);
struct ntk_popef_file *ntk_popef_file_keep(struct ntk_popef_file *file);
void ntk_popef_file_release(struct ntk_popef_file *file); /* accepts NULL */
/* Reads the whole range, which must be inside file->size; fails if the file was truncated after it
 * was opened. */
int ntk_popef_file_read(const struct ntk_popef_file *file, uint64_t offset, void *to,
                        size_t bytes_count, struct popef_error *err);

/* ---- memory that is freed all at once ---- */

struct ntk_popef_arena {
    struct ntk_popef_chunk *chunks;
    size_t bytes; /* total size of all chunks */
};

/* Zeroed memory; NULL if out of memory. */
void *ntk_popef_arena_take(struct ntk_popef_arena *arena, size_t bytes);
void ntk_popef_arena_fini(struct ntk_popef_arena *arena);

/* ---- an encoding: how blobs are stored in a file ---- */

struct ntk_popef_head {
    struct popef_blob blob; /* its version points to the text below */
    char version[POPEF_VERSION_BYTES_MAX + 1];
    uint64_t info_offset; /* position in the file */
    uint64_t info_bytes;
};

/* The content of a blob's info section, by its type. */
struct ntk_popef_info {
    const char *name;       /* for all types except metadata */
    const char *executable; /* for opaque blobs */
    struct popef_tensor_info tensor_info;
    uint64_t num_tensors;
    struct popef_metadata *metadata;
};

struct ntk_popef_encoding {
    const char *name;
    /* Returns true if a file with this beginning has this encoding. */
    bool (*recognise)(const uint8_t *start, size_t bytes_count);
    /* Reads the header of the blob at an offset below the file's size; the blob's size is above 0
     * and inside the file. */
    int (*read_head)(const struct ntk_popef_file *file, uint64_t offset,
                     struct ntk_popef_head *out_head, struct popef_error *err);
    /* Reads the info of a known type; texts and lists come from the arena. */
    int (*read_info)(const struct ntk_popef_file *file, const struct ntk_popef_head *head,
                     struct ntk_popef_arena *arena, struct ntk_popef_info *out_info,
                     struct popef_error *err);
};

extern const struct ntk_popef_encoding ntk_popef_opef1;
/* The encoding of a file; our encoding for an empty file. NULL with -POPEF_ERROR_MAGIC in err if it
 * is unknown. */
const struct ntk_popef_encoding *ntk_popef_encoding_of(const struct ntk_popef_file *file,
                                                       struct popef_error *err);

int ntk_popef_stream_open(struct ntk_popef_file *file, const struct popef_blob *blob,
                          struct popef_stream **out_stream, struct popef_error *err);

/* The word for a type: "executable", "metadata" …; "unknown" for other numbers. */
const char *ntk_popef_kind(uint32_t type);

/* ---- the writing side of OPEF 1 ---- */

/* Appends version string and info section with their padding; *out_info_bytes is the size without
 * padding. */
void ntk_opef1_put_info(struct ntk_buf *buf, uint32_t type, const struct ntk_popef_info *info,
                        uint64_t *out_info_bytes);
/* Writes the header's NTK_OPEF_HEADER_BYTES bytes. */
void ntk_opef1_header(uint8_t *to, uint32_t type, bool is_compressed, uint64_t info_bytes,
                      uint64_t data_bytes, uint64_t full_bytes);
/* Checks if a record can be written: texts, lists and shapes have the same limits as in the
 * reader. */
int ntk_opef1_check(uint32_t type, const struct ntk_popef_info *info, struct popef_error *err);

/* ---- the log ---- */

void ntk_popef_log(enum popef_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
