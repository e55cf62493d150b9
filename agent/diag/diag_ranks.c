/* SPDX-License-Identifier: MIT */
/* diag_ranks - tests collective operations between the cores, with one process per core. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/diag/diag_worker.h"
#include "shared/base/clock.h"

#define BYTES 4096u
#define NUMBERS (BYTES / 4u)

static uint8_t byte_of(uint32_t rank, uint32_t i)
{
    return (uint8_t)(rank * 101u + i * 7u + (i >> 8));
}

static void gather(struct ntk_diag_worker *worker)
{
    const struct ntk_diag_work *work = worker->work;
    struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_ALL_GATHER_TEST, "");
    size_t bytes = (size_t)work->ranks * BYTES;
    uint8_t own[BYTES];
    uint8_t *all = calloc(2, bytes);
    NRT_STATUS status = NRT_RESOURCE;

    if (!worker->nrt.nrt_all_gather) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the runtime has no nrt_all_gather");
        ntk_diag_worker_tell(worker, &result);
        free(all);
        return;
    }
    for (uint32_t i = 0; i < BYTES; i++) {
        own[i] = byte_of(work->rank, i);
    }
    if (all) {
        for (size_t i = 0; i < bytes; i++) {
            all[bytes + i] = byte_of((uint32_t)(i / BYTES), (uint32_t)(i % BYTES));
        }
        status = worker->nrt.nrt_all_gather(0, work->rank, work->ranks, BYTES, own, all);
    }
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, &result, status, "nrt_all_gather");
    } else {
        (void)ntk_diag_worker_differ(&result, all, all + bytes, bytes, 0);
    }
    free(all);
    ntk_diag_worker_tell(worker, &result);
}

static NRT_STATUS reduce_run(struct ntk_diag_worker *worker, nrt_tensor_t *own, nrt_tensor_t *sum)
{
    const struct ntk_diag_work *work = worker->work;
    const struct ntk_nrt *nrt = &worker->nrt;
    nrt_tensor_list_t in = { .tensors = &own, .num_tensors = 1 };
    nrt_tensor_list_t out = { .tensors = &sum, .num_tensors = 1 };
    nrt_cc_comm_t comm = { .rank = work->rank,
                           .rank_n = work->ranks,
                           .ctx_device_id = work->rank,
                           .ctx_device_count = work->ranks };
    nrt_cc_context_t *context = NULL;
    nrta_seq_t sequence = 0;
    bool is_done = false;
    NRT_STATUS status = nrt->nrta_cc_prepare(&comm, &in, &out, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
                                             NRT_CC_ALLREDUCE, &context);

    if (status == NRT_SUCCESS) {
        status = nrt->nrta_cc_schedule(&context, 0, NULL, &sequence);
    }
    while (status == NRT_SUCCESS && !is_done) {
        struct timespec pause = { .tv_nsec = 200000 };

        status = nrt->nrta_is_completed(sequence, &is_done);
        if (!is_done) {
            (void)nanosleep(&pause, NULL);
        }
    }
    return status;
}

/* Returns a small whole number, so that a sum is the same in any order. */
static float number_of(uint32_t rank, uint32_t i)
{
    return (float)((int)((rank + 1) * (i % 97u)) - 48);
}

static void reduce(struct ntk_diag_worker *worker)
{
    const struct ntk_diag_work *work = worker->work;
    const struct ntk_nrt *nrt = &worker->nrt;
    struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_ALL_REDUCE_TEST, "");
    float numbers[NUMBERS];
    float expected[NUMBERS] = { 0 };
    nrt_tensor_t *own = NULL;
    nrt_tensor_t *sum = NULL;

    if (!nrt->nrta_cc_prepare || !nrt->nrta_cc_schedule || !nrt->nrta_is_completed) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the runtime has no explicit interface (nrta_cc_prepare)");
        ntk_diag_worker_tell(worker, &result);
        return;
    }
    for (uint32_t i = 0; i < NUMBERS; i++) {
        numbers[i] = number_of(work->rank, i);
        for (uint32_t rank = 0; rank < work->ranks; rank++) {
            expected[i] += number_of(rank, i);
        }
    }
    NRT_STATUS status =
        nrt->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, BYTES, "diag_own", &own);
    if (status == NRT_SUCCESS) {
        status = nrt->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, BYTES, "diag_sum", &sum);
    }
    if (status == NRT_SUCCESS) {
        status = nrt->nrt_tensor_write(own, numbers, 0, BYTES);
    }
    if (status == NRT_SUCCESS) {
        status = reduce_run(worker, own, sum);
    }
    if (status == NRT_SUCCESS) {
        status = nrt->nrt_tensor_read(sum, numbers, 0, BYTES);
    }
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, &result, status, "a queued all-reduce");
    } else {
        (void)ntk_diag_worker_differ(&result, (const uint8_t *)numbers, (const uint8_t *)expected,
                                     BYTES, 0);
    }
    if (own) {
        nrt->nrt_tensor_free(&own);
    }
    if (sum) {
        nrt->nrt_tensor_free(&sum);
    }
    ntk_diag_worker_tell(worker, &result);
}

void ntk_diag_rank_tests(struct ntk_diag_worker *worker)
{
    gather(worker);
    reduce(worker);
}
