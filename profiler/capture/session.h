/* SPDX-License-Identifier: MIT */
/*
 * session - one NEFF on one core through libnrt, from load to unload, recorded between start and stop.
 *
 * libnrt.so.1 is opened when the session is: $NEURON_LIBNRT, else the one beside this program
 * (../lib), else the system's. So the same session runs on software cores and on hardware.
 *
 * Owner:   ntk_session_open() allocates, ntk_session_close() frees, unloads and closes the runtime.
 * Threads: one session per process, used by one thread.
 */
#ifndef NTK_PROFILER_CAPTURE_SESSION_H
#define NTK_PROFILER_CAPTURE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

struct ntk_session;

/* Loads the NEFF and makes its tensors, all zero. */
int ntk_session_open(const char *neff_path, struct ntk_session **out_session, struct ntk_err *err);
void ntk_session_close(struct ntk_session *session);

/* Fills an input from a file: the array of a .npy, the bytes of any other. -ENOENT for an unknown
 * name, -EINVAL for a wrong size. */
int ntk_session_set_input(struct ntk_session *session, const char *name, const char *path,
                          struct ntk_err *err);

/* 0; 1 when it ran to its end with NaN among its results (err says so); negative when it failed. */
int ntk_session_execute(struct ntk_session *session, struct ntk_err *err);

int ntk_session_record_start(struct ntk_session *session, const char *ntff_path,
                             struct ntk_err *err);
int ntk_session_record_stop(struct ntk_session *session, struct ntk_err *err);

/* CRC-32 over all outputs, in their order. */
int ntk_session_output_crc(struct ntk_session *session, uint32_t *out_crc, struct ntk_err *err);
/* Each output as <name>.out, or <name>.npy, in the current folder. */
int ntk_session_save_outputs(struct ntk_session *session, bool as_npy, struct ntk_err *err);

#endif
