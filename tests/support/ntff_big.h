/* SPDX-License-Identifier: MIT */
/*
 * ntff_big - captures of any size, as a machine would write them, with answers known by
 * construction.
 *
 * One or two cores of a trn2.48xlarge repeat a step of 1 us: each core's Tensor, Vector and Scalar
 * engines compute, GpSimd starts a DMA every fourth step, Sync waits; semaphores change and four
 * packets move on four of sixteen DMA engines. As in real files, instructions are nearly in order,
 * and DMA records are grouped by engine. The last step ends with the tensor engine's NOTIFY.
 */
#ifndef NTK_TESTS_NTFF_BIG_H
#define NTK_TESTS_NTFF_BIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/emulated.h"

#define NTFF_BIG_STEP_PS 1000000
#define NTFF_BIG_PACKETS 4 /* per step */
#define NTFF_BIG_PACKET_BYTES 512
#define NTFF_BIG_EVENTS 2
#define NTFF_BIG_MATMUL_COLUMNS 512
#define NTFF_BIG_TENSOR_PS 600000
/* Starts in the middle of a step, so it overlaps the next one of its engine. */
#define NTFF_BIG_VECTOR_PS 1500000
#define NTFF_BIG_SCALAR_PS 300000

struct ntff_big {
    uint64_t steps; /* requested; 0: as many as bytes_count allows */
    uint64_t bytes_count;
    size_t cores; /* 1 or 2 */
    /* Tensor and Sync wait for transfers, Scalar for Tensor, which changes a semaphore at each
     * end. */
    bool has_waits;
    /* Results, of all cores. */
    uint64_t instruction_count, packet_count, event_count, record_count;
    int64_t total_ps;
};

/* Returns 0 or -errno. */
int ntff_big_write(const char *path, struct ntff_big *big);
/* Writes big.ntff in the folder; returns its path, which the caller frees, or NULL on failure. */
char *ntff_big_write_in(const char *folder, struct ntff_big *big);

/* Sanitizers and the emulator use shadow memory, which grows: with them, only the answers about a
 * large capture are checked. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define NTFF_BIG_HAS_SHADOWS 1
#else
#define NTFF_BIG_HAS_SHADOWS test_is_emulated()
#endif

#endif
