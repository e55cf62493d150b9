/* SPDX-License-Identifier: MIT */
/*
 * critical_path - the chain of instructions and transfers that determined the length of the
 * execution.
 *
 * The path goes to another core where an instruction of that core made the change.
 *
 * Walked backwards from the end: an instruction could not start before the change that released it
 * or, if its engine was still busy then, before the end of the instruction that the engine executed
 * (its holder, dependencies.h). Time during which an earlier instruction of the same engine still
 * executes belongs to that one. Every moment of the execution is in exactly one step, so the steps
 * and each table of shares add up to the execution. Speeding up anything off the path does not
 * shorten the execution. docs/formats/analyses.md has the full rule.
 *
 * Pure: trace to result; -ENODATA if the capture does not record how long the execution took, or
 * -errno of a long list.
 *
 * Owner:   the result is the caller's storage; ntk_critical_path_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_CRITICAL_PATH_H
#define NTK_PROFILER_ANALYSIS_CRITICAL_PATH_H

#include "profiler/analysis/dependencies.h"

enum ntk_path_kind {
    NTK_PATH_INSTRUCTION, /* it executes */
    /* from the end of the instruction that started it to the change that signals its end */
    NTK_PATH_TRANSFER,
    /* from the end of an instruction to the change that it made, and from there to the waiter */
    NTK_PATH_LATENCY,
    NTK_PATH_WAIT,  /* for a change of unknown origin */
    NTK_PATH_START, /* before the first instruction of the chain */
    NTK_PATH_END,   /* after the last instruction */
    NTK_PATH_ISSUE, /* fetch and decode: its engine is free, and nothing else delays it */
    NTK_PATH_DRAIN, /* it drains, while its engine could already execute the next one */
    NTK_PATH_KIND_COUNT
};

struct ntk_path_step {
    int64_t start_ps, end_ps;
    enum ntk_path_kind kind;
    uint32_t instruction; /* INSTRUCTION, ISSUE, DRAIN; TRANSFER: the one that started it; LATENCY,
                      * WAIT: the delayed one; else NTK_NO_INDEX */
    const char *queue;    /* TRANSFER, as in the NEFF; NULL: unknown */
    uint32_t layer;
    uint16_t core;       /* of the instruction: index in the trace */
    bool is_arrival : 1; /* LATENCY: it ends with the change; else it starts there */
    bool is_foreign : 1; /* WAIT: for DMA that no captured instruction started */
    bool loads_code : 1; /* TRANSFER: the runtime loads the program's code (code_load.h) */
};
static_assert(sizeof(struct ntk_path_step) <= 40, "a path can have one step per instruction");

/* The subject of a share: one name of one dimension. */
struct ntk_path_share {
    const char *name;        /* layer or queue; NULL: see below */
    enum ntk_path_kind kind; /* for all phases: INSTRUCTION */
    uint8_t engine;
    uint8_t opcode;
    uint32_t slot;        /* of a WAIT without a name, and of a load of code: NTK_LAYER_RUNTIME */
    uint16_t core;        /* of engines and transfers: physical, in its device, if has_cores */
    bool has_cores;       /* the path is in several cores */
    bool is_foreign;      /* WAIT: for DMA that no captured instruction started */
    bool is_not_captured; /* and the capture lacks cores */
    uint64_t count;
    int64_t path_ps;
    int64_t issue_ps, drain_ps; /* of path_ps; the rest executes */
};

struct ntk_path_table { /* longest first */
    size_t count;
    struct ntk_path_share *shares;
};

struct ntk_critical_path {
    int64_t total_ps;
    size_t core;    /* where the path ends; each step has its own */
    bool has_cores; /* it has steps in several cores */
    size_t step_count;
    const struct ntk_path_step *steps; /* from start to end, without gaps */
    struct ntk_long_list list;         /* that they are in */
    int64_t kinds_ps[NTK_PATH_KIND_COUNT];
    struct ntk_path_table resources;    /* by engine (name NULL) and queue */
    struct ntk_path_table opcodes;      /* by engine and opcode: phases of instructions */
    struct ntk_path_table instructions; /* by engine and slot: phases of instructions */
    struct ntk_path_table layers;       /* by layer: everything */
};

/* Issue, execution or drain: its engine is occupied. */
static inline bool ntk_path_is_engine(enum ntk_path_kind kind)
{
    return kind == NTK_PATH_INSTRUCTION || kind == NTK_PATH_ISSUE || kind == NTK_PATH_DRAIN;
}

int ntk_analysis_critical_path(const struct ntk_program *program,
                               const struct ntk_dependencies *dependencies,
                               struct ntk_critical_path *out_path);
static inline const struct ntk_trace_instruction *
ntk_path_instruction(const struct ntk_trace *trace, const struct ntk_path_step *step)
{
    return &trace->cores[step->core].instructions[step->instruction];
}
/* Returns memory after this many steps: of checked items and lists of their core
 * (ntk_trace_give_back()). */
static inline void ntk_critical_path_passed(const struct ntk_trace *trace,
                                            const struct ntk_critical_path *path, size_t step)
{
    if (step % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
        ntk_trace_give_back(&trace->cores[path->steps[step].core]);
        ntk_long_list_give_back(&path->list);
    }
}
void ntk_critical_path_fini(struct ntk_critical_path *path);
/* Label of a share of path->resources: "Tensor engine", "DMA queue qSyncIO0" ... */
void ntk_path_resource_name(const struct ntk_path_share *share, char *buf, size_t buf_bytes);
/* "instruction", "transfer", "latency" ... */
const char *ntk_path_kind_name(enum ntk_path_kind kind);

#endif
