/* SPDX-License-Identifier: MIT */
/*
 * day_checks - what must hold after the day of an agent: each output received what the jobs
 * counted, or counted it as lost. Each check prints its figures and returns whether they are good.
 *
 * Owner:   the caller; a check borrows.
 * Threads: one.
 */
#ifndef NTK_TESTS_E2E_DAY_CHECKS_H
#define NTK_TESTS_E2E_DAY_CHECKS_H

#include <stdint.h>

#include "tests/e2e/day/day_life.h"
#include "tests/e2e/day/day_receivers.h"

struct day_results {
    const struct day_life *life;
    struct day_receivers *receivers;
    const char *folder;  /* with the objects of the archive */
    uint64_t executed;   /* by the jobs */
    uint64_t unreported; /* ... and stored, but in no report of an agent that was killed */
    uint64_t unseen;     /* ... while there was no agent */
};

int day_check_executions(const char *name, double got, uint64_t wanted);
int day_check_outputs(const struct day_results *day);
int day_check_store(const struct day_results *day);
/* The contents of the parts only where DuckDB is installed. */
int day_check_archive(const struct day_results *day);

#endif
