/* SPDX-License-Identifier: MIT */
/*
 * models - small NEFFs for tests that run them.
 */
#ifndef NTK_TESTS_SUPPORT_MODELS_H
#define NTK_TESTS_SUPPORT_MODELS_H

#include <stddef.h>
#include <stdint.h>

#define TEST_MODEL_ROWS 128
#define TEST_MODEL_COLUMNS 64
#define TEST_MODEL_ELEMENTS (TEST_MODEL_ROWS * TEST_MODEL_COLUMNS)
#define TEST_MODEL_BYTES (TEST_MODEL_ELEMENTS * sizeof(float))

#define TEST_MODEL_PIPE 7

struct test_model_options {
    const char *name;         /* NULL: "adder" */
    const char *target;       /* NULL: any */
    uint32_t lnc;             /* 0: 1 */
    uint64_t virtual_bytes;   /* bytes of a variable in the shared scratchpad; 0: none */
    uint64_t tmp_bytes;       /* bytes of a private one; 0: none */
    uint32_t rounds;          /* how many times the sum is computed; 0: once */
    int deadlock;             /* an engine waits for an event that never comes */
    int narrow;               /* the sum is rounded to bfloat16 on its way */
    int prints;               /* y is printed to TEST_MODEL_PIPE, without a prefix */
    int cpu_after;            /* y goes through a CPU node of member cpu.so to z */
    const char *cpu_function; /* its function; NULL: "test_negate" */
    const void *cpu_library;
    size_t cpu_library_bytes;
};

/* y[i] = x[i] + i for float32 tensors "x" and "y" of 128 x 64; free with free(). Aborts on
 * failure. */
uint8_t *test_model_adder(const struct test_model_options *options, size_t *out_bytes);

/* One DMA of 64 bytes from "x" to "y": the smallest model that runs. */
uint8_t *test_model_smallest(size_t *out_bytes);

/* Long on the device, short on the host: each step takes a trn1 core more than TEST_MODEL_STEP_NS.
 * Also one DMA of 64 bytes from "x" to "y". */
#define TEST_MODEL_STEP_NS 280000
uint8_t *test_model_slow(uint32_t steps, size_t *out_bytes);

/* The same, but before the first step every second 256 bytes of "x" are moved to "y", which takes a
 * trn1 core more than TEST_MODEL_MOVE_NS. */
#define TEST_MODEL_MOVED_BYTES (1U << 20)
#define TEST_MODEL_MOVE_NS 380000
uint8_t *test_model_moving(uint32_t steps, size_t *out_bytes);

#endif
