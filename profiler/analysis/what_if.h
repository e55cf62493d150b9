/* SPDX-License-Identifier: MIT */
/*
 * what_if - estimates the length of the execution if parts of it were faster or did not wait.
 *
 * All times are recomputed. An instruction starts after the previous one on its engine permits it
 * and after the change that it waits for; a packet of a transfer starts after the instruction that
 * starts the transfer and after the previous packet of its DMA engine. Unexplained time stays as
 * measured, so that without changes all times equal the measured ones. The quality of the rules is
 * therefore measured without that time: tight_ps. docs/formats/analyses.md has the full rules,
 * docs/decisions/what-if.md the reasons.
 *
 * Errors:  -ENODATA if the capture does not record the length of the execution, or -errno of a
 *          long list.
 *
 * Owner:   the caller provides the storage of the result; ntk_what_if_fini() frees its content.
 * Threads: any.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_H

#include "profiler/analysis/dependencies.h"
#include "profiler/analysis/transfers.h"
#include "shared/base/err.h"
#include "shared/base/progress.h"

#define NTK_WHAT_IF_CHANGES_MAX 16U
#define NTK_WHAT_IF_NAME_BYTES 200U
/* Maximum and minimum factor of speed. */
#define NTK_WHAT_IF_SPEED_MAX 1e6
#define NTK_WHAT_IF_SPEED_MIN 1e-3

enum ntk_what_if_part {
    NTK_WHAT_IF_DMA,         /* packets of transfers */
    NTK_WHAT_IF_DMA_LATENCY, /* from the instruction that starts a transfer to its first packet */
    /* Time from an instruction to its change of a semaphore, and to the waiter */
    NTK_WHAT_IF_LATENCY,
    NTK_WHAT_IF_TRANSPOSES,  /* operations of the tensor engine that only move data */
    NTK_WHAT_IF_ENGINES,     /* all instructions */
    NTK_WHAT_IF_ENGINE,      /* instructions of one engine */
    NTK_WHAT_IF_LINE,        /* instructions of a source line */
    NTK_WHAT_IF_WAIT,        /* waits for a semaphore; this and all following kinds are waits */
    NTK_WHAT_IF_WAIT_ENGINE, /* waits of an engine */
    NTK_WHAT_IF_WAIT_QUEUE,  /* waits for the transfers of a queue */
    NTK_WHAT_IF_WAIT_LINE,   /* waits of a source line */
};

struct ntk_what_if_change {
    enum ntk_what_if_part part;
    double speed;                      /* factor; 0 means no time. Must be 0 for waits */
    unsigned number;                   /* number of the engine, semaphore or line */
    char name[NTK_WHAT_IF_NAME_BYTES]; /* file in the NEFF, or the end of its path; or queue */
};

struct ntk_what_if_changes { /* all changes are applied together */
    size_t count;
    struct ntk_what_if_change list[NTK_WHAT_IF_CHANGES_MAX];
};

/* Adds changes such as "dma=2,transposes,wait:20,line:attention.py:31=4". -EINVAL with a
 * message. */
int ntk_what_if_changes_add(struct ntk_what_if_changes *changes, const char *text,
                            struct ntk_err *err);
static inline bool ntk_what_if_is_wait(enum ntk_what_if_part part)
{
    return part >= NTK_WHAT_IF_WAIT;
}
/* Writes the changes, such as "dma=2,transposes"; returns buf. */
const char *ntk_what_if_changes_text(const struct ntk_what_if_changes *changes, char *buf,
                                     size_t buf_bytes);

/* Parts of the execution along its critical path; engines are first. */
enum ntk_what_if_on {
    NTK_WHAT_IF_ON_DMA = NTK_NTFF_ENGINE_COUNT,
    NTK_WHAT_IF_ON_LATENCY,
    NTK_WHAT_IF_ON_WAIT, /* waits for a change with unknown maker, and other fixed time */
    NTK_WHAT_IF_ON_KEPT, /* time that no dependency explains */
    NTK_WHAT_IF_ON_START,
    NTK_WHAT_IF_ON_END,
    NTK_WHAT_IF_ON_COUNT
};
/* Returns a name such as "tensor", "dma" or "latency". */
const char *ntk_what_if_on_name(unsigned on);

#define NTK_WHAT_IF_ITEMS_MAX 10U

/* An instruction of a program, or the transfers of one queue, on a path. */
struct ntk_what_if_item {
    unsigned on; /* engine, or NTK_WHAT_IF_ON_DMA */
    size_t core; /* index in the trace */
    /* for an instruction: one of its executions; else an instruction that started a transfer */
    uint32_t example;
    const char *queue; /* queue of the transfers in the NEFF; NULL if unknown */
    int64_t path_ps;
};

struct ntk_what_if_row {
    struct ntk_what_if_changes changes;
    int64_t total_ps;
    /* Lower bound: the time of the busiest engine or DMA engine */
    int64_t bound_ps;
    unsigned bound_by;                     /* engine, or NTK_WHAT_IF_ON_DMA */
    int64_t path_ps[NTK_WHAT_IF_ON_COUNT]; /* parts add up to total_ps */
    size_t item_count;                     /* items by descending share of the path */
    struct ntk_what_if_item items[NTK_WHAT_IF_ITEMS_MAX];
    /* Bounds if engines wait for changes from outside the captured cores, or meet other cores: only
     * of requested changes. largest: each of these ends when it was measured, or as much later as
     * this core reaches it later. least: none of them waits, and collectives take only the time of
     * their packets. */
    bool has_bounds;
    int64_t least_total_ps, largest_total_ps;
};

struct ntk_what_if {
    int64_t measured_ps;
    bool is_standard;             /* the usual changes, one by one; false: the requested changes */
    struct ntk_what_if_row as_is; /* without a change */
    int64_t tight_ps;             /* as_is without unexplained time */
    size_t row_count;
    struct ntk_what_if_row *rows; /* sorted by descending gain */
    /* number of instructions that wait for a change with unknown maker */
    uint64_t unknown_wait_count;
    uint64_t outside_wait_count; /* those for a change from outside the captured cores */
    /* number of executed barriers and exchanges of two cores, and instructions of collectives */
    uint64_t meeting_count;
    uint64_t unknown_transfer_count; /* number of waits for transfers with unknown packets */
};

/* Checks that each change refers to an item in the capture. -ENOENT with a message. */
int ntk_what_if_changes_check(const struct ntk_program *program,
                              const struct ntk_what_if_changes *changes, struct ntk_err *err);
/* If changes is NULL or empty, simulates the usual changes one by one; else all changes
 * together. progress: runs from 0 to 1; may be NULL. */
int ntk_analysis_what_if(const struct ntk_program *program, const struct ntk_transfers *transfers,
                         const struct ntk_what_if_changes *changes, struct ntk_progress *progress,
                         struct ntk_what_if *out_what_if);
void ntk_what_if_fini(struct ntk_what_if *what_if);
/* Computes the reduction of the length of the execution by each of changes[0] to changes[count -
 * 1]. */
int ntk_what_if_gains(const struct ntk_program *program, const struct ntk_transfers *transfers,
                      const struct ntk_what_if_changes *changes, size_t count,
                      int64_t *out_gains_ps);

#endif
