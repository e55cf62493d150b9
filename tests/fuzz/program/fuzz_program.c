/* SPDX-License-Identifier: MIT */
/*
 * fuzz_program - an engine binary against a fixed definition, loaded and run.
 *
 * Input: one byte, then the bytes of one engine's binary. The byte encodes, fastest varying first:
 * engine (5), core generation (4), whether two cores run the binary together (2), whether the last
 * group belongs to the function "f" (2). The other engines are empty. A program that loads runs
 * with a small limit of device time, so that the fuzzer does not spend its time on large but
 * harmless tiles.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/engine/engine.h"
#include "shared/formats/neff/neff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define VAR_BYTES 4096
#define TIMEOUT_NS 20000
#define SIZE_MAX_BYTES 4097

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_engine_core *cores[NTK_ENGINE_GENERATION_MAX + 1][2];
    static uint8_t memory[3][VAR_BYTES];
    struct ntk_neff_var vars[] = {
        { .name = "SB", .type = NTK_NEFF_VAR_STATE_BUFFER },
        { .name = "x", .type = NTK_NEFF_VAR_INPUT, .var_id = 1, .bytes_count = VAR_BYTES },
        { .name = "y", .type = NTK_NEFF_VAR_OUTPUT, .var_id = 2, .bytes_count = VAR_BYTES },
    };
    struct ntk_neff_queue_set queues[] = { { .name = "q0", .queue_count = 16 },
                                           { .name = "q1", .queue_count = 1 } };
    struct ntk_neff_pattern from = {
        .var = 1, .dtype = NTK_DTYPE_UINT8, .dim_count = 2, .steps = { 1, 64 }, .sizes = { 64, 16 }
    };
    struct ntk_neff_transfer transfer = { .op = NTK_NEFF_TRANSFER_COPY,
                                          .source_count = 1,
                                          .from = &from,
                                          .to = { .dtype = NTK_DTYPE_UINT8,
                                                  .dim_count = 2,
                                                  .steps = { 1, 262144 },
                                                  .sizes = { 64, 16 } } };
    struct ntk_neff_dma_group groups[2] = { { .function_start = "",
                                              .id = 3,
                                              .transfer_count = 1,
                                              .transfers = &transfer,
                                              .semaphore = 8,
                                              .event = NTK_NEFF_NONE } };
    const char *names[] = { "f", "g" };
    struct ntk_neff_subgraph subgraph = {
        .name = "sg00", .var_count = 3, .vars = vars, .queue_set_count = 2, .queue_sets = queues
    };
    struct ntk_engine_program *program = NULL;
    struct ntk_err err = { 0 };
    unsigned generation;
    unsigned engine;
    bool is_pair;
    bool has_function;
    uint8_t *code;

    if (size < 1 || size > SIZE_MAX_BYTES) {
        return 0;
    }
    engine = data[0] % NTK_ISA_ENGINE_COUNT;
    generation = data[0] / NTK_ISA_ENGINE_COUNT % NTK_ENGINE_GENERATION_MAX + 1;
    is_pair = data[0] / 20 % 2;
    has_function = data[0] / 40 % 2;
    groups[1] = groups[0];
    groups[1].function_start = "f";
    code = malloc(size); /* its own allocation, so that asan detects a read beyond its end */
    if (!code) {
        return 0;
    }
    memcpy(code, data + 1, size - 1);
    subgraph.engines[engine] = (struct ntk_neff_engine){ .code = code,
                                                         .code_bytes = size - 1,
                                                         .nsx_version = NTK_ISA_VERSION,
                                                         .group_count = has_function ? 2 : 1,
                                                         .groups = groups,
                                                         .name_count = 2,
                                                         .names = names };
    for (int c = 0; c < 2 && !cores[generation][c]; c++) {
        ntk_engine_core_create(generation, &cores[generation][c], NULL);
    }
    if (ntk_engine_program_create(generation, &subgraph, &program, &err) == 0) {
        struct ntk_engine_binding bindings[] = { { 0 },
                                                 { memory[1], VAR_BYTES, 0x1000 },
                                                 { memory[2], VAR_BYTES, 0x2000 } };
        struct ntk_engine_run_options options = { .bindings = bindings,
                                                  .binding_count = 3,
                                                  .timeout_ns = TIMEOUT_NS };
        const struct ntk_engine_member members[2] = { { cores[generation][0], program, &options },
                                                      { cores[generation][1], program, &options } };
        struct ntk_engine_result results[2];

        ntk_engine_run_together(members, is_pair ? 2 : 1, results, &err);
        ntk_engine_program_destroy(program);
    } else if (err.text[0] == 0) {
        abort(); /* rejected without a message */
    }
    free(code);
    return 0;
}
