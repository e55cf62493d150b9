/* SPDX-License-Identifier: MIT */
/*
 * session - one NEFF on one core through libnrt, from load to unload, recorded between start and
 * stop.
 *
 * libnrt.so.1 is opened when the session is (runtime-hooks/nrt/nrt_library.h). So the same session
 * runs on software cores and on hardware.
 *
 * Owner:   ntk_session_open() allocates, ntk_session_close() frees, unloads and closes the runtime.
 * Threads: one session per process, used by one thread.
 */
#ifndef NTK_PROFILER_CAPTURE_SESSION_H
#define NTK_PROFILER_CAPTURE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/buf.h"
#include "shared/base/err.h"

struct ntk_session;

/* Zeroed: one worker that waits for each execution. */
struct ntk_session_options {
    uint32_t rank_count; /* of all workers; 0: the NEFF is loaded without collectives */
    uint32_t rank;
    /* All tensors of more than this many bytes share one buffer: their values mean nothing, room is
     * saved. */
    bool has_single_io;
    uint64_t single_io_threshold_bytes;
    bool is_async; /* executions are queued: ntk_session_drain() waits for them */
};

/* Loads the NEFF and makes its tensors; the contents of the inputs are still undefined. */
int ntk_session_open(const char *neff_path, const struct ntk_session_options *options,
                     struct ntk_session **out_session, struct ntk_err *err);
void ntk_session_close(struct ntk_session *session);

/* Fills all inputs with zeros, also those that were filled before. */
int ntk_session_zero_inputs(struct ntk_session *session, struct ntk_err *err);

/* The runtime's file, followed by " (software)" where that is true; lives as long as the
 * session. */
const char *ntk_session_library(const struct ntk_session *session);

/* Fills an input from a file: the array of a .npy, the bytes of any other. -ENOENT for an unknown
 * name, -EINVAL for a wrong size. */
int ntk_session_set_input(struct ntk_session *session, const char *name, const char *path,
                          struct ntk_err *err);

/* Fills the inputs that no file was given for with what the NEFF holds of them: its members
 * inputs/NAME.npy or inputs/NAME.bin, where / in a name is _. -ENODATA when it holds nothing for
 * one. */
int ntk_session_set_inputs_from_neff(struct ntk_session *session, const char *neff_path,
                                     struct ntk_err *err);

/* Waits until every worker is here; at once without collectives. */
int ntk_session_meet(struct ntk_session *session, struct ntk_err *err);

/* 0; 1 when it ran to its end with NaN among its results (err says so); negative when it failed. */
int ntk_session_execute(struct ntk_session *session, struct ntk_err *err);
/* Waits for what is queued; the first failure since the last call, as ntk_session_execute(). */
int ntk_session_drain(struct ntk_session *session, struct ntk_err *err);

int ntk_session_record_start(struct ntk_session *session, const char *ntff_path,
                             struct ntk_err *err);
int ntk_session_record_stop(struct ntk_session *session, struct ntk_err *err);

/* The system trace instead of a capture: what the host does. types: NULL-ended, each a name or a
 * group; with ^ before it all but it; empty: all. -EINVAL for a name the runtime does not know. */
int ntk_session_trace_start(struct ntk_session *session, const char *const *types,
                            struct ntk_err *err);
/* Its events as JSON, into a file; ends it. */
int ntk_session_trace_stop(struct ntk_session *session, const char *path, struct ntk_err *err);
/* The names, a line each, without a session. */
int ntk_session_trace_types(struct ntk_buf *out, struct ntk_err *err);

/* CRC-32 over all outputs, in their order. */
int ntk_session_output_crc(struct ntk_session *session, uint32_t *out_crc, struct ntk_err *err);
/* Each output as <name>.out, or <name>.npy, in the current folder; <name>_rank_<rank> of several
 * workers; with .<number> at the end of executions after the first. A line on stdout names each:
 * saved output "<name>" as "<file>". */
int ntk_session_save_outputs(struct ntk_session *session, bool as_npy, uint64_t number,
                             struct ntk_err *err);

#endif
