/* SPDX-License-Identifier: MIT */
/* diag_memory - tests patterns in device memory, and copies to, from and inside it. */
#include <stdlib.h>
#include <string.h>

#include "agent/diag/diag_worker.h"
#include "shared/base/clock.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define COPY_NS (100 * NTK_NS_PER_MS) /* minimum copying time for a figure */
#define COPIES_MAX 64u

/* Returns a 64-bit word that depends on its position. */
static uint64_t walking_ones(uint64_t word)
{
    return UINT64_C(1) << (word % 64);
}

static uint64_t walking_zeros(uint64_t word)
{
    return ~walking_ones(word);
}

static uint64_t checkerboard(uint64_t word)
{
    return word % 2 ? UINT64_C(0x5555555555555555) : UINT64_C(0xaaaaaaaaaaaaaaaa);
}

static uint64_t inverse_checkerboard(uint64_t word)
{
    return ~checkerboard(word);
}

static uint64_t address(uint64_t word)
{
    return word * sizeof word;
}

static const struct {
    const char *name;
    uint64_t (*word)(uint64_t word);
} patterns[] = {
    { "walking-ones", walking_ones },  { "walking-zeros", walking_zeros },
    { "checkerboard", checkerboard },  { "inverse-checkerboard", inverse_checkerboard },
    { "address-in-address", address },
};

static void piece_fill(uint64_t *words, uint64_t (*word)(uint64_t word), size_t offset,
                       size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *words; i++) {
        words[i] = word(offset / sizeof *words + i);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Writes the whole tensor before reading any of it, so that wrong addresses are detected. */
static void pattern_test(struct ntk_diag_worker *worker, size_t which, nrt_tensor_t *tensor,
                         size_t bytes, uint64_t *piece, uint64_t *expected)
{
    struct ntk_diag_result result =
        ntk_diag_worker_begin(worker, NTK_DIAG_PATTERN_TEST, patterns[which].name);
    NRT_STATUS status = NRT_SUCCESS;
    const char *call = "nrt_tensor_write";

    for (size_t at = 0; status == NRT_SUCCESS && at < bytes; at += PIECE_BYTES) {
        size_t part = least(PIECE_BYTES, bytes - at);

        piece_fill(piece, patterns[which].word, at, part);
        status = worker->nrt.nrt_tensor_write(tensor, piece, at, part);
    }
    for (size_t at = 0; status == NRT_SUCCESS && at < bytes; at += PIECE_BYTES) {
        size_t part = least(PIECE_BYTES, bytes - at);

        call = "nrt_tensor_read";
        status = worker->nrt.nrt_tensor_read(tensor, piece, at, part);
        piece_fill(expected, patterns[which].word, at, part);
        if (status == NRT_SUCCESS && ntk_diag_worker_differ(&result, (const uint8_t *)piece,
                                                            (const uint8_t *)expected, part, at)) {
            break;
        }
    }
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, &result, status, call);
    }
    result.has_figure = result.verdict == NTK_DIAG_PASS;
    result.figure = (double)bytes;
    ntk_diag_worker_tell(worker, &result);
}

void ntk_diag_pattern_tests(struct ntk_diag_worker *worker)
{
    size_t bytes = worker->plan->memory_bytes;
    nrt_tensor_t *tensor = NULL;
    uint64_t *piece = malloc(PIECE_BYTES);
    uint64_t *expected = malloc(PIECE_BYTES);
    NRT_STATUS status = piece && expected
                            ? worker->nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, bytes,
                                                              "diag_pattern", &tensor)
                            : NRT_RESOURCE;

    if (status != NRT_SUCCESS) {
        struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_PATTERN_TEST, "");

        ntk_diag_worker_refused(worker, &result, status, "nrt_tensor_allocate");
        ntk_diag_worker_tell(worker, &result);
    }
    for (size_t i = 0; status == NRT_SUCCESS && i < sizeof patterns / sizeof *patterns; i++) {
        pattern_test(worker, i, tensor, bytes, piece, expected);
    }
    if (tensor) {
        worker->nrt.nrt_tensor_free(&tensor);
    }
    free(piece);
    free(expected);
}

/* ---- copies ---- */

struct copy {
    struct ntk_diag_worker *worker;
    nrt_tensor_t *from, *to; /* tensors in device memory */
    uint8_t *host, *back;
    size_t bytes;
};

static NRT_STATUS copy_once(const struct copy *copy, enum ntk_diag_test test)
{
    const struct ntk_nrt *nrt = &copy->worker->nrt;

    switch (test) {
    case NTK_DIAG_TO_DEVICE_TEST:
        return nrt->nrt_tensor_write(copy->from, copy->host, 0, copy->bytes);
    case NTK_DIAG_TO_HOST_TEST:
        return nrt->nrt_tensor_read(copy->from, copy->back, 0, copy->bytes);
    default:
        return nrt->nrt_tensor_copy(copy->from, 0, copy->to, 0, copy->bytes);
    }
}

/* Copies repeatedly; the figure is in bytes per second. Checks the bytes afterwards. */
static void copy_test(const struct copy *copy, enum ntk_diag_test test)
{
    struct ntk_diag_worker *worker = copy->worker;
    struct ntk_diag_result result = ntk_diag_worker_begin(worker, test, "");
    uint64_t began_ns = ntk_clock_monotonic_ns();
    uint64_t took_ns = 0;
    uint64_t copies = 0;
    NRT_STATUS status = NRT_SUCCESS;

    if (test == NTK_DIAG_ON_DEVICE_TEST && !worker->nrt.nrt_tensor_copy) {
        result.verdict = NTK_DIAG_SKIP;
        ntk_diag_say(&result, "the runtime has no nrt_tensor_copy");
        ntk_diag_worker_tell(worker, &result);
        return;
    }
    while (status == NRT_SUCCESS && copies < COPIES_MAX &&
           took_ns < (worker->is_quiet ? 1 : COPY_NS)) {
        status = copy_once(copy, test);
        copies++;
        took_ns = ntk_clock_monotonic_ns() - began_ns;
    }
    if (status == NRT_SUCCESS && test != NTK_DIAG_TO_DEVICE_TEST) {
        if (test == NTK_DIAG_ON_DEVICE_TEST) {
            memset(copy->back, 0, copy->bytes);
            status = worker->nrt.nrt_tensor_read(copy->to, copy->back, 0, copy->bytes);
        }
        (void)ntk_diag_worker_differ(&result, copy->back, copy->host, copy->bytes, 0);
    }
    if (status != NRT_SUCCESS) {
        ntk_diag_worker_refused(worker, &result, status,
                                test == NTK_DIAG_TO_DEVICE_TEST ? "nrt_tensor_write"
                                : test == NTK_DIAG_TO_HOST_TEST ? "nrt_tensor_read"
                                                                : "nrt_tensor_copy");
    }
    result.has_figure = result.verdict == NTK_DIAG_PASS;
    result.figure = (double)(copy->bytes * copies) * 1e9 / (double)(took_ns ? took_ns : 1);
    ntk_diag_worker_tell(worker, &result);
}

void ntk_diag_copy_tests(struct ntk_diag_worker *worker)
{
    struct copy copy = { .worker = worker, .bytes = worker->plan->memory_bytes };
    NRT_STATUS status = NRT_RESOURCE;

    copy.host = malloc(copy.bytes);
    copy.back = calloc(1, copy.bytes);
    if (copy.host && copy.back) {
        uint64_t state = worker->work->core + 1;

        for (size_t i = 0; i < copy.bytes; i++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            copy.host[i] = (uint8_t)(state >> 56);
        }
        status = worker->nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, copy.bytes,
                                                 "diag_from", &copy.from);
    }
    if (status == NRT_SUCCESS) {
        status = worker->nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, copy.bytes,
                                                 "diag_to", &copy.to);
    }
    if (status == NRT_SUCCESS) {
        copy_test(&copy, NTK_DIAG_TO_DEVICE_TEST);
        copy_test(&copy, NTK_DIAG_TO_HOST_TEST);
        copy_test(&copy, NTK_DIAG_ON_DEVICE_TEST);
    } else {
        struct ntk_diag_result result = ntk_diag_worker_begin(worker, NTK_DIAG_TO_DEVICE_TEST, "");

        ntk_diag_worker_refused(worker, &result, status, "nrt_tensor_allocate");
        ntk_diag_worker_tell(worker, &result);
    }
    if (copy.from) {
        worker->nrt.nrt_tensor_free(&copy.from);
    }
    if (copy.to) {
        worker->nrt.nrt_tensor_free(&copy.to);
    }
    free(copy.host);
    free(copy.back);
}
