/* SPDX-License-Identifier: MIT */
/*
 * python_image - the memory of a fake interpreter, for tests of its readers. The file that includes
 * it defines BASE, the address of the first byte in the process.
 */
#ifndef NTK_TESTS_SHARED_HOSTWORK_PYTHON_IMAGE_H
#define NTK_TESTS_SHARED_HOSTWORK_PYTHON_IMAGE_H

#include <string.h>

#include "shared/hostwork/python.h"

#define SIZE (1u << 20)

enum {
    INTERPRETER = 0x1000,
    THREAD = 0x2000,
    OTHER_THREAD = 0x3000,
    INDIRECT = 0x4000,
    FRAME = 0x5000,
    OUTER_FRAME = 0x6000,
    CODE = 0x7000,
    OUTER_CODE = 0x8000,
    NAME = 0x9000,
    FILE_NAME = 0xa000,
    OUTER_NAME = 0xb000,
    GIL = 0xc000,
    DESCRIPTOR = 0xd000 /* of a thread, for 3.10 */
};

static uint8_t image[SIZE];

static void put(size_t at, uint64_t value)
{
    memcpy(image + at, &value, sizeof value);
}

static void put_text(const struct ntk_python_offsets *offsets, size_t at, const char *text)
{
    uint32_t state = 1u << 2 | 1u << 5 | 1u << 6; /* one byte per character, compact, ASCII */

    put(at + offsets->text_length, strlen(text));
    memcpy(image + at + offsets->text_state, &state, sizeof state);
    memcpy(image + at + offsets->text_ascii, text, strlen(text));
}

/* One interpreter with two threads; the first executes "load" called by "main". */
static void make(const struct ntk_python_offsets *offsets)
{
    uint32_t line = 12;

    put(offsets->runtime_interpreters, BASE + INTERPRETER);
    put(INTERPRETER + offsets->interpreter_threads, BASE + THREAD);
    put(THREAD + offsets->thread_next, BASE + OTHER_THREAD);
    put(THREAD + offsets->thread_native, 4711);
    put(OTHER_THREAD + offsets->thread_native, 4712);
    if (offsets->frame_is_indirect) {
        put(THREAD + offsets->thread_frame, BASE + INDIRECT);
        put(INDIRECT + offsets->frame_of_indirect, BASE + FRAME);
    } else {
        put(THREAD + offsets->thread_frame, BASE + FRAME);
    }
    put(FRAME + offsets->frame_code, BASE + CODE);
    put(FRAME + offsets->frame_previous, BASE + OUTER_FRAME);
    put(OUTER_FRAME + offsets->frame_code, BASE + OUTER_CODE);
    put(CODE + offsets->code_name, BASE + NAME);
    put(CODE + offsets->code_file, BASE + FILE_NAME);
    memcpy(image + CODE + offsets->code_line, &line, sizeof line);
    put(OUTER_CODE + offsets->code_name, BASE + OUTER_NAME);
    put(OUTER_CODE + offsets->code_file, BASE + FILE_NAME);
    put_text(offsets, NAME, "load");
    put_text(offsets, FILE_NAME, "/job/loader.py");
    put_text(offsets, OUTER_NAME, "main");
    if (offsets->gil_is_pointer) {
        put(INTERPRETER + offsets->gil, BASE + GIL);
        put(GIL + 8, BASE + OTHER_THREAD);
    } else {
        put(offsets->gil + 8, BASE + OTHER_THREAD);
    }
}

#endif
