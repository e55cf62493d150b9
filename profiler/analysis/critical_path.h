/* SPDX-License-Identifier: MIT */
/*
 * critical_path - finds the chain of instructions and transfers that determined the length of the
 * execution.
 *
 * The path continues in another core where an instruction of that core made the change.
 *
 * The path is found backwards from the end: an instruction could not start before the change that
 * released it or, if its engine was still busy then, before the end of the instruction that the
 * engine executed (its holder, dependencies.h). Time during which an earlier instruction of the
 * same engine still executes belongs to that earlier instruction. Every moment of the execution is
 * in exactly one step, so the steps and each table of shares add up to the execution. Speeding up
 * anything off the path does not shorten the execution. docs/formats/analyses.md has the full rule.
 *
 * Errors:  -ENODATA if the capture does not record the length of the execution, or -errno of a
 *          long list.
 *
 * Owner:   the caller provides the storage of the result; ntk_critical_path_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_CRITICAL_PATH_H
#define NTK_PROFILER_ANALYSIS_CRITICAL_PATH_H

#include "profiler/analysis/dependencies.h"

enum ntk_path_kind {
    NTK_PATH_INSTRUCTION, /* an instruction executes */
    /* From the end of the instruction that started it to the change that signals its end */
    NTK_PATH_TRANSFER,
    /* From the end of an instruction to the change that it made, and from there to the waiter */
    NTK_PATH_LATENCY,
    NTK_PATH_WAIT,  /* waits for a change with unknown maker */
    NTK_PATH_START, /* before the first instruction of the chain */
    NTK_PATH_END,   /* after the last instruction */
    NTK_PATH_ISSUE, /* fetches and decodes: its engine is free, and nothing else delays it */
    NTK_PATH_DRAIN, /* drains, while its engine could already execute the next instruction */
    NTK_PATH_KIND_COUNT
};

struct ntk_path_step {
    int64_t start_ps, end_ps;
    enum ntk_path_kind kind;
    /* for INSTRUCTION, ISSUE, DRAIN; for TRANSFER the instruction that started it; for LATENCY,
     * WAIT the delayed instruction; else NTK_NO_INDEX */
    uint32_t instruction;
    const char *queue; /* for TRANSFER: name in the NEFF; NULL if unknown */
    uint32_t layer;
    uint16_t core; /* core of the instruction, as index in the trace */
    /* for LATENCY: it ends with the change; otherwise it starts with the change */
    bool is_arrival : 1;
    bool is_foreign : 1;    /* for WAIT: DMA that no captured instruction started */
    bool is_unrecorded : 1; /* for WAIT: its change was not recorded; false: its maker is unknown */
    bool loads_code : 1;    /* for TRANSFER: the runtime loads the program's code (code_load.h) */
};
static_assert(sizeof(struct ntk_path_step) <= 40, "a path can have one step per instruction");

/* A share of the path, for one value of one dimension. */
struct ntk_path_share {
    const char *name;        /* name of a layer or queue; NULL: see below */
    enum ntk_path_kind kind; /* INSTRUCTION for all phases */
    uint8_t engine;
    uint8_t opcode;
    uint32_t slot;        /* for a WAIT without a name and a load of code: NTK_LAYER_RUNTIME */
    uint16_t core;        /* for engines and transfers: physical core in its device, if has_cores */
    bool has_cores;       /* true if the path is in several cores */
    bool is_foreign;      /* for WAIT: DMA that no captured instruction started */
    bool is_not_captured; /* the capture also lacks cores */
    bool is_unrecorded;   /* for WAIT: its change was not recorded */
    uint64_t count;
    int64_t path_ps;
    int64_t issue_ps, drain_ps; /* parts of path_ps; the instruction executes in the rest */
};

struct ntk_path_table { /* shares, longest first */
    size_t count;
    struct ntk_path_share *shares;
};

struct ntk_critical_path {
    int64_t total_ps;
    size_t core;    /* core in which the path ends; each step has its core */
    bool has_cores; /* true if it has steps in several cores */
    size_t step_count;
    const struct ntk_path_step *steps; /* from start to end, without gaps */
    struct ntk_long_list list;         /* storage of steps */
    int64_t kinds_ps[NTK_PATH_KIND_COUNT];
    struct ntk_path_table resources;    /* by engine (name NULL) and queue */
    struct ntk_path_table opcodes;      /* by engine and opcode, for phases of instructions */
    struct ntk_path_table instructions; /* by engine and slot, for phases of instructions */
    struct ntk_path_table layers;       /* by layer, for all steps */
};

/* Returns true for issue, execution and drain, which occupy an engine. */
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
/* Returns memory of checked items and lists of their core to the system, after this many steps
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
/* Writes the label of a share in path->resources, such as "Tensor engine" or "DMA queue
 * qSyncIO0". */
void ntk_path_resource_name(const struct ntk_path_share *share, char *buf, size_t buf_bytes);
/* Returns a name such as "instruction", "transfer" or "latency". */
const char *ntk_path_kind_name(enum ntk_path_kind kind);

#endif
