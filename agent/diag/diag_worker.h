/* SPDX-License-Identifier: MIT */
/*
 * diag_worker - a process that holds a core and runs tests on it; private to its files.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_DIAG_DIAG_WORKER_H
#define NTK_AGENT_DIAG_DIAG_WORKER_H

#include "agent/diag/diag.h"
#include "runtime-hooks/nrt/nrt_library.h"

/* Number of failed results that stops a burn-in, because more would not help. */
#define NTK_DIAG_BURN_BAD_MAX 16u

struct ntk_diag_worker {
    const struct ntk_diag_plan *plan;
    const struct ntk_diag_work *work;
    struct ntk_nrt nrt;
    const struct ntk_clock *clock; /* NULL for the system clock */
    int fd;
    bool is_dead;  /* the core no longer runs anything: skip the rest */
    bool is_quiet; /* do not report good results: rounds of a burn-in */
    uint64_t began_ns;
    uint64_t bad_count; /* number of failed results */
};

/* Announces that a test starts. ntk_diag_worker_tell() sends its result. */
struct ntk_diag_result ntk_diag_worker_begin(struct ntk_diag_worker *worker,
                                             enum ntk_diag_test test, const char *part);
void ntk_diag_worker_tell(struct ntk_diag_worker *worker, struct ntk_diag_result *result);
/* Makes the result fail with the runtime's status. */
void ntk_diag_worker_refused(struct ntk_diag_worker *worker, struct ntk_diag_result *result,
                             NRT_STATUS status, const char *call);
/* Compares bytes; returns true with a reason such as "byte 17 is 0x5a, not 0x5b (1 bit of 4096
 * bytes)", false if they are equal. */
bool ntk_diag_worker_differ(struct ntk_diag_result *result, const uint8_t *got,
                            const uint8_t *expected, size_t bytes, uint64_t base);

/* Runs answer `index` on physical core `local` of the logical core, with the numbers of this
 * round. */
void ntk_diag_answer_test(struct ntk_diag_worker *worker, size_t index, uint32_t local,
                          uint32_t round);
/* Runs a program of the user twice: equal inputs must produce equal outputs. */
void ntk_diag_neff_test(struct ntk_diag_worker *worker);
void ntk_diag_pattern_tests(struct ntk_diag_worker *worker);
void ntk_diag_copy_tests(struct ntk_diag_worker *worker);
void ntk_diag_rank_tests(struct ntk_diag_worker *worker);
/* Runs rounds from 1 on for the time in the plan; each starts before the end. Stops earlier after
 * too many failures, or if the core is dead. */
void ntk_diag_burn(struct ntk_diag_worker *worker,
                   void (*round)(struct ntk_diag_worker *worker, uint32_t number));

#endif
