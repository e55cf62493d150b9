/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/dma_mover.h"

#include <assert.h>
#include <string.h>

#include "runtime-hooks/engine/dma_across.h"
#include "runtime-hooks/engine/kernel_dtype.h"

#define PIECE 256
#define ELEMENTS_MAX (UINT64_C(1) << 62)

void ntk_dma_walk_normalise(struct ntk_dma_walk *walk)
{
    int64_t width = (int64_t)ntk_dtype_bytes(walk->dtype);
    unsigned kept = 0;

    for (unsigned i = 0; i < walk->dim_count; i++) {
        if (walk->count[i] == 1) {
            continue;
        }
        if (kept > 0) {
            int64_t reach;

            if (!__builtin_mul_overflow(walk->step[kept - 1], (int64_t)walk->count[kept - 1],
                                        &reach) &&
                reach == walk->step[i] && walk->step[i] != 0) {
                walk->count[kept - 1] *= walk->count[i];
                continue;
            }
        }
        walk->count[kept] = walk->count[i];
        walk->step[kept] = walk->step[i];
        kept++;
    }
    if (kept == 0) {
        walk->count[0] = 1;
        walk->step[0] = width;
        kept = 1;
    }
    walk->dim_count = (uint8_t)kept;
}

bool ntk_dma_walk_elements(const struct ntk_dma_walk *walk, uint64_t *out_elements)
{
    uint64_t elements = 1;

    for (unsigned i = 0; i < walk->dim_count; i++) {
        if (__builtin_mul_overflow(elements, walk->count[i], &elements) ||
            elements > ELEMENTS_MAX) {
            return false;
        }
    }
    *out_elements = elements;
    return true;
}

bool ntk_dma_walk_extent(const struct ntk_dma_walk *walk, int64_t *out_low, int64_t *out_high)
{
    int64_t low = 0;
    int64_t high = (int64_t)ntk_dtype_bytes(walk->dtype);

    for (unsigned i = 0; i < walk->dim_count; i++) {
        int64_t reach;

        if (walk->count[i] > INT64_MAX ||
            __builtin_mul_overflow(walk->step[i], (int64_t)walk->count[i] - 1, &reach) ||
            __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
            return false;
        }
    }
    *out_low = low;
    *out_high = high;
    return true;
}

uint64_t ntk_dma_walk_run_bytes(const struct ntk_dma_walk *walk)
{
    uint64_t width = ntk_dtype_bytes(walk->dtype);

    return walk->step[0] == (int64_t)width ? width * walk->count[0] : width;
}

/* The state of a walk: the next element, and the number of elements left in its innermost run. */
struct place {
    const struct ntk_dma_walk *walk;
    uint64_t index[NTK_DMA_DIMS_MAX];
    int64_t offset; /* offset of the next element */
    uint64_t left;
};

static void place_init(struct place *place, const struct ntk_dma_walk *walk)
{
    memset(place, 0, sizeof *place);
    place->walk = walk;
    place->left = walk->count[0];
}

/* Seeks to the index-th element of the walk. */
static void place_seek(struct place *place, uint64_t index)
{
    const struct ntk_dma_walk *walk = place->walk;

    if (index == 0) {
        return; /* place_init() has set the position */
    }
    place->left = walk->count[0] - index % walk->count[0];
    place->offset = (int64_t)(index % walk->count[0]) * walk->step[0];
    index /= walk->count[0];
    for (unsigned i = 1; i < walk->dim_count; i++) {
        place->index[i] = index % walk->count[i];
        place->offset += (int64_t)place->index[i] * walk->step[i];
        index /= walk->count[i];
    }
}

/* n must not exceed left. */
static inline void place_advance(struct place *place, uint64_t n)
{
    const struct ntk_dma_walk *walk = place->walk;

    place->left -= n;
    if (place->left > 0) {
        place->offset += (int64_t)n * walk->step[0];
        return;
    }
    /* offset of the run's start */
    place->offset += ((int64_t)n - (int64_t)walk->count[0]) * walk->step[0];
    place->left = walk->count[0];
    for (unsigned i = 1; i < walk->dim_count; i++) {
        place->offset += walk->step[i];
        if (++place->index[i] < walk->count[i]) {
            return;
        }
        place->offset -= (int64_t)walk->count[i] * walk->step[i];
        place->index[i] = 0;
    }
}

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline void copy_elements(uint8_t *to, int64_t to_step, const uint8_t *from,
                                 int64_t from_step, uint64_t count, size_t width)
{
    if (to_step == (int64_t)width && from_step == (int64_t)width) {
        memmove(to, from, count * width);
        return;
    }
    switch (width) {
#define STRIDED(type)                                        \
    for (uint64_t i = 0; i < count; i++) {                   \
        type x;                                              \
        memcpy(&x, from + (int64_t)i * from_step, sizeof x); \
        memcpy(to + (int64_t)i * to_step, &x, sizeof x);     \
    }                                                        \
    break
    case 1:
        STRIDED(uint8_t);
    case 2:
        STRIDED(uint16_t);
    case 4:
        STRIDED(uint32_t);
    default:
        STRIDED(uint64_t);
#undef STRIDED
    }
}

/* Copies dense rows of equal length on both sides, as in most loads and stores. */
static bool copy_rows(const struct ntk_dma_walk *to_walk, uint8_t *to,
                      const struct ntk_dma_walk *from_walk, const uint8_t *from, size_t width)
{
    uint64_t rows = to_walk->dim_count > 1 ? to_walk->count[1] : 1;
    int64_t to_step = to_walk->dim_count > 1 ? to_walk->step[1] : 0;
    int64_t from_step = from_walk->dim_count > 1 ? from_walk->step[1] : 0;
    size_t bytes = to_walk->count[0] * width;

    if (to_walk->step[0] != (int64_t)width || from_walk->step[0] != (int64_t)width) {
        return false;
    }
    if (to_walk->count[0] != from_walk->count[0]) {
        /* If one side is a single run, split it into the rows of the other side. */
        if (from_walk->dim_count == 1 && to_walk->dim_count == 2) {
            from_step = (int64_t)bytes;
        } else if (to_walk->dim_count == 1 && from_walk->dim_count == 2) {
            rows = from_walk->count[1];
            bytes = from_walk->count[0] * width;
            to_step = (int64_t)bytes;
        } else {
            return false;
        }
    } else if (to_walk->dim_count > 2 || from_walk->dim_count > 2) {
        return false;
    }
    for (uint64_t i = 0; i < rows; i++) {
        memmove(to + (int64_t)i * to_step, from + (int64_t)i * from_step, bytes);
    }
    return true;
}

/* Handles walks where one side's outermost dimension is the other side's innermost, for example
 * between channels that are adjacent in memory and channels on the partitions. */
static bool copy_across(const struct ntk_dma_walk *to_walk, uint8_t *to,
                        const struct ntk_dma_walk *from_walk, const uint8_t *from, size_t width)
{
    struct ntk_dma_walk to_inner = *to_walk;
    struct ntk_dma_walk from_inner = *from_walk;
    unsigned t = to_walk->dim_count - 1U;
    unsigned f = from_walk->dim_count - 1U;
    uint64_t across;
    uint64_t left = 0;
    struct place a;
    struct place b;
    bool gathers;

    if (width != 2 || to_walk->dim_count < 2 || from_walk->dim_count < 2) {
        return false;
    }
    across = to_walk->count[t];
    gathers = to_walk->step[0] == 2 && from_walk->step[f] == 2;
    if (across != from_walk->count[f] ||
        (!gathers && (from_walk->step[0] != 2 || to_walk->step[t] != 2))) {
        return false;
    }
    to_inner.dim_count--;
    from_inner.dim_count--;
    ntk_dma_walk_elements(&to_inner, &left);
    place_init(&a, &to_inner);
    place_init(&b, &from_inner);
    while (left > 0) {
        uint64_t n = smaller(a.left, b.left);

        if (gathers) {
            ntk_dma_across(to + a.offset, to_walk->step[t], from + b.offset, from_walk->step[0],
                           across, n);
        } else {
            ntk_dma_across(to + a.offset, to_walk->step[0], from + b.offset, from_walk->step[f], n,
                           across);
        }
        place_advance(&a, n);
        place_advance(&b, n);
        left -= n;
    }
    return true;
}

void ntk_dma_copy(const struct ntk_dma_walk *to_walk, uint8_t *to,
                  const struct ntk_dma_walk *from_walk, const uint8_t *from)
{
    size_t width = ntk_dtype_bytes(to_walk->dtype);
    uint64_t left = 0;
    struct place a;
    struct place b;

    assert(width == ntk_dtype_bytes(from_walk->dtype));
    if (copy_rows(to_walk, to, from_walk, from, width) ||
        copy_across(to_walk, to, from_walk, from, width)) {
        return;
    }
    ntk_dma_walk_elements(to_walk, &left);
    place_init(&a, to_walk);
    place_init(&b, from_walk);
    while (left > 0) {
        uint64_t n = smaller(a.left, b.left);

        copy_elements(to + a.offset, to_walk->step[0], from + b.offset, from_walk->step[0], n,
                      width);
        place_advance(&a, n);
        place_advance(&b, n);
        left -= n;
    }
}

void ntk_dma_cast(const struct ntk_dma_walk *to_walk, uint8_t *to,
                  const struct ntk_dma_walk *from_walk, const uint8_t *from)
{
    uint64_t count = 0;

    if (to_walk->dtype == from_walk->dtype) {
        ntk_dma_copy(to_walk, to, from_walk, from);
        return;
    }
    ntk_dma_walk_elements(to_walk, &count);
    ntk_dma_cast_part(to_walk, to, 0, from_walk, from, 0, count);
}

void ntk_dma_cast_part(const struct ntk_dma_walk *to_walk, uint8_t *to, uint64_t to_first,
                       const struct ntk_dma_walk *from_walk, const uint8_t *from,
                       uint64_t from_first, uint64_t count)
{
    size_t width = ntk_dtype_bytes(to_walk->dtype);
    struct place a;
    struct place b;

    place_init(&a, to_walk);
    place_seek(&a, to_first);
    place_init(&b, from_walk);
    place_seek(&b, from_first);
    while (count > 0) {
        uint64_t n = smaller(smaller(a.left, b.left), count);

        if (to_walk->dtype == from_walk->dtype) {
            copy_elements(to + a.offset, to_walk->step[0], from + b.offset, from_walk->step[0], n,
                          width);
        } else {
            ntk_kernel_cast_by(to_walk->fp8, from_walk->dtype, from + b.offset, from_walk->step[0],
                               to_walk->dtype, to + a.offset, to_walk->step[0], n);
        }
        place_advance(&a, n);
        place_advance(&b, n);
        count -= n;
    }
}

static inline float fold_f32(enum ntk_dma_fold fold, float x, float y)
{
    switch (fold) {
    case NTK_DMA_MIN:
        return x < y || x != x ? x : y;
    case NTK_DMA_MAX:
        return x > y || x != x ? x : y;
    default:
        return x + y;
    }
}

static inline int64_t fold_i64(enum ntk_dma_fold fold, int64_t x, int64_t y)
{
    int64_t sum;

    switch (fold) {
    case NTK_DMA_MIN:
        return x < y ? x : y;
    case NTK_DMA_MAX:
        return x > y ? x : y;
    default:
        if (__builtin_add_overflow(x, y, &sum)) {
            return x < 0 ? INT64_MIN : INT64_MAX;
        }
        return sum;
    }
}

/* Reads n (at most PIECE) elements into one of the two buffers, from as many runs as needed. */
static void gather(struct place *place, const uint8_t *from, uint64_t n, float *f32, int64_t *i64)
{
    uint64_t done = 0;

    while (done < n) {
        uint64_t part = smaller(place->left, n - done);

        if (f32) {
            ntk_kernel_to_f32_by(place->walk->dtype, place->walk->fp8, from + place->offset,
                                 place->walk->step[0], part, f32 + done);
        } else {
            ntk_kernel_to_i64(place->walk->dtype, from + place->offset, place->walk->step[0], part,
                              i64 + done);
        }
        place_advance(place, part);
        done += part;
    }
}

static int64_t start_i64(double start)
{
    if (!(start > -9223372036854775808.0)) {
        return INT64_MIN;
    }
    return start < 9223372036854775807.0 ? (int64_t)start : INT64_MAX;
}

void ntk_dma_compute(enum ntk_dma_fold fold, const struct ntk_dma_walk *to_walk, uint8_t *to,
                     const struct ntk_dma_source *sources, size_t source_count, bool accumulates,
                     const double *start)
{
    struct place places[NTK_DMA_SOURCES_MAX];
    struct place target;
    struct place old;
    uint64_t left = 0;
    bool integers = fold != NTK_DMA_FMA && !ntk_dtype_is_float(to_walk->dtype);

    assert(source_count >= 1 && source_count <= NTK_DMA_SOURCES_MAX);
    for (size_t s = 0; s < source_count; s++) {
        integers = integers && !ntk_dtype_is_float(sources[s].walk.dtype);
        place_init(&places[s], &sources[s].walk);
    }
    place_init(&target, to_walk);
    place_init(&old, to_walk);
    ntk_dma_walk_elements(to_walk, &left);
    while (left > 0) {
        uint64_t n = smaller(target.left, PIECE);
        bool have = start != NULL || accumulates;
        float f[PIECE];
        int64_t i[PIECE];
        float f_next[PIECE];
        int64_t i_next[PIECE];

        if (start) {
            for (uint64_t k = 0; k < n; k++) {
                f[k] = (float)*start;
                i[k] = start_i64(*start);
            }
        } else if (accumulates) {
            gather(&old, to, n, integers ? NULL : f, integers ? i : NULL);
        }
        for (size_t s = 0; s < source_count; s++) {
            gather(&places[s], sources[s].from, n, integers ? NULL : f_next,
                   integers ? i_next : NULL);
            if (fold == NTK_DMA_FMA) {
                for (uint64_t k = 0; k < n; k++) {
                    f_next[k] = f_next[k] * sources[s].scale;
                }
            }
            if (integers) {
                for (uint64_t k = 0; k < n; k++) {
                    i[k] = have ? fold_i64(fold, i[k], i_next[k]) : i_next[k];
                }
            } else {
                for (uint64_t k = 0; k < n; k++) {
                    f[k] = have ? fold_f32(fold, f[k], f_next[k]) : f_next[k];
                }
            }
            have = true;
        }
        if (integers) {
            ntk_kernel_from_i64(to_walk->dtype, i, n, to + target.offset, to_walk->step[0]);
        } else {
            ntk_kernel_from_f32_by(to_walk->dtype, to_walk->fp8, f, n, to + target.offset,
                                   to_walk->step[0]);
        }
        place_advance(&target, n);
        left -= n;
    }
}

void ntk_dma_transpose(const struct ntk_dma_walk *to_walk, uint8_t *to,
                       const struct ntk_dma_walk *from_walk, const uint8_t *from,
                       const uint32_t shape[4], const uint8_t order[4], uint8_t *scratch)
{
    size_t width = ntk_dtype_bytes(from_walk->dtype);
    struct ntk_dma_walk dense = { .dtype = from_walk->dtype, .dim_count = 1 };
    struct ntk_dma_walk permuted = { .dtype = from_walk->dtype, .dim_count = 5 };
    int64_t stride[4]; /* stride of each dimension in the dense copy */

    ntk_dma_walk_elements(from_walk, &dense.count[0]);
    dense.step[0] = (int64_t)width;
    ntk_dma_copy(&dense, scratch, from_walk, from);
    stride[3] = (int64_t)width;
    for (int d = 2; d >= 0; d--) {
        stride[d] = stride[d + 1] * shape[d + 1];
    }
    for (int d = 0; d < 4; d++) {
        permuted.count[d] = shape[order[3 - d]];
        permuted.step[d] = stride[order[3 - d]];
    }
    permuted.step[4] = stride[0] * shape[0]; /* distance from tile to tile */
    permuted.count[4] = dense.count[0] * width / (uint64_t)permuted.step[4];
    ntk_dma_walk_normalise(&permuted);
    ntk_dma_copy(to_walk, to, &permuted, scratch);
}
