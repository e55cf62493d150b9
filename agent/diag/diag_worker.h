/* SPDX-License-Identifier: MIT */
/*
 * diag_worker - a process that holds a core and runs tests on it; shared by its files.
 *
 * Threads: one.
 */
#ifndef NTK_AGENT_DIAG_DIAG_WORKER_H
#define NTK_AGENT_DIAG_DIAG_WORKER_H

#include "agent/diag/diag.h"
#include "runtime-hooks/nrt/nrt_library.h"

/* Failed results that stop a burn-in: more would not help. */
#define NTK_DIAG_BURN_BAD_MAX 16u

struct ntk_diag_worker {
    const struct ntk_diag_plan *plan;
    const struct ntk_diag_work *work;
    struct ntk_nrt nrt;
    const struct ntk_clock *clock; /* NULL: the system's */
    int fd;
    bool is_dead;  /* the core runs nothing more: skip the rest */
    bool is_quiet; /* do not report good results: rounds of a burn-in */
    uint64_t began_ns;
    uint64_t bad_count; /* results that failed */
};

/* Announces that a test starts; _tell sends its result. */
struct ntk_diag_result ntk_diag_worker_begin(struct ntk_diag_worker *worker,
                                             enum ntk_diag_test test, const char *part);
void ntk_diag_worker_tell(struct ntk_diag_worker *worker, struct ntk_diag_result *result);
/* The result fails with the runtime's status. */
void ntk_diag_worker_refused(struct ntk_diag_worker *worker, struct ntk_diag_result *result,
                             NRT_STATUS status, const char *call);
/* "byte 17 is 0x5a, not 0x5b (1 bit of 4096 bytes)"; false when they are equal. */
bool ntk_diag_worker_differ(struct ntk_diag_result *result, const uint8_t *got,
                            const uint8_t *expected, size_t bytes, uint64_t base);

/* Runs answer `index` on physical core `local` of the logical one, with the numbers of this
 * round. */
void ntk_diag_answer_test(struct ntk_diag_worker *worker, size_t index, uint32_t local,
                          uint32_t round);
/* Runs a program of the user twice: equal inputs must give equal outputs. */
void ntk_diag_neff_test(struct ntk_diag_worker *worker);
void ntk_diag_pattern_tests(struct ntk_diag_worker *worker);
void ntk_diag_copy_tests(struct ntk_diag_worker *worker);
void ntk_diag_rank_tests(struct ntk_diag_worker *worker);
/* Runs rounds from 1 on for the time of the plan; each starts before its end. Stops earlier after
 * too many failures or if the core is dead. */
void ntk_diag_burn(struct ntk_diag_worker *worker,
                   void (*round)(struct ntk_diag_worker *worker, uint32_t number));

#endif
