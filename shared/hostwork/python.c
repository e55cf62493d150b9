/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/python.h"

#include <string.h>

#include "shared/base/str.h"

#define INTERPRETERS_MAX 8u
#define GIL_BYTES 208u
#define GIL_HOLDER 8u
#define OWNED_BY_C_STACK 3 /* a frame without a function */
#define OFFSET_MAX (1u << 20)
#define LINE_MAX_SANE 10000000

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

static uint64_t u64_at(const uint8_t *bytes, size_t at)
{
    uint64_t value;

    memcpy(&value, bytes + at, sizeof value);
    return value;
}

static bool init_published(struct ntk_python *python, const struct ntk_host_memory *memory)
{
    uint8_t table[TABLE_BYTES];
    uint64_t offset[TABLE_BYTES / sizeof(uint64_t)];

    if (!memory->read(memory->ctx, python->runtime, table, sizeof table) ||
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

bool ntk_python_init(struct ntk_python *python, uint32_t minor, uint64_t runtime,
                     const struct ntk_host_memory *memory)
{
    *python = (struct ntk_python){ .minor = minor, .runtime = runtime };
    if (minor == PUBLISHED_MINOR) {
        return init_published(python, memory);
    }
    if (minor >= sizeof known / sizeof *known || known[minor].text_ascii == 0) {
        return false;
    }
    python->offsets = known[minor];
    return true;
}

/* ---- reading ---- */

/* Reads a word; 0 if it is unreadable. */
static uint64_t word(const struct ntk_host_memory *memory, uint64_t address)
{
    uint64_t value;

    return address != 0 && memory->read(memory->ctx, address, &value, sizeof value) ? value : 0;
}

static uint32_t half(const struct ntk_host_memory *memory, uint64_t address)
{
    uint32_t value;

    return address != 0 && memory->read(memory->ctx, address, &value, sizeof value) ? value : 0;
}

static uint32_t character(const uint8_t *bytes, size_t index, uint32_t kind)
{
    uint32_t value = 0;

    memcpy(&value, bytes + index * kind, kind);
    return value;
}

/* Reads a compact str; "" for other objects. */
static void read_text(const struct ntk_python *python, const struct ntk_host_memory *memory,
                      uint64_t address, char out[NTK_PYTHON_TEXT_BYTES])
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint8_t bytes[NTK_PYTHON_TEXT_BYTES * 4];
    uint64_t length = word(memory, address + offsets->text_length);
    uint32_t state = half(memory, address + offsets->text_state);
    uint32_t kind = state >> 2 & 7u;
    bool is_compact = (state & 0x20u) != 0;
    bool is_ascii = (state & 0x40u) != 0;
    uint64_t from = address + (is_ascii ? offsets->text_ascii : offsets->text_compact);
    size_t used = 0;

    out[0] = '\0';
    if (address == 0 || !is_compact || (kind != 1 && kind != 2 && kind != 4) || length == 0) {
        return;
    }
    /* Keep the end of a long path, its most useful part. */
    if (length > NTK_PYTHON_TEXT_BYTES - 1) {
        from += (length - (NTK_PYTHON_TEXT_BYTES - 1)) * kind;
        length = NTK_PYTHON_TEXT_BYTES - 1;
    }
    if (!memory->read(memory->ctx, from, bytes, length * kind)) {
        return;
    }
    for (size_t i = 0; i < length; i++) {
        char utf8[4];
        size_t count = ntk_str_utf8(utf8, character(bytes, i, kind));
        if (used + count >= NTK_PYTHON_TEXT_BYTES) {
            break;
        }
        memcpy(out + used, utf8, count);
        used += count;
    }
    out[used] = '\0';
}

/* ---- threads and frames ---- */

size_t ntk_python_threads(const struct ntk_python *python, const struct ntk_host_memory *memory,
                          struct ntk_python_thread *out_threads, size_t out_count)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint64_t interpreter = word(memory, python->runtime + offsets->runtime_interpreters);
    size_t count = 0;

    for (size_t i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        uint64_t thread = word(memory, interpreter + offsets->interpreter_threads);
        for (size_t k = 0; k < NTK_PYTHON_THREADS_MAX && thread != 0 && count < out_count; k++) {
            out_threads[count++] = (struct ntk_python_thread){
                .address = thread, .native = word(memory, thread + offsets->thread_native)
            };
            thread = word(memory, thread + offsets->thread_next);
        }
        interpreter = word(memory, interpreter + offsets->interpreter_next);
    }
    return count;
}

static bool read_frame(const struct ntk_python *python, const struct ntk_host_memory *memory,
                       uint64_t code, struct ntk_python_frame *out)
{
    const struct ntk_python_offsets *offsets = &python->offsets;

    read_text(python, memory, word(memory, code + offsets->code_name), out->name);
    read_text(python, memory, word(memory, code + offsets->code_file), out->file);
    out->line = half(memory, code + offsets->code_line);
    out->line = out->line < LINE_MAX_SANE ? out->line : 0;
    return out->name[0] != '\0';
}

size_t ntk_python_stack(const struct ntk_python *python, const struct ntk_host_memory *memory,
                        const struct ntk_python_thread *thread, struct ntk_python_frame *out_frames,
                        size_t out_count)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint64_t frame = word(memory, thread->address + offsets->thread_frame);
    size_t count = 0;

    if (offsets->frame_is_indirect && frame != 0) {
        frame = word(memory, frame + offsets->frame_of_indirect);
    }
    for (size_t i = 0; i < NTK_PYTHON_FRAMES_MAX && frame != 0 && count < out_count; i++) {
        uint8_t owner = 0;
        uint64_t code = word(memory, frame + offsets->frame_code);
        bool is_shim = offsets->frame_has_owner &&
                       memory->read(memory->ctx, frame + offsets->frame_owner, &owner, 1) &&
                       owner == OWNED_BY_C_STACK;
        if (!is_shim && code != 0 && read_frame(python, memory, code, &out_frames[count])) {
            count++;
        }
        frame = word(memory, frame + offsets->frame_previous);
    }
    return count;
}

bool ntk_python_gil(const struct ntk_python *python, const struct ntk_host_memory *memory,
                    struct ntk_python_gil *out)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint64_t interpreter = word(memory, python->runtime + offsets->runtime_interpreters);
    uint64_t gil = offsets->gil_is_pointer ? word(memory, interpreter + offsets->gil)
                                           : python->runtime + offsets->gil;

    if (interpreter == 0 || gil == 0) {
        return false;
    }
    *out = (struct ntk_python_gil){
        .start = gil,
        .end = gil + GIL_BYTES,
        .holder = word(memory, gil + GIL_HOLDER),
        .holder_at = gil + GIL_HOLDER,
        .collecting_at = interpreter + offsets->interpreter_collecting,
        .is_collecting = half(memory, interpreter + offsets->interpreter_collecting) == 1,
    };
    return true;
}
