/* SPDX-License-Identifier: MIT */
/* Any bytes as the memory of an interpreter: reading terminates and stays in bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hostwork/python.h"

#define BASE UINT64_C(0x10000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t size;
};

/* Addresses wrap around, so that any pointer leads to bytes of the input. */
static size_t read_bytes(void *ctx, const struct ntk_host_range *ranges, size_t count, void *out)
{
    const struct bytes *bytes = ctx;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t at = ranges[i].address % (bytes->size + 1);
        if (ranges[i].address % 7 == 3 || bytes->size - at < ranges[i].bytes) {
            break;
        }
        memcpy((uint8_t *)out + done, bytes->data + at, ranges[i].bytes);
        done += ranges[i].bytes;
    }
    return done;
}

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX];
    static struct ntk_python_frame frames[2][NTK_PYTHON_FRAMES_MAX];
    static struct ntk_python_scratch scratch;
    char text[NTK_PYTHON_TEXT_BYTES];
    size_t before = 0;
    struct bytes bytes = { data, size };
    struct ntk_host_memory memory = { read_bytes, &bytes };
    struct ntk_python python;
    struct ntk_python_gil gil;

    memset(&scratch, 0, sizeof scratch);
    for (uint32_t minor = 9; minor < 15; minor++) {
        if (!ntk_python_init(&python, minor, BASE, &memory)) {
            continue;
        }
        (void)ntk_python_gil(&python, &memory, &gil);
        size_t count = ntk_python_threads(&python, &memory, 0, &scratch, threads);
        count = ntk_python_threads(&python, &memory, count, &scratch, threads);
        check(count <= NTK_PYTHON_THREADS_MAX);
        for (size_t i = 0; i < count && i < 8; i++) {
            /* The frames of another thread are as good as any. */
            scratch.round += i % 2;
            size_t depth = ntk_python_stack(&python, &memory, &threads[i], frames[i % 2], before,
                                            &scratch, frames[(i + 1) % 2]);
            check(depth <= NTK_PYTHON_FRAMES_MAX);
            for (size_t k = 0; k < depth; k++) {
                ntk_python_text(&python, &memory, frames[(i + 1) % 2][k].name, text);
                check(memchr(text, '\0', sizeof text) != NULL);
            }
            before = depth;
        }
    }
    return 0;
}
