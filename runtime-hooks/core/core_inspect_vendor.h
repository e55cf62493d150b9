/* SPDX-License-Identifier: MIT */
/*
 * core_inspect_vendor - writes the files of an inspection in the layout of the vendor's runtime
 * (docs/formats/vendor-trace.md), version 2.
 *
 * Our data for which the vendor has no key is written with additional keys, so that nothing is
 * lost.
 *
 * Owner:   the caller's storage, zeroed; _fini() frees.
 * Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_INSPECT_VENDOR_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_INSPECT_VENDOR_H

#include "runtime-hooks/core/core_inspect.h"
#include "shared/base/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of events in a piece of the file, which limits memory while writing. */
#define CORE_INSPECT_PIECE_EVENTS 16384U

/* The part of trace_info.pb that describes ntrace.pb. */
struct ntk_core_vendor_trace {
    uint64_t record_count;
    struct ntk_vec models; /* elements are struct ntk_vendor_trace_name, in order of appearance */
};
void ntk_core_vendor_trace_fini(struct ntk_core_vendor_trace *trace);

/* Same as ntk_core_trace_save(); also fills *out_trace if it returns 1. */
int ntk_core_vendor_trace_save(const struct ntk_core *core, enum ntk_core_trace_sink sink,
                               const char *const *kind_names, const char *path,
                               struct ntk_core_vendor_trace *out_trace, struct ntk_err *err);
/* trace is NULL if ntrace.pb is missing. */
int ntk_core_vendor_info_save(const struct ntk_core *core, const struct ntk_core_inspect_info *info,
                              const char *const *kind_names,
                              const struct ntk_core_vendor_trace *trace, const char *path,
                              struct ntk_err *err);
/* Write samples: cpu_count shares per time, or used bytes per time. */
int ntk_core_vendor_cpu_save(const uint64_t *times_ns, size_t count, const double *percent,
                             uint32_t cpu_count, const char *path, struct ntk_err *err);
int ntk_core_vendor_memory_save(const uint64_t *times_ns, size_t count, const uint64_t *used_bytes,
                                size_t stride, const char *path, struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
