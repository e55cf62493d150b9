/* SPDX-License-Identifier: MIT */
/*
 * dependencies - finds the cause for the start of each instruction: the change of a semaphore or
 * event, and the instruction or transfer that made it.
 *
 * The change that ends a wait is the last change before the instruction starts that made the
 * condition true. Its record has its engine, or DMA. The maker is the instruction of that engine
 * that signals this semaphore and ends closest, or the transfer of the instruction that has the
 * semaphore: if a semaphore has m changes per transfer, change j belongs to transfer j div m, else
 * to the last transfer started before it.
 *
 * Changes that the capture lost, or recorded too early, are derived from their makers where these
 * are known (lost_changes.h, early_changes.h). The runtime's load of the program is recognised
 * (code_load.h), and so are changes by other cores of the capture (core_signals.h).
 *
 * An engine is a pipeline: an instruction is issued, executes, and drains while the next
 * instruction already executes. The drain of an opcode is the longest overlap of two consecutive
 * instructions with this opcode, but not longer than the shortest of its instructions. The holder
 * of an instruction is the earlier instruction of its engine with the latest end. LDWEIGHTS that is
 * issued while a MATMUL executes is hidden by it, unless it loads more than the MATMUL streams.
 *
 * Owner: ntk_analysis_dependencies() allocates, _fini frees. Threads: immutable.
 */
#ifndef NTK_PROFILER_ANALYSIS_DEPENDENCIES_H
#define NTK_PROFILER_ANALYSIS_DEPENDENCIES_H

#include "profiler/analysis/code_load.h"
#include "profiler/analysis/lost_changes.h"
#include "profiler/analysis/program.h"
#include "profiler/trace/long_list.h"

#define NTK_NO_INDEX UINT32_MAX

struct ntk_release {
    uint32_t previous; /* previous instruction of its engine; NTK_NO_INDEX if none */
    /* Change that released it (ntk_change_at); NTK_NO_INDEX if it waits for none, or none is
     * found */
    uint32_t event;
    /* Instruction that made the change or started the transfer; NTK_NO_INDEX if unknown */
    uint32_t by;
    uint32_t by_transfer : 1; /* the change was made by DMA */
    /* it keeps its engine busy from its start on, instead of the holder */
    uint32_t cuts_holder : 1;
    uint32_t is_foreign : 1;   /* made by DMA that no instruction of the capture started */
    uint32_t core_away : 4;    /* core of `by` relative to its own, see ntk_release_core() */
    uint32_t holder_back : 25; /* distance back to the holder; 0 if none */
};
static_assert(sizeof(struct ntk_release) == 16, "one for each of millions of instructions");
#define NTK_CORE_AWAY_MAX 7
#define NTK_HOLDER_BACK_MAX ((UINT32_C(1) << 25) - 1)

struct ntk_core_dependencies {
    const struct ntk_release *releases;   /* one per instruction, in the order of the core */
    struct ntk_long_list list;            /* storage; elements are struct ntk_release */
    uint32_t last[NTK_NTFF_ENGINE_COUNT]; /* last instruction of each engine */
    int64_t drain_ps[NTK_NTFF_ENGINE_COUNT][256]; /* indexed by opcode */
    struct ntk_lost_changes lost;                 /* changes that the capture lacks */
    struct ntk_code_load code_load;
    const struct ntk_core_dependencies *all; /* all cores of the trace */
};

/* Returns the core of `by`, as an index in the trace, for an instruction of core_index. */
static inline size_t ntk_release_core(size_t core_index, const struct ntk_release *release)
{
    /* four bits hold -8 to 7 */
    int away = release->core_away < 8 ? (int)release->core_away : (int)release->core_away - 16;

    return (size_t)((int64_t)core_index + away);
}

/* Returns a change by number: changes of the core come first, then changes that the capture
 * lost. */
static inline const struct ntk_trace_event *
ntk_change_at(const struct ntk_trace_core *core, const struct ntk_core_dependencies *dependencies,
              uint32_t event)
{
    return event < core->event_count ? &core->events[event]
                                     : &dependencies->lost.events[event - core->event_count];
}

/* Returns NTK_NO_INDEX if there is none. */
static inline uint32_t ntk_holder_of(const struct ntk_core_dependencies *dependencies,
                                     uint32_t item)
{
    uint32_t back = dependencies->releases[item].holder_back;

    return back ? item - back : NTK_NO_INDEX;
}

/* Returns the time from which the instruction drains. */
static inline int64_t ntk_executes_until_ps(const struct ntk_core_dependencies *dependencies,
                                            const struct ntk_trace_instruction *instruction)
{
    return instruction->end_ps - dependencies->drain_ps[instruction->engine][instruction->opcode];
}

/* Returns true if the instruction executes nothing: it waits for others or for the engine to
 * drain. */
static inline bool ntk_only_waits(const struct ntk_trace_instruction *instruction)
{
    return instruction->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE ||
           instruction->opcode == NTK_NTFF_OPCODE_DRAIN;
}

/* Returns true if the transfer that released it is the load of the program's code. */
static inline bool ntk_release_loads_code(const struct ntk_core_dependencies *dependencies,
                                          const struct ntk_release *release)
{
    return release->by_transfer && dependencies->code_load.queue &&
           release->by == dependencies->code_load.by;
}

/* Returns the queue of the transfer that released an instruction, as named in the NEFF; NULL if
 * unknown. */
const char *ntk_release_queue(const struct ntk_program *program, size_t core_index,
                              const struct ntk_core_dependencies *dependencies, uint32_t item);

struct ntk_dependencies {
    size_t core_count;
    struct ntk_core_dependencies *cores;
};

/* The reason why an instruction did not start earlier. */
struct ntk_cause {
    int64_t own_ps;      /* start of its own time, after the times below */
    int64_t free_ps;     /* time until which its engine executed the holder */
    int64_t released_ps; /* time of the change, if is_released */
    uint32_t holder;     /* NTK_NO_INDEX if none */
    bool is_released;    /* true if it waited for a change, not for its engine */
    bool is_known;       /* releases[item].by made the change and was released before it */
    bool is_unknown;     /* true if it waited for an unrecorded change */
};

/* Only considers causes before at_ps. Following the maker of the change, or else the holder, always
 * terminates. */
void ntk_cause_get(const struct ntk_program *program, size_t core_index,
                   const struct ntk_core_dependencies *dependencies, uint32_t item, int64_t at_ps,
                   struct ntk_cause *out);

/* Returns memory of checked lists and releases to the system, like ntk_trace_give_back(). */
void ntk_dependencies_give_back(const struct ntk_trace_core *core,
                                const struct ntk_core_dependencies *dependencies);

/* Returns 0 or -errno of a long list. */
int ntk_analysis_dependencies(const struct ntk_program *program,
                              struct ntk_dependencies *out_dependencies);
/* Same, with the first change that made each condition true, even if the engine was not free then:
 * the cause of delays if its engine were faster. */
int ntk_analysis_dependencies_hidden(const struct ntk_program *program,
                                     const struct ntk_transfers *transfers,
                                     struct ntk_dependencies *out_dependencies);
void ntk_dependencies_fini(struct ntk_dependencies *dependencies);

#endif
