/* SPDX-License-Identifier: MIT */
/*
 * spool - stores a queue of messages as files in a folder (format: docs/formats/spool.md).
 *
 * Each message is written under a temporary name and renamed, so a file is complete or absent, even
 * if the program is killed; after a power cut this is true for files synced by sync_begin() and
 * sync_end(). Foreign files are ignored; damaged ones are removed and counted.
 *
 * Owner:   open / close.
 * Threads: the caller locks, except for sync_end(), which may run in parallel.
 */
#ifndef NTK_EXPORTERS_TRANSPORT_SPOOL_H
#define NTK_EXPORTERS_TRANSPORT_SPOOL_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SPOOL_MAGIC UINT64_C(0x314c4f4f50534b4e) /* "NKSPOOL1" */
#define NTK_SPOOL_VERSION 1

/* Header before the bytes of the message, little-endian. */
struct ntk_spool_header {
    uint64_t magic;
    uint32_t version;
    uint32_t crc32; /* CRC of the message's bytes, like zlib's crc32() */
    uint64_t item_count;
    uint64_t bytes_count;
};
static_assert(sizeof(struct ntk_spool_header) == 32, "the header of a spool file is 32 bytes");
static_assert(offsetof(struct ntk_spool_header, item_count) == 16, "item_count is at 16");

struct ntk_spool;

/* -EBUSY if another process uses the folder. */
int ntk_spool_open(const char *folder, uint64_t bytes_max, size_t message_bytes_max,
                   struct ntk_spool **out_spool, struct ntk_err *err);
/* Closes the spool; the files remain. Accepts NULL. */
void ntk_spool_close(struct ntk_spool *spool);

/* Appends a message after all others. The oldest messages are dropped to make space:
 * *out_lost_items counts their items. */
int ntk_spool_put(struct ntk_spool *spool, const void *bytes, size_t bytes_count,
                  uint64_t item_count, uint64_t *out_lost_items, struct ntk_err *err);
/* Puts a message before all others and sets its file number for ntk_spool_remove(); -ENOSPC if
 * another message had to be dropped for it. */
int ntk_spool_put_front(struct ntk_spool *spool, const void *bytes, size_t bytes_count,
                        uint64_t item_count, uint64_t *out_number, struct ntk_err *err);

struct ntk_spool_message {
    uint64_t number; /* number of its file */
    uint64_t item_count;
};
/* Reads the oldest message: returns 1 with its bytes appended to buf, 0 if there is none. Removes
 * damaged files and counts them in *out_damaged_count. Returns negative if this process lacks
 * memory or descriptors; the message remains. */
int ntk_spool_first(struct ntk_spool *spool, struct ntk_buf *buf,
                    struct ntk_spool_message *out_message, uint64_t *out_damaged_count);
/* Returns true if the first message has this number. */
bool ntk_spool_begins_with(const struct ntk_spool *spool, uint64_t number);
/* Removes the message from ntk_spool_first() or put_front(); false if it was dropped meanwhile. */
bool ntk_spool_remove(struct ntk_spool *spool, uint64_t number);
/* Returns true if a message was added or removed since the last sync_begin(). */
bool ntk_spool_has_changes(const struct ntk_spool *spool);
/* Collects the files to sync in a zeroed vector for sync_end(). -ENOMEM: nothing is collected. */
int ntk_spool_sync_begin(struct ntk_spool *spool, struct ntk_vec *out_numbers);
/* Waits until all these files are on disk, and empties the vector. Negative with a message if the
 * disk fails; the files may nevertheless be written. */
int ntk_spool_sync_end(const struct ntk_spool *spool, struct ntk_vec *numbers, struct ntk_err *err);
uint64_t ntk_spool_count(const struct ntk_spool *spool);
uint64_t ntk_spool_item_count(const struct ntk_spool *spool);

#ifdef __cplusplus
}
#endif
#endif
