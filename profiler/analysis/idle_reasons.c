/* SPDX-License-Identifier: MIT */
/* idle_reasons - attributes the gaps of each engine to the change that ended them. */
#include "profiler/analysis/idle_reasons.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/core_signals.h"
#include "profiler/analysis/executions.h"
#include "profiler/analysis/interval.h"
#include "shared/base/order.h"
#include "shared/base/vec.h"

struct walk {
    const struct ntk_program *program;
    const struct ntk_trace_core *core;
    const struct ntk_core_dependencies *dependencies;
    struct ntk_idle_engine *engine;
    struct ntk_vec rows;                       /* struct ntk_idle_row */
    int64_t until_ps;                          /* everything before is accounted for */
    int64_t program_from_ps, program_until_ps; /* start and end of the program on all engines */
    int64_t ran_out_ps; /* the engine has nothing left to do from then until program_until_ps */
    const struct ntk_trace_instruction *semaphore; /* the last one, if an EVENT_SEMAPHORE */
    uint32_t item;               /* its wait is accounted for; NTK_NO_INDEX: none */
    struct ntk_wait_chain chain; /* causes of that wait, if has_chain */
    bool has_chain;
    ntk_idle_part_call *call; /* NULL if none */
    void *ctx;
    int failed;
};

const char *ntk_idle_reason_name(enum ntk_idle_reason reason)
{
    static const char *const names[NTK_IDLE_REASON_COUNT] = { "engine",  "dma",     "issue",
                                                              "runtime", "unknown", "end" };

    return names[reason];
}

const char *ntk_idle_reason_text(enum ntk_idle_reason reason)
{
    static const char *const texts[NTK_IDLE_REASON_COUNT] = {
        [NTK_IDLE_ISSUE] = "issuing instructions that do not wait",
        [NTK_IDLE_RUNTIME] = "runtime prologue and epilogue",
        [NTK_IDLE_UNKNOWN] = "unknown",
        [NTK_IDLE_END] = "no work left",
    };

    return texts[reason];
}

unsigned ntk_idle_source(const struct ntk_idle_row *row)
{
    if (row->is_other_core || row->is_not_captured) {
        return NTK_SOURCE_OTHER_CORE;
    }
    if (row->reason == NTK_IDLE_DMA) {
        return NTK_NTFF_ENGINE_AXI;
    }
    return row->source < NTK_NTFF_ENGINE_AXI ? row->source : NTK_SOURCES;
}

static bool is_same(const struct ntk_idle_row *a, const struct ntk_idle_row *b)
{
    return a->reason == b->reason && a->source == b->source && a->is_event == b->is_event &&
           a->number == b->number && a->is_foreign == b->is_foreign &&
           a->is_other_core == b->is_other_core && a->core == b->core;
}

static void report_part(struct walk *walk, const struct ntk_idle_row *key, int64_t start_ps,
                        int64_t end_ps)
{
    bool is_wait = key->reason == NTK_IDLE_ENGINE || key->reason == NTK_IDLE_DMA;
    const struct ntk_idle_part part = { .core = walk->engine->core,
                                        .engine = walk->engine->engine,
                                        .start_ps = start_ps,
                                        .end_ps = end_ps,
                                        .cause = key,
                                        .chain = is_wait && walk->has_chain ? &walk->chain : NULL,
                                        .item = walk->item };

    if (walk->call && walk->failed == 0) {
        walk->failed = walk->call(&part, walk->ctx);
    }
}

static void add(struct walk *walk, const struct ntk_idle_row *key, int64_t start_ps, int64_t end_ps)
{
    int64_t idle_ps = end_ps - start_ps;
    struct ntk_idle_row *row = NULL;

    if (idle_ps <= 0) {
        return;
    }
    report_part(walk, key, start_ps, end_ps);
    ntk_vec_each(struct ntk_idle_row, candidate, &walk->rows) {
        if (is_same(candidate, key)) {
            row = candidate;
            break;
        }
    }
    if (!row) {
        if (ntk_vec_push(&walk->rows, key) < 0) {
            walk->failed = -ENOMEM;
            return;
        }
        row = ntk_vec_at(&walk->rows, walk->rows.count - 1);
    }
    row->count++;
    row->idle_ps += idle_ps;
    if (idle_ps > row->longest_ps) {
        row->longest_ps = idle_ps;
        row->longest_at_ps = start_ps;
        row->opcode = key->opcode;
        row->has_opcode = key->has_opcode;
        row->queue = key->queue;
    }
    walk->engine->idle_ps += idle_ps;
    walk->engine->reasons_ps[key->reason] += idle_ps;
}

static struct ntk_idle_row plain(enum ntk_idle_reason reason)
{
    return (struct ntk_idle_row){ .reason = reason, .number = NTK_PROGRAM_NO_NUMBER };
}

/* Returns the wait of an instruction for the change that released it. */
static struct ntk_idle_row wait_of(const struct walk *walk, size_t item)
{
    const struct ntk_trace *trace = walk->program->trace;
    const struct ntk_release *release = &walk->dependencies->releases[item];
    const struct ntk_trace_event *change =
        ntk_change_at(walk->core, walk->dependencies, release->event);
    struct ntk_idle_row key = plain(release->by_transfer ? NTK_IDLE_DMA : NTK_IDLE_ENGINE);

    key.source = change->source;
    key.is_event = !change->is_semaphore;
    key.number = change->number;
    key.is_foreign = release->is_foreign;
    key.is_not_captured = key.is_foreign && ntk_core_signals_lack_cores(trace);
    if (release->by != NTK_NO_INDEX) {
        const struct ntk_trace_core *core =
            &trace->cores[ntk_release_core(walk->engine->core, release)];
        const struct ntk_trace_instruction *by = &core->instructions[release->by];
        key.opcode = by->opcode;
        key.has_opcode = true;
        key.is_other_core = core != walk->core;
        key.core = key.is_other_core ? (uint16_t)core->ntff->core : 0;
        if (!release->by_transfer) {
            key.source = by->engine; /* a change by another core is recorded as a change by DMA */
        }
    }
    if (release->by_transfer) {
        key.queue = ntk_release_queue(walk->program, walk->engine->core, walk->dependencies,
                                      (uint32_t)item);
    }
    return key;
}

/* Records the waiting line and the line for which it waited. */
static void add_lines(struct walk *walk, size_t item, const struct ntk_release *release,
                      unsigned source, int64_t idle_ps)
{
    size_t core = walk->engine->core;

    if (walk->program->positions && idle_ps > 0 && source < NTK_SOURCES) {
        size_t by_core = ntk_release_core(core, release);
        const struct ntk_trace_core *by_of = &walk->program->trace->cores[by_core];
        ntk_line_costs_add(
            &walk->engine->lines[source],
            ntk_program_position(walk->program, core, &walk->core->instructions[item]),
            release->by == NTK_NO_INDEX
                ? NULL
                : ntk_program_position(walk->program, by_core, &by_of->instructions[release->by]),
            (double)idle_ps);
    }
}

/* Adds the root cause of the wait that starts at until_ps. */
static void add_chain(struct walk *walk, size_t item, int64_t end_ps)
{
    walk->has_chain = end_ps > walk->until_ps && !walk->failed;
    if (walk->has_chain) {
        ntk_wait_chain_get(walk->program, walk->engine->core, walk->dependencies, (uint32_t)item,
                           walk->until_ps, end_ps, &walk->chain);
        walk->failed = ntk_wait_chains_add(&walk->engine->chains, &walk->chain);
    }
}

/* Adds time from until_ps on that belongs to an instruction's wait, if it waits. */
static void add_wait(struct walk *walk, size_t item, const struct ntk_slot_fact *fact,
                     int64_t end_ps)
{
    const struct ntk_release *release = &walk->dependencies->releases[item];
    struct ntk_idle_row key = plain(NTK_IDLE_UNKNOWN);

    if (release->event == NTK_NO_INDEX && fact->code->has_sync &&
        fact->code->wait == NTK_WAIT_NONE) {
        key.reason = NTK_IDLE_ISSUE;
    } else if (release->event != NTK_NO_INDEX) {
        int64_t released_ps =
            ntk_change_at(walk->core, walk->dependencies, release->event)->time_ps;

        key = wait_of(walk, item);
        add_lines(walk, item, release, ntk_idle_source(&key),
                  (released_ps < end_ps ? released_ps : end_ps) - walk->until_ps);
        add_chain(walk, item, released_ps < end_ps ? released_ps : end_ps);
        if (released_ps < end_ps) {
            released_ps = released_ps > walk->until_ps ? released_ps : walk->until_ps;
            add(walk, &key, walk->until_ps, released_ps);
            walk->until_ps = released_ps;
            key = plain(NTK_IDLE_ISSUE);
        }
    }
    add(walk, &key, walk->until_ps, end_ps);
    walk->until_ps = end_ps;
}

/* Adds time from until_ps on in which an instruction did not wait, or that does not belong to the
 * program. */
static void add_other(struct walk *walk, const struct ntk_slot_fact *fact, int64_t end_ps)
{
    struct ntk_idle_row key = plain(fact->code->is_runtime ? NTK_IDLE_RUNTIME : NTK_IDLE_ISSUE);
    struct ntk_idle_row end = plain(NTK_IDLE_END);
    int64_t out_ps = walk->ran_out_ps < end_ps ? walk->ran_out_ps : end_ps;
    int64_t until_ps = walk->program_until_ps < end_ps ? walk->program_until_ps : end_ps;

    if (fact->code->is_runtime && until_ps > out_ps && until_ps > walk->until_ps) {
        out_ps = out_ps > walk->until_ps ? out_ps : walk->until_ps;
        add(walk, &key, walk->until_ps, out_ps);
        add(walk, &end, out_ps, until_ps);
        walk->until_ps = until_ps;
    }
    add(walk, &key, walk->until_ps, end_ps);
    walk->until_ps = end_ps;
}

/* Time before the instruction's execution starts: the engine has finished the one before. */
static void add_border(struct walk *walk, int64_t start_ps)
{
    const struct ntk_execution_borders *borders = &walk->program->borders;
    struct ntk_idle_row end = plain(NTK_IDLE_END);

    if (borders->count == 0 || walk->until_ps <= 0 || start_ps <= walk->until_ps) {
        return;
    }
    int64_t border_ps = borders->items[ntk_execution_of(borders, start_ps)].start_ps;
    if (border_ps > walk->until_ps && border_ps <= start_ps) {
        walk->item = NTK_NO_INDEX;
        add(walk, &end, walk->until_ps, border_ps);
        walk->until_ps = border_ps;
    }
}

/* The time from until_ps to the start of the instruction. */
static void add_gap(struct walk *walk, const struct ntk_trace_instruction *instruction,
                    const struct ntk_slot_fact *fact)
{
    add_border(walk, instruction->start_ps);
    if (instruction->start_ps <= walk->until_ps) {
        return;
    }
    /* The WRITE by which the runtime replaces the compiler's trigger of a transfer waits for the
     * program. */
    walk->item = (uint32_t)(instruction - walk->core->instructions);
    bool is_trigger = fact->code->is_runtime && fact->code->wait != NTK_WAIT_NONE &&
                      walk->until_ps >= walk->program_from_ps &&
                      instruction->start_ps <= walk->ran_out_ps;
    if ((fact->code->is_runtime && !is_trigger) || fact->code->waits_inside) {
        add_other(walk, fact, instruction->start_ps);
    } else {
        add_wait(walk, walk->item, fact, instruction->start_ps);
    }
}

/* Ends an EVENT_SEMAPHORE, which idles until its end, or until the next instruction starts to
 * work. */
static void end_semaphore(struct walk *walk, int64_t next_ps)
{
    const struct ntk_trace_instruction *semaphore = walk->semaphore;

    walk->semaphore = NULL;
    if (!semaphore) {
        return;
    }
    const struct ntk_slot_fact *fact =
        ntk_program_fact(walk->program, walk->engine->core, semaphore);
    int64_t end_ps = semaphore->end_ps < next_ps ? semaphore->end_ps : next_ps;
    if (end_ps <= walk->until_ps) {
        return;
    }
    walk->item = (uint32_t)(semaphore - walk->core->instructions);
    if (fact->code->waits_inside && !fact->code->is_runtime) {
        add_wait(walk, walk->item, fact, end_ps);
    } else {
        add_other(walk, fact, end_ps);
    }
}

/* Returns 1 for a cause that the program cannot remove: the runtime, or no work left. */
static int is_outside(enum ntk_idle_reason reason)
{
    return reason == NTK_IDLE_RUNTIME || reason == NTK_IDLE_END;
}

NTK_ORDER(compare_causes, struct ntk_idle_row, NTK_DOWN(idle_ps) NTK_UP(reason) NTK_UP(number));

static int compare_rows(const void *a, const void *b)
{
    const struct ntk_idle_row *x = a;
    const struct ntk_idle_row *y = b;
    int order = is_outside(x->reason) - is_outside(y->reason);

    return order ? order : compare_causes(a, b);
}

/* The time range of the program, without the code that the runtime added around it. */
struct program_time {
    bool has_run;
    int64_t from_ps, until_ps;                          /* on any engine of any core */
    int64_t (*engines_until_ps)[NTK_NTFF_ENGINE_COUNT]; /* by core; INT64_MIN: no program */
};

static int program_time_get(const struct ntk_program *program, struct program_time *out)
{
    const struct ntk_trace *trace = program->trace;

    *out = (struct program_time){ .from_ps = INT64_MAX, .until_ps = INT64_MIN };
    out->engines_until_ps = calloc(trace->core_count + 1, sizeof *out->engines_until_ps);
    if (!out->engines_until_ps) {
        return -ENOMEM;
    }
    for (size_t c = 0; c < trace->core_count; c++) {
        int64_t *engines = out->engines_until_ps[c];

        for (unsigned e = 0; e < NTK_NTFF_ENGINE_COUNT; e++) {
            engines[e] = INT64_MIN;
        }
        ntk_trace_each_instruction(&trace->cores[c], one) {
            if (!ntk_program_fact(program, c, one)->code->is_runtime) {
                int64_t *until_ps = &engines[one->engine];
                *until_ps = one->end_ps > *until_ps ? one->end_ps : *until_ps;
                out->until_ps = one->end_ps > out->until_ps ? one->end_ps : out->until_ps;
                out->from_ps = one->start_ps < out->from_ps ? one->start_ps : out->from_ps;
                out->has_run = true;
            }
        }
    }
    return 0;
}

/* The callback for each part. */
struct listener {
    ntk_idle_part_call *call;
    void *ctx;
};

static int engine_reasons(const struct ntk_program *program, size_t core_index,
                          uint8_t engine_index, const struct ntk_dependencies *dependencies,
                          const struct program_time *time, const struct listener *listener,
                          struct ntk_idle_engine *engine)
{
    const struct ntk_trace *trace = program->trace;
    struct walk walk = { .program = program,
                         .core = &trace->cores[core_index],
                         .dependencies = &dependencies->cores[core_index],
                         .engine = engine,
                         .rows = NTK_VEC_INIT(struct ntk_idle_row),
                         .call = listener->call,
                         .ctx = listener->ctx };
    /* Time after the last record of a truncated file is lost, not idle. */
    struct ntk_idle_row end =
        plain(trace->cores[core_index].is_cut.instructions ? NTK_IDLE_UNKNOWN : NTK_IDLE_END);

    int64_t own_ps = time->engines_until_ps[core_index][engine_index];
    walk.ran_out_ps = !time->has_run ? INT64_MAX : own_ps == INT64_MIN ? time->from_ps : own_ps;
    walk.program_from_ps = time->from_ps;
    walk.program_until_ps = time->until_ps;
    engine->core = core_index;
    engine->engine = engine_index;
    ntk_trace_each_instruction(walk.core, instruction) {
        size_t item = (size_t)(instruction - walk.core->instructions);
        if (item % NTK_TRACE_LOOKS == NTK_TRACE_LOOKS - 1) {
            ntk_dependencies_give_back(walk.core, walk.dependencies);
        }
        if (instruction->engine != engine_index) {
            continue;
        }
        const struct ntk_slot_fact *fact = ntk_program_fact(program, core_index, instruction);
        engine->instruction_count++;
        end_semaphore(&walk, instruction->start_ps);
        add_gap(&walk, instruction, fact);
        if (instruction->opcode == NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
            walk.semaphore = instruction;
        } else if (instruction->end_ps > walk.until_ps) {
            engine->busy_ps += instruction->end_ps - walk.until_ps;
            walk.until_ps = instruction->end_ps;
        }
    }
    end_semaphore(&walk, trace->total_ps);
    walk.item = NTK_NO_INDEX;
    add(&walk, &end, walk.until_ps, trace->total_ps);
    ntk_vec_sort(&walk.rows, compare_rows);
    engine->rows = walk.rows.items;
    engine->row_count = walk.rows.count;
    ntk_wait_chains_sort(&engine->chains);
    return walk.failed;
}

int ntk_analysis_idle_reasons(const struct ntk_program *program,
                              const struct ntk_dependencies *dependencies,
                              struct ntk_idle_reasons *out_reasons)
{
    return ntk_analysis_idle_parts(program, dependencies, NULL, NULL, out_reasons);
}

int ntk_analysis_idle_parts(const struct ntk_program *program,
                            const struct ntk_dependencies *dependencies, ntk_idle_part_call *call,
                            void *ctx, struct ntk_idle_reasons *out_reasons)
{
    const struct listener listener = { call, ctx };
    const struct ntk_trace *trace = program->trace;
    struct ntk_idle_reasons result = { .total_ps = trace->total_ps };
    int ret = 0;

    if (!trace->has_total || trace->total_ps <= 0) {
        return -ENODATA;
    }
    result.engines = calloc(trace->core_count * NTK_NTFF_ENGINE_COUNT + 1, sizeof *result.engines);
    if (!result.engines) {
        return -ENOMEM;
    }
    struct program_time time;
    ret = program_time_get(program, &time);
    for (size_t c = 0; c < trace->core_count && ret == 0; c++) {
        for (uint8_t e = 0; e < NTK_NTFF_ENGINE_COUNT && ret == 0; e++) {
            if (trace->cores[c].ntff->engine_buffers[e]) {
                ret = engine_reasons(program, c, e, dependencies, &time, &listener,
                                     &result.engines[result.engine_count++]);
            }
        }
    }
    free(time.engines_until_ps);
    if (ret < 0) {
        ntk_idle_reasons_fini(&result);
        return ret;
    }
    *out_reasons = result;
    return 0;
}

void ntk_idle_reasons_fini(struct ntk_idle_reasons *reasons)
{
    for (size_t i = 0; i < reasons->engine_count; i++) {
        free(reasons->engines[i].rows);
        ntk_wait_chains_fini(&reasons->engines[i].chains);
        for (size_t s = 0; s < NTK_SOURCES; s++) {
            ntk_line_costs_fini(&reasons->engines[i].lines[s]);
        }
    }
    free(reasons->engines);
    *reasons = (struct ntk_idle_reasons){ 0 };
}
