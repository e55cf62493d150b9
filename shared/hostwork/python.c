/* SPDX-License-Identifier: MIT */
#include "shared/hostwork/python.h"

#include <string.h>

#include "shared/base/str.h"
#include "shared/hostwork/python_memory.h"

#define INTERPRETERS_MAX 8u
#define GIL_BYTES 208u
#define GIL_HOLDER 8u
#define WINDOW_THREADS (NTK_PYTHON_WINDOWS_BYTES / NTK_PYTHON_PART_MAX)
#define WINDOW_GAP 512u /* maximum bytes between frames that are read together */

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

/* Reads the windows, up to the first one that is not mapped. */
static void open_windows(const struct ntk_host_memory *memory, size_t count,
                         struct ntk_python_scratch *scratch)
{
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

size_t ntk_python_threads(const struct ntk_python *python, const struct ntk_host_memory *memory,
                          size_t before_count, struct ntk_python_scratch *scratch,
                          struct ntk_python_thread threads[NTK_PYTHON_THREADS_MAX])
{
    const struct ntk_python_offsets *offsets = &python->offsets;
    const struct ntk_python_part *part = &python->thread;
    uint64_t interpreter = word(memory, python->runtime + offsets->runtime_interpreters);
    uint8_t own[NTK_PYTHON_PART_MAX];
    size_t windows = before_count < WINDOW_THREADS ? before_count : WINDOW_THREADS;
    size_t count = 0;

    for (size_t i = 0; i < windows; i++) {
        scratch->windows[i] =
            (struct ntk_host_range){ threads[i].address + part->start, part->bytes };
    }
    open_windows(memory, windows, scratch);
    for (size_t i = 0; i < INTERPRETERS_MAX && interpreter != 0; i++) {
        uint64_t thread = word(memory, interpreter + offsets->interpreter_threads);
        while (thread != 0 && count < NTK_PYTHON_THREADS_MAX) {
            const uint8_t *bytes =
                bytes_at(memory, thread + part->start, part->bytes, scratch, own);
            if (!bytes) {
                break;
            }
            threads[count++] = (struct ntk_python_thread){
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

/* Reads the pointer to the innermost frame, if it is indirect, and the memory around earlier
 * frames. Frames of a thread are mostly neighbours, so this takes few ranges. */
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
    open_windows(memory, count, scratch);
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
        .line = line < NTK_PYTHON_LINE_MAX ? line : 0,
        .round = scratch->round,
    };
}

static bool is_known(struct ntk_python_scratch *scratch, uint64_t code)
{
    const struct ntk_python_function *function = place_of(scratch, code);

    return function->code == code && function->round == scratch->round;
}

/* Reads the functions of the frames that are not known yet, as far as they fit in the memory of the
 * windows, which nothing else uses from here on. */
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
        bool is_shim = offsets->frame_has_owner &&
                       bytes[offsets->frame_owner - start] == NTK_PYTHON_OWNED_BY_C_STACK;
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
        .threads_at = interpreter + offsets->interpreter_threads,
        .is_collecting = half(memory, interpreter + offsets->interpreter_collecting) == 1,
    };
    return true;
}
