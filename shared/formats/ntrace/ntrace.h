/* SPDX-License-Identifier: MIT */
/*
 * ntrace - the system trace of an inspected process and what belongs to it, as files.
 *
 * Messages are those of ntrace.proto; this module moves them between memory and files.
 *
 * Owner:   ntk_ntrace_read_*() allocate; the message's free_unpacked function frees.
 * Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NTRACE_NTRACE_H
#define NTK_SHARED_FORMATS_NTRACE_NTRACE_H

#include <protobuf-c/protobuf-c.h>

#include "shared/base/err.h"
#include "shared/formats/ntrace/ntrace.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NTRACE_VERSION 1U
#define NTK_NTRACE_FILE_BYTES_MAX (UINT64_C(4) << 30)

/* The file appears whole or not at all. */
int ntk_ntrace_write(const char *path, const ProtobufCMessage *message, struct ntk_err *err);

/* -EBADMSG: no such message, another version, or columns of unequal length. */
int ntk_ntrace_read(const char *path, NtkNtracePb__Trace **out_trace, struct ntk_err *err);
int ntk_ntrace_read_info(const char *path, NtkNtracePb__Info **out_info, struct ntk_err *err);
int ntk_ntrace_read_host(const char *path, NtkNtracePb__HostSamples **out_samples,
                         struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
