/* SPDX-License-Identifier: MIT */
/* Method: hand-made copies between places, with lifetimes that are known without a program. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/chip_memory.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)

struct answers {
    struct ntk_program *program;
    struct ntk_chip_memory memory;
};

static struct ntk_isa_instr copy(struct ntk_isa_operand to, struct ntk_isa_operand from)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

    instr.operand[NTK_ISA_DST] = to;
    instr.operand[NTK_ISA_SRC0] = from;
    return instr;
}

/* A pattern of a vendor's slot with one dimension. */
static void put_tile(uint8_t *slot, unsigned offset, uint32_t address, unsigned dims, uint8_t count)
{
    for (unsigned b = 0; b < 4; b++) {
        slot[offset + b] = (uint8_t)(address >> (8 * b));
    }
    slot[offset + 4] = 1; /* step */
    for (unsigned d = 0; d < dims; d++) {
        slot[offset + 4 + 2 * dims + 2 * d] = d ? 1 : count;
    }
}

static struct ntk_isa_instr transfer(struct ntk_isa_operand to, struct ntk_isa_operand from)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    instr.done_semaphore = 20;
    instr.done_value = 1;
    instr.operand[NTK_ISA_DST] = to;
    instr.operand[NTK_ISA_SRC0] = from;
    return instr;
}

static void execute(struct hand_trace *h, unsigned engine, struct ntk_isa_instr instr,
                    const char *layer, int64_t start_ns, int64_t end_ns)
{
    instr.name_id = layer ? hand_trace_name(h, 0, engine, layer) : 0;
    hand_trace_run(h, 0, engine, hand_trace_open(h, 0, engine, &instr), start_ns, end_ns);
}

static void ask(struct hand_trace *h, struct answers *a)
{
    hand_trace_end(h);
    assert_int_equal(ntk_program_create(&h->trace, &a->program), 0);
    assert_int_equal(ntk_analysis_chip_memory(a->program, 10, &a->memory), 0);
}

static void done(struct hand_trace *h, struct answers *a)
{
    ntk_chip_memory_fini(&a->memory);
    ntk_program_destroy(a->program);
    hand_trace_fini(h);
}

static void assert_life(const struct ntk_chip_life *life, uint32_t low, uint32_t high,
                        uint32_t writer, int64_t from_ns, int64_t until_ns)
{
    assert_int_equal(life->low, low);
    assert_int_equal(life->high, high);
    assert_int_equal(life->writer, writer);
    assert_int_equal(life->from_ps, NS(from_ns));
    assert_int_equal(life->until_ps, NS(until_ns));
}

/*
 * Load 256 bytes per partition (0-100), copy them to PSUM (200-300), copy 128 bytes from there to
 * another place (300-400), store them (500-600). 1000 ns in total.
 */
static void values_occupy_memory_from_creation_to_last_use(void **state)
{
    static const uint64_t sbuf[10] = { 0, 256, 256, 0, 128, 128, 0, 0, 0, 0 };
    const struct ntk_isa_operand place = ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_FLOAT32);
    const struct ntk_isa_operand bank = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    const struct ntk_isa_operand half = ntk_isa_psum(0, 128, 32, NTK_DTYPE_FLOAT32);
    const struct ntk_isa_operand elsewhere = ntk_isa_sbuf(4096, 128, 32, NTK_DTYPE_FLOAT32);
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    hand_trace_queue(&h, 0, "qSPIO0", 20);
    execute(&h, NTK_ISA_ENGINE_SP,
            transfer(place, ntk_isa_var(1, 0, 128, 64, 64, NTK_DTYPE_FLOAT32)), "load", 0, 100);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(bank, place), "turn", 200, 300);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(elsewhere, half), "halve", 300, 400);
    execute(&h, NTK_ISA_ENGINE_SP,
            transfer(ntk_isa_var(2, 0, 128, 32, 32, NTK_DTYPE_FLOAT32), elsewhere), "store", 500,
            600);
    ask(&h, &a);

    assert_int_equal(a.memory.space_count, 2);
    const struct ntk_chip_memory_space *s = &a.memory.spaces[0];
    assert_int_equal(s->space, NTK_CHIP_SBUF);
    assert_int_equal(s->capacity_bytes, 224 * 1024);
    assert_int_equal(s->peak_bytes, 256);
    assert_int_equal(s->peak_ps, NS(100));
    assert_true(fabs(s->mean_bytes - (256 * 200 + 128 * 200) / 1000.0) < 1e-9);
    assert_int_equal(s->part_count, 1);
    assert_string_equal(a.program->layers[s->parts[0].layer], "load");
    assert_int_equal(s->value_count, 2);
    assert_int_equal(s->life_count, 2);
    assert_life(&s->lives[0], 0, 256, 0, 100, 300);
    assert_life(&s->lives[1], 4096, 4096 + 128, 2, 400, 600);
    for (int p = 0; p < 10; p++) {
        assert_int_equal(s->pieces[p], sbuf[p]);
    }
    s = &a.memory.spaces[1];
    assert_int_equal(s->space, NTK_CHIP_PSUM);
    assert_int_equal(s->peak_bytes, 128); /* only that half is needed */
    assert_int_equal(s->peak_ps, NS(300));
    assert_string_equal(a.program->layers[s->parts[0].layer], "turn");
    assert_int_equal(s->value_count, 1);
    assert_life(&s->lives[0], 0, 128, 1, 300, 400);
    done(&h, &a);
}

static void unread_and_overwritten_values_are_not_counted(void **state)
{
    const struct ntk_isa_operand a_place = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_FLOAT32);
    const struct ntk_isa_operand b_place = ntk_isa_sbuf(64, 128, 16, NTK_DTYPE_FLOAT32);
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(b_place, a_place), "first", 0, 100); /* never read */
    execute(&h, NTK_ISA_ENGINE_DVE, copy(b_place, a_place), "second", 100, 200);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(a_place, b_place), "third", 700, 800); /* never read */
    ask(&h, &a);
    assert_int_equal(a.memory.space_count, 1);
    assert_int_equal(a.memory.spaces[0].peak_bytes, 64);
    assert_int_equal(a.memory.spaces[0].peak_ps, NS(200));
    assert_true(fabs(a.memory.spaces[0].mean_bytes - 64 * 0.6) < 1e-9);
    assert_int_equal(a.memory.spaces[0].part_count, 1);
    assert_string_equal(a.program->layers[a.memory.spaces[0].parts[0].layer], "second");
    done(&h, &a);
}

/* A product in two steps: the sum lives from the first step on. */
static void an_accumulated_value_remains_live(void **state)
{
    struct ntk_isa_instr product = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    struct hand_trace h;
    struct answers a;

    product.operand[NTK_ISA_DST] = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    product.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(0, 128, 128, NTK_DTYPE_BFLOAT16);
    product.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(512, 128, 64, NTK_DTYPE_BFLOAT16);
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    execute(&h, NTK_ISA_ENGINE_PE, product, "one", 0, 100);
    product.op_flags = NTK_ISA_OPF_ACCUMULATE;
    execute(&h, NTK_ISA_ENGINE_PE, product, "two", 100, 200);
    execute(&h, NTK_ISA_ENGINE_DVE,
            copy(ntk_isa_sbuf(4096, 128, 64, NTK_DTYPE_FLOAT32), product.operand[NTK_ISA_DST]),
            "out", 500, 600);
    ask(&h, &a);
    /* Nothing wrote the factors, so their start is unknown. */
    assert_int_equal(a.memory.space_count, 1);
    assert_int_equal(a.memory.spaces[0].space, NTK_CHIP_PSUM);
    assert_int_equal(a.memory.spaces[0].peak_bytes, 256);
    assert_int_equal(a.memory.spaces[0].peak_ps, NS(100));
    assert_true(fabs(a.memory.spaces[0].mean_bytes - 256 * 0.5) < 1e-9);
    assert_string_equal(a.program->layers[a.memory.spaces[0].parts[0].layer], "one");
    done(&h, &a);
}

/* Two groups have the same number; the trigger names the second instance, so only that one is
 * written, and signals. */
static void a_dma_trigger_starts_the_groups_of_its_queue_instance(void **state)
{
    static const char *instances[] = { "ring0", "ring1" };
    static struct ntk_neff_var var = { .name = "sb", .type = NTK_NEFF_VAR_STATE_BUFFER };
    struct ntk_neff_transfer transfers[2] = { 0 };
    struct ntk_neff_dma_group groups[2] = {
        { .id = 7, .instance = "ring0", .semaphore = 30, .event = NTK_NEFF_NONE },
        { .id = 7, .instance = "ring1", .semaphore = 40, .event = NTK_NEFF_NONE },
    };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    const struct ntk_isa_operand bank = ntk_isa_psum(0, 128, 64, NTK_DTYPE_FLOAT32);
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    trigger.queue = (uint16_t)hand_trace_queue(&h, 0, "qSPSpill0", 20);
    trigger.group_id = 7;
    trigger.imm[0] = 2;
    for (size_t g = 0; g < 2; g++) {
        transfers[g].to =
            (struct ntk_neff_pattern){ .offset = 4096 * g, .dim_count = 1, .sizes = { 256 } };
        groups[g].transfer_count = 1;
        groups[g].transfers = &transfers[g];
    }
    struct ntk_neff_subgraph *neff = &h.neff_subgraphs[0];
    neff->vars = &var;
    neff->var_count = 1;
    neff->queue_sets[0].instances = instances;
    neff->queue_sets[0].instance_count = 2;
    neff->engines[NTK_ISA_ENGINE_SP].groups = groups;
    neff->engines[NTK_ISA_ENGINE_SP].group_count = 2;
    execute(&h, NTK_ISA_ENGINE_SP, trigger, "load", 0, 100);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(bank, ntk_isa_sbuf(0, 128, 64, NTK_DTYPE_FLOAT32)), "one",
            200, 300);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(bank, ntk_isa_sbuf(4096, 128, 64, NTK_DTYPE_FLOAT32)),
            "two", 300, 400);
    ask(&h, &a);
    assert_int_equal(a.memory.space_count, 1);
    assert_int_equal(a.memory.spaces[0].space, NTK_CHIP_SBUF);
    assert_int_equal(a.memory.spaces[0].peak_bytes, 256);
    assert_int_equal(ntk_program_fact(a.program, 0, &h.cores[0].instructions[0])->code->done_number,
                     40);
    done(&h, &a);
}

/* With a single element the step of a dimension has no effect. Lengths with a
 * sum that overflows count as the whole partition. */
static void steps_and_lengths_of_a_hostile_neff_do_not_overflow(void **state)
{
    static struct ntk_neff_var var = { .name = "sb", .type = NTK_NEFF_VAR_STATE_BUFFER };
    struct ntk_neff_transfer transfer = { .to = { .dim_count = 3,
                                                  .sizes = { UINT64_MAX - 100, 1, 2 },
                                                  .steps = { 1, INT64_MIN, -256 } } };
    struct ntk_neff_dma_group group = { .id = 7,
                                        .semaphore = 30,
                                        .event = NTK_NEFF_NONE,
                                        .transfer_count = 1,
                                        .transfers = &transfer };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct hand_trace h;
    struct answers a;

    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    trigger.queue = (uint16_t)hand_trace_queue(&h, 0, "qSPSpill0", 20);
    trigger.group_id = 7;
    h.neff_subgraphs[0].vars = &var;
    h.neff_subgraphs[0].var_count = 1;
    h.neff_subgraphs[0].engines[NTK_ISA_ENGINE_SP].groups = &group;
    h.neff_subgraphs[0].engines[NTK_ISA_ENGINE_SP].group_count = 1;
    execute(&h, NTK_ISA_ENGINE_SP, trigger, "load", 0, 100);
    execute(&h, NTK_ISA_ENGINE_DVE,
            copy(ntk_isa_psum(0, 128, 512, NTK_DTYPE_FLOAT32),
                 ntk_isa_sbuf(0, 128, 512, NTK_DTYPE_FLOAT32)),
            "one", 200, 300);
    ask(&h, &a);
    assert_int_equal(a.memory.space_count, 1);
    assert_int_equal(a.memory.spaces[0].peak_bytes, 2048);
    done(&h, &a);
}

/* Values that end long after later ones were made, more of them than the minimum memory of a sorter
 * holds. */
static void lifetimes_stored_in_files_match_those_in_memory(void **state)
{
    struct answers a[2];
    struct hand_trace h[2];

    for (size_t i = 0; i < 2; i++) {
        hand_trace_begin(&h[i], 1, "trn2.3xlarge", 1000);
        uint32_t names[2] = { hand_trace_name(&h[i], 0, NTK_ISA_ENGINE_DVE, "odd"),
                              hand_trace_name(&h[i], 0, NTK_ISA_ENGINE_DVE, "third") };
        uint32_t slots[48];
        for (int64_t k = 0; k < 200; k++) {
            struct ntk_isa_instr instr =
                copy(ntk_isa_sbuf((uint32_t)(k * 7 % 16) * 256, 128, 64, NTK_DTYPE_FLOAT32),
                     ntk_isa_sbuf((uint32_t)(k * k % 16) * 256, 128, 64, NTK_DTYPE_FLOAT32));
            instr.name_id = names[k % 3 == 0];
            if (k < 48) {
                slots[k] = hand_trace_open(&h[i], 0, NTK_ISA_ENGINE_DVE, &instr);
            }
            hand_trace_run(&h[i], 0, NTK_ISA_ENGINE_DVE, slots[k % 48], k * 4, k * 4 + 3);
        }
        h[i].trace.list_bytes = i; /* 0: that of its own trace */
        ask(&h[i], &a[i]);
    }
    assert_int_equal(a[0].memory.space_count, 1);
    assert_int_equal(a[1].memory.space_count, 1);
    const struct ntk_chip_memory_space *s = a[0].memory.spaces;
    const struct ntk_chip_memory_space *t = a[1].memory.spaces;
    assert_true(s->peak_bytes > 256);
    assert_int_equal(s->peak_bytes, t->peak_bytes);
    assert_int_equal(s->peak_ps, t->peak_ps);
    assert_true(s->mean_bytes == t->mean_bytes);
    assert_memory_equal(s->pieces, t->pieces, 10 * sizeof *s->pieces);
    assert_int_equal(s->part_count, 2);
    assert_int_equal(t->part_count, 2);
    assert_memory_equal(s->parts, t->parts, 2 * sizeof *s->parts);
    done(&h[0], &a[0]);
    done(&h[1], &a[1]);
}

/* The values have two sizes. The larger ones come last and fill the list, so no smaller one is
 * listed. */
static void values_with_the_largest_size_times_lifetime_are_listed(void **state)
{
    enum { SMALL = 20, LARGE = NTK_CHIP_LIVES_MAX + 10 };
    struct hand_trace h;
    struct answers a;
    uint32_t slots[2];

    hand_trace_begin(&h, 1, "trn2.3xlarge", 20000);
    for (uint32_t i = 0; i < 2; i++) {
        const struct ntk_isa_operand place =
            ntk_isa_sbuf(4096 * i, 128, i ? 64 : 16, NTK_DTYPE_FLOAT32);
        struct ntk_isa_instr instr = copy(place, place);
        slots[i] = hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &instr);
    }
    for (int64_t k = 0; k <= SMALL; k++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, slots[0], k * 4, k * 4 + 4);
    }
    for (int64_t k = SMALL + 1; k <= SMALL + 1 + LARGE; k++) {
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, slots[1], k * 4, k * 4 + 4);
    }
    ask(&h, &a);
    const struct ntk_chip_memory_space *s = &a.memory.spaces[0];
    assert_int_equal(s->value_count, SMALL + LARGE);
    assert_int_equal(s->life_count, NTK_CHIP_LIVES_MAX);
    for (size_t i = 0; i < s->life_count; i++) {
        assert_int_equal(s->lives[i].low, 4096);
        assert_true(i == 0 || s->lives[i].from_ps > s->lives[i - 1].from_ps);
    }
    done(&h, &a);
}

/* In the encoding of hardware: one MATMUL starts a sum, the next continues it, COPY moves it to
 * where the next product reads. */
static void values_of_a_hardware_program_are_derived_from_its_slots(void **state)
{
    uint8_t product[64] = { 0x02, 0x10 };
    uint8_t copies[64] = { 0x46, 0x10 };
    struct hand_trace h;
    struct answers a;

    put_tile(product, 16, 0x1000, 3, 64);
    product[32] = 10; /* fp32 */
    product[43] = 1;
    put_tile(product, 48, 0x2000800, 3, 64);
    put_tile(copies, 12, 0x2000800, 4, 64);
    copies[32] = copies[33] = 10;
    copies[34] = 128;
    put_tile(copies, 44, 0x1000, 4, 64);
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    uint32_t begins = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    product[43] = 2;
    uint32_t continues = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_PE, product);
    uint32_t out = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_DVE, copies);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, begins, 0, 100);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, continues, 100, 200);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, out, 300, 400);
    hand_trace_run(&h, 0, NTK_ISA_ENGINE_PE, begins, 500, 600);
    ask(&h, &a);
    assert_int_equal(a.memory.space_count, 2);
    const struct ntk_chip_memory_space *s = &a.memory.spaces[0];
    assert_int_equal(s->value_count, 1);
    assert_life(&s->lives[0], 0x1000, 0x1100, 2, 400, 600);
    s = &a.memory.spaces[1];
    /* The sum is a single value of the instruction that started it. */
    assert_int_equal(s->value_count, 1);
    assert_life(&s->lives[0], 0x800, 0x900, 0, 100, 400);
    done(&h, &a);
}

/* A vendor's instruction, and a prepared transfer without the NEFF that describes it. */
static void unreadable_programs_have_no_memory_analysis(void **state)
{
    static const uint8_t vendor[64] = { 0x42, 0x10, 0, 0, 0x05, 9, 0x13, 6, 1 };
    struct ntk_isa_instr trigger = ntk_isa_instr_make(NTK_ISA_OP_DMA_TRIGGER);
    struct ntk_chip_memory memory;

    for (int is_vendor = 0; is_vendor < 2; is_vendor++) {
        struct hand_trace h;
        struct ntk_program *program;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        uint32_t slot = is_vendor ? hand_trace_slot(&h, 0, NTK_ISA_ENGINE_DVE, vendor)
                                  : hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &trigger);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, slot, 0, 100);
        hand_trace_end(&h);
        assert_int_equal(ntk_program_create(&h.trace, &program), 0);
        assert_int_equal(ntk_analysis_chip_memory(program, 10, &memory), -ENODATA);
        ntk_program_destroy(program);
        hand_trace_fini(&h);
    }
}

/* Two instructions with one opcode and one with another: the first one by engine and slot is named.
 * */
static void operations_without_decoded_operands_are_listed(void **state)
{
    static const uint8_t slots[3][NTK_NTFF_SLOT_BYTES] = { { [0] = 0x77, [1] = 0x10 },
                                                           { [0] = 0x77, [1] = 0x10 },
                                                           { [0] = 0x78, [1] = 0x10 } };
    const struct ntk_isa_operand place = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_FLOAT32);
    struct ntk_isa_instr known = copy(place, place);
    struct ntk_chip_unknown unknown = { 0 };
    struct ntk_program *program;
    uint32_t places[3];
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    execute(&h, NTK_ISA_ENGINE_DVE, known, NULL, 0, 100);
    for (int64_t i = 2; i >= 0; i--) {
        places[i] = hand_trace_slot(&h, 0, NTK_ISA_ENGINE_DVE, slots[i]);
        hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE, places[i], 100 * (i + 1), 100 * (i + 2));
    }
    hand_trace_end(&h);
    assert_int_equal(ntk_program_create(&h.trace, &program), 0);
    assert_int_equal(ntk_chip_find_unknown(program, &unknown), 1);
    assert_true(unknown.is_instruction);
    assert_int_equal(unknown.engine, NTK_ISA_ENGINE_DVE);
    assert_int_equal(unknown.opcode, 0x78);
    assert_int_equal(unknown.slot, places[2]);
    assert_int_equal(unknown.opcode_count, 2);
    ntk_program_destroy(program);
    hand_trace_fini(&h);
}

static void no_operation_is_listed_if_all_operands_are_decoded(void **state)
{
    const struct ntk_isa_operand place = ntk_isa_sbuf(0, 128, 16, NTK_DTYPE_FLOAT32);
    struct ntk_chip_unknown unknown = { 0 };
    struct ntk_program *program;
    struct hand_trace h;

    (void)state;
    hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
    execute(&h, NTK_ISA_ENGINE_DVE, copy(place, place), NULL, 0, 100);
    hand_trace_end(&h);
    assert_int_equal(ntk_program_create(&h.trace, &program), 0);
    assert_int_equal(ntk_chip_find_unknown(program, &unknown), 0);
    ntk_program_destroy(program);
    hand_trace_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_occupy_memory_from_creation_to_last_use),
        cmocka_unit_test(unread_and_overwritten_values_are_not_counted),
        cmocka_unit_test(an_accumulated_value_remains_live),
        cmocka_unit_test(a_dma_trigger_starts_the_groups_of_its_queue_instance),
        cmocka_unit_test(steps_and_lengths_of_a_hostile_neff_do_not_overflow),
        cmocka_unit_test(lifetimes_stored_in_files_match_those_in_memory),
        cmocka_unit_test(values_with_the_largest_size_times_lifetime_are_listed),
        cmocka_unit_test(values_of_a_hardware_program_are_derived_from_its_slots),
        cmocka_unit_test(unreadable_programs_have_no_memory_analysis),
        cmocka_unit_test(operations_without_decoded_operands_are_listed),
        cmocka_unit_test(no_operation_is_listed_if_all_operands_are_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
