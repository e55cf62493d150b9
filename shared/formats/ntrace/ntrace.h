/* SPDX-License-Identifier: MIT */
/*
 * ntrace - reads and writes the files of an inspected process: its system trace and related data.
 *
 * The messages are defined in ntrace.proto.
 *
 * Owner:   ntk_ntrace_read_*() allocate; the message's free_unpacked function frees.
 * Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NTRACE_NTRACE_H
#define NTK_SHARED_FORMATS_NTRACE_NTRACE_H

#include <protobuf-c/protobuf-c.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"
#include "shared/base/fs.h"
#include "shared/formats/ntrace/ntrace.pb-c.h"
#include "shared/formats/ntrace/ntrace_event.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NTRACE_VERSION 1U
#define NTK_NTRACE_FILE_BYTES_MAX (UINT64_C(4) << 30)

/* Writes the file completely or not at all. */
int ntk_ntrace_write(const char *path, const ProtobufCMessage *message, struct ntk_err *err);

/*
 * A file written in pieces, for messages that are too long for memory: all pieces are messages of
 * one type, and the file is their concatenation (repeated fields accumulate, others appear once).
 * If the disk is full, the file ends after the last whole piece.
 * Owner:   caller's storage; _abort after a _commit or on a zeroed struct does nothing.
 */
struct ntk_ntrace_writer {
    struct ntk_fs_replace replace;
    uint64_t bytes;       /* size of the complete pieces */
    uint64_t pieces_lost; /* pieces lost since the disk became full */
    int full;             /* the negative errno when the disk became full, or 0 */
    struct ntk_buf packed;
    struct ntk_buf columns; /* columns of a piece's events */
};
int ntk_ntrace_writer_begin(struct ntk_ntrace_writer *writer, const char *path,
                            struct ntk_err *err);
int ntk_ntrace_writer_add(struct ntk_ntrace_writer *writer, const ProtobufCMessage *piece,
                          struct ntk_err *err);
/* Adds a piece with the events of one core; `lost` counts events that its recorder dropped until
 * then. */
int ntk_ntrace_writer_add_events(struct ntk_ntrace_writer *writer, uint32_t nc, uint32_t worker,
                                 uint64_t lost, const struct ntk_ntrace_event *events, size_t count,
                                 struct ntk_err *err);
/* Returns 0 if the file is complete; 1 if it is readable, but pieces are missing (err has the
 * reason). */
int ntk_ntrace_writer_commit(struct ntk_ntrace_writer *writer, struct ntk_err *err);
void ntk_ntrace_writer_abort(struct ntk_ntrace_writer *writer);

/* Returns -EBADMSG for another message type or version, or columns of unequal length; -EFBIG if the
 * file would take more memory than a valid one; 1 if the file is truncated: then it returns the
 * intact part, and err has details. */
int ntk_ntrace_read(const char *path, NtkNtracePb__Trace **out_trace, struct ntk_err *err);
/* Same, for bytes in memory; name is the file's name, for messages. */
int ntk_ntrace_read_bytes(const void *bytes, size_t count, const char *name,
                          NtkNtracePb__Trace **out_trace, struct ntk_err *err);
/* Same, in bounded memory: calls a function for each Core as it is read, in a message with only
 * this Core and the types and names so far, borrowed during the call. A negative result stops the
 * reading. Data before an error has been reported by then. A piece takes at most
 * NTK_NTRACE_PIECE_BYTES_MAX. */
#define NTK_NTRACE_PIECE_BYTES_MAX ((size_t)64 << 20)
typedef int ntk_ntrace_take(const NtkNtracePb__Trace *piece, void *ctx);
int ntk_ntrace_each(const char *path, ntk_ntrace_take *take, void *ctx, struct ntk_err *err);
int ntk_ntrace_read_info(const char *path, NtkNtracePb__Info **out_info, struct ntk_err *err);
int ntk_ntrace_read_info_bytes(const void *bytes, size_t count, const char *name,
                               NtkNtracePb__Info **out_info, struct ntk_err *err);
int ntk_ntrace_read_host(const char *path, NtkNtracePb__HostSamples **out_samples,
                         struct ntk_err *err);
int ntk_ntrace_read_host_bytes(const void *bytes, size_t count, const char *name,
                               NtkNtracePb__HostSamples **out_samples, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
