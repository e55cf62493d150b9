/* SPDX-License-Identifier: MIT */
/*
 * session - runs one NEFF on one core through libnrt, from load to unload, and records it between
 * start and stop.
 *
 * It opens libnrt.so.1 with the session (runtime-hooks/nrt/nrt_library.h), so the same session runs
 * on software cores and on hardware.
 *
 * Owner:   ntk_session_open() allocates, ntk_session_close() unloads the model, closes the runtime
 *          and frees the session.
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

/* Options; a zeroed struct means one worker that waits for each execution. */
struct ntk_session_options {
    uint32_t rank_count; /* number of all workers; 0: load the NEFF without collectives */
    uint32_t rank;
    /* Large tensors share one buffer, which saves memory, but their values are
     * meaningless. */
    bool has_single_io;
    uint64_t single_io_threshold_bytes;
    bool is_async; /* executions are queued; ntk_session_drain() waits for them */
};

/* Loads the NEFF and creates its tensors; inputs are still undefined. */
int ntk_session_open(const char *neff_path, const struct ntk_session_options *options,
                     struct ntk_session **out_session, struct ntk_err *err);
void ntk_session_close(struct ntk_session *session);

/* Fills all inputs with zeros, including inputs filled before. */
int ntk_session_zero_inputs(struct ntk_session *session, struct ntk_err *err);

/* Returns the file of the runtime, followed by " (software)" if applicable; valid as long as the
 * session. */
const char *ntk_session_library(const struct ntk_session *session);

/* Fills an input from a file: the array of a .npy file, the bytes of any other file. -ENOENT for an
 * unknown name, -EINVAL for a wrong size. */
int ntk_session_set_input(struct ntk_session *session, const char *name, const char *path,
                          struct ntk_err *err);

/* Fills inputs without a given file from the NEFF: members inputs/NAME.npy or inputs/NAME.bin,
 * where / in a name is _. -ENODATA if one is missing. */
int ntk_session_set_inputs_from_neff(struct ntk_session *session, const char *neff_path,
                                     struct ntk_err *err);

/* Waits for all workers; returns immediately without collectives. */
int ntk_session_meet(struct ntk_session *session, struct ntk_err *err);

/* Returns 0; 1 if it completed with NaN in its results (err has a message); negative if it
 * failed. */
int ntk_session_execute(struct ntk_session *session, struct ntk_err *err);
/* Waits for queued executions; returns the first failure since the last call, like
 * ntk_session_execute(). */
int ntk_session_drain(struct ntk_session *session, struct ntk_err *err);

int ntk_session_record_start(struct ntk_session *session, const char *ntff_path,
                             struct ntk_err *err);
int ntk_session_record_stop(struct ntk_session *session, struct ntk_err *err);

/* Records the system trace (host activity) instead of a capture. types: list that ends with NULL;
 * each type is a name or a group, or ^ and a name to exclude; an empty list means all. -EINVAL for
 * a name unknown to the runtime. */
int ntk_session_trace_start(struct ntk_session *session, const char *const *types,
                            struct ntk_err *err);
/* Stops the trace and writes its events as JSON to a file. */
int ntk_session_trace_stop(struct ntk_session *session, const char *path, struct ntk_err *err);
/* Writes the names of types, one per line; needs no session. */
int ntk_session_trace_types(struct ntk_buf *out, struct ntk_err *err);

/* Computes CRC-32 over all outputs in order. */
int ntk_session_output_crc(struct ntk_session *session, uint32_t *out_crc, struct ntk_err *err);
/* Writes each output as <name>.out or <name>.npy to the current folder, or <name>_rank_<rank> for
 * several workers; executions after the first add .<number>. Prints a line for each output: saved
 * output "<name>" as "<file>". */
int ntk_session_save_outputs(struct ntk_session *session, bool as_npy, uint64_t number,
                             struct ntk_err *err);

#endif
