/* SPDX-License-Identifier: MIT */
/* source_lines - slots are put to lines once; then each row is added where its slot is. */
#include "profiler/analysis/source_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/walk.h"
#include "shared/base/buf.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"

struct line_finder {
    struct ntk_source_lines *result;
    const struct ntk_neff_positions *positions;
    struct ntk_vec lines;                      /* struct ntk_source_line */
    struct ntk_map line_numbers;               /* file << 32 | line to 1 + index */
    uint32_t reasons[NTK_SOURCE_REASON_COUNT]; /* 1 + index */
    uint32_t **slots;       /* [core * engines + engine][compiler_pc]: 1 + index in lines */
    struct ntk_vec paths;   /* struct ntk_source_iteration */
    struct ntk_map by_path; /* "parent/loop/value" to 1 + index */
    uint32_t *nodes;        /* of each iteration of the tree: 1 + index in paths */
    struct ntk_vec waits;   /* struct wait */
    struct ntk_map by_pair; /* waiting << 32 | blocking to 1 + index in waits */
    int failed;
};

/* Of a pair of lines. */
struct wait {
    uint32_t waiting, blocking; /* indices in lines */
    int64_t wait_ns;
};

const char *ntk_source_reason_name(enum ntk_source_reason reason)
{
    static const char *const names[] = { NULL, "runtime", "compiler", "no_debug_info" };

    return names[reason];
}

double ntk_source_loop_overlap(const struct ntk_source_loop *loop)
{
    int64_t span_ns = ntk_source_ns(loop->end_ps) - ntk_source_ns(loop->start_ps);

    return span_ns > 0 ? (double)loop->span_sum_ns / (double)span_ns : 0;
}

void ntk_source_values_add(const struct ntk_source_lines *lines, uint32_t iteration,
                           struct ntk_buf *out)
{
    uint32_t path[NTK_NEFF_KERNEL_DEPTH_MAX];
    size_t count = 0;

    for (uint32_t at = iteration + 1; at && count < NTK_NEFF_KERNEL_DEPTH_MAX;
         at = lines->iterations[at - 1].parent) {
        path[count++] = at - 1;
    }
    while (count > 0) {
        ntk_neff_iteration_value_add(lines->iterations[path[--count]].iteration, out);
        ntk_buf_add_text(out, count ? "," : "");
    }
}

/* ---- where a row belongs ---- */

static uint32_t add_line(struct line_finder *f, struct ntk_source_line line)
{
    line.number = (uint32_t)f->lines.count;
    if (ntk_vec_push(&f->lines, &line) < 0) {
        f->failed = -ENOMEM;
        return 0;
    }
    return (uint32_t)f->lines.count;
}

static uint32_t line_of_position(struct line_finder *f, const struct ntk_neff_position *at)
{
    uint64_t key = (uint64_t)at->file << 32 | at->line;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&f->line_numbers, key);

    if (!number) {
        number = add_line(f, (struct ntk_source_line){ .file = at->file, .line = at->line });
        if (number && ntk_map_put_number(&f->line_numbers, key, (void *)number) < 0) {
            f->failed = -ENOMEM;
        }
    }
    return (uint32_t)number;
}

/* 1 + index in lines; the place of the slot is kept, so that a slot is looked up once. */
static uint32_t line_of(struct line_finder *f, size_t core, unsigned engine, int64_t compiler_pc)
{
    const struct ntk_neff_position *at =
        ntk_neff_position_get(f->positions, core, (enum ntk_isa_engine)engine, compiler_pc);
    enum ntk_source_reason reason = compiler_pc < 0        ? NTK_SOURCE_RUNTIME
                                    : f->result->has_lines ? NTK_SOURCE_COMPILER
                                                           : NTK_SOURCE_NO_DEBUG_INFO;

    if (at && at->file) {
        uint32_t *slot = &f->slots[core * NTK_NTFF_ENGINE_COUNT + engine][compiler_pc];
        *slot = *slot ? *slot : line_of_position(f, at);
        return *slot;
    }
    if (!f->reasons[reason]) {
        f->reasons[reason] = add_line(f, (struct ntk_source_line){ .reason = reason });
    }
    return f->reasons[reason];
}

/* The path of an iteration: nodes of equal values in equal loops are one. 1 + index in paths. */
static uint32_t path_of(struct line_finder *f, uint32_t node)
{
    const struct ntk_neff_iteration *iteration =
        ntk_neff_row_get(&f->positions->kernel.iterations, node);
    struct ntk_buf key = { 0 };

    if (!node || f->nodes[node - 1]) {
        return node ? f->nodes[node - 1] : 0;
    }
    uint32_t parent = path_of(f, iteration->parent); /* at most 64 deep */
    ntk_buf_add_format(&key, "%x/%x/", parent, iteration->loop);
    ntk_neff_iteration_value_add(iteration, &key);
    uintptr_t number = (uintptr_t)ntk_map_get(&f->by_path, ntk_buf_text_get(&key));
    if (!number) {
        struct ntk_source_iteration one = { .iteration = iteration,
                                            .parent = parent,
                                            .loop = iteration->loop };
        number = f->paths.count + 1;
        if (!ntk_buf_ok(&key) || ntk_vec_push(&f->paths, &one) < 0 ||
            ntk_map_put(&f->by_path, ntk_buf_text_get(&key), (void *)number) < 0) {
            f->failed = -ENOMEM;
            number = 0;
        }
    }
    ntk_buf_fini(&key);
    f->nodes[node - 1] = (uint32_t)number;
    return (uint32_t)number;
}

/* ---- sums ---- */

static int64_t sum(int64_t a, uint64_t b)
{
    return ntk_ps_sum(a, b > INT64_MAX ? INT64_MAX : (int64_t)b);
}

/* One row: what it adds to each of its sums. */
struct row {
    const struct ntk_trace_instruction *instruction;
    const struct ntk_slot_fact *fact;
    int64_t duration_ns, wait_ns;
};

static int64_t wait_ns(const struct ntk_trace *trace, uint16_t cycles)
{
    return trace->has_chip ? (int64_t)cycles * 1000 / trace->chip.base_mhz : 0;
}

static void add(struct ntk_source_sums *to, const struct row *row)
{
    const struct ntk_slot_fact *fact = row->fact;

    to->instruction_count++;
    to->engine_counts[row->instruction->engine]++;
    to->duration_ns = ntk_ps_sum(to->duration_ns, row->duration_ns);
    to->wait_ns = ntk_ps_sum(to->wait_ns, row->wait_ns);
    to->flops = fact->has_flops ? sum(to->flops, fact->flops) : to->flops;
    if (fact->has_bytes) {
        to->hbm_read_bytes = sum(to->hbm_read_bytes, fact->read_bytes);
        to->hbm_write_bytes = sum(to->hbm_write_bytes, fact->write_bytes);
    }
    if (fact->has_onchip) {
        to->sbuf_read_bytes = sum(to->sbuf_read_bytes, fact->sbuf_read_bytes);
        to->sbuf_write_bytes = sum(to->sbuf_write_bytes, fact->sbuf_write_bytes);
        to->psum_read_bytes = sum(to->psum_read_bytes, fact->psum_read_bytes);
        to->psum_write_bytes = sum(to->psum_write_bytes, fact->psum_write_bytes);
    }
    if (row->instruction->opcode != NTK_NTFF_OPCODE_EVENT_SEMAPHORE) {
        ntk_cover_add(&to->active, row->instruction->start_ps, row->instruction->end_ps);
    }
}

static void widen(int64_t *start_ps, int64_t *end_ps, bool is_first,
                  const struct ntk_trace_instruction *instruction)
{
    *start_ps = is_first || instruction->start_ps < *start_ps ? instruction->start_ps : *start_ps;
    *end_ps = is_first || instruction->end_ps > *end_ps ? instruction->end_ps : *end_ps;
}

static void add_to_path(struct line_finder *f, uint32_t path, const struct row *row)
{
    struct ntk_source_iteration *paths = f->paths.items;

    for (uint32_t at = path; at; at = paths[at - 1].parent) {
        struct ntk_source_iteration *iteration = &paths[at - 1];
        struct ntk_source_loop *loop = &f->result->loops[iteration->loop];

        if (at == path) {
            add(&iteration->sums, row);
            add(&loop->sums, row);
        }
        widen(&iteration->start_ps, &iteration->end_ps, !iteration->totals.instruction_count,
              row->instruction);
        widen(&loop->start_ps, &loop->end_ps, !loop->totals.instruction_count, row->instruction);
        add(&iteration->totals, row);
        add(&loop->totals, row);
    }
}

static uint32_t path_of_row(struct line_finder *f, size_t core,
                            const struct ntk_trace_instruction *instruction,
                            const struct ntk_slot_fact *fact, const char **out_function)
{
    const struct ntk_neff_position *at = ntk_neff_position_get(
        f->positions, core, (enum ntk_isa_engine)instruction->engine, fact->compiler_pc);
    const struct ntk_neff_kernel_instruction *kernel =
        ntk_neff_position_instruction(f->positions, at);
    const struct ntk_neff_function *function = ntk_neff_position_function(f->positions, kernel);

    *out_function = function && function->name[0] ? function->name : NULL;
    return kernel ? path_of(f, kernel->iteration) : 0;
}

static void add_rows(struct line_finder *f)
{
    const struct ntk_program *program = f->result->program;
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, program->trace, NTK_WALK_INSTRUCTIONS);
    while (!f->failed && ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - program->trace->cores);
        struct row row = { .instruction = span.instruction,
                           .fact = ntk_program_fact(program, core, span.instruction),
                           .duration_ns = ntk_source_ns(span.end_ps - span.start_ps),
                           .wait_ns = wait_ns(program->trace, span.instruction->wait_cycles) };
        uint32_t line = line_of(f, core, span.instruction->engine, row.fact->compiler_pc);
        const char *function;
        uint32_t path = path_of_row(f, core, span.instruction, row.fact, &function);

        if (f->failed) {
            break;
        }
        struct ntk_source_line *to = ntk_vec_at(&f->lines, line - 1);
        to->function = to->function || !to->file ? to->function : function;
        add(&to->sums, &row);
        add_to_path(f, path, &row);
    }
}

static uint32_t line_of_instruction(struct line_finder *f, size_t core,
                                    const struct ntk_trace_instruction *instruction)
{
    return line_of(f, core, instruction->engine,
                   ntk_program_fact(f->result->program, core, instruction)->compiler_pc);
}

static void add_transfers(struct line_finder *f, const struct ntk_transfers *transfers)
{
    for (size_t c = 0; transfers && c < transfers->core_count; c++) {
        const struct ntk_transfers_core *of = &transfers->cores[c];
        const struct ntk_trace_core *core = &f->result->program->trace->cores[c];

        for (size_t t = 0; t < of->count && !f->failed; t++) {
            if (t % NTK_TRACE_LOOKS == 0) {
                ntk_transfers_give_back(transfers, c);
            }
            const struct ntk_moves *moves = ntk_transfer_fact(transfers, c, &of->items[t])->moves;
            const struct ntk_trace_instruction *by = &core->instructions[of->items[t].instruction];
            const char *function;
            if (!moves || of->items[t].packet_count == 0) {
                continue;
            }
            uint64_t bytes = moves->bytes[NTK_MOVES_DEST];
            uint32_t line = line_of_instruction(f, c, by);
            uint32_t path =
                path_of_row(f, c, by, ntk_program_fact(f->result->program, c, by), &function);
            if (f->failed) {
                return;
            }
            struct ntk_source_line *to = ntk_vec_at(&f->lines, line - 1);
            to->sums.transfer_bytes = sum(to->sums.transfer_bytes, bytes);
            struct ntk_source_iteration *paths = f->paths.items;
            for (uint32_t at = path; at; at = paths[at - 1].parent) {
                struct ntk_source_iteration *in = &paths[at - 1];
                struct ntk_source_loop *loop = &f->result->loops[in->loop];
                if (at == path) {
                    in->sums.transfer_bytes = sum(in->sums.transfer_bytes, bytes);
                    loop->sums.transfer_bytes = sum(loop->sums.transfer_bytes, bytes);
                }
                in->totals.transfer_bytes = sum(in->totals.transfer_bytes, bytes);
                loop->totals.transfer_bytes = sum(loop->totals.transfer_bytes, bytes);
            }
        }
    }
}

/* ---- who a line waited for ---- */

static void add_wait(struct line_finder *f, uint32_t waiting, uint32_t blocking, int64_t ns)
{
    uint64_t key = (uint64_t)waiting << 32 | blocking;
    uintptr_t number = (uintptr_t)ntk_map_get_number(&f->by_pair, key);

    if (!number) {
        struct wait one = { waiting, blocking, 0 };
        number = f->waits.count + 1;
        if (ntk_vec_push(&f->waits, &one) < 0 ||
            ntk_map_put_number(&f->by_pair, key, (void *)number) < 0) {
            f->failed = -ENOMEM;
            return;
        }
    }
    struct wait *wait = ntk_vec_at(&f->waits, number - 1);
    wait->wait_ns = ntk_ps_sum(wait->wait_ns, ns);
}

static void add_waits(struct line_finder *f, const struct ntk_dependencies *dependencies)
{
    const struct ntk_trace *trace = f->result->program->trace;
    bool has_waits = dependencies && f->result->has_lines;

    for (size_t c = 0; has_waits && c < trace->core_count; c++) {
        const struct ntk_trace_core *core = &trace->cores[c];

        for (size_t i = 0; i < core->instruction_count && !f->failed; i++) {
            const struct ntk_release *release = &dependencies->cores[c].releases[i];
            int64_t ns = wait_ns(trace, core->instructions[i].wait_cycles);
            if (i % NTK_TRACE_LOOKS == 0) {
                ntk_dependencies_give_back(core, &dependencies->cores[c]);
            }
            if (release->by == NTK_NO_INDEX || ns == 0) {
                continue;
            }
            uint32_t waiting = line_of_instruction(f, c, &core->instructions[i]);
            uint32_t blocking = line_of_instruction(f, c, &core->instructions[release->by]);
            const struct ntk_source_line *lines = f->lines.items;
            if (!f->failed && lines[waiting - 1].file && lines[blocking - 1].file) {
                add_wait(f, waiting - 1, blocking - 1, ns);
            }
        }
    }
}

static int compare_waits(const void *a, const void *b)
{
    const struct wait *x = a;
    const struct wait *y = b;

    if (x->waiting != y->waiting) {
        return x->waiting < y->waiting ? -1 : 1;
    }
    if (x->wait_ns != y->wait_ns) {
        return x->wait_ns > y->wait_ns ? -1 : 1;
    }
    return x->blocking < y->blocking ? -1 : x->blocking > y->blocking;
}

/* ---- the result ---- */

int64_t ntk_source_sums_by(const struct ntk_source_sums *sums, enum ntk_source_order order)
{
    switch (order) {
    case NTK_SOURCE_BY_STALL:
        return sums->wait_ns;
    case NTK_SOURCE_BY_TIME:
        return sums->duration_ns;
    case NTK_SOURCE_BY_BYTES:
        return ntk_ps_sum(sums->hbm_read_bytes, sums->hbm_write_bytes);
    default:
        return ntk_ps_sum(sums->wait_ns, sums->duration_ns);
    }
}

static int compare_lines(const void *a, const void *b)
{
    const struct ntk_source_line *x = a;
    const struct ntk_source_line *y = b;

    if (x->reason != y->reason) {
        return x->reason < y->reason ? -1 : 1;
    }
    if (x->rank != y->rank) {
        return x->rank > y->rank ? -1 : 1;
    }
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Where each line is now, by its number; the caller frees it. NULL: no memory. */
static uint32_t *sort_lines(struct ntk_source_lines *lines, enum ntk_source_order order)
{
    uint32_t *moved = malloc((lines->line_count + 1) * sizeof *moved);

    for (size_t i = 0; i < lines->line_count; i++) {
        lines->lines[i].rank = ntk_source_sums_by(&lines->lines[i].sums, order);
    }
    if (lines->line_count) {
        qsort(lines->lines, lines->line_count, sizeof *lines->lines, compare_lines);
    }
    for (size_t i = 0; moved && i < lines->line_count; i++) {
        moved[lines->lines[i].number] = (uint32_t)i;
    }
    return moved;
}

int ntk_source_lines_sort(struct ntk_source_lines *lines, enum ntk_source_order order)
{
    uint32_t *numbers = malloc((lines->line_count + 1) * sizeof *numbers);

    if (!numbers) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < lines->line_count; i++) {
        numbers[i] = lines->lines[i].number;
    }
    uint32_t *moved = sort_lines(lines, order);
    for (size_t i = 0; moved && i < lines->line_count; i++) {
        for (size_t b = 0; b < lines->lines[i].blocker_count; b++) {
            struct ntk_source_blocker *blocker = &lines->lines[i].blockers[b];
            blocker->line = moved[numbers[blocker->line]];
        }
    }
    bool is_sorted = moved != NULL;
    free(numbers);
    free(moved);
    return is_sorted ? 0 : -ENOMEM;
}

/* The longest waits of each line, which stand first. */
static int finish_lines(struct line_finder *f)
{
    struct ntk_source_lines *result = f->result;

    ntk_vec_sort(&f->waits, compare_waits);
    result->lines = f->lines.items;
    result->line_count = f->lines.count;
    uint32_t *moved = sort_lines(result, NTK_SOURCE_BY_COST);
    if (!moved) {
        return -ENOMEM;
    }
    ntk_vec_each(struct wait, wait, &f->waits) {
        struct ntk_source_line *line = &result->lines[moved[wait->waiting]];
        if (line->blocker_count < NTK_SOURCE_BLOCKERS_MAX) {
            line->blockers[line->blocker_count++] =
                (struct ntk_source_blocker){ moved[wait->blocking], wait->wait_ns };
        }
    }
    free(moved);
    return 0;
}

static int compare_paths(const void *a, const void *b)
{
    const struct ntk_source_iteration *x = a;
    const struct ntk_source_iteration *y = b;

    if (x->loop != y->loop) {
        return x->loop < y->loop ? -1 : 1;
    }
    if (x->start_ps != y->start_ps) {
        return x->start_ps < y->start_ps ? -1 : 1;
    }
    return x->iteration < y->iteration ? -1 : x->iteration > y->iteration;
}

static int finish_paths(struct line_finder *f)
{
    struct ntk_source_lines *result = f->result;
    const struct ntk_neff_iteration *nodes =
        f->positions ? f->positions->kernel.iterations.items : NULL;
    uint32_t *moved = malloc((f->paths.count + 1) * sizeof *moved);

    if (!moved) {
        return -ENOMEM;
    }
    ntk_vec_sort(&f->paths, compare_paths);
    result->iterations = f->paths.items;
    result->iteration_count = f->paths.count;
    for (size_t i = 0; i < result->iteration_count; i++) {
        moved[f->nodes[result->iterations[i].iteration - nodes] - 1] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < result->iteration_count; i++) {
        struct ntk_source_iteration *one = &result->iterations[i];
        struct ntk_source_loop *loop = &result->loops[one->loop];
        int64_t span_ns = ntk_source_ns(one->end_ps) - ntk_source_ns(one->start_ps);

        one->parent = one->parent ? moved[one->parent - 1] : 0;
        if (!loop->iteration_count++ || span_ns > loop->span_max_ns) {
            loop->span_max_ns = span_ns;
            loop->slowest = (uint32_t)i;
        }
        loop->span_sum_ns = ntk_ps_sum(loop->span_sum_ns, span_ns);
    }
    free(moved);
    return 0;
}

static int prepare(struct line_finder *f)
{
    const struct ntk_neff_positions *positions = f->positions;
    size_t tables = f->result->program->trace->core_count * NTK_NTFF_ENGINE_COUNT;

    f->result->loop_count = positions ? positions->kernel.loops.count : 0;
    f->result->loops = calloc(f->result->loop_count + 1, sizeof *f->result->loops);
    f->nodes = calloc((positions ? positions->kernel.iterations.count : 0) + 1, sizeof *f->nodes);
    f->slots = calloc(tables + 1, sizeof *f->slots);
    if (!f->result->loops || !f->nodes || !f->slots) {
        return -ENOMEM;
    }
    for (size_t t = 0; positions && t < tables; t++) {
        size_t count =
            positions->cores[t / NTK_NTFF_ENGINE_COUNT].slot_counts[t % NTK_NTFF_ENGINE_COUNT];
        f->slots[t] = calloc(count + 1, sizeof *f->slots[t]);
        if (!f->slots[t]) {
            return -ENOMEM;
        }
    }
    f->result->has_lines = positions && positions->line_count;
    return 0;
}

static void finder_fini(struct line_finder *f)
{
    size_t tables = f->result->program->trace->core_count * NTK_NTFF_ENGINE_COUNT;

    for (size_t t = 0; f->slots && t < tables; t++) {
        free(f->slots[t]);
    }
    free(f->slots);
    free(f->nodes);
    ntk_vec_fini(&f->waits);
    ntk_map_fini(&f->line_numbers);
    ntk_map_fini(&f->by_path);
    ntk_map_fini(&f->by_pair);
}

int ntk_source_lines_create(const struct ntk_program *program,
                            const struct ntk_transfers *transfers,
                            const struct ntk_dependencies *dependencies,
                            struct ntk_source_lines **out_lines)
{
    struct line_finder f = { .result = calloc(1, sizeof *f.result),
                             .positions = program->positions,
                             .lines = NTK_VEC_INIT(struct ntk_source_line),
                             .paths = NTK_VEC_INIT(struct ntk_source_iteration),
                             .waits = NTK_VEC_INIT(struct wait) };

    if (!f.result) {
        return -ENOMEM;
    }
    f.result->program = program;
    f.failed = prepare(&f);
    if (!f.failed) {
        add_rows(&f);
        add_transfers(&f, transfers);
        add_waits(&f, dependencies);
    }
    if (!f.failed) {
        f.failed = finish_lines(&f);
    }
    if (!f.failed) {
        f.failed = finish_paths(&f);
    }
    finder_fini(&f);
    if (f.failed) {
        free(f.result->lines ? NULL : f.lines.items);
        free(f.result->iterations ? NULL : f.paths.items);
        ntk_source_lines_destroy(f.result);
        return f.failed;
    }
    *out_lines = f.result;
    return 0;
}

void ntk_source_lines_destroy(struct ntk_source_lines *lines)
{
    if (!lines) {
        return;
    }
    free(lines->lines);
    free(lines->loops);
    free(lines->iterations);
    free(lines);
}
