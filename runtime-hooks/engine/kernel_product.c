/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_product.h"

#include <assert.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

/* A block of results is kept in registers: at most unit x HEIGHTS rows, one or two vectors wide. */
enum { HEIGHTS = 3, WIDTHS = 2, ROWS_MAX = 12, COLUMNS_MAX = 32 };

typedef bool block_fn(uint32_t depth, const float *a, const float *b, bool adds, float *out,
                      ptrdiff_t step);

struct shape {
    uint32_t unit;  /* in rows; stationary panels are one to HEIGHTS units wide */
    uint32_t lanes; /* columns per vector; moving panels are one or two vectors wide */
    block_fn *block[HEIGHTS][WIDTHS];
};

/* The loops over rows and vectors have constant bounds and are unrolled; sums stay in registers. */
#define BLOCK(name, isa, vector, p, lanes, height, width, is_nan)                                 \
    __attribute__((target(isa))) static bool name(uint32_t depth, const float *a, const float *b, \
                                                  bool adds, float *out, ptrdiff_t step)          \
    {                                                                                             \
        vector sum[height][width];                                                                \
        bool nan = false;                                                                         \
                                                                                                  \
        _Pragma("GCC unroll 16") for (int r = 0; r < (height); r++)                               \
        {                                                                                         \
            _Pragma("GCC unroll 2") for (int v = 0; v < (width); v++)                             \
            {                                                                                     \
                sum[r][v] = p##_setzero_ps();                                                     \
                if (adds) {                                                                       \
                    __builtin_prefetch(out + r * step + v * (lanes), 1);                          \
                }                                                                                 \
            }                                                                                     \
        }                                                                                         \
        _Pragma("GCC unroll 4") for (uint32_t k = 0; k < depth; k++)                              \
        {                                                                                         \
            _Pragma("GCC unroll 16") for (int r = 0; r < (height); r++)                           \
            {                                                                                     \
                _Pragma("GCC unroll 2") for (int v = 0; v < (width); v++)                         \
                {                                                                                 \
                    sum[r][v] =                                                                   \
                        p##_fmadd_ps(p##_set1_ps(a[r]), p##_load_ps(b + v * (lanes)), sum[r][v]); \
                }                                                                                 \
            }                                                                                     \
            a += (height);                                                                        \
            b += (width) * (lanes);                                                               \
        }                                                                                         \
        _Pragma("GCC unroll 16") for (int r = 0; r < (height); r++)                               \
        {                                                                                         \
            _Pragma("GCC unroll 2") for (int v = 0; v < (width); v++)                             \
            {                                                                                     \
                float *to = out + r * step + v * (lanes);                                         \
                                                                                                  \
                if (adds) {                                                                       \
                    sum[r][v] = p##_add_ps(sum[r][v], p##_loadu_ps(to));                          \
                }                                                                                 \
                p##_storeu_ps(to, sum[r][v]);                                                     \
                nan |= is_nan(sum[r][v]);                                                         \
            }                                                                                     \
        }                                                                                         \
        return nan;                                                                               \
    }

#define NAN_512(x) (_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0)
#define NAN_256(x) (_mm256_movemask_ps(_mm256_cmp_ps(x, x, _CMP_UNORD_Q)) != 0)
#define BLOCK_512(name, height, width) \
    BLOCK(name, "avx512f", __m512, _mm512, 16, height, width, NAN_512)
#define BLOCK_256(name, height, width) \
    BLOCK(name, "avx2,fma", __m256, _mm256, 8, height, width, NAN_256)

BLOCK_512(block_512_4_1, 4, 1)
BLOCK_512(block_512_4_2, 4, 2)
BLOCK_512(block_512_8_1, 8, 1)
BLOCK_512(block_512_8_2, 8, 2)
BLOCK_512(block_512_12_1, 12, 1)
BLOCK_512(block_512_12_2, 12, 2)
BLOCK_256(block_256_2_1, 2, 1)
BLOCK_256(block_256_2_2, 2, 2)
BLOCK_256(block_256_4_1, 4, 1)
BLOCK_256(block_256_4_2, 4, 2)
BLOCK_256(block_256_6_1, 6, 1)
BLOCK_256(block_256_6_2, 6, 2)

static const struct shape shape_512 = { 4,
                                        16,
                                        { { block_512_4_1, block_512_4_2 },
                                          { block_512_8_1, block_512_8_2 },
                                          { block_512_12_1, block_512_12_2 } } };
static const struct shape shape_256 = { 2,
                                        8,
                                        { { block_256_2_1, block_256_2_2 },
                                          { block_256_4_1, block_256_4_2 },
                                          { block_256_6_1, block_256_6_2 } } };

static const struct shape *ask(void)
{
    if (__builtin_cpu_supports("avx512f")) {
        return &shape_512;
    }
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &shape_256 : NULL;
}

static const struct shape *shape_get(void)
{
    /* a race is harmless, because all threads get the same answer */
    static const struct shape *known;
    static bool asked;
    const struct shape *shape;

    if (__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
        return __atomic_load_n(&known, __ATOMIC_RELAXED);
    }
    shape = ask();
    __atomic_store_n(&known, shape, __ATOMIC_RELAXED);
    /* Pairs with the load above, so that the answer is visible together with the flag. */
    __atomic_store_n(&asked, true, __ATOMIC_RELEASE);
    return shape;
}

bool ntk_product_is_there(void)
{
    return shape_get() != NULL;
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* The width of a panel in units if this many columns are left. */
static inline uint32_t panel_units(uint32_t unit, uint32_t units_max, uint32_t left)
{
    return smaller((left + unit - 1) / unit, units_max);
}

/* The offset, in floats, of the panel that starts at column `at`. Moving panels are slightly apart,
 * so that they do not all start in the same lines of the L1 cache. */
static inline size_t panel_offset(enum ntk_product_side side, uint32_t depth, uint32_t at)
{
    return (size_t)at * (depth + (side == NTK_PRODUCT_MOVING ? 1 : 0));
}

void ntk_product_pack_row(enum ntk_product_side side, uint32_t depth, uint32_t row,
                          const float *from, uint32_t count, float *packed)
{
    const struct shape *shape = shape_get();
    bool is_moving = side == NTK_PRODUCT_MOVING;
    uint32_t unit = is_moving ? shape->lanes : shape->unit;
    uint32_t units_max = is_moving ? WIDTHS : HEIGHTS;

    for (uint32_t at = 0; at < count; at += unit * units_max) {
        uint32_t width = unit * panel_units(unit, units_max, count - at);
        uint32_t given = smaller(width, count - at);
        float *to = packed + panel_offset(side, depth, at) + (size_t)row * width;

        memcpy(to, from + at, given * sizeof *to);
        if (given < width) {
            memset(to + given, 0, (width - given) * sizeof *to);
        }
    }
}

/* Rows are on separate pages, so prefetch some rows ahead. */
enum { AHEAD = 8, LINE = 64 };

__attribute__((target("avx512f"))) static void
pack_half_512(uint32_t depth, const uint8_t *from, ptrdiff_t pitch, uint32_t count, float *packed)
{
    for (uint32_t k = 0; k < depth; k++) {
        const uint8_t *row = from + (ptrdiff_t)k * pitch;

        for (uint32_t b = 0; k + AHEAD < depth && b < count * sizeof(uint16_t); b += LINE) {
            __builtin_prefetch(row + AHEAD * pitch + b);
        }
        for (uint32_t c = 0; c < count; c += COLUMNS_MAX) {
            uint32_t width = smaller(count - c, COLUMNS_MAX);
            float *to = packed + panel_offset(NTK_PRODUCT_MOVING, depth, c) + (size_t)k * width;
            const __m256i *half = (const __m256i *)(const void *)(row + c * sizeof(uint16_t));

            _mm512_store_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(half)));
            if (width > COLUMNS_MAX / WIDTHS) {
                _mm512_store_ps(to + 16, _mm512_cvtph_ps(_mm256_loadu_si256(half + 1)));
            }
        }
    }
}

bool ntk_product_pack_half(uint32_t depth, const uint8_t *from, ptrdiff_t pitch, uint32_t count,
                           float *packed)
{
    if (shape_get() != &shape_512 || count % shape_512.lanes != 0) {
        return false;
    }
    pack_half_512(depth, from, pitch, count, packed);
    return true;
}

/* Stores only the rows and columns of a block that are results. */
static bool put_edge(const float *whole, bool adds, float *out, ptrdiff_t step, uint32_t rows,
                     uint32_t columns)
{
    bool nan = false;

    for (uint32_t r = 0; r < rows; r++) {
        float *to = out + (ptrdiff_t)r * step;

        for (uint32_t c = 0; c < columns; c++) {
            float value = whole[r * COLUMNS_MAX + c];

            to[c] = adds ? value + to[c] : value;
            nan |= to[c] != to[c];
        }
    }
    return nan;
}

bool ntk_product_multiply(uint32_t rows, uint32_t columns, uint32_t depth, const float *stationary,
                          const float *moving, bool adds, float *out, ptrdiff_t step)
{
    const struct shape *shape = shape_get();
    bool nan = false;

    /* A moving panel stays in the L1 cache while all stationary panels are processed. */
    for (uint32_t c = 0; c < columns; c += WIDTHS * shape->lanes) {
        uint32_t width = panel_units(shape->lanes, WIDTHS, columns - c);
        const float *b = moving + panel_offset(NTK_PRODUCT_MOVING, depth, c);

        for (uint32_t r = 0; r < rows; r += HEIGHTS * shape->unit) {
            uint32_t height = panel_units(shape->unit, HEIGHTS, rows - r);
            const float *a = stationary + panel_offset(NTK_PRODUCT_STATIONARY, depth, r);
            block_fn *block = shape->block[height - 1][width - 1];
            float *to = out + (ptrdiff_t)r * step + c;

            if (rows - r >= height * shape->unit && columns - c >= width * shape->lanes) {
                nan |= block(depth, a, b, adds, to, step);
            } else {
                float whole[ROWS_MAX * COLUMNS_MAX];

                (void)block(depth, a, b, false, whole, COLUMNS_MAX);
                nan |= put_edge(whole, adds, to, step, smaller(rows - r, height * shape->unit),
                                smaller(columns - c, width * shape->lanes));
            }
        }
    }
    return nan;
}
#else
bool ntk_product_is_there(void)
{
    return false;
}

void ntk_product_pack_row(enum ntk_product_side side, uint32_t depth, uint32_t row,
                          const float *from, uint32_t count, float *packed)
{
    (void)side;
    (void)depth;
    (void)row;
    (void)from;
    (void)count;
    (void)packed;
    assert(false);
}

bool ntk_product_pack_half(uint32_t depth, const uint8_t *from, ptrdiff_t pitch, uint32_t count,
                           float *packed)
{
    (void)depth;
    (void)from;
    (void)pitch;
    (void)count;
    (void)packed;
    return false;
}

bool ntk_product_multiply(uint32_t rows, uint32_t columns, uint32_t depth, const float *stationary,
                          const float *moving, bool adds, float *out, ptrdiff_t step)
{
    (void)rows;
    (void)columns;
    (void)depth;
    (void)stationary;
    (void)moving;
    (void)adds;
    (void)out;
    (void)step;
    assert(false);
    return false;
}
#endif
