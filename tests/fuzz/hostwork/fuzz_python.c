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
static bool read_bytes(void *ctx, uint64_t address, void *out, size_t count)
{
    const struct bytes *bytes = ctx;
    uint64_t at = address % (bytes->size + 1);

    if (address % 7 == 3 || bytes->size - at < count) {
        return false;
    }
    memcpy(out, bytes->data + at, count);
    return true;
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
    static struct ntk_python_frame frames[NTK_PYTHON_FRAMES_MAX];
    struct bytes bytes = { data, size };
    struct ntk_host_memory memory = { read_bytes, &bytes };
    struct ntk_python python;
    struct ntk_python_gil gil;

    for (uint32_t minor = 9; minor < 15; minor++) {
        if (!ntk_python_init(&python, minor, BASE, &memory)) {
            continue;
        }
        (void)ntk_python_gil(&python, &memory, &gil);
        size_t count = ntk_python_threads(&python, &memory, threads, NTK_PYTHON_THREADS_MAX);
        check(count <= NTK_PYTHON_THREADS_MAX);
        for (size_t i = 0; i < count && i < 8; i++) {
            size_t depth =
                ntk_python_stack(&python, &memory, &threads[i], frames, NTK_PYTHON_FRAMES_MAX);
            check(depth <= NTK_PYTHON_FRAMES_MAX);
            for (size_t k = 0; k < depth; k++) {
                check(memchr(frames[k].name, '\0', sizeof frames[k].name) != NULL);
                check(memchr(frames[k].file, '\0', sizeof frames[k].file) != NULL);
            }
        }
    }
    return 0;
}
