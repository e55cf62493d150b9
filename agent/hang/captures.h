/* SPDX-License-Identifier: MIT */
/*
 * captures - recordings that the agent makes automatically when an event occurs on its machine:
 * captures of the affected processes, including the time before, each in its own folder.
 *
 * Each is one run of 'neuron-profile trigger'. Every user has a separate budget: one run at a time,
 * and for each reason at most one per interval, sooner after a failure. Skipped captures are
 * counted and logged with the user's next one. captures_room.h limits the total size of the
 * folders.
 *
 * Owner:   ntk_captures_create() allocates, _destroy() stops the runs and frees.
 * Threads: one.
 */
#ifndef NTK_AGENT_HANG_CAPTURES_H
#define NTK_AGENT_HANG_CAPTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/clock.h"
#include "shared/base/err.h"
#include "shared/metrics/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ntk_captures_reason {
    NTK_CAPTURES_HANG,  /* ranks that wait for one of these */
    NTK_CAPTURES_SLOW,  /* one of these ranks is slow */
    NTK_CAPTURES_STUCK, /* an execution of a single process does not end */
    NTK_CAPTURES_ECC,   /* an uncorrectable error of device memory */
    NTK_CAPTURES_P99,   /* a process's latency exceeds a limit */
    NTK_CAPTURES_REASON_COUNT
};
extern const char *const ntk_captures_reason_names[NTK_CAPTURES_REASON_COUNT];

struct ntk_captures_options {
    bool is_wanted[NTK_CAPTURES_REASON_COUNT];
    uint64_t p99_ns;
    const char *folder;            /* NULL: record nothing */
    uint64_t every_ns;             /* per reason and user; 0: ten minutes */
    uint64_t keep_bytes;           /* of all; 0: 1 GiB */
    const struct ntk_clock *clock; /* for every_ns; borrowed; NULL: the system's */
    bool is_remote;                /* clients with the token may request captures, too */
};

/* "hang,slow,p99=50ms". -EINVAL with a message. */
int ntk_captures_parse(const char *list, struct ntk_captures_options *options, struct ntk_err *err);

struct ntk_captures;

/* Borrows the options. */
int ntk_captures_create(const struct ntk_captures_options *options,
                        struct ntk_captures **out_captures, struct ntk_err *err);
void ntk_captures_destroy(struct ntk_captures *captures);

/* Captures all processes of the user with ranks of this rendezvous or, if that is "", this process
 * of the user. captures may be NULL. */
void ntk_captures_take(struct ntk_captures *captures, enum ntk_captures_reason reason,
                       const char *job, uint32_t pid, uint32_t uid);
/* Limit on the total size of all captures. */
uint64_t ntk_captures_keep_bytes(const struct ntk_captures_options *options);
/* Every period: checks reasons that depend on figures, and the results of the last runs. */
void ntk_captures_look(struct ntk_captures *captures, const struct ntk_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
