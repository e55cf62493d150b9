/* SPDX-License-Identifier: MIT */
/* source_lines - maps slots to lines once, then adds each row to its slot. */
#include "profiler/analysis/source_lines_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/trace/walk.h"

/* ---- the place of a row ---- */

static uint32_t add_line(struct ntk_line_finder *f, struct ntk_source_line line)
{
    line.number = (uint32_t)f->lines.count;
    if (ntk_vec_push(&f->lines, &line) < 0) {
        f->failed = -ENOMEM;
        return 0;
    }
    return (uint32_t)f->lines.count;
}

static uint32_t line_of_position(struct ntk_line_finder *f, const struct ntk_neff_position *at)
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

/* Returns 1 + index in lines; stores the line of the slot, so that it is looked up once. */
static uint32_t line_of(struct ntk_line_finder *f, size_t core, unsigned engine,
                        int64_t compiler_pc)
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

/* Returns the path of an iteration: nodes with equal values in equal loops are merged. The result
 * is 1 + index in paths. */
static uint32_t path_of(struct ntk_line_finder *f, uint32_t node)
{
    const struct ntk_neff_iteration *iteration =
        ntk_neff_row_get(&f->positions->kernel.iterations, node);
    struct ntk_buf key = { 0 };

    if (!node || f->nodes[node - 1]) {
        return node ? f->nodes[node - 1] : 0;
    }
    uint32_t parent = path_of(f, iteration->parent); /* at most 64 levels */
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

/* Contribution of one row to each sum. */
struct row {
    const struct ntk_trace_instruction *instruction;
    const struct ntk_slot_fact *fact;
    int64_t duration_ps, wait_ns;
};

int64_t ntk_source_wait_ns(const struct ntk_trace *trace, uint16_t cycles)
{
    return trace->has_chip ? (int64_t)cycles * 1000 / trace->chip.base_mhz : 0;
}

int64_t ntk_source_wait_max_ns(const struct ntk_trace *trace)
{
    return ntk_source_wait_ns(trace, UINT16_MAX);
}

static void add(struct ntk_source_sums *to, const struct row *row)
{
    const struct ntk_slot_fact *fact = row->fact;

    to->instruction_count++;
    to->engine_counts[row->instruction->engine]++;
    to->duration_ns = ntk_ps_sum(to->duration_ns, ntk_source_ns(row->duration_ps));
    to->duration_ps = ntk_ps_sum(to->duration_ps, row->duration_ps);
    to->wait_ns = ntk_ps_sum(to->wait_ns, row->wait_ns);
    to->flops = fact->code->has_flops ? sum(to->flops, fact->code->flops) : to->flops;
    if (fact->code->has_bytes) {
        to->hbm_read_bytes = sum(to->hbm_read_bytes, fact->code->read_bytes);
        to->hbm_write_bytes = sum(to->hbm_write_bytes, fact->code->write_bytes);
    }
    if (fact->code->has_onchip) {
        to->sbuf_read_bytes = sum(to->sbuf_read_bytes, fact->code->sbuf_read_bytes);
        to->sbuf_write_bytes = sum(to->sbuf_write_bytes, fact->code->sbuf_write_bytes);
        to->psum_read_bytes = sum(to->psum_read_bytes, fact->code->psum_read_bytes);
        to->psum_write_bytes = sum(to->psum_write_bytes, fact->code->psum_write_bytes);
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

static void add_to_path(struct ntk_line_finder *f, uint32_t path, const struct row *row)
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

static uint32_t path_of_row(struct ntk_line_finder *f, size_t core,
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

static void add_rows(struct ntk_line_finder *f)
{
    const struct ntk_program *program = f->result->program;
    struct ntk_walk walk;
    struct ntk_walk_span span;

    ntk_walk_init(&walk, program->trace, NTK_WALK_INSTRUCTIONS);
    while (!f->failed && ntk_walk_next(&walk, &span)) {
        size_t core = (size_t)(span.core - program->trace->cores);
        struct row row = { .instruction = span.instruction,
                           .fact = ntk_program_fact(program, core, span.instruction),
                           .duration_ps = span.end_ps - span.start_ps,
                           .wait_ns =
                               ntk_source_wait_ns(program->trace, span.instruction->wait_cycles) };
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

uint32_t ntk_line_of_instruction(struct ntk_line_finder *f, size_t core,
                                 const struct ntk_trace_instruction *instruction)
{
    return line_of(f, core, instruction->engine,
                   ntk_program_fact(f->result->program, core, instruction)->compiler_pc);
}

uint32_t ntk_path_of_instruction(struct ntk_line_finder *f, size_t core,
                                 const struct ntk_trace_instruction *instruction)
{
    const char *function;

    return path_of_row(f, core, instruction,
                       ntk_program_fact(f->result->program, core, instruction), &function);
}

static void add_transfers(struct ntk_line_finder *f, const struct ntk_transfers *transfers)
{
    for (size_t c = 0; transfers && c < transfers->core_count; c++) {
        const struct ntk_transfers_core *of = &transfers->cores[c];
        const struct ntk_trace_core *core = &f->result->program->trace->cores[c];

        for (size_t t = 0; t < of->count && !f->failed; t++) {
            if (t % NTK_TRACE_LOOKS == 0) {
                ntk_transfers_give_back(transfers, c);
            }
            const struct ntk_moves *moves =
                ntk_transfer_fact(transfers, c, &of->items[t])->code->moves;
            const struct ntk_trace_instruction *by = &core->instructions[of->items[t].instruction];
            if (!moves || of->items[t].packet_count == 0) {
                continue;
            }
            uint64_t bytes = moves->bytes[NTK_MOVES_DEST];
            uint32_t line = ntk_line_of_instruction(f, c, by);
            uint32_t path = ntk_path_of_instruction(f, c, by);
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

static int prepare(struct ntk_line_finder *f)
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

static void finder_fini(struct ntk_line_finder *f)
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
    struct ntk_line_finder f = { .result = calloc(1, sizeof *f.result),
                                 .positions = program->positions,
                                 .lines = NTK_VEC_INIT(struct ntk_source_line),
                                 .paths = NTK_VEC_INIT(struct ntk_source_iteration),
                                 .waits = NTK_VEC_INIT(struct ntk_source_wait) };

    if (!f.result) {
        return -ENOMEM;
    }
    f.result->program = program;
    f.failed = prepare(&f);
    if (!f.failed) {
        add_rows(&f);
        add_transfers(&f, transfers);
        ntk_source_waits_add(&f, dependencies);
    }
    if (!f.failed) {
        f.failed = ntk_source_finish_lines(&f);
    }
    if (!f.failed) {
        f.failed = ntk_source_finish_paths(&f);
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
