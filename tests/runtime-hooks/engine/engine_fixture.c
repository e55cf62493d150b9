/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/engine_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/engine/engine_core.h"
#include "shared/formats/neff/isa_text.h"
#include "tests/support/unit.h"

/* Semaphores that chain the steps of a sequential program; the first ones belong to the tests. */
#define FIRST_CHAIN_SEMAPHORE 100

void engine_fixture_init(struct engine_fixture *f, unsigned generation)
{
    static const char *const names[NTK_ISA_ENGINE_COUNT] = { "PE.bin", "Activation.bin", "Pool.bin",
                                                             "DVE.bin", "SP.bin" };

    memset(f, 0, sizeof *f);
    f->generation = generation;
    f->subgraph.name = "sg00";
    f->subgraph.vars = f->vars;
    f->subgraph.queue_sets = f->queue_sets;
    f->subgraph.var_count = 1;
    f->vars[0] = (struct ntk_neff_var){ .name = "SB",
                                        .type = NTK_NEFF_VAR_STATE_BUFFER,
                                        .referenced_var_id = NTK_NEFF_NONE };
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        f->code[e] = calloc(1, FIXTURE_CODE_BYTES);
        assert_non_null(f->code[e]);
        f->subgraph.engines[e] = (struct ntk_neff_engine){ .binary_name = names[e],
                                                           .code = f->code[e],
                                                           .nsx_version = NTK_ISA_VERSION,
                                                           .groups = f->groups[e],
                                                           .is_empty = true };
    }
    f->next_semaphore = FIRST_CHAIN_SEMAPHORE;
    assert_int_equal(ntk_engine_core_create(generation, &f->core, &f->err), 0);
}

static bool is_zero(const uint8_t *memory, const uint8_t *end)
{
    uint64_t bits = 0;

    for (; memory < end; memory += sizeof bits) {
        uint64_t word;

        memcpy(&word, memory, sizeof word);
        bits |= word;
    }
    return bits == 0;
}

/* Asserts that a reset clears everything that the test stored. */
static void assert_clears(struct ntk_engine_core *core)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    assert_int_equal(ntk_engine_core_reset(core), 0);
    assert_true(is_zero(core->sbuf, core->psum - page));
    assert_true(is_zero(core->psum, core->memory + core->memory_bytes - page));
}

void engine_fixture_fini(struct engine_fixture *f)
{
    assert_clears(f->core);
    ntk_engine_program_destroy(f->program);
    ntk_engine_core_destroy(f->core);
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        free(f->code[e]);
    }
    for (int v = 0; v < FIXTURE_VARS; v++) {
        free(f->bindings[v].bytes);
    }
}

void engine_fixture_clear(struct engine_fixture *f)
{
    ntk_engine_program_destroy(f->program);
    f->program = NULL;
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        f->subgraph.engines[e].code_bytes = 0;
        f->subgraph.engines[e].is_empty = true;
        f->subgraph.engines[e].group_count = 0;
    }
    f->next_semaphore = FIRST_CHAIN_SEMAPHORE;
}

uint32_t engine_fixture_var(struct engine_fixture *f, enum ntk_neff_var_type type, uint64_t bytes)
{
    uint32_t id = f->subgraph.var_count++;

    assert_true(id < FIXTURE_VARS);
    f->vars[id] = (struct ntk_neff_var){ .name = "v",
                                         .type = type,
                                         .var_id = id,
                                         .bytes_count = bytes,
                                         .referenced_var_id = NTK_NEFF_NONE };
    f->bindings[id].bytes = calloc(1, bytes);
    f->bindings[id].size = bytes;
    f->bindings[id].device_address = 0x100000000u * id;
    assert_non_null(f->bindings[id].bytes);
    return id;
}

void *engine_fixture_memory(struct engine_fixture *f, uint32_t var_id)
{
    return f->bindings[var_id].bytes;
}

uint32_t engine_fixture_queue(struct engine_fixture *f, uint32_t queues)
{
    uint32_t id = f->subgraph.queue_set_count++;

    assert_true(id < FIXTURE_QUEUES);
    f->queue_sets[id] = (struct ntk_neff_queue_set){ .name = "q", .queue_count = queues };
    return id;
}

void engine_fixture_emit(struct engine_fixture *f, enum ntk_isa_engine engine,
                         const struct ntk_isa_instr *instr)
{
    struct ntk_neff_engine *e = &f->subgraph.engines[engine];
    struct ntk_err err = { 0 };
    size_t slots = 0;

    assert_true(e->code_bytes + NTK_ISA_INSTR_BYTES_MAX <= FIXTURE_CODE_BYTES);
    if (ntk_isa_encode(instr, engine, f->code[engine] + e->code_bytes, &slots, &err) < 0) {
        fail_msg("the fixture cannot encode: %s", err.text);
    }
    e->code_bytes += slots * NTK_ISA_SLOT_BYTES;
    e->is_empty = false;
}

void engine_fixture_assemble(struct engine_fixture *f, enum ntk_isa_engine engine, const char *text)
{
    struct ntk_neff_engine *e = &f->subgraph.engines[engine];
    struct ntk_buf code = { 0 };
    struct ntk_err err = { 0 };

    if (ntk_isa_text_parse_program(text, strlen(text), 1, engine, &code, &err) < 0) {
        fail_msg("%s", err.text);
    }
    assert_true(e->code_bytes + code.bytes_count <= FIXTURE_CODE_BYTES);
    memcpy(f->code[engine] + e->code_bytes, code.bytes, code.bytes_count);
    e->code_bytes += code.bytes_count;
    e->is_empty = false;
    ntk_buf_fini(&code);
}

struct ntk_neff_transfer *engine_fixture_group(struct engine_fixture *f, enum ntk_isa_engine engine,
                                               uint32_t queue, uint32_t id, uint16_t semaphore)
{
    struct ntk_neff_engine *e = &f->subgraph.engines[engine];
    uint32_t g = e->group_count++;
    struct ntk_neff_transfer *transfer = &f->transfers[engine][g];

    assert_true(g < FIXTURE_GROUPS);
    for (int s = 0; s < FIXTURE_SOURCES; s++) {
        f->scales[engine][g][s] = 1.0F;
    }
    *transfer = (struct ntk_neff_transfer){ .source_count = 1,
                                            .from = f->patterns[engine][g],
                                            .scales = f->scales[engine][g] };
    f->groups[engine][g] =
        (struct ntk_neff_dma_group){ .id = id,
                                     .queue_set = queue,
                                     .transfer_count = 1,
                                     .transfers = transfer,
                                     .semaphore = semaphore == 0xffff ? NTK_NEFF_NONE : semaphore,
                                     .event = NTK_NEFF_NONE,
                                     .function_start = "",
                                     .comment = "" };
    return transfer;
}

/* Waits for the previous step and signals the next one. */
static void chain(struct engine_fixture *f, struct ntk_isa_instr *instr, bool signals)
{
    assert_true(f->next_semaphore + 1 < NTK_ISA_SEMAPHORES);
    if (f->next_semaphore > FIRST_CHAIN_SEMAPHORE) {
        instr->wait_semaphore = f->next_semaphore;
        instr->wait_value = 1;
    }
    f->next_semaphore++;
    if (signals) {
        instr->signal_semaphore = f->next_semaphore;
        instr->signal_value = 1;
    } else {
        instr->done_semaphore = f->next_semaphore;
        instr->done_value = 1;
    }
}

void engine_fixture_step(struct engine_fixture *f, enum ntk_isa_engine engine,
                         struct ntk_isa_instr instr)
{
    chain(f, &instr, !ntk_isa_ends_later(instr.op));
    engine_fixture_emit(f, engine, &instr);
}

static void move(struct engine_fixture *f, uint32_t queue, uint32_t var, uint64_t sbuf,
                 unsigned partitions, uint32_t row_bytes, bool load)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_isa_operand tile = ntk_isa_sbuf(sbuf, partitions, row_bytes, NTK_DTYPE_UINT8);
    struct ntk_isa_operand rows =
        ntk_isa_var(var, 0, partitions, (int32_t)row_bytes, row_bytes, NTK_DTYPE_UINT8);

    instr.queue = (uint16_t)queue;
    instr.operand[NTK_ISA_DST] = load ? tile : rows;
    instr.operand[NTK_ISA_SRC0] = load ? rows : tile;
    engine_fixture_step(f, NTK_ISA_ENGINE_SP, instr);
}

void engine_fixture_load(struct engine_fixture *f, uint32_t queue, uint32_t var, uint64_t sbuf,
                         unsigned partitions, uint32_t row_bytes)
{
    move(f, queue, var, sbuf, partitions, row_bytes, true);
}

void engine_fixture_store(struct engine_fixture *f, uint32_t queue, uint32_t var, uint64_t sbuf,
                          unsigned partitions, uint32_t row_bytes)
{
    move(f, queue, var, sbuf, partitions, row_bytes, false);
}

int engine_fixture_make(struct engine_fixture *f)
{
    ntk_engine_program_destroy(f->program);
    f->program = NULL;
    memset(&f->err, 0, sizeof f->err);
    return ntk_engine_program_create(f->generation, &f->subgraph, &f->program, &f->err);
}

enum ntk_engine_outcome engine_fixture_run(struct engine_fixture *f,
                                           const struct ntk_engine_trace *trace,
                                           uint64_t timeout_ns)
{
    struct ntk_engine_run_options options = { .bindings = f->bindings,
                                              .binding_count = FIXTURE_VARS,
                                              .timeout_ns = timeout_ns,
                                              .trace = trace,
                                              .printer = f->printer };

    if (!f->program && engine_fixture_make(f) < 0) {
        fail_msg("the program is refused: %s", f->err.text);
    }
    assert_int_equal(ntk_engine_run(f->core, f->program, &options, &f->result, &f->err), 0);
    return f->result.outcome;
}

uint64_t engine_fixture_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
