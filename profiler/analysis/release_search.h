/* SPDX-License-Identifier: MIT */
/*
 * release_search - finds the change that released an instruction, and its maker: sorts the changes
 * of a core and the instructions that signal by semaphore, and searches for each wait.
 * Private to dependencies.c.
 *
 * Owner:   ntk_release_search_init() allocates, even if it fails; _fini frees.
 * Threads: one.
 */
#ifndef NTK_PROFILER_ANALYSIS_RELEASE_SEARCH_H
#define NTK_PROFILER_ANALYSIS_RELEASE_SEARCH_H

#include "profiler/analysis/core_signals.h"
#include "profiler/analysis/dependencies.h"

/* Indices sorted by number, then time: indices for number n are items[first[n]] up to items[first[n
 * + 1]]. */
struct ntk_by_number {
    uint32_t first[NTK_PROGRAM_NUMBERS + 1];
    uint32_t
        near[NTK_PROGRAM_NUMBERS]; /* end of the last search for a number: the next time is close */
    const uint32_t *items;
    struct ntk_long_list list; /* storage of items: uint32_t */
};

/* Result of the last search for one condition: it was true from first to at. */
struct ntk_release_run {
    bool is_used;
    uint8_t wait; /* enum ntk_wait_kind */
    uint16_t number;
    uint32_t value, first, at;
};
#define NTK_RELEASE_RUNS 256

struct ntk_release_search {
    const struct ntk_program *program;
    size_t core_index;
    const struct ntk_trace_core *core;
    const struct ntk_core_dependencies *dependencies; /* for ntk_change_at() */
    struct ntk_by_number changes;                     /* all changes */
    struct ntk_by_number signals;                     /* instructions that signal the number */
    struct ntk_by_number transfers;       /* instructions with transfers that signal the number */
    struct ntk_core_signals signals_from; /* changes by other cores */
    bool finds_hidden;                    /* also finds changes from before the engine was free */
    struct ntk_release_run runs[NTK_RELEASE_RUNS];
};

/* The caller sets program, core_index, core, dependencies and finds_hidden; dependencies has the
 * lost changes. Returns 0 or -errno of a long list. */
int ntk_release_search_init(struct ntk_release_search *index);
void ntk_release_search_fini(struct ntk_release_search *index);
/* Returns memory of checked lists to the system. */
void ntk_release_search_give_back(struct ntk_release_search *index);

const struct ntk_slot_fact *ntk_release_search_fact(const struct ntk_release_search *index,
                                                    size_t item);
/* Finds the release of an item with the wait of `waiter`: the item itself or an instruction that it
 * overtook. free_ps: time until which the engine executes earlier work. */
void ntk_release_find(struct ntk_release_search *index, size_t waiter, size_t item, int64_t free_ps,
                      struct ntk_release *release);

#endif
