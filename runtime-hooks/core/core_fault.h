/* SPDX-License-Identifier: MIT */
/*
 * core_fault - hardware faults on request: parses the user's text, and selects the executions that
 * they affect.
 *
 * The grammar is in docs/faults.md. This module parses and counts; core_hardware.c implements the
 * effect of a fault on the machine. The same text strikes the same executions in every run.
 *
 * Owner:   ntk_core_faults_parse() allocates, ntk_core_faults_destroy() frees.
 * Threads: ntk_core_faults_strike() from any.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_FAULT_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#define NTK_CORE_FAULTS_MAX 16U /* maximum faults in one text */
#define NTK_CORE_FAULT_AMOUNT_MAX UINT64_C(1000000)
#define NTK_CORE_FAULT_FACTOR_MAX 1000.0
#define NTK_CORE_FAULT_TIME_MAX_NS UINT64_C(60000000000)

enum ntk_core_fault_kind {
#define NTK_FAULT(symbol, name, outcome, counter, unhealthy, code, fatal) NTK_CORE_FAULT_##symbol,
#define NTK_SLOWNESS(symbol, name, setting) NTK_CORE_FAULT_##symbol,
#include "runtime-hooks/core/core_fault.def"
#undef NTK_FAULT
    NTK_CORE_FAULT_KINDS
};

struct ntk_core_fault {
    enum ntk_core_fault_kind kind;
    uint64_t amount; /* by how much its counter increases, at least 1 */
    double factor;   /* for slow-*: factor of time, 1 to NTK_CORE_FAULT_FACTOR_MAX */
    /* for pause: its duration; for jitter: the random time, less than given in the text */
    uint64_t time_ns;
};
/* Returns true if a fault only slows executions: it neither fails them nor counts. */
bool ntk_core_fault_is_slowness(enum ntk_core_fault_kind kind);

struct ntk_core_faults;

/* Returns -EINVAL with a message that names the fault and the error. */
int ntk_core_faults_parse(const char *text, struct ntk_core_faults **out_faults,
                          struct ntk_err *err);
void ntk_core_faults_destroy(struct ntk_core_faults *faults);

/* Counts an execution on this core (global logical number) and returns the number of faults that
 * strike it, in the order of the text. slow-link never strikes an execution. */
size_t ntk_core_faults_strike(struct ntk_core_faults *faults, uint32_t core,
                              struct ntk_core_fault out_faults[NTK_CORE_FAULTS_MAX]);
/* Combines the factors of simultaneous faults: their product, at most NTK_CORE_FAULT_FACTOR_MAX. */
double ntk_core_fault_factor_join(double factor, double other);
/* Counts a collective of a rank on this core and returns the slowdown of its links; 1: none. */
double ntk_core_faults_link_factor(struct ntk_core_faults *faults, uint32_t core);

#endif
