/* SPDX-License-Identifier: MIT */
/*
 * rtd_neffs FOLDER - the NEFFs of the daemon's tests, as FOLDER/NAME.neff:
 *
 *   wire    y:0 = x:0 + 2, two bytes each, in a file of exactly 5 MiB: which the wire vectors
 *           load and infer
 *   small   64 bytes from x to y: the smallest model that runs
 *   slow    the same, and 120 ms on a paced core
 *   wide    100 MiB from x to y
 *   broad   16 MiB from x to y
 *   pipe    64 bytes from x to y through four cores, 10 ms on each when paced
 *   turns   a node of four cores and one of one, 64 bytes from x to y
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/formats/neff/neff_build.h"

#define WIRE_FILE_BYTES 5242880
#define WIDE_BYTES (UINT64_C(100) << 20)
#define BROAD_BYTES (UINT64_C(16) << 20)
#define MS_CYCLES UINT32_C(1400000) /* cycles of the base clock per ms */

static struct ntk_neff_build *build_create(const char *name)
{
    return ntk_neff_build_create(&(struct ntk_neff_build_options){ .name = name });
}

static void copy_add(struct ntk_neff_kernel *kernel, uint32_t to, uint32_t from, uint64_t bytes,
                     uint32_t cycles)
{
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    struct ntk_neff_build_side source = {
        .var_id = from, .dim_count = 1, .steps = { 1 }, .sizes = { bytes }
    };
    struct ntk_neff_build_transfer copy = {
        .op = NTK_NEFF_TRANSFER_COPY,
        .to = { .var_id = to, .dim_count = 1, .steps = { 1 }, .sizes = { bytes } },
        .from = &source,
        .source_count = 1,
    };
    ntk_neff_token done = ntk_neff_kernel_dma(kernel, queue, &copy, NTK_AFTER_NONE);

    if (cycles > 0) {
        struct ntk_isa_instr work = ntk_isa_instr_make(NTK_ISA_OP_NOP);
        work.imm[0] = cycles;
        (void)ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_PE, &work, NTK_AFTER(done));
    }
}

/* Node `node` of count subgraphs; the tensors between them are named after it. */
static void chain_add(struct ntk_neff_build *build, const char *node, const char *in,
                      const char *out, uint32_t cores, uint64_t bytes, uint32_t cycles)
{
    struct ntk_neff_kernel *kernel = NULL;
    char from[32];
    char to[32];

    (void)snprintf(to, sizeof to, "%s", in);
    for (uint32_t i = 0; i < cores; i++) {
        kernel = kernel ? ntk_neff_build_stage(build, kernel) : ntk_neff_build_kernel(build, node);
        memcpy(from, to, sizeof from);
        if (i + 1 < cores) {
            (void)snprintf(to, sizeof to, "%.16s%u", node, i);
        } else {
            (void)snprintf(to, sizeof to, "%s", out);
        }
        uint32_t x = ntk_neff_kernel_input(kernel, from, NTK_DTYPE_UINT8, 1, &bytes);
        uint32_t y = ntk_neff_kernel_output(kernel, to, NTK_DTYPE_UINT8, 1, &bytes);
        copy_add(kernel, y, x, bytes, cycles);
    }
}

static struct ntk_neff_build *wire_make(void)
{
    static const uint64_t shape[] = { 1, 2 };
    struct ntk_neff_build *build = build_create("wire");
    struct ntk_neff_kernel *kernel = ntk_neff_build_kernel(build, "add");
    uint32_t x = ntk_neff_kernel_input(kernel, "x:0", NTK_DTYPE_UINT8, 2, shape);
    uint32_t y = ntk_neff_kernel_output(kernel, "y:0", NTK_DTYPE_UINT8, 2, shape);
    uint32_t c =
        ntk_neff_kernel_constant(kernel, "c", NTK_DTYPE_UINT8, 2, shape, (uint8_t[]){ 2, 2 });
    uint32_t queue =
        ntk_neff_kernel_queue(kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 1);
    ntk_neff_token load_c =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(c, 0, 2, 1), 0, 2, NTK_AFTER_NONE);
    ntk_neff_token load_x =
        ntk_neff_kernel_load(kernel, queue, NTK_ROWS(x, 0, 2, 1), 64, 2, NTK_AFTER_NONE);
    struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);

    add.op0 = NTK_ISA_ALU_ADD;
    add.operand[NTK_ISA_DST] = ntk_isa_sbuf(128, 1, 2, NTK_DTYPE_UINT8);
    add.operand[NTK_ISA_SRC0] = ntk_isa_sbuf(64, 1, 2, NTK_DTYPE_UINT8);
    add.operand[NTK_ISA_SRC1] = ntk_isa_sbuf(0, 1, 2, NTK_DTYPE_UINT8);
    ntk_neff_token sum =
        ntk_neff_kernel_emit(kernel, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER(load_x, load_c));
    (void)ntk_neff_kernel_store(kernel, queue, NTK_ROWS(y, 0, 2, 1), 128, 2, NTK_AFTER(sum));
    return build;
}

/* Zeroes after the archive pad the file to the requested length; 0: no padding. */
static void write_bytes(struct ntk_neff_build *build, const char *folder, const char *name,
                        size_t file_bytes)
{
    char path[4096];
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;

    (void)snprintf(path, sizeof path, "%s/%s.neff", folder, name);
    int ret = ntk_neff_build_bytes(build, &bytes, &count, &err);
    FILE *file = ret == 0 ? fopen(path, "wb") : NULL;
    if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0 ||
        (file_bytes > count && truncate(path, (off_t)file_bytes) != 0)) {
        (void)fprintf(stderr, "rtd_neffs: %s: %s\n", path, err.text);
        exit(1);
    }
    free(bytes);
    ntk_neff_build_destroy(build);
}

static void chain_write(const char *folder, const char *name, uint32_t cores, uint64_t bytes,
                        uint32_t cycles)
{
    struct ntk_neff_build *build = build_create(name);

    chain_add(build, name, "x", "y", cores, bytes, cycles);
    write_bytes(build, folder, name, 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: rtd_neffs FOLDER\n");
        return 2;
    }
    chain_write(argv[1], "small", 1, 64, 0);
    chain_write(argv[1], "slow", 1, 64, 120 * MS_CYCLES);
    chain_write(argv[1], "wide", 1, WIDE_BYTES, 0);
    chain_write(argv[1], "broad", 1, BROAD_BYTES, 0);
    chain_write(argv[1], "pipe", 4, 64, 10 * MS_CYCLES);
    struct ntk_neff_build *turns = build_create("turns");
    chain_add(turns, "first", "x", "h", 4, 64, 0);
    chain_add(turns, "second", "h", "y", 1, 64, 0);
    write_bytes(turns, argv[1], "turns", 0);
    write_bytes(wire_make(), argv[1], "wire", WIRE_FILE_BYTES);
    return 0;
}
