/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/engine/run_fixture.h"

#include <stdlib.h>

#include "tests/support/unit.h"

int run_setup(void **state)
{
    struct engine_fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    engine_fixture_init(f, 2);
    *state = f;
    return 0;
}

int run_teardown(void **state)
{
    engine_fixture_fini(*state);
    free(*state);
    return 0;
}

static struct run_record *log_add(struct run_log *log)
{
    assert_true(log->count < RUN_RECORDS);
    return &log->records[log->count++];
}

static void log_instruction(const struct ntk_engine_instruction_event *e, void *ctx)
{
    *log_add(ctx) = (struct run_record){ 'i',         e->engine, e->slot,    e->opcode,
                                         e->start_ps, e->end_ps, e->wait_ps, 0 };
}

static void log_dma(const struct ntk_engine_dma_event *e, void *ctx)
{
    *log_add(ctx) = (struct run_record){ 'd',         e->dma_engine, e->queue, e->group,
                                         e->start_ps, e->end_ps,     0,        e->write_bytes };
}

static void log_semaphore(const struct ntk_engine_semaphore_event *e, void *ctx)
{
    *log_add(ctx) = (struct run_record){
        e->is_event ? 'e' : 's', e->engine, e->number, e->value, e->time_ps, 0, 0, 0
    };
}

struct ntk_engine_trace run_log_trace(struct run_log *log)
{
    log->count = 0;
    return (struct ntk_engine_trace){
        .instruction = log_instruction, .dma = log_dma, .semaphore = log_semaphore, .ctx = log
    };
}

struct ntk_isa_instr run_nop(uint32_t cycles)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    instr.imm[0] = cycles;
    return instr;
}

struct ntk_isa_instr run_memset(uint32_t elements)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);

    instr.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 1, elements, NTK_DTYPE_FLOAT32);
    return instr;
}
