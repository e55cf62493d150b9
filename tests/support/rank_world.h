/* SPDX-License-Identifier: MIT */
/*
 * rank_world - the folders of inspections of a job of any number of ranks, with times that follow
 * from a few numbers: the activity of each rank is known by construction.
 *
 * Every rank repeatedly executes, is on the host, and meets the others in a collective; all leave
 * it LINK_NS after the last one has arrived. Files are written by the writer of our runtime.
 */
#ifndef NTK_TESTS_SUPPORT_RANK_WORLD_H
#define NTK_TESTS_SUPPORT_RANK_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#define RANK_WORLD_LINK_NS 500
#define RANK_WORLD_NO_RANK UINT32_MAX

struct rank_world {
    uint32_t ranks, per_host;
    uint32_t collectives;
    uint32_t runs;  /* executions between two collectives */
    uint32_t cores; /* of each process, executing in turns; 0: one */
    bool is_spread; /* cores meet other ranks in turns too; otherwise only the last one does */
    uint32_t seed;
    bool is_numbered;      /* events contain communicator and number */
    int64_t host_ahead_ns; /* how far each host's clock is ahead of the previous host's */
    uint32_t remake_every; /* the communicator is recreated after this many; 0: never */
    uint32_t late;         /* a rank that executes five times as long; or RANK_WORLD_NO_RANK */
    uint32_t broken;       /* ... with an incomplete trace: */
    uint32_t begins_at;    /* it starts with this collective */
    uint32_t lacks_from, lacks_count;
    uint32_t restarts_at; /* a new process from this collective on, in its own folder; 0: none */
    uint64_t bytes;       /* size of the files, output */
};

/* How long ranks execute and wait in total, if nothing is broken: between the first and the last
 * collective. */
struct rank_world_sums {
    uint64_t run_ns, waited_ns, path_ns;
};

/* Writes it below the folder; false on failure. */
bool rank_world_write(struct rank_world *world, const char *folder,
                      struct rank_world_sums *out_sums);

#endif
