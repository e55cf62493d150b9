/* SPDX-License-Identifier: MIT */
/*
 * idle_reasons - computes the working time of each engine, and the reasons for its idle time.
 *
 * An engine works as in engine_activity.h: in the union of its instructions without
 * EVENT_SEMAPHORE. All other time of the execution belongs to exactly one reason, so that busy_ps
 * and the reasons of an engine add up to the execution. The time before an instruction is its wait
 * until the change that released it, then issue; an instruction that waits while it runs is issued
 * first and then waits.
 *
 * Errors:  -ENOMEM, or -ENODATA if the capture does not record the length of the execution.
 *
 * Owner:   the caller provides the storage of the result; ntk_idle_reasons_fini() frees its
 *          content.
 */
#ifndef NTK_PROFILER_ANALYSIS_IDLE_REASONS_H
#define NTK_PROFILER_ANALYSIS_IDLE_REASONS_H

#include "profiler/analysis/dependencies.h"
#include "profiler/analysis/line_costs.h"
#include "profiler/analysis/wait_chain.h"

enum ntk_idle_reason {
    NTK_IDLE_ENGINE,  /* waits for a semaphore or event that an engine changed */
    NTK_IDLE_DMA,     /* waits for a semaphore or event that a transfer changed */
    NTK_IDLE_ISSUE,   /* its condition is true: fetch, decode, semaphore instructions */
    NTK_IDLE_RUNTIME, /* before and within code that the runtime adds around the program */
    NTK_IDLE_UNKNOWN, /* the instruction's wait, or the change that ended it, is unreadable */
    /* The engine has finished, or waits for other engines to end the program */
    NTK_IDLE_END,
    NTK_IDLE_REASON_COUNT
};

struct ntk_idle_row {
    enum ntk_idle_reason reason;
    uint8_t source;    /* for ENGINE: the engine that changed it */
    bool is_event;     /* number belongs to an event, not to a semaphore */
    uint16_t number;   /* for ENGINE, DMA: semaphore or event; else NTK_PROGRAM_NO_NUMBER */
    const char *queue; /* for DMA: name in the NEFF; NULL if unknown */
    /* For DMA that no captured instruction started; the capture also lacks cores */
    bool is_foreign, is_not_captured;
    bool is_other_core; /* the instruction or transfer belongs to another core of the capture */
    uint16_t core;      /* if is_other_core: physical core in its device */
    /* For ENGINE: the instruction that caused most waiting; for DMA: the instruction that started
     * the transfer */
    uint8_t opcode;
    bool has_opcode;
    uint64_t count; /* number of waits */
    int64_t idle_ps;
    int64_t longest_ps, longest_at_ps; /* longest wait, and its start */
};

/* Returns the source for which a row of an engine or DMA waited; NTK_SOURCES for a damaged
 * record. */
unsigned ntk_idle_source(const struct ntk_idle_row *row);

struct ntk_idle_engine {
    size_t core; /* index in the trace */
    uint8_t engine;
    uint64_t instruction_count;
    int64_t busy_ps, idle_ps; /* add up to the length of the execution */
    int64_t reasons_ps[NTK_IDLE_REASON_COUNT];
    size_t row_count;
    /* Longest first; time of the runtime, and time without work, comes last */
    struct ntk_idle_row *rows;
    struct ntk_wait_chains chains; /* for waits for an engine or DMA */
    /* By engine, DMA or another core: idle ps of waiting lines, by the lines that released
     * them */
    struct ntk_line_costs lines[NTK_SOURCES];
};

struct ntk_idle_reasons {
    int64_t total_ps;
    size_t engine_count; /* number of engines with a program */
    struct ntk_idle_engine *engines;
};

/* Returns a phrase for use in a sentence; NULL for ENGINE and DMA, because their text contains the
 * source. */
const char *ntk_idle_reason_text(enum ntk_idle_reason reason);

/* A part of the idle time with one reason. The parts of an engine are in order of time; adjacent
 * parts have no work in between. */
struct ntk_idle_part {
    size_t core; /* index in the trace */
    uint8_t engine;
    int64_t start_ps, end_ps;
    const struct ntk_idle_row *cause;   /* reason and its names; figures are 0 */
    const struct ntk_wait_chain *chain; /* root cause; NULL if it is not a wait that was released */
    uint32_t item;                      /* waiting instruction; NTK_NO_INDEX if none */
};
/* Receives a part. A negative result stops the analysis and is returned. */
typedef int ntk_idle_part_call(const struct ntk_idle_part *part, void *ctx);

int ntk_analysis_idle_reasons(const struct ntk_program *program,
                              const struct ntk_dependencies *dependencies,
                              struct ntk_idle_reasons *out_reasons);
/* Like ntk_analysis_idle_reasons(), with a call for each part: core by core, engine by engine. */
int ntk_analysis_idle_parts(const struct ntk_program *program,
                            const struct ntk_dependencies *dependencies, ntk_idle_part_call *call,
                            void *ctx, struct ntk_idle_reasons *out_reasons);
void ntk_idle_reasons_fini(struct ntk_idle_reasons *reasons);
/* Returns a name such as "engine", "dma" or "issue". */
const char *ntk_idle_reason_name(enum ntk_idle_reason reason);

#endif
