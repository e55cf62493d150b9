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
#define WINDOW_GAP 512u /* maximum bytes between frames that are read together */

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

static bool read_bytes(const struct ntk_host_memory *memory, uint64_t address, void *out,
                       size_t bytes)
{
    const struct ntk_host_range range = { address, bytes };

    return memory->read(memory->ctx, &range, 1, out) == bytes;
}

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

/* ---- reading ---- */

/* Reads a word; 0 if it is unreadable. */
static uint64_t word(const struct ntk_host_memory *memory, uint64_t address)
{
    uint64_t value;

    return address != 0 && read_bytes(memory, address, &value, sizeof value) ? value : 0;
}

static uint32_t half(const struct ntk_host_memory *memory, uint64_t address)
{
    uint32_t value;

    return address != 0 && read_bytes(memory, address, &value, sizeof value) ? value : 0;
}

static uint32_t character(const uint8_t *bytes, size_t index, uint32_t kind)
{
    uint32_t value = 0;

    memcpy(&value, bytes + index * kind, kind);
    return value;
}

void ntk_python_text(const struct ntk_python *python, const struct ntk_host_memory *memory,
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
    if (!read_bytes(memory, from, bytes, length * kind)) {
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
    const struct ntk_python_part *part = &python->thread;
    uint64_t interpreter = word(memory, python->runtime + offsets->runtime_interpreters);
    uint8_t bytes[NTK_PYTHON_PART_MAX];
    size_t count = 0;

    for (size_t i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        uint64_t thread = word(memory, interpreter + offsets->interpreter_threads);
        for (size_t k = 0; k < NTK_PYTHON_THREADS_MAX && thread != 0 && count < out_count; k++) {
            if (!read_bytes(memory, thread + part->start, bytes, part->bytes)) {
                break;
            }
            out_threads[count++] = (struct ntk_python_thread){
                .address = thread,
                .native = u64_at(bytes, offsets->thread_native - part->start),
                .frame = u64_at(bytes, offsets->thread_frame - part->start),
            };
            thread = u64_at(bytes, offsets->thread_next - part->start);
        }
        interpreter = word(memory, interpreter + offsets->interpreter_next);
    }
    return count;
}

/* Reads the pointer to the innermost frame, if it is indirect, and the memory around earlier frames.
 * Frames of a thread are mostly neighbours, so this takes few ranges. */
static void read_windows(const struct ntk_python *python, const struct ntk_host_memory *memory,
                         uint64_t pointer, const struct ntk_python_frame *before,
                         size_t before_count, struct ntk_python_scratch *scratch)
{
    struct ntk_host_range *last = NULL;
    size_t count = 0;
    size_t sum = 0;

    if (pointer != 0) {
        scratch->windows[count++] = (struct ntk_host_range){ pointer, sizeof pointer };
        sum = sizeof pointer;
    }
    for (size_t i = 0; i < before_count; i++) {
        uint64_t start = before[i].address + python->frame.start;
        uint64_t end = start + python->frame.bytes;
        uint64_t low = last && last->address < start ? last->address : start;
        uint64_t high =
            last && last->address + last->bytes > end ? last->address + last->bytes : end;
        bool is_near = last && high - low <= last->bytes + WINDOW_GAP;
        size_t more = is_near ? (size_t)(high - low) - last->bytes : python->frame.bytes;
        if (end < start || sum + more > sizeof scratch->bytes) {
            break;
        }
        last = is_near ? last : &scratch->windows[count++];
        *last = is_near ? (struct ntk_host_range){ low, (size_t)(high - low) }
                        : (struct ntk_host_range){ start, python->frame.bytes };
        sum += more;
    }
    size_t bytes =
        count > 0 ? memory->read(memory->ctx, scratch->windows, count, scratch->bytes) : 0;
    scratch->window_count = 0;
    for (size_t i = 0; i < count && scratch->windows[i].bytes <= bytes; i++) {
        bytes -= scratch->windows[i].bytes;
        scratch->window_count++;
    }
}

/* Bytes of the process, from a window or read into `out`; NULL if they are unreadable. */
static const uint8_t *bytes_at(const struct ntk_host_memory *memory, uint64_t start, size_t bytes,
                               const struct ntk_python_scratch *scratch, uint8_t *out)
{
    size_t offset = 0;

    for (size_t i = 0; i < scratch->window_count; i++) {
        const struct ntk_host_range *window = &scratch->windows[i];
        if (start >= window->address && window->bytes >= bytes &&
            start - window->address <= window->bytes - bytes) {
            return scratch->bytes + offset + (start - window->address);
        }
        offset += window->bytes;
    }
    return read_bytes(memory, start, out, bytes) ? out : NULL;
}

static struct ntk_python_function *place_of(struct ntk_python_scratch *scratch, uint64_t code)
{
    return &scratch->functions[(code >> 4) % NTK_PYTHON_FUNCTIONS];
}

static void take_function(const struct ntk_python *python, uint64_t code, const uint8_t *bytes,
                          struct ntk_python_scratch *scratch)
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint32_t start = python->code.start;
    uint32_t line;

    memcpy(&line, bytes + (offsets->code_line - start), sizeof line);
    *place_of(scratch, code) = (struct ntk_python_function){
        .code = code,
        .name = u64_at(bytes, offsets->code_name - start),
        .file = u64_at(bytes, offsets->code_file - start),
        .line = line < LINE_MAX_SANE ? line : 0,
        .round = scratch->round,
    };
}

static bool is_known(struct ntk_python_scratch *scratch, uint64_t code)
{
    const struct ntk_python_function *function = place_of(scratch, code);

    return function->code == code && function->round == scratch->round;
}

/* Reads the functions of the frames that are not known yet, as far as the windows' memory has room
 * for them, which is no longer in use. */
static void read_functions(const struct ntk_python *python, const struct ntk_host_memory *memory,
                           const struct ntk_python_frame *frames, size_t count,
                           struct ntk_python_scratch *scratch)
{
    size_t size = python->code.bytes;
    uint64_t codes[NTK_PYTHON_FRAMES_MAX];
    size_t wanted = 0;

    for (size_t i = 0; i < count && (wanted + 1) * size <= sizeof scratch->bytes; i++) {
        uint64_t code = frames[i].code;
        if (code != 0 && !is_known(scratch, code) && (wanted == 0 || codes[wanted - 1] != code)) {
            scratch->windows[wanted] = (struct ntk_host_range){ code + python->code.start, size };
            codes[wanted++] = code;
        }
    }
    size_t bytes =
        wanted > 0 ? memory->read(memory->ctx, scratch->windows, wanted, scratch->bytes) : 0;
    for (size_t i = 0; i < wanted && (i + 1) * size <= bytes; i++) {
        take_function(python, codes[i], scratch->bytes + i * size, scratch);
    }
}

/* Fills the members that come from the code object; without it, the frame has no function. */
static void fill_function(const struct ntk_python *python, const struct ntk_host_memory *memory,
                          struct ntk_python_frame *frame, struct ntk_python_scratch *scratch)
{
    uint8_t bytes[NTK_PYTHON_PART_MAX];

    if (frame->code != 0 && !is_known(scratch, frame->code)) {
        if (read_bytes(memory, frame->code + python->code.start, bytes, python->code.bytes)) {
            take_function(python, frame->code, bytes, scratch);
        } else {
            frame->code = 0;
        }
    }
    if (frame->code != 0) {
        const struct ntk_python_function *function = place_of(scratch, frame->code);
        frame->name = function->name;
        frame->file = function->file;
        frame->line = function->line;
    }
}

size_t ntk_python_stack(const struct ntk_python *python, const struct ntk_host_memory *memory,
                        const struct ntk_python_thread *thread,
                        const struct ntk_python_frame *before, size_t before_count,
                        struct ntk_python_scratch *scratch,
                        struct ntk_python_frame out_frames[NTK_PYTHON_FRAMES_MAX])
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    uint32_t start = python->frame.start;
    uint64_t address = thread->frame;
    uint8_t own[NTK_PYTHON_PART_MAX];
    size_t count = 0;

    uint64_t pointer =
        offsets->frame_is_indirect && address != 0 ? address + offsets->frame_of_indirect : 0;
    read_windows(python, memory, pointer, before, before_count, scratch);
    if (pointer != 0) {
        const uint8_t *bytes = bytes_at(memory, pointer, sizeof pointer, scratch, own);
        address = bytes ? u64_at(bytes, 0) : 0;
    }
    for (; address != 0 && count < NTK_PYTHON_FRAMES_MAX; count++) {
        const uint8_t *bytes = bytes_at(memory, address + start, python->frame.bytes, scratch, own);
        if (!bytes) {
            break;
        }
        bool is_shim =
            offsets->frame_has_owner && bytes[offsets->frame_owner - start] == OWNED_BY_C_STACK;
        out_frames[count] = (struct ntk_python_frame){
            .address = address,
            .code = is_shim ? 0 : u64_at(bytes, offsets->frame_code - start),
        };
        address = u64_at(bytes, offsets->frame_previous - start);
    }
    read_functions(python, memory, out_frames, count, scratch);
    for (size_t i = 0; i < count; i++) {
        fill_function(python, memory, &out_frames[i], scratch);
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
