/* SPDX-License-Identifier: MIT */
/* Method: a program of a few instructions with tiles of known size, and a trace with the number of
 * runs of each. */
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/onchip_traffic.h"
#include "profiler/analysis/queue_bytes.h"
#include "shared/formats/neff/neff.h"
#include "tests/support/unit.h"

#define SLOTS_MAX 64

struct machine {
    uint8_t code[SLOTS_MAX * NTK_NTFF_SLOT_BYTES];
    size_t slots;
    struct ntk_ntff_buffer buffer;
    struct ntk_ntff_subgraph ntff;
    struct ntk_trace_instruction instructions[32];
    struct ntk_trace_core core;
    struct ntk_trace trace;
};

static struct machine *machine_create(void)
{
    struct machine *m = calloc(1, sizeof *m);

    assert_non_null(m);
    m->trace = (struct ntk_trace){ .core_count = 1, .cores = &m->core };
    m->core.ntff = &m->ntff;
    m->core.instructions = m->instructions;
    return m;
}

/* Appends the instruction to those of the engine and sets how many times it ran. */
static void run(struct machine *m, unsigned engine, const struct ntk_isa_instr *instr, size_t times)
{
    struct ntk_err err = { 0 };
    size_t slots = 0;

    if (ntk_isa_encode(instr, (enum ntk_isa_engine)engine, m->code + m->slots * NTK_NTFF_SLOT_BYTES,
                       &slots, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < times; i++) {
        m->instructions[m->core.instruction_count++] =
            (struct ntk_trace_instruction){ .engine = (uint8_t)engine, .slot = (uint32_t)m->slots };
    }
    m->slots += slots;
    m->buffer = (struct ntk_ntff_buffer){ .engine = engine,
                                          .code = m->code,
                                          .code_bytes = m->slots * NTK_NTFF_SLOT_BYTES };
    m->ntff.engine_buffers[engine] = &m->buffer;
}

static struct ntk_onchip_traffic traffic_of(const struct machine *m)
{
    struct ntk_onchip_traffic traffic;
    struct ntk_dma_traffic dma;

    ntk_analysis_dma_traffic(&m->trace, &dma);
    ntk_analysis_onchip_traffic(&m->trace, &dma, &traffic);
    return traffic;
}

static void tile_bytes_are_counted_for_every_run_of_an_instruction(void **state)
{
    struct machine *m = machine_create();
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
    struct ntk_isa_instr never = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    /* 128 x 16 float32 from PSUM: 8192 bytes; as bfloat16 to SBUF: 4096. */
    copy.operand[NTK_ISA_SRC0] = ntk_isa_psum(0, 128, 16, NTK_DTYPE_FLOAT32);
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_BFLOAT16);
    run(m, NTK_NTFF_ENGINE_VECTOR, &copy, 3);
    /* 64 x 8 float32: 2048 bytes each, two sources. */
    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 64, 8, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(64, 64, 8, NTK_DTYPE_FLOAT32);
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(128, 64, 8, NTK_DTYPE_FLOAT32);
    run(m, NTK_NTFF_ENGINE_VECTOR, &add, 2);
    never.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_FLOAT32);
    never.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 16, NTK_DTYPE_FLOAT32);
    run(m, NTK_NTFF_ENGINE_VECTOR, &never, 0);

    struct ntk_onchip_traffic traffic = traffic_of(m);
    assert_true(traffic.sbuf_is_known);
    assert_int_equal(traffic.psum_read_bytes, 3 * 8192);
    assert_int_equal(traffic.psum_write_bytes, 0);
    assert_int_equal(traffic.sbuf_read_bytes, 2 * 2 * 2048);
    assert_int_equal(traffic.sbuf_write_bytes, 3 * 4096 + 2 * 2048);
    assert_int_equal(traffic.psum_to_sbuf_count, 3);
    assert_int_equal(traffic.psum_to_sbuf_bytes, 3 * 8192);
    free(m);
}

static void only_the_on_chip_side_of_a_dma_transfer_is_counted(void **state)
{
    struct machine *m = machine_create();
    struct ntk_isa_instr load = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    load.operand[NTK_ISA_SRC0] = ntk_isa_var(3, 0, 128, 16, 16, NTK_DTYPE_FLOAT32);
    load.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_FLOAT32);
    run(m, NTK_NTFF_ENGINE_SYNC, &load, 5);
    struct ntk_onchip_traffic traffic = traffic_of(m);
    assert_true(traffic.sbuf_is_known);
    assert_int_equal(traffic.sbuf_write_bytes, 5 * 8192);
    assert_int_equal(traffic.sbuf_read_bytes, 0);
    free(m);
}

/* A program in which a trigger starts group 7 of queue set 1: it loads 300 bytes and stores 200. */
static void prepared_transfers_are_counted_from_the_neff(void **state)
{
    struct machine *m = machine_create();
    struct ntk_neff_var vars[] = { { .type = NTK_NEFF_VAR_STATE_BUFFER },
                                   { .type = NTK_NEFF_VAR_INPUT },
                                   { .type = NTK_NEFF_VAR_OUTPUT } };
    struct ntk_neff_pattern load_from = { .var = 1, .dim_count = 1, .sizes = { 300 } };
    struct ntk_neff_pattern store_from = { .var = 0, .dim_count = 2, .sizes = { 20, 10 } };
    struct ntk_neff_transfer transfers[] = {
        { .source_count = 1,
          .from = &load_from,
          .to = { .var = 0, .dim_count = 1, .sizes = { 300 } } },
        { .source_count = 1,
          .from = &store_from,
          .to = { .var = 2, .dim_count = 1, .sizes = { 200 } } },
    };
    struct ntk_neff_dma_group groups[] = {
        { .id = 7, .queue_set = 0, .transfer_count = 2, .transfers = transfers },
        { .id = 7, .queue_set = 1, .transfer_count = 2, .transfers = transfers },
    };
    struct ntk_neff_queue_set sets[] = { { .name = "qSPIO0" }, { .name = "qSPIO1" } };
    struct ntk_neff_subgraph neff = {
        .var_count = 3, .vars = vars, .queue_set_count = 2, .queue_sets = sets
    };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);

    neff.engines[NTK_NTFF_ENGINE_SYNC].group_count = 2;
    neff.engines[NTK_NTFF_ENGINE_SYNC].groups = groups;
    trigger.queue = 1;
    trigger.group_id = 7;
    run(m, NTK_NTFF_ENGINE_SYNC, &trigger, 4);
    assert_false(traffic_of(m).sbuf_is_known); /* unknown without the NEFF */
    m->core.neff = &neff;
    struct ntk_onchip_traffic traffic = traffic_of(m);
    assert_true(traffic.sbuf_is_known);
    assert_int_equal(traffic.sbuf_write_bytes, 4 * 300);
    assert_int_equal(traffic.sbuf_read_bytes, 4 * 200);
    free(m);
}

static void on_chip_traffic_of_vendor_instructions_is_unknown(void **state)
{
    struct machine *m = machine_create();
    struct ntk_isa_instr nop = ntk_isa_instr_make(NTK_ISA_OP_NOP);

    run(m, NTK_NTFF_ENGINE_TENSOR, &nop, 1);
    assert_true(traffic_of(m).sbuf_is_known);
    memset(m->code, 0, sizeof m->code);
    m->code[0] = NTK_NTFF_OPCODE_MATMUL;
    m->code[1] = 0x10;
    assert_false(traffic_of(m).sbuf_is_known);
    free(m);
}

/* A program of NC-v3 with 64 COPYs of 128 float32 and TENSOR_TENSORs, which the vendor tool's sums
 * omit; with any other opcode, sums are absent. */
static void sums_of_a_vendor_program_match_the_vendor_tool(void **state)
{
    struct machine *m = machine_create();
    struct ntk_isa_instr nop = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    static const uint8_t copy[] = { [0] = NTK_NTFF_OPCODE_COPY,
                                    [1] = 0x10,
                                    [15] = 2,
                                    [24] = 128,
                                    [26] = 1,
                                    [28] = 1,
                                    [30] = 1,
                                    [32] = 10,
                                    [33] = 10,
                                    [34] = 100,
                                    [56] = 128,
                                    [58] = 1,
                                    [60] = 1,
                                    [62] = 1 };

    m->trace.has_chip = true;
    m->trace.chip.generation = 3;
    m->trace.metrics = NTK_METRICS_2_28;
    for (int i = 0; i < 3; i++) {
        run(m, NTK_NTFF_ENGINE_VECTOR, &nop, i < 2 ? 8 : 1);
    }
    memset(m->code, 0, sizeof m->code);
    memcpy(m->code, copy, sizeof copy);
    m->code[NTK_NTFF_SLOT_BYTES] = NTK_NTFF_OPCODE_VENDOR_TENSOR_TENSOR;
    m->code[NTK_NTFF_SLOT_BYTES + 1] = 0x10;
    m->code[2 * NTK_NTFF_SLOT_BYTES] = NTK_NTFF_OPCODE_TENSOR_STORE;
    m->code[2 * NTK_NTFF_SLOT_BYTES + 1] = 0x10;
    struct ntk_onchip_traffic traffic = traffic_of(m);
    assert_true(traffic.sbuf_is_known);
    assert_int_equal(traffic.psum_read_bytes, 8 * 512);
    assert_int_equal(traffic.sbuf_write_bytes, 8 * 512);
    assert_int_equal(traffic.sbuf_read_bytes, 0);
    assert_int_equal(traffic.psum_to_sbuf_count, 8);
    m->trace.metrics = NTK_METRICS_2_32;
    traffic = traffic_of(m);
    assert_false(traffic.sbuf_is_known); /* a TENSOR_TENSOR of type 0 */
    m->code[NTK_NTFF_SLOT_BYTES + 12] = 10 << 4 | 10;
    m->code[NTK_NTFF_SLOT_BYTES + 13] = 10;
    traffic = traffic_of(m);
    assert_true(traffic.sbuf_is_known && traffic.psum_is_known);
    assert_int_equal(traffic.psum_read_bytes, 8 * 512 * 100);
    assert_int_equal(traffic.sbuf_write_bytes, 8 * 512 * 100);
    assert_int_equal(traffic.psum_to_sbuf_bytes, 8 * 512 * 100);
    assert_int_equal(traffic.uncounted, 0);
    /* An unknown slot makes only those sums unknown that it can belong to. */
    m->code[2 * NTK_NTFF_SLOT_BYTES] = 0x95;
    traffic = traffic_of(m);
    assert_false(traffic.sbuf_is_known);
    assert_true(traffic.psum_is_known);
    assert_int_equal(traffic.psum_read_bytes, 8 * 512 * 100);
    assert_int_equal(traffic.uncounted, 1);
    m->code[2 * NTK_NTFF_SLOT_BYTES + 47] = 2;
    assert_false(traffic_of(m).psum_is_known);
    free(m);
}

/* A group of 300 and 200 bytes that runs four times, by the type of its queue; then the same from a
 * vendor: the WRITE of the runtime where the compiler wrote the queue's name and the group. */
static void dma_bytes_are_classified_by_queue_type(void **state)
{
    struct machine *m = machine_create();
    struct ntk_neff_pattern from = { 0 };
    struct ntk_neff_transfer transfers[] = {
        { .source_count = 1, .from = &from, .to = { .dim_count = 1, .sizes = { 300 } } },
        { .source_count = 1, .from = &from, .to = { .dim_count = 2, .sizes = { 20, 10 } } },
    };
    struct ntk_neff_dma_group group = {
        .id = 7, .queue_set = 1, .transfer_count = 2, .transfers = transfers
    };
    struct ntk_neff_queue_set sets[] = { { .name = "qSPIO0" }, { .name = "qSPIO1" } };
    struct ntk_neff_subgraph neff = { .queue_set_count = 2, .queue_sets = sets };
    struct ntk_trace_packet packet = { .bytes_count = 34, .dma_class = NTK_TRACE_DMA_IO };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    uint8_t compiled[NTK_NTFF_SLOT_BYTES] = { 0xc1, 0x10 };
    struct ntk_queue_bytes bytes;

    neff.engines[NTK_NTFF_ENGINE_SYNC].group_count = 1;
    neff.engines[NTK_NTFF_ENGINE_SYNC].groups = &group;
    trigger.queue = 1;
    trigger.group_id = 7;
    run(m, NTK_NTFF_ENGINE_SYNC, &trigger, 4);
    m->core.packets = &packet;
    m->core.packet_count = 1;
    ntk_analysis_queue_bytes(&m->trace, NULL, &bytes);
    assert_false(bytes.is_known); /* without the NEFF */
    m->core.neff = &neff;
    for (int is_vendor = 0; is_vendor < 2; is_vendor++) {
        for (int type = NTK_NEFF_QUEUE_IN; type <= NTK_NEFF_QUEUE_DYNAMIC; type++) {
            sets[1].type = (enum ntk_neff_queue_type)type;
            ntk_analysis_queue_bytes(&m->trace, NULL, &bytes);
            assert_true(bytes.is_known);
            assert_int_equal(bytes.input_bytes, type == NTK_NEFF_QUEUE_IN ? 2000 : 0);
            assert_int_equal(bytes.output_bytes, type == NTK_NEFF_QUEUE_OUT ? 2000 : 0);
            bool is_data = type == NTK_NEFF_QUEUE_DATA || type == NTK_NEFF_QUEUE_EMBEDDING_UPDATE;
            assert_int_equal(bytes.weight_bytes, is_data ? 2000 : 0);
        }
        memset(m->code, 0, NTK_NTFF_SLOT_BYTES);
        m->code[0] = NTK_NTFF_OPCODE_WRITE;
        m->code[1] = 0x10;
        memcpy(compiled + 12, "qSPIO1", 7);
        compiled[48] = 7;
        neff.engines[NTK_NTFF_ENGINE_SYNC].code = compiled;
        neff.engines[NTK_NTFF_ENGINE_SYNC].code_bytes = sizeof compiled;
    }
    compiled[0] = NTK_NTFF_OPCODE_WRITE; /* of the program itself: it moves no data */
    ntk_analysis_queue_bytes(&m->trace, NULL, &bytes);
    assert_false(bytes.is_known);
    free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tile_bytes_are_counted_for_every_run_of_an_instruction),
        cmocka_unit_test(only_the_on_chip_side_of_a_dma_transfer_is_counted),
        cmocka_unit_test(prepared_transfers_are_counted_from_the_neff),
        cmocka_unit_test(on_chip_traffic_of_vendor_instructions_is_unknown),
        cmocka_unit_test(sums_of_a_vendor_program_match_the_vendor_tool),
        cmocka_unit_test(dma_bytes_are_classified_by_queue_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
