/* SPDX-License-Identifier: MIT */
/*
 * bench_engine - the software core compared with the libraries below its kernels.
 *
 * Tensor engine: programs of nc_matmul tiles against plain cblas_sgemm of the same shape on packed
 * matrices. DMA: transfers against memcpy of the same runs. Both sides touch the same amount of
 * prefaulted memory; the core's time includes its event loop. Ratio above 1: the core is slower.
 * Other operations: the cost per element, without a target.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/engine.h"
#include "shared/formats/neff/neff.h"
#include "tests/bench/rounds.h"

#define ROUNDS 9
#define TARGET 0.9 /* of the peer's speed: time ratio 1 / 0.9 */
#define VAR_BYTES (16u << 20)

struct program {
    struct ntk_neff_subgraph subgraph;
    struct ntk_neff_var vars[3];
    struct ntk_neff_queue_set queue;
    uint8_t *code[NTK_ISA_ENGINE_COUNT];
    struct ntk_engine_binding bindings[3];
    struct ntk_engine_core *core;
    struct ntk_engine_program *program;
    int repeat;
    double units; /* per run */
};

static void *memory_of(size_t bytes)
{
    void *memory = aligned_alloc(64, bytes);

    rounds_require(memory != NULL, "out of memory");
    /* About 0.01, whether read as float32 or as bfloat16. */
    for (size_t i = 0; i < bytes / 2; i++) {
        ((uint16_t *)memory)[i] = (uint16_t)(0x3c00 | (i * 37 & 0xff));
    }
    return memory;
}

static void init(struct program *p, int repeat, double units)
{
    memset(p, 0, sizeof *p);
    p->vars[0] = (struct ntk_neff_var){ .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER };
    for (uint32_t v = 1; v < 3; v++) {
        p->vars[v] = (struct ntk_neff_var){
            .name = "v", .type = NTK_NEFF_VAR_INPUT, .var_id = v, .bytes_count = VAR_BYTES
        };
        p->bindings[v] =
            (struct ntk_engine_binding){ memory_of(VAR_BYTES), VAR_BYTES, v * VAR_BYTES };
    }
    p->queue = (struct ntk_neff_queue_set){ .name = "q", .queue_count = 16 };
    p->subgraph = (struct ntk_neff_subgraph){ .name = "sg00",
                                              .var_count = 3,
                                              .vars = p->vars,
                                              .queue_set_count = 1,
                                              .queue_sets = &p->queue };
    p->repeat = repeat;
    p->units = units;
}

static void emit(struct program *p, enum ntk_isa_engine engine, const struct ntk_isa_instr *instr)
{
    struct ntk_neff_engine *e = &p->subgraph.engines[engine];
    struct ntk_err err = { 0 };
    size_t slots = 0;

    if (!p->code[engine]) {
        p->code[engine] = calloc(1, 1 << 20);
        e->code = p->code[engine];
        e->nsx_version = NTK_ISA_VERSION;
    }
    rounds_require(p->code[engine] != NULL, "out of memory");
    rounds_require(ntk_isa_encode(instr, engine, p->code[engine] + e->code_bytes, &slots, &err) >=
                       0,
                   err.text);
    e->code_bytes += slots * NTK_ISA_SLOT_BYTES;
}

static void make(struct program *p)
{
    struct ntk_err err = { 0 };

    rounds_require(ntk_engine_core_create(2, &p->core, &err) == 0, err.text);
    rounds_require(ntk_engine_program_create(2, &p->subgraph, &p->program, &err) == 0, err.text);
}

static void fini(struct program *p)
{
    ntk_engine_program_destroy(p->program);
    ntk_engine_core_destroy(p->core);
    for (int e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        free(p->code[e]);
    }
    free(p->bindings[1].bytes);
    free(p->bindings[2].bytes);
}

static double run(void *ctx)
{
    struct program *p = ctx;
    struct ntk_engine_run_options options = { .bindings = p->bindings, .binding_count = 3 };
    struct ntk_engine_result result;
    uint64_t start = rounds_now_ns();

    for (int i = 0; i < p->repeat; i++) {
        ntk_engine_run(p->core, p->program, &options, &result, NULL);
        rounds_require(result.outcome == NTK_RUN_OK, ntk_engine_outcome_name(result.outcome));
    }
    return (double)(rounds_now_ns() - start) / p->repeat / p->units;
}

/* Fills the state buffer with numbers: loads var 1 and waits for that at the end of the run. */
static void fill_sbuf(struct program *p, uint32_t row_bytes)
{
    struct program load;
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    struct ntk_engine_core *core = p->core;

    init(&load, 1, 1);
    copy.operand[NTK_ISA_DST] = ntk_isa_sbuf(0, 128, row_bytes, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_SRC0] =
        ntk_isa_var(1, 0, 128, (int32_t)row_bytes, row_bytes, NTK_DTYPE_UINT8);
    emit(&load, NTK_ISA_ENGINE_SP, &copy);
    make(&load);
    ntk_engine_core_destroy(load.core);
    load.core = core;
    run(&load);
    load.core = NULL;
    fini(&load);
}

/* --- the tensor engine ------------------------------------------------------------------------ */

struct gemm {
    int m, n, k, count;
    float *a, *b, *c;
};

static double run_gemm(void *ctx)
{
    struct gemm *g = ctx;
    uint64_t start = rounds_now_ns();

    for (int i = 0; i < g->count; i++) {
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, g->m, g->n, g->k, 1.0F, g->a, g->m,
                    g->b, g->n, 0.0F, g->c, g->n);
    }
    return (double)(rounds_now_ns() - start) / g->count;
}

/* m x n x k as tiles of 128 x 512 x 128; the results use the banks of PSUM in turn. */
static void matmul_program(struct program *p, int m, int n, int k, enum ntk_dtype dtype, int count)
{
    struct ntk_isa_instr matmul = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
    uint32_t width = (uint32_t)ntk_dtype_bytes(dtype);
    uint64_t moving_at = (uint64_t)(m / 128) * (uint64_t)(k / 128) * 128 * width;
    int bank = 0;

    init(p, 1, count);
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < m / 128; i++) {
            for (int j = 0; j < n / 512; j++) {
                for (int r = 0; r < k / 128; r++) {
                    matmul.op_flags = r > 0 ? NTK_ISA_OPF_ACCUMULATE : 0;
                    matmul.operand[NTK_ISA_DST] =
                        ntk_isa_psum((uint64_t)bank * 2048, 128, 512, NTK_DTYPE_FLOAT32);
                    matmul.operand[NTK_ISA_SRC0] =
                        ntk_isa_sbuf((uint64_t)(r * (m / 128) + i) * 128 * width, 128, 128, dtype);
                    matmul.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(
                        moving_at + (uint64_t)(r * (n / 512) + j) * 512 * width, 128, 512, dtype);
                    emit(p, NTK_ISA_ENGINE_PE, &matmul);
                }
                bank = (bank + 1) % 8;
            }
        }
    }
    make(p);
    fill_sbuf(p, 65536);
}

static void bench_gemm(int m, int n, int k, int count)
{
    struct gemm plain = { m, n, k, count, NULL, NULL, NULL };
    struct program f32;
    struct program bf16;
    char name[80];
    struct rounds_subject subjects[] = {
        { .name = "plain sgemm", .measure = run_gemm, .ctx = &plain },
        { .name = "core, float32 tiles", .measure = run, .ctx = &f32 },
        { .name = "core, bfloat16 tiles", .measure = run, .ctx = &bf16 },
    };

    plain.a = memory_of((size_t)m * (size_t)k * 4);
    plain.b = memory_of((size_t)k * (size_t)n * 4);
    plain.c = memory_of((size_t)m * (size_t)n * 4);
    matmul_program(&f32, m, n, k, NTK_DTYPE_FLOAT32, count);
    matmul_program(&bf16, m, n, k, NTK_DTYPE_BFLOAT16, count);
    rounds_run(subjects, 3, ROUNDS);
    (void)printf("%d x %d x %d\n", m, n, k);
    for (int i = 0; i < 3; i++) {
        rounds_print(&subjects[i], "ns");
    }
    (void)snprintf(name, sizeof name, "C1 %dx%dx%d float32: core / plain", m, n, k);
    rounds_print_ratio(name, &subjects[1], &subjects[0], 1 / TARGET);
    (void)snprintf(name, sizeof name, "C1 %dx%dx%d bfloat16: core / plain", m, n, k);
    rounds_print_ratio(name, &subjects[2], &subjects[0], 1 / TARGET);
    fini(&f32);
    fini(&bf16);
    free(plain.a);
    free(plain.b);
    free(plain.c);
}

/* --- DMA -------------------------------------------------------------------------------------- */

struct copying {
    uint8_t *to, *from;
    size_t row_bytes, to_step, from_step;
    int rows, count;
};

static double run_copying(void *ctx)
{
    struct copying *c = ctx;
    uint64_t start = rounds_now_ns();

    for (int i = 0; i < c->count; i++) {
        for (int r = 0; r < c->rows; r++) {
            memcpy(c->to + (size_t)r * c->to_step, c->from + (size_t)r * c->from_step,
                   c->row_bytes);
        }
        __asm__ volatile("" ::: "memory");
    }
    return (double)(rounds_now_ns() - start) / c->count;
}

static void bench_dma(uint32_t row_bytes, int rows, int to_sbuf, int count)
{
    struct program p;
    struct copying c = { .row_bytes = row_bytes, .rows = rows, .count = count };
    struct ntk_isa_instr copy = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);
    char name[80];
    struct rounds_subject subjects[] = {
        { .name = "memcpy", .measure = run_copying, .ctx = &c },
        { .name = "core, dma_copy", .measure = run, .ctx = &p },
    };

    init(&p, 1, count);
    copy.operand[NTK_ISA_SRC0] =
        ntk_isa_var(1, 0, (uint32_t)rows, (int32_t)row_bytes, row_bytes, NTK_DTYPE_UINT8);
    copy.operand[NTK_ISA_DST] =
        to_sbuf ? ntk_isa_sbuf(0, (unsigned)rows, row_bytes, NTK_DTYPE_UINT8)
                : ntk_isa_var(2, 0, (uint32_t)rows, (int32_t)row_bytes, row_bytes, NTK_DTYPE_UINT8);
    for (int i = 0; i < count; i++) {
        emit(&p, NTK_ISA_ENGINE_SP, &copy);
    }
    make(&p);
    /* The peer has the same distance between rows as the state buffer, but its own memory. */
    c.to_step = to_sbuf ? 196608 + 2112 : row_bytes;
    c.from_step = row_bytes;
    c.to = memory_of(c.to_step * (size_t)rows + 4096);
    c.from = memory_of((size_t)row_bytes * (size_t)rows + 4096);
    rounds_run(subjects, 2, ROUNDS);
    (void)printf("%d rows of %u bytes to %s\n", rows, row_bytes, to_sbuf ? "SBUF" : "HBM");
    rounds_print(&subjects[0], "ns");
    rounds_print(&subjects[1], "ns");
    (void)snprintf(name, sizeof name, "C2 %d x %u to %s: core / memcpy", rows, row_bytes,
                   to_sbuf ? "SBUF" : "HBM");
    rounds_print_ratio(name, &subjects[1], &subjects[0], 1 / TARGET);
    fini(&p);
    free(c.to);
    free(c.from);
}

/* --- other operations ------------------------------------------------------------------------- */

#define ROW_COUNT 512 /* elements of a partition */

/* Tiles of 128 partitions side by side, dtype and elements as the operation needs them. */
static struct ntk_isa_operand tile_at(unsigned place, unsigned partitions, uint32_t elements,
                                      enum ntk_dtype dtype)
{
    return ntk_isa_sbuf((uint64_t)place * 8192, partitions, elements, dtype);
}

static struct ntk_isa_instr operation(enum ntk_isa_op op)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(op);
    struct ntk_isa_operand *operand = instr.operand;

    operand[NTK_ISA_DST] = tile_at(1, 128, ROW_COUNT, NTK_DTYPE_FLOAT32);
    operand[NTK_ISA_SRC0] = tile_at(0, 128, ROW_COUNT, NTK_DTYPE_FLOAT32);
    switch (op) {
    case NTK_ISA_OP_ACTIVATE2:
        instr.op0 = NTK_ISA_ALU_MULTIPLY;
        instr.op1 = NTK_ISA_ALU_ADD;
        instr.act = NTK_ISA_ACT_RELU;
        instr.imm[0] = ntk_isa_float_bits(2.0F);
        break;
    case NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC:
        operand[NTK_ISA_SRC1] = tile_at(2, 1, 4, NTK_DTYPE_UINT16);
        break;
    case NTK_ISA_OP_DVE_TRANSPOSE:
        operand[NTK_ISA_DST] = tile_at(1, 32, 32, NTK_DTYPE_FLOAT32);
        operand[NTK_ISA_SRC0] = tile_at(0, 32, 32, NTK_DTYPE_FLOAT32);
        break;
    case NTK_ISA_OP_TOPK:
        operand[NTK_ISA_DST] = tile_at(1, 128, 4, NTK_DTYPE_BFLOAT16);
        operand[NTK_ISA_SRC0] = tile_at(0, 128, ROW_COUNT, NTK_DTYPE_BFLOAT16);
        operand[NTK_ISA_DST2] = tile_at(2, 128, 4, NTK_DTYPE_UINT16);
        instr.imm[0] = 64;
        instr.imm[1] = 16 * ROW_COUNT;
        break;
    case NTK_ISA_OP_QUANTIZE_MX:
        operand[NTK_ISA_DST] = tile_at(1, 128, ROW_COUNT, NTK_DTYPE_FLOAT8E4);
        operand[NTK_ISA_SRC0] = tile_at(0, 128, ROW_COUNT, NTK_DTYPE_BFLOAT16);
        operand[NTK_ISA_DST2] = tile_at(2, 16, ROW_COUNT / 4, NTK_DTYPE_UINT8);
        break;
    default:
        break;
    }
    return instr;
}

/* ns per element of source 0, compared with a memcpy of as many float32 values with the same
 * distance between rows: the lowest possible cost of reading and writing once. */
static void bench_operations(void)
{
    static const struct {
        enum ntk_isa_op op;
        enum ntk_isa_engine engine;
    } operations[] = { { NTK_ISA_OP_TENSOR_COPY, NTK_ISA_ENGINE_DVE },
                       { NTK_ISA_OP_ACTIVATE2, NTK_ISA_ENGINE_ACT },
                       { NTK_ISA_OP_TENSOR_COPY_DYNAMIC_SRC, NTK_ISA_ENGINE_DVE },
                       { NTK_ISA_OP_DVE_TRANSPOSE, NTK_ISA_ENGINE_DVE },
                       { NTK_ISA_OP_TOPK, NTK_ISA_ENGINE_POOL },
                       { NTK_ISA_OP_QUANTIZE_MX, NTK_ISA_ENGINE_DVE } };
    enum { KINDS = sizeof operations / sizeof operations[0], COUNT = 8 };
    struct program programs[KINDS];
    struct copying c = { .row_bytes = ROW_COUNT * 4, .rows = 128, .count = COUNT };
    struct rounds_subject subjects[KINDS + 1] = {
        { .name = "memcpy, 128 rows of 2 KiB", .measure = run_copying, .ctx = &c }
    };

    c.to_step = c.from_step = 196608 + 2112;
    c.to = memory_of(c.to_step * 128);
    c.from = memory_of(c.from_step * 128);
    for (int k = 0; k < KINDS; k++) {
        struct ntk_isa_instr instr = operation(operations[k].op);

        init(&programs[k], 1,
             (double)COUNT * (double)ntk_isa_operand_elements(&instr.operand[NTK_ISA_SRC0]));
        for (int i = 0; i < COUNT; i++) {
            emit(&programs[k], operations[k].engine, &instr);
        }
        make(&programs[k]);
        fill_sbuf(&programs[k], 32768);
        subjects[k + 1] = (struct rounds_subject){
            .name = ntk_isa_op_info_get(operations[k].op)->name,
            .measure = run,
            .ctx = &programs[k],
        };
    }
    rounds_run(subjects, KINDS + 1, ROUNDS);
    for (int i = 0; i < subjects[0].count; i++) {
        subjects[0].values[i] /= 128.0 * ROW_COUNT;
    }
    (void)printf("other operations, per element of their source\n");
    for (int k = 0; k <= KINDS; k++) {
        rounds_print(&subjects[k], "ns");
    }
    for (int k = 0; k < KINDS; k++) {
        fini(&programs[k]);
    }
    free(c.to);
    free(c.from);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void bench_loop(void)
{
    struct program p;
    struct ntk_isa_instr nop = ntk_isa_instr_make(NTK_ISA_OP_NOP);
    struct rounds_subject subject = { .name = "instruction without work",
                                      .measure = run,
                                      .ctx = &p };

    init(&p, 20, 2000);
    nop.signal_semaphore = 20;
    nop.signal_value = 1;
    for (int i = 0; i < 1000; i++) {
        struct ntk_isa_instr wait = ntk_isa_instr_make(NTK_ISA_OP_NOP);

        wait.wait_semaphore = 20;
        wait.wait_value = 1;
        wait.flags = NTK_ISA_FLAG_WAIT_CONSUME;
        emit(&p, NTK_ISA_ENGINE_SP, &nop);
        emit(&p, NTK_ISA_ENGINE_ACT, &wait);
    }
    make(&p);
    rounds_run(&subject, 1, ROUNDS);
    rounds_print(&subject, "ns");
    fini(&p);
}

int main(int argc, char **argv)
{
    rounds_options(argc, argv);
    rounds_pin(0);
    openblas_set_num_threads(1);
    bench_gemm(128, 512, 128, 32);
    bench_gemm(512, 512, 512, 4);
    bench_gemm(1024, 1024, 512, 1);
    bench_dma(4096, 128, 1, 16);
    bench_dma(65536, 128, 1, 2);
    bench_dma(4096, 128, 0, 16);
    bench_dma(1u << 20, 8, 0, 1);
    bench_operations();
    bench_loop();
    return rounds_result();
}
