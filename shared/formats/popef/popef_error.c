/* SPDX-License-Identifier: MIT */
/* popef_error - the message of a negative result, and memory that is freed all at once. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/err.h"
#include "shared/base/str.h"
#include "shared/formats/popef/popef_private.h"

static_assert(POPEF_ERROR_TEXT_BYTES == NTK_ERR_TEXT_BYTES, "a message fits in both");
static_assert(POPEF_NO_OFFSET == NTK_ERR_NO_OFFSET, "no offset is the same in both");

int ntk_popef_fail(struct popef_error *err, enum popef_error_code code, uint64_t offset,
                   const char *format, ...)
{
    if (err) {
        va_list args;

        err->code = (int)code;
        err->offset = offset;
        va_start(args, format);
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        (void)ntk_str_clean(err->text, sizeof err->text);
    }
    return -(int)code;
}

int ntk_popef_no_memory(struct popef_error *err)
{
    return ntk_popef_fail(err, POPEF_ERROR_MEMORY, POPEF_NO_OFFSET, "out of memory");
}

int ntk_popef_fail_from(struct popef_error *err, enum popef_error_code code,
                        const struct ntk_err *from)
{
    return ntk_popef_fail(err, code, from->offset, "%s", from->text);
}

struct ntk_popef_chunk {
    struct ntk_popef_chunk *next;
    size_t used, capacity;
    _Alignas(max_align_t) uint8_t bytes[];
};

#define CHUNK_BYTES_MIN 4000

void *ntk_popef_arena_take(struct ntk_popef_arena *arena, size_t bytes)
{
    struct ntk_popef_chunk *chunk = arena->chunks;
    size_t step = _Alignof(max_align_t);

    if (bytes > SIZE_MAX / 2) {
        return NULL;
    }
    bytes = (bytes + step - 1) / step * step;
    if (!chunk || chunk->capacity - chunk->used < bytes) {
        size_t capacity = bytes > CHUNK_BYTES_MIN ? bytes : CHUNK_BYTES_MIN;

        chunk = calloc(1, sizeof *chunk + capacity);
        if (!chunk) {
            return NULL;
        }
        chunk->capacity = capacity;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->bytes += capacity;
    }
    void *taken = chunk->bytes + chunk->used;
    chunk->used += bytes;
    return taken;
}

void ntk_popef_arena_fini(struct ntk_popef_arena *arena)
{
    while (arena->chunks) {
        struct ntk_popef_chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
    arena->bytes = 0;
}
