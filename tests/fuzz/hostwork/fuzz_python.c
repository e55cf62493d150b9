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

static struct bytes input;

static int read_for_bpf(void *out, size_t bytes, uint64_t address)
{
    const struct ntk_host_range range = { address, bytes };

    return read_bytes(&input, &range, 1, out) == bytes ? 0 : -1;
}
#define NTK_HOST_BPF_READ(out, bytes, address) read_for_bpf(out, bytes, address)
#include "shared/hostwork/bpf_python.h"

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

/* The part of the BPF program that reads frames. */
static void read_by_bpf(const struct ntk_python *python, uint64_t state)
{
    static struct ntk_host_bpf_python python_frames_seen;
    struct ntk_host_bpf_interpreter interpreter = { .python = *python, .threads = state };

    interpreter.python.tid_at = 8;
    (void)python_state_of(&interpreter, python_tid_of(&interpreter, state));
    check(python_frames(&interpreter, state, &python_frames_seen) <= NTK_PYTHON_FRAMES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX];
    static struct ntk_python_frame frames[2][NTK_PYTHON_FRAMES_MAX];
    static struct ntk_python_scratch scratch;
    char text[NTK_PYTHON_TEXT_BYTES];
    size_t before = 0;
    struct ntk_host_memory memory = { read_bytes, &input };
    struct ntk_python python;
    struct ntk_python_gil gil;

    memset(&scratch, 0, sizeof scratch);
    input = (struct bytes){ data, size };
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
            read_by_bpf(&python, threads[i].address);
        }
    }
    return 0;
}
