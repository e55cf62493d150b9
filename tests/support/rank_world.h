/* SPDX-License-Identifier: MIT */
/*
 * rank_world - the folders of inspections of a job of any number of ranks, whose times follow from
 * a few numbers: what each rank did is known by construction.
 *
 * Every rank executes, is on the host, and meets the others in a collective, repeatedly; all leave
 * it LINK_NS after the last came. Files are written by the writer of our runtime.
 */
#ifndef NTK_TESTS_SUPPORT_RANK_WORLD_H
#define NTK_TESTS_SUPPORT_RANK_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define RANK_WORLD_LINK_NS 500
#define RANK_WORLD_NOBODY UINT32_MAX

struct rank_world {
    uint32_t ranks, per_host;
    uint32_t collectives;
    uint32_t runs;  /* executions between two collectives */
    uint32_t cores; /* of each process, which execute in turns; 0: one */
    bool is_spread; /* they meet others in turns too; else the last one does */
    uint32_t seed;
    bool is_numbered;      /* events say communicator and number */
    int64_t host_ahead_ns; /* the clock of each host of the one before */
    uint32_t remake_every; /* the communicator is made again after so many; 0: never */
    uint32_t late;         /* a rank that executes five times as long; or RANK_WORLD_NOBODY */
    uint32_t broken;       /* ... whose trace is not whole: */
    uint32_t begins_at;    /* it begins with this collective */
    uint32_t lacks_from, lacks_count;
    uint32_t restarts_at; /* a new process from here on, in its own folder; 0: none */
    uint64_t bytes;       /* of the files, out */
};

/* How long ranks execute and wait in total, as long as nothing is broken: between the first
 * collective and the last. */
struct rank_world_sums {
    uint64_t run_ns, waited_ns, path_ns;
};

/* Below the folder; false: it cannot be written. */
bool rank_world_write(struct rank_world *world, const char *folder,
                      struct rank_world_sums *out_sums);

#endif
