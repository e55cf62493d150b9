/* SPDX-License-Identifier: MIT */
/*
 * What each of several programs has on the chip. Method: copies of tiles with known places and
 * times in an execution of 1000 ns. A value lives from the end of the copy that wrote it to the end
 * of the last copy that reads it, byte by byte; so peaks and sums are computed by hand.
 */
#include <math.h>

#include "profiler/analysis/chip_memory.h"
#include "tests/support/hand_trace.h"
#include "tests/support/unit.h"

#define NS(ns) ((ns)*NTK_TRACE_PS_PER_NS)
#define COPIES_MAX 5

/* Elements of 4 bytes in each of 128 partitions. No copy writes IN or reads OUT. */
struct tile {
    char space; /* S: state buffer, P: PSUM */
    uint32_t offset, elements;
};
#define IN 0x8000
#define OUT 0x10000

struct used {
    uint64_t values, peak_bytes;
    int64_t peak_ns;
    double mean_bytes;
};

static const struct program {
    const char *what;
    struct {
        struct tile to, from;
        int64_t start_ns, end_ns;
    } copies[COPIES_MAX];
    struct used sbuf, psum; /* no values: the space is not in the answer */
} programs[] = {
    { "a value is read once",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 400, 500 } },
      .sbuf = { 1, 64, 100, 64 * 0.4 } },
    { "a value is read twice",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 400, 500 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 700, 800 } },
      .sbuf = { 1, 64, 100, 64 * 0.7 } },
    { "two values overlap in time",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', 256, 16 }, { 'S', IN, 16 }, 100, 200 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 300, 400 },
        { { 'S', OUT, 16 }, { 'S', 256, 16 }, 500, 600 } },
      .sbuf = { 2, 128, 200, 64 * 0.3 + 64 * 0.4 } },
    { "two values use one place, one after the other",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 100, 200 },
        { { 'S', 0, 16 }, { 'S', IN, 16 }, 200, 300 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 300, 400 } },
      .sbuf = { 2, 64, 100, 64 * 0.1 + 64 * 0.1 } },
    { "each copy reads what the one before it wrote",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', 256, 16 }, { 'S', 0, 16 }, 100, 200 },
        { { 'S', 512, 16 }, { 'S', 256, 16 }, 200, 300 },
        { { 'S', OUT, 16 }, { 'S', 512, 16 }, 300, 400 } },
      .sbuf = { 3, 64, 100, 64 * 0.3 } },
    { "a quarter of a value is read",
      { { { 'S', 0, 64 }, { 'S', IN, 64 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 300, 400 } },
      .sbuf = { 1, 64, 100, 64 * 0.3 } },
    { "the halves of a value are read at different times",
      { { { 'S', 0, 32 }, { 'S', IN, 32 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 200, 300 },
        { { 'S', OUT, 16 }, { 'S', 64, 16 }, 500, 600 } },
      .sbuf = { 2, 128, 100, 64 * 0.2 + 64 * 0.5 } },
    { "half of a value is overwritten before it is read",
      { { { 'S', 0, 32 }, { 'S', IN, 32 }, 0, 100 },
        { { 'S', 64, 16 }, { 'S', IN, 16 }, 200, 300 },
        { { 'S', OUT, 32 }, { 'S', 0, 32 }, 400, 500 } },
      .sbuf = { 2, 128, 300, 64 * 0.4 + 64 * 0.2 } },
    { "a value in PSUM",
      { { { 'P', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', OUT, 16 }, { 'P', 0, 16 }, 300, 400 } },
      .psum = { 1, 64, 100, 64 * 0.3 } },
    { "a value moves from the state buffer to PSUM",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'P', 0, 16 }, { 'S', 0, 16 }, 100, 200 },
        { { 'S', OUT, 16 }, { 'P', 0, 16 }, 200, 400 } },
      .sbuf = { 1, 64, 100, 64 * 0.1 },
      .psum = { 1, 64, 200, 64 * 0.2 } },
    { "a copy reads and writes one place",
      { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 },
        { { 'S', 0, 16 }, { 'S', 0, 16 }, 200, 300 },
        { { 'S', OUT, 16 }, { 'S', 0, 16 }, 400, 500 } },
      .sbuf = { 2, 64, 100, 64 * 0.4 } },
    { "nothing is read after it was written", { { { 'S', 0, 16 }, { 'S', IN, 16 }, 0, 100 } } },
};

static struct ntk_isa_operand operand_of(const struct tile *tile)
{
    return tile->space == 'P' ? ntk_isa_psum(tile->offset, 128, tile->elements, NTK_DTYPE_FLOAT32)
                              : ntk_isa_sbuf(tile->offset, 128, tile->elements, NTK_DTYPE_FLOAT32);
}

static void check(const char *what, const struct ntk_chip_memory *memory, enum ntk_chip_space space,
                  const struct used *used)
{
    const struct ntk_chip_memory_space *found = NULL;

    for (size_t s = 0; s < memory->space_count; s++) {
        found = memory->spaces[s].space == space ? &memory->spaces[s] : found;
    }
    if (!found != !used->values) {
        fail_msg("%s: %s", what, found ? "unexpected values" : "no values");
    }
    if (found && (found->value_count != used->values || found->peak_bytes != used->peak_bytes ||
                  found->peak_ps != NS(used->peak_ns) ||
                  fabs(found->mean_bytes - used->mean_bytes) > 1e-9)) {
        fail_msg("%s: %llu values, %llu bytes at %lld ps, mean %g", what,
                 (unsigned long long)found->value_count, (unsigned long long)found->peak_bytes,
                 (long long)found->peak_ps, found->mean_bytes);
    }
}

static void chip_use_of_generated_programs_matches_their_definition(void **state)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const struct program *one = &programs[i];
        struct ntk_chip_memory memory;
        struct ntk_program *program;
        struct hand_trace h;

        hand_trace_begin(&h, 1, "trn2.3xlarge", 1000);
        for (size_t c = 0; c < COPIES_MAX && one->copies[c].end_ns; c++) {
            struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_COPY);

            copy.operand[NTK_ISA_DST] = operand_of(&one->copies[c].to);
            copy.operand[NTK_ISA_SRC0] = operand_of(&one->copies[c].from);
            hand_trace_run(&h, 0, NTK_ISA_ENGINE_DVE,
                           hand_trace_open(&h, 0, NTK_ISA_ENGINE_DVE, &copy),
                           one->copies[c].start_ns, one->copies[c].end_ns);
        }
        hand_trace_end(&h);
        assert_int_equal(ntk_program_create(&h.trace, &program), 0);
        assert_int_equal(ntk_analysis_chip_memory(program, 10, &memory), 0);
        check(one->what, &memory, NTK_CHIP_SBUF, &one->sbuf);
        check(one->what, &memory, NTK_CHIP_PSUM, &one->psum);
        ntk_chip_memory_fini(&memory);
        ntk_program_destroy(program);
        hand_trace_fini(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chip_use_of_generated_programs_matches_their_definition),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
