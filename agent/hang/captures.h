/* SPDX-License-Identifier: MIT */
/*
 * captures - captures processes automatically when an event occurs on the machine of the agent,
 * including the time before the event, each in a separate folder.
 *
 * Each capture is one run of 'neuron-profile trigger'. Every user has a separate budget: one run at
 * a time, and for each reason at most one per interval, sooner after a failure. Skipped captures
 * are counted and logged with the user's next capture. captures_room.h limits the total size of the
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
    NTK_CAPTURES_HANG,  /* other ranks wait for one of these ranks */
    NTK_CAPTURES_SLOW,  /* one of these ranks is slow */
    NTK_CAPTURES_STUCK, /* an execution of a single process does not end */
    NTK_CAPTURES_ECC,   /* uncorrectable error in device memory */
    NTK_CAPTURES_P99,   /* latency of a process exceeds a limit */
    NTK_CAPTURES_REASON_COUNT
};
extern const char *const ntk_captures_reason_names[NTK_CAPTURES_REASON_COUNT];

struct ntk_captures_options {
    bool is_wanted[NTK_CAPTURES_REASON_COUNT];
    uint64_t p99_ns;
    const char *folder;            /* NULL: record nothing */
    uint64_t every_ns;             /* interval per reason and user; 0 for ten minutes */
    uint64_t keep_bytes;           /* total size of all captures; 0 for 1 GiB */
    const struct ntk_clock *clock; /* for every_ns; borrowed; NULL for the system clock */
    bool is_remote;                /* clients with the token may request captures too */
};

/* Parses a list such as "hang,slow,p99=50ms". -EINVAL with a message. */
int ntk_captures_parse(const char *list, struct ntk_captures_options *options, struct ntk_err *err);

struct ntk_captures;

/* Borrows the options. */
int ntk_captures_create(const struct ntk_captures_options *options,
                        struct ntk_captures **out_captures, struct ntk_err *err);
void ntk_captures_destroy(struct ntk_captures *captures);

/* Captures all processes of the user with ranks of this rendezvous or, if that is "", this process.
 * captures may be NULL. */
void ntk_captures_take(struct ntk_captures *captures, enum ntk_captures_reason reason,
                       const char *job, uint32_t pid, uint32_t uid);
/* Returns the limit on the total size of all captures. */
uint64_t ntk_captures_keep_bytes(const struct ntk_captures_options *options);
/* Called every period: checks reasons that depend on figures, and the results of the last runs. */
void ntk_captures_look(struct ntk_captures *captures, const struct ntk_snapshot *snapshot);

#ifdef __cplusplus
}
#endif
#endif
