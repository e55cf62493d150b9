/* SPDX-License-Identifier: MIT */
/*
 * what_if_time - recomputes the times of cores with changed durations, for several changes in one
 * walk; used by what_if.h
 *
 * Cores that wait for one another are a group: one walk goes through all of them in the order of
 * their measured times.
 *
 * Each execution is recomputed by itself: its times begin at its measured start in all rows, and no
 * dependency goes to an earlier execution.
 *
 * Facts that do not depend on the change are determined once for each instruction and packet: its
 * condition, and the measured gaps. Only times exist once per row (struct ntk_lanes). The row
 * without a change needs no lane: it has the measured times.
 *
 * Owner:   the caller provides the storage; ntk_retimed_init() allocates, _fini frees, and accepts
 *          a zeroed struct.
 * Errors:  -errno of a long list, or -ENOMEM.
 * Threads: one at a time per result.
 */
#ifndef NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H
#define NTK_PROFILER_ANALYSIS_WHAT_IF_TIME_H

#include "profiler/analysis/collective_names.h"
#include "profiler/analysis/what_if.h"
#include "shared/base/progress.h"

#define NTK_RETIME_LANES 16U
#define NTK_RETIME_MEASURED NTK_RETIME_LANES /* the row without a change */
#define NTK_RETIME_ROWS (NTK_RETIME_LANES + 1)

struct ntk_lanes { /* one time for each row with a change */
    int64_t ps[NTK_RETIME_LANES];
};

/* The cause that decided the start of an instruction's own time. */
enum ntk_moment_cause {
    NTK_MOMENT_FIRST,    /* there was no precondition */
    NTK_MOMENT_PREVIOUS, /* the previous instruction of its engine */
    NTK_MOMENT_HOLDER,   /* the holder of its engine */
    NTK_MOMENT_CHANGE,   /* change for which it waits */
    /* The instruction had started, and then waited inside itself for */
    NTK_MOMENT_DRAINED, /* its holder */
    NTK_MOMENT_INSIDE,  /* its change */
};
#define NTK_MOMENT_CAUSE_BITS 3

/*
 * Stored data of each instruction. The start of its own time and the cause are one number: time <<
 * NTK_MOMENT_CAUSE_BITS | cause. For rows only a difference is stored: to the measured time, less
 * the difference of the first instruction on the same engine in the block. Nearly all differences
 * fit in 32 bits (268 us), because writing memory is a third of the CPU time of this walk.
 */
struct ntk_retimed_item {
    int64_t kept_ps;          /* time just before its start that no dependency explains */
    int64_t was;              /* measured start of its own time */
    uint32_t start_place;     /* 1 + index in starts; 0 if it starts with its own time */
    uint32_t wide_place : 31; /* 1 + index in wide if own does not fit; else 0 */
    /* It waits for a change without a known maker: the stored gap may be the wait. */
    uint32_t is_unknown : 1;
    int32_t own[]; /* indexed by row: see ntk_retimed_own() */
};

#define NTK_RETIME_BLOCK 256U
/* Own times of the rows less the measured time, for the first instruction stored. */
struct ntk_retimed_base {
    struct ntk_lanes later;
    bool is_set;
};

/* End of an execution in a row: of what ended before the next execution started. */
struct ntk_retimed_end {
    int64_t end_ps;
    uint32_t last;      /* last instruction; NTK_NO_INDEX if none */
    bool ends_in_moved; /* the transfer that ends last was started by `last` */
    int64_t engine_busy_ps[NTK_NTFF_ENGINE_COUNT];
    int64_t dma_busy_ps; /* busy time of the busiest DMA engine */
};
struct ntk_retimed_ends {
    struct ntk_retimed_end rows[NTK_RETIME_ROWS];
};

/* Rows that change individual instructions, by slot. */
struct ntk_retimed_slots {
    uint64_t *of[NTK_NTFF_ENGINE_COUNT]; /* indexed by slot; 0 if not determined yet */
};

/* Returns true if an instruction waits for a change that no captured core made. */
static inline bool ntk_release_is_outside(const struct ntk_release *release)
{
    return release->event != NTK_NO_INDEX && release->is_foreign;
}

/* Rows with other rules; NTK_RETIME_ROWS if there is none. */
struct ntk_retime_special {
    size_t tight; /* without time that no dependency explains; set if the others are */
    /* Waits for changes from outside the captured cores, and meetings; both or none: */
    size_t late;  /* the changes come when they were measured */
    size_t early; /* the changes are there before they are needed */
};

/* How an instruction meets other cores without a recorded change. */
enum ntk_meeting {
    NTK_MEETING_NONE,
    NTK_MEETING_BARRIER,    /* it starts when the other core has arrived */
    NTK_MEETING_EXCHANGE,   /* its transfer starts when the other core has arrived */
    NTK_MEETING_COLLECTIVE, /* named after a collective: any part of it may wait */
};

struct ntk_retimed {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    const struct ntk_core_dependencies *dependencies;
    const struct ntk_what_if_changes *const *changes;
    size_t row_count; /* number of changes, at most NTK_RETIME_LANES */
    size_t core;
    struct ntk_retime_special special;
    struct ntk_retimed *group; /* all cores of its group, itself included */
    size_t group_count;
    struct ntk_retimed_slots slots;
    struct ntk_collective_names collectives;
    bool has_meetings; /* some instruction of the core meets other cores */
    double engine_factors[NTK_RETIME_LANES][NTK_NTFF_ENGINE_COUNT]; /* factors of durations */
    uint32_t single_rows; /* bit of each row that changes individual instructions */
    /* elements are struct ntk_retimed_item with all rows: one per instruction */
    struct ntk_long_list items;
    /* elements are struct ntk_retimed_base: for each block and engine */
    struct ntk_long_list bases;
    struct ntk_long_list wide; /* elements are struct ntk_lanes: own times as one number each */
    /* elements are struct ntk_lanes, for instructions that waited inside themselves */
    struct ntk_long_list starts;
    struct ntk_long_list moved; /* one element per transfer */
    struct ntk_long_list ends;  /* elements are struct ntk_retimed_ends: one per execution */
    uint64_t unknown_wait_count, unknown_transfer_count;
    uint64_t outside_wait_count; /* unknown waits for changes from outside the captured cores */
    uint64_t meeting_count;      /* instructions that meet other cores */
};

/* Returns the result for another core of the group; NULL if it is not in the group. */
static inline struct ntk_retimed *ntk_retimed_of_core(const struct ntk_retimed *retimed,
                                                      size_t core)
{
    for (size_t i = 0; i < retimed->group_count; i++) {
        if (retimed->group[i].core == core) {
            return &retimed->group[i];
        }
    }
    return NULL;
}

/* Returns true if a change of transposes, lines or waits applies to the instruction. */
bool ntk_what_if_applies(const struct ntk_program *program, size_t core, uint32_t item,
                         const struct ntk_what_if_change *change);
/* Sets collectives and has_meetings. Returns 0 or -ENOMEM. */
int ntk_retimed_find_meetings(struct ntk_retimed *retimed);
enum ntk_meeting ntk_retimed_meeting_of(const struct ntk_retimed *retimed, uint32_t item);
static inline enum ntk_meeting ntk_retimed_meeting(const struct ntk_retimed *retimed, uint32_t item)
{
    return retimed->has_meetings ? ntk_retimed_meeting_of(retimed, item) : NTK_MEETING_NONE;
}

struct ntk_retime_input {
    const struct ntk_program *program;
    const struct ntk_transfers *transfers;
    const struct ntk_dependencies *dependencies;
    const struct ntk_what_if_changes *const *changes;
    size_t count; /* number of changes */
    struct ntk_retime_special special;
    struct ntk_progress *progress; /* NULL if not needed */
    double share_from, share_to;   /* shares of the time before and after the walk */
};

/* Recomputes a group of cores; retimed is an array of core_count elements. Each element is zeroed,
 * or has the result for another core with the same number of changes, so that its memory is
 * reused. */
int ntk_retimed_init(struct ntk_retimed *retimed, const struct ntk_retime_input *input,
                     const size_t *cores, size_t core_count);
void ntk_retimed_fini(struct ntk_retimed *retimed);

/* Returns the start of the next execution, or the end of the capture. */
static inline int64_t ntk_retimed_until_ps(const struct ntk_program *program, size_t execution)
{
    return execution + 1 < program->borders.count ? program->borders.items[execution + 1].start_ps
                                                  : program->trace->total_ps;
}

static inline const struct ntk_retimed_end *ntk_retimed_end_get(const struct ntk_retimed *retimed,
                                                                size_t execution, size_t lane)
{
    return &((const struct ntk_retimed_ends *)retimed->ends.items)[execution].rows[lane];
}

/* The critical paths of all rows, added up over executions and cores. */
struct ntk_retime_paths;

/* Returns NULL if out of memory. */
struct ntk_retime_paths *ntk_retime_paths_create(void);
void ntk_retime_paths_destroy(struct ntk_retime_paths *paths);
/* Forgets the path of a row. */
void ntk_retime_paths_clear(struct ntk_retime_paths *paths, size_t lane);
/* Adds the paths of an execution, for the rows of a mask. */
void ntk_retime_paths_add(struct ntk_retime_paths *paths, const struct ntk_retimed *retimed,
                          size_t execution, uint32_t rows);
/* Sets path_ps and the items of a row. Returns 0 or -ENOMEM. */
int ntk_retime_paths_put(struct ntk_retime_paths *paths, size_t lane, struct ntk_what_if_row *row);

static inline struct ntk_retimed_item *ntk_retimed_item_at(const struct ntk_retimed *retimed,
                                                           uint32_t item)
{
    return (void *)((char *)retimed->items.items + item * retimed->items.item_bytes);
}

static inline struct ntk_retimed_base *ntk_retimed_base_at(const struct ntk_retimed *retimed,
                                                           uint32_t item)
{
    unsigned engine = retimed->program->trace->cores[retimed->core].instructions[item].engine;

    return (struct ntk_retimed_base *)retimed->bases.items +
           item / NTK_RETIME_BLOCK * NTK_NTFF_ENGINE_COUNT + engine;
}

/* Returns its own time and the cause in a row. */
static inline int64_t ntk_retimed_own(const struct ntk_retimed *retimed, uint32_t item, size_t lane)
{
    const struct ntk_retimed_item *of = ntk_retimed_item_at(retimed, item);

    if (lane == NTK_RETIME_MEASURED) {
        return of->was;
    }
    if (of->wide_place) {
        return ((const struct ntk_lanes *)retimed->wide.items)[of->wide_place - 1].ps[lane];
    }
    int64_t time_ps = (of->was >> NTK_MOMENT_CAUSE_BITS) +
                      ntk_retimed_base_at(retimed, item)->later.ps[lane] +
                      (of->own[lane] >> NTK_MOMENT_CAUSE_BITS);
    unsigned cause = (unsigned)of->own[lane] & ((1U << NTK_MOMENT_CAUSE_BITS) - 1);
    return (int64_t)((uint64_t)time_ps << NTK_MOMENT_CAUSE_BITS | cause);
}

/* Returns true if the row has another rule for what comes from outside the captured cores. */
static inline bool ntk_retimed_has_rule(const struct ntk_retimed *retimed, size_t lane)
{
    return lane < retimed->row_count &&
           (lane == retimed->special.late || lane == retimed->special.early);
}

/* Returns true if an instruction waits for a change from outside the captured cores, and the row
 * has another rule for that. */
static inline bool ntk_retimed_is_special(const struct ntk_retimed *retimed, uint32_t item,
                                          size_t lane)
{
    return ntk_retimed_has_rule(retimed, lane) &&
           ntk_release_is_outside(&retimed->dependencies->releases[item]);
}

/* Returns the end of an instruction in a row. */
int64_t ntk_retimed_end_ps(const struct ntk_retimed *retimed, uint32_t item, size_t lane);

#endif
