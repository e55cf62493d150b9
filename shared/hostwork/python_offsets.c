/* SPDX-License-Identifier: MIT */
/* python_offsets - the offsets of each version of CPython. */
#include "shared/hostwork/python.h"

#include <string.h>

#include "shared/hostwork/python_memory.h"

#define OFFSET_MAX (1u << 20)

/* Sizes and offsets from the headers of each version, on 64-bit machines. */
static const struct ntk_python_offsets known[] = {
    [10] = { .runtime_interpreters = 32,
             .interpreter_next = 0,
             .interpreter_threads = 8,
             .interpreter_collecting = 816,
             .gil = 352,
             .thread_next = 8,
             .thread_native = 176,
             .thread_frame = 24,
             .frame_previous = 24,
             .frame_code = 32,
             .code_file = 104,
             .code_name = 112,
             .code_line = 40,
             .text_length = 16,
             .text_state = 32,
             .text_ascii = 48,
             .text_compact = 72 },
    [11] = { .runtime_interpreters = 40,
             .interpreter_next = 0,
             .interpreter_threads = 16,
             .interpreter_collecting = 848,
             .gil = 360,
             .thread_next = 8,
             .thread_native = 160,
             .thread_has_native = true,
             .thread_frame = 56,
             .frame_is_indirect = true,
             .frame_of_indirect = 8,
             .frame_previous = 48,
             .frame_code = 32,
             .frame_owner = 69,
             .frame_has_owner = true,
             .code_file = 112,
             .code_name = 128,
             .code_line = 72,
             .text_length = 16,
             .text_state = 32,
             .text_ascii = 48,
             .text_compact = 72 },
    [12] = { .runtime_interpreters = 40,
             .interpreter_next = 0,
             .interpreter_threads = 72,
             .interpreter_collecting = 312,
             .gil = 384,
             .gil_is_pointer = true,
             .thread_next = 8,
             .thread_native = 144,
             .thread_has_native = true,
             .thread_frame = 56,
             .frame_is_indirect = true,
             .frame_of_indirect = 0,
             .frame_previous = 8,
             .frame_code = 0,
             .frame_owner = 70,
             .frame_has_owner = true,
             .code_file = 112,
             .code_name = 128,
             .code_line = 68,
             .text_length = 16,
             .text_state = 32,
             .text_ascii = 40,
             .text_compact = 56 },
};
#define PUBLISHED_MINOR 13

/* Layout of _Py_DebugOffsets in 3.13: a cookie, the version, then 64-bit offsets at these
 * positions. */
#define TABLE_BYTES 584u
static const char cookie[8] = "xdebugpy";
enum {
    AT_VERSION = 8,
    AT_RUNTIME_INTERPRETERS = 40,
    AT_INTERPRETER_NEXT = 64,
    AT_INTERPRETER_THREADS = 72,
    AT_INTERPRETER_GC = 80,
    AT_INTERPRETER_GIL = 112,
    AT_THREAD_NEXT = 168,
    AT_THREAD_FRAME = 184,
    AT_THREAD_NATIVE = 200,
    AT_FRAME_PREVIOUS = 232,
    AT_FRAME_CODE = 240,
    AT_FRAME_OWNER = 264,
    AT_CODE_FILE = 280,
    AT_CODE_NAME = 296, /* the qualified name */
    AT_CODE_LINE = 312,
    AT_TEXT_STATE = 544,
    AT_TEXT_LENGTH = 552,
    AT_TEXT_ASCII = 560,
    AT_GC_COLLECTING = 576
};

static bool init_published(struct ntk_python *python, const struct ntk_host_memory *memory)
{
    uint8_t table[TABLE_BYTES];
    uint64_t offset[TABLE_BYTES / sizeof(uint64_t)];

    if (!read_bytes(memory, python->runtime, table, sizeof table) ||
        memcmp(table, cookie, sizeof cookie) != 0 ||
        u64_at(table, AT_VERSION) >> 16 != (0x0300u | PUBLISHED_MINOR)) {
        return false;
    }
    for (size_t i = 0; i < sizeof offset / sizeof *offset; i++) {
        offset[i] = u64_at(table, i * sizeof(uint64_t));
        if (i > AT_VERSION / sizeof(uint64_t) && offset[i] > OFFSET_MAX) {
            return false;
        }
    }
#define OFFSET(place) ((uint32_t)offset[(place) / sizeof(uint64_t)])
    python->offsets = (struct ntk_python_offsets){
        .runtime_interpreters = OFFSET(AT_RUNTIME_INTERPRETERS),
        .interpreter_next = OFFSET(AT_INTERPRETER_NEXT),
        .interpreter_threads = OFFSET(AT_INTERPRETER_THREADS),
        .interpreter_collecting = OFFSET(AT_INTERPRETER_GC) + OFFSET(AT_GC_COLLECTING),
        .gil = OFFSET(AT_INTERPRETER_GIL),
        .gil_is_pointer = true,
        .thread_next = OFFSET(AT_THREAD_NEXT),
        .thread_native = OFFSET(AT_THREAD_NATIVE),
        .thread_has_native = true,
        .thread_frame = OFFSET(AT_THREAD_FRAME),
        .frame_previous = OFFSET(AT_FRAME_PREVIOUS),
        .frame_code = OFFSET(AT_FRAME_CODE),
        .frame_owner = OFFSET(AT_FRAME_OWNER),
        .frame_has_owner = true,
        .code_file = OFFSET(AT_CODE_FILE),
        .code_name = OFFSET(AT_CODE_NAME),
        .code_line = OFFSET(AT_CODE_LINE),
        .text_length = OFFSET(AT_TEXT_LENGTH),
        .text_state = OFFSET(AT_TEXT_STATE),
        .text_ascii = OFFSET(AT_TEXT_ASCII),
        .text_compact = OFFSET(AT_TEXT_ASCII) + 16, /* length and pointer of its UTF-8 form */
    };
#undef OFFSET
    return true;
}

/* The members are an offset and a size each. Returns false if they are too far apart. */
static bool find_part(const uint32_t (*members)[2], size_t count, struct ntk_python_part *out)
{
    uint32_t start = UINT32_MAX;
    uint32_t end = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t member_end = members[i][0] + members[i][1];
        start = members[i][0] < start ? members[i][0] : start;
        end = member_end > end ? member_end : end;
    }
    /* Whole words, which the BPF program reads. */
    start -= start % 8;
    end += (8 - end % 8) % 8;
    *out = (struct ntk_python_part){ start, end - start };
    return out->bytes <= NTK_PYTHON_PART_MAX;
}

static bool find_parts(struct ntk_python *python)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint32_t owner = offsets->frame_has_owner ? offsets->frame_owner : offsets->frame_code;
    const uint32_t thread[][2] = { { offsets->thread_next, 8 },
                                   { offsets->thread_native, 8 },
                                   { offsets->thread_frame, 8 } };
    const uint32_t frame[][2] = { { offsets->frame_previous, 8 },
                                  { offsets->frame_code, 8 },
                                  { owner, 1 } };
    const uint32_t code[][2] = { { offsets->code_file, 8 },
                                 { offsets->code_name, 8 },
                                 { offsets->code_line, 4 } };

    return find_part(thread, 3, &python->thread) && find_part(frame, 3, &python->frame) &&
           find_part(code, 3, &python->code);
}

bool ntk_python_init(struct ntk_python *python, uint32_t minor, uint64_t runtime,
                     const struct ntk_host_memory *memory)
{
    *python = (struct ntk_python){ .minor = minor, .runtime = runtime };
    if (minor == PUBLISHED_MINOR) {
        return init_published(python, memory) && find_parts(python);
    }
    if (minor >= sizeof known / sizeof *known || known[minor].text_ascii == 0) {
        return false;
    }
    python->offsets = known[minor];
    return find_parts(python);
}
