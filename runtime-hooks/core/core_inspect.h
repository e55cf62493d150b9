/* SPDX-License-Identifier: MIT */
/*
 * core_inspect - writes the files of an inspection: the events of a system trace sink, and host
 * samples (docs/formats/ntrace.md).
 *
 * Owner:   a sampler belongs to its creator.
 * Threads: any; one at a time per sampler.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_INSPECT_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_INSPECT_H

#include "runtime-hooks/core/core.h"
#include "runtime-hooks/core/core_trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes every event of the running sink to a file; they stay in the sink. Memory is limited to a
 * few MiB, however full the rings are. kind_names has NTK_CORE_TRACE_KINDS elements. Returns 1 if
 * the disk was full: the file has the events that fit, and err has a message. */
int ntk_core_trace_save(const struct ntk_core *core, enum ntk_core_trace_sink sink,
                        const char *const *kind_names, const char *path, struct ntk_err *err);

/* General information for the folder. */
struct ntk_core_inspect_info {
    const char *instance_id;
    const char *runtime_version;
    uint64_t session_id;
    uint64_t begin_ns, end_ns; /* since 1970 UTC */
};
int ntk_core_inspect_info_save(const struct ntk_core *core,
                               const struct ntk_core_inspect_info *info, const char *path,
                               struct ntk_err *err);

/* A thread that samples the host's processors and memory once per second, and at start and end. */
struct ntk_core_sampler;
int ntk_core_sampler_create(struct ntk_core_sampler **out_sampler, struct ntk_err *err);
/* Stops the thread and writes its samples, in the vendor's layout if is_vendor; a file with a NULL
 * path is skipped. */
int ntk_core_sampler_save(struct ntk_core_sampler *sampler, bool is_vendor, const char *cpu_path,
                          const char *memory_path, struct ntk_err *err);
void ntk_core_sampler_destroy(struct ntk_core_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif
