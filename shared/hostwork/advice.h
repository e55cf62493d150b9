/* SPDX-License-Identifier: MIT */
/*
 * advice - advice about idle time, with its evidence: advice.def has causes and thresholds.
 *
 * Owner: caller's storage; evidence is borrowed from the result. Threads: any.
 */
#ifndef NTK_SHARED_HOSTWORK_ADVICE_H
#define NTK_SHARED_HOSTWORK_ADVICE_H

#include "shared/hostwork/hostwork.h"

#define NTK_HOST_ADVICE_IDLE 0.05 /* share of the held time; below it, no advice is given */

struct ntk_host_advice {
    enum ntk_host_cause cause;
    double share; /* share of the idle time */
    const char *text;
    const struct ntk_host_row *evidence; /* the cause's largest row; NULL if there is none */
};

/* Fills the advice, largest share first; returns the number of entries. */
size_t ntk_host_advise(const struct ntk_host_result *result,
                       struct ntk_host_advice out_advice[NTK_HOST_CAUSE_COUNT]);

#endif
