/* SPDX-License-Identifier: MIT */
/*
 * idle_reasons - the working time of each engine, and the reasons for its idle time.
 *
 * Working is as in engine_activity.h: the union of an engine's instructions without
 * EVENT_SEMAPHORE. All other time of the execution belongs to exactly one reason, so that busy_ps
 * and the reasons of an engine add up to the execution. The time before an instruction is its wait
 * until the change that released it, then issue; an instruction that waits while it runs is issued
 * first, and its wait is inside it.
 *
 * Pure: trace to result; -ENOMEM, or -ENODATA if the capture does not record how long the execution
 * took.
 *
 * Owner:   the result is the caller's storage; ntk_idle_reasons_fini() frees what it points to.
 */
#ifndef NTK_PROFILER_ANALYSIS_IDLE_REASONS_H
#define NTK_PROFILER_ANALYSIS_IDLE_REASONS_H

#include "profiler/analysis/dependencies.h"
#include "profiler/analysis/line_costs.h"
#include "profiler/analysis/wait_chain.h"

enum ntk_idle_reason {
    NTK_IDLE_ENGINE,  /* for a semaphore or event that an engine changed */
    NTK_IDLE_DMA,     /* for one that a transfer changed */
    NTK_IDLE_ISSUE,   /* its condition was true: fetch, decode, semaphore instructions */
    NTK_IDLE_RUNTIME, /* before and within the runtime's additions around the program */
    NTK_IDLE_UNKNOWN, /* the instruction's wait, or the change that ended it, is unreadable */
    /* the engine has finished, or waits for other engines to end the program */
    NTK_IDLE_END,
    NTK_IDLE_REASON_COUNT
};

struct ntk_idle_row {
    enum ntk_idle_reason reason;
    uint8_t source;    /* ENGINE: the engine that changed it */
    bool is_event;     /* number is an event's, not a semaphore's */
    uint16_t number;   /* ENGINE, DMA: semaphore or event; else NTK_PROGRAM_NO_NUMBER */
    const char *queue; /* DMA: as in the NEFF; NULL: unknown */
    /* DMA that no captured instruction started, and the capture lacks cores */
    bool is_foreign, is_not_captured;
    bool is_other_core; /* the instruction or transfer is in another core of the capture */
    uint16_t core;      /* then: physical, in its device */
    /* ENGINE: the instruction that caused most waiting; DMA: the one that started the transfer */
    uint8_t opcode;
    bool has_opcode;
    uint64_t count; /* of waits */
    int64_t idle_ps;
    int64_t longest_ps, longest_at_ps; /* the longest single one, and its start */
};

/* What a row for an engine or DMA waited for; NTK_SOURCES: a damaged record. */
unsigned ntk_idle_source(const struct ntk_idle_row *row);

struct ntk_idle_engine {
    size_t core; /* index in the trace */
    uint8_t engine;
    uint64_t instruction_count;
    int64_t busy_ps, idle_ps; /* sum: the execution */
    int64_t reasons_ps[NTK_IDLE_REASON_COUNT];
    size_t row_count;
    struct ntk_idle_row *rows;     /* longest first */
    struct ntk_wait_chains chains; /* of waits for an engine or DMA */
    /* By engine, DMA or another core: idle ps of lines that waited, by lines of what released
     * them */
    struct ntk_line_costs lines[NTK_SOURCES];
};

struct ntk_idle_reasons {
    int64_t total_ps;
    size_t engine_count; /* engines with a program */
    struct ntk_idle_engine *engines;
};

/* Phrase for use in a sentence; NULL for ENGINE and DMA, which name what they waited for. */
const char *ntk_idle_reason_text(enum ntk_idle_reason reason);

/* A stretch of idle time with one reason. Those of an engine are in time order; adjacent ones
 * have no work in between. */
struct ntk_idle_part {
    size_t core; /* index in the trace */
    uint8_t engine;
    int64_t start_ps, end_ps;
    const struct ntk_idle_row *cause;   /* the reason and its names; figures are 0 */
    const struct ntk_wait_chain *chain; /* its root cause; NULL: not a wait that was released */
    uint32_t item;                      /* the instruction that waited; NTK_NO_INDEX: none */
};
/* A negative return stops and is returned. */
typedef int ntk_idle_part_call(const struct ntk_idle_part *part, void *ctx);

int ntk_analysis_idle_reasons(const struct ntk_program *program,
                              const struct ntk_dependencies *dependencies,
                              struct ntk_idle_reasons *out_reasons);
/* The same with a call for each part: core by core, engine by engine. */
int ntk_analysis_idle_parts(const struct ntk_program *program,
                            const struct ntk_dependencies *dependencies, ntk_idle_part_call *call,
                            void *ctx, struct ntk_idle_reasons *out_reasons);
void ntk_idle_reasons_fini(struct ntk_idle_reasons *reasons);
/* "engine", "dma", "issue" ... */
const char *ntk_idle_reason_name(enum ntk_idle_reason reason);

#endif
