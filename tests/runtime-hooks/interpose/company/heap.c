/* SPDX-License-Identifier: MIT */
/*
 * A heap of its own for the process, as jemalloc and its like bring: every block is in one arena
 * and is never taken back, so that a block of another heap is found at once: it ends the process.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA_BYTES (UINT64_C(1) << 36) /* reserved, not used */
#define UNIT 64

#define EXPORT __attribute__((visibility("default")))

static _Atomic(unsigned char *) arena;
static atomic_size_t used = UNIT;

static unsigned char *arena_get(void)
{
    unsigned char *start = atomic_load(&arena);

    if (!start) {
        unsigned char *mine = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mine == MAP_FAILED) {
            _exit(99);
        }
        if (atomic_compare_exchange_strong(&arena, &start, mine)) {
            start = mine;
        } else {
            (void)munmap(mine, ARENA_BYTES);
        }
    }
    return start;
}

/* The size is before the block. */
static void *block_make(size_t alignment, size_t bytes)
{
    alignment = alignment < UNIT ? UNIT : alignment;
    size_t taken = (bytes + UNIT - 1) / UNIT * UNIT + alignment + UNIT;
    size_t at = atomic_fetch_add(&used, taken);

    if (taken < bytes || at + taken > ARENA_BYTES) {
        errno = ENOMEM;
        return NULL;
    }
    uintptr_t block = ((uintptr_t)arena_get() + at + UNIT + alignment - 1) & ~(alignment - 1);
    ((size_t *)block)[-1] = bytes;
    return (void *)block;
}

static size_t block_bytes(const void *block)
{
    const unsigned char *start = arena_get();

    if ((const unsigned char *)block < start ||
        (const unsigned char *)block >= start + ARENA_BYTES) {
        static const char text[] = "a block of another heap\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(98);
    }
    return ((const size_t *)block)[-1];
}

EXPORT void *malloc(size_t bytes)
{
    return block_make(UNIT, bytes);
}

EXPORT void free(void *block)
{
    if (block) {
        (void)block_bytes(block);
    }
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    size_t all = 0;

    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return block_make(UNIT, all); /* the arena is never used twice */
}

EXPORT void *realloc(void *block, size_t bytes)
{
    void *more = block_make(UNIT, bytes);

    if (more && block) {
        size_t present = block_bytes(block);
        memcpy(more, block, present < bytes ? present : bytes);
    }
    return more;
}

EXPORT void *memalign(size_t alignment, size_t bytes);
EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return block_make(alignment, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return block_make(alignment, bytes);
}

EXPORT int posix_memalign(void **out_block, size_t alignment, size_t bytes)
{
    *out_block = block_make(alignment, bytes);
    return *out_block ? 0 : ENOMEM;
}

EXPORT size_t malloc_usable_size(void *block);
EXPORT size_t malloc_usable_size(void *block)
{
    return block ? block_bytes(block) : 0;
}
