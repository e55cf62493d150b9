/* SPDX-License-Identifier: MIT */
/*
 * vendor_trace - reads and writes the files that the vendor's runtime writes during an inspection:
 * streams of records (ntrace.pb, cpu_util.pb, host_mem.pb) and one message that describes them
 * (trace_info.pb).
 *
 * docs/formats/vendor-trace.md has the fields. This module turns bytes into records and back and
 * does not pair, sort or judge them.
 *
 * Owner:   ntk_vendor_trace_info_read() allocates, _free() frees; records borrow the bytes.
 * Threads: any; one at a time per writer.
 */
#ifndef NTK_SHARED_FORMATS_NTRACE_VENDOR_TRACE_H
#define NTK_SHARED_FORMATS_NTRACE_VENDOR_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/fs.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_VENDOR_TRACE_RECORD_BYTES_MAX ((size_t)1 << 20)
#define NTK_VENDOR_TRACE_PAIRS_MAX 64U    /* maximum per record; further pairs are dropped */
#define NTK_VENDOR_TRACE_NAMES_MAX 65536U /* maximum per table */

/* Returns true if a file with this beginning is a vendor stream and not one of our messages; true
 * for an empty file. Needs at least 16 bytes, or the whole file. */
bool ntk_vendor_trace_is_stream(const uint8_t *bytes, size_t count);
/* Returns true if a trace_info.pb is the vendor's. */
bool ntk_vendor_trace_is_info(const uint8_t *bytes, size_t count);

/* ---- streams ---- */

/* Takes one record, borrowed during the call; offset is the position of its length. A negative
 * result stops the reading. */
typedef int ntk_vendor_trace_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx);

/* Calls take for every record of a file, in bounded memory. Returns 0; 1 if the file is truncated
 * or damaged (err has the position, earlier records were passed on); or -errno. */
int ntk_vendor_trace_each(const char *path, ntk_vendor_trace_take *take, void *ctx,
                          struct ntk_err *err);
/* Same, for bytes in memory; name is the file's name, for messages. */
int ntk_vendor_trace_each_of(const uint8_t *bytes, size_t count, const char *name,
                             ntk_vendor_trace_take *take, void *ctx, struct ntk_err *err);

enum ntk_vendor_trace_phase {
    NTK_VENDOR_TRACE_NO_PHASE,
    NTK_VENDOR_TRACE_START,
    NTK_VENDOR_TRACE_STOP,
    NTK_VENDOR_TRACE_INSTANT,
};

struct ntk_vendor_trace_text {
    const char *text; /* not NUL-terminated */
    size_t bytes;
};

struct ntk_vendor_trace_pair {
    struct ntk_vendor_trace_text key, value;
};

struct ntk_vendor_trace_record {
    uint64_t time_ns, type;
    uint64_t number; /* ring << 48 | position in the ring, from 1 */
    uint64_t tracking_id;
    uint64_t sequence; /* number of an asynchronous execution; 0: none */
    uint32_t thread_id;
    uint8_t phase; /* enum ntk_vendor_trace_phase */
    size_t pair_count;
    struct ntk_vendor_trace_pair pairs[NTK_VENDOR_TRACE_PAIRS_MAX];
    unsigned skipped; /* number of skipped fields: another wire type, or pairs beyond the limit */
};

static inline unsigned ntk_vendor_trace_ring(uint64_t number)
{
    return (unsigned)(number >> 48);
}

/* Returns false if the message is incomplete; the intact part was read. */
bool ntk_vendor_trace_record_read(const uint8_t *bytes, size_t count,
                                  struct ntk_vendor_trace_record *out_record);

struct ntk_vendor_trace_sample {
    uint64_t time_ns;
    uint64_t used_bytes; /* only in host_mem.pb */
    bool has_percent;
    double percent;     /* only in cpu_util.pb */
    uint64_t processor; /* only in cpu_util.pb */
};

bool ntk_vendor_trace_memory_read(const uint8_t *bytes, size_t count,
                                  struct ntk_vendor_trace_sample *out_sample);
bool ntk_vendor_trace_cpu_read(const uint8_t *bytes, size_t count,
                               struct ntk_vendor_trace_sample *out_sample);

/* ---- trace_info.pb ---- */

struct ntk_vendor_trace_name {
    uint64_t id;
    char *text;
};

enum ntk_vendor_trace_table {
    NTK_VENDOR_TRACE_TYPES,
    NTK_VENDOR_TRACE_MODELS,
    NTK_VENDOR_TRACE_USAGES,
    NTK_VENDOR_TRACE_ERRORS,
    NTK_VENDOR_TRACE_TABLES,
};

#define NTK_VENDOR_TRACE_NO_INDEX UINT32_MAX
#define NTK_VENDOR_TRACE_SWITCH 2U /* type of UltraServer */

/* Texts are never NULL; they are "" if the file has none. */
struct ntk_vendor_trace_info {
    uint64_t version, process_id, session_id;
    uint64_t begin_ns, end_ns;
    uint64_t record_count;
    uint64_t lnc;
    char *instance_id, *instance_type;
    char *ip_address, *host_name; /* private data */
    uint64_t processor_count, memory_bytes;
    char *processor_name;
    /* the type is "Switch", or the number of an unknown type */
    char *ultraserver_id, *ultraserver_type;
    uint64_t ultraserver_size;
    uint64_t ultraserver_index; /* NTK_VENDOR_TRACE_NO_INDEX: not in an UltraServer */
    /* elements are ntk_vendor_trace_name, sorted by id */
    struct ntk_vec tables[NTK_VENDOR_TRACE_TABLES];
};

/* Returns 0; 1 if truncated (err has the position); -EBADMSG, -ENOMEM or an error when reading the
 * file. */
int ntk_vendor_trace_info_read(const char *path, struct ntk_vendor_trace_info **out_info,
                               struct ntk_err *err);
int ntk_vendor_trace_info_read_bytes(const uint8_t *bytes, size_t count, const char *name,
                                     struct ntk_vendor_trace_info **out_info, struct ntk_err *err);
void ntk_vendor_trace_info_free(struct ntk_vendor_trace_info *info);
/* The name of an id; NULL if the table has no such id. */
const char *ntk_vendor_trace_name_find(const struct ntk_vendor_trace_info *info,
                                       enum ntk_vendor_trace_table table, uint64_t id);

/* ---- writing ---- */

/* The type names of version 2, by id. */
const char *const *ntk_vendor_trace_type_names(size_t *out_count);
const char *const *ntk_vendor_trace_usage_names(size_t *out_count);

/* Append messages to a buffer. One record is ..._begin, fields, ..._end, which inserts the length
 * before the record; fields are written with protobuf_write.h. */
size_t ntk_vendor_trace_put_begin(struct ntk_buf *buf);
void ntk_vendor_trace_put_end(struct ntk_buf *buf, size_t begin);
/* Appends a key and its value, as in records of ntrace.pb. */
void ntk_vendor_trace_put_pair(struct ntk_buf *buf, const char *key, const char *value);
void ntk_vendor_trace_put_pair_number(struct ntk_buf *buf, const char *key, uint64_t value);
/* Appends the fields of a record without its pairs. */
void ntk_vendor_trace_put_record(struct ntk_buf *buf, const struct ntk_vendor_trace_record *record);
/* Appends all of trace_info.pb; texts may be NULL. */
void ntk_vendor_trace_put_info(struct ntk_buf *buf, const struct ntk_vendor_trace_info *info);

#ifdef __cplusplus
}
#endif
#endif
