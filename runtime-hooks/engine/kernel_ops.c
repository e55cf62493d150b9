/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/engine/kernel_ops.h"

#include <math.h>
#include <string.h>

#include "runtime-hooks/engine/kernel_clones.h"

#define LANES 8

static inline float max_f32(float a, float b)
{
    return a > b || a != a ? a : b;
}

static inline float min_f32(float a, float b)
{
    return a < b || a != a ? a : b;
}

/* One expression per operator, over x and y; users of the macro provide the loops. */
#define ALU_F32_CASES(LOOP)                  \
    case NTK_ISA_ALU_ADD:                    \
        LOOP(x + y);                         \
        break;                               \
    case NTK_ISA_ALU_SUBTRACT:               \
        LOOP(x - y);                         \
        break;                               \
    case NTK_ISA_ALU_MULTIPLY:               \
        LOOP(x *y);                          \
        break;                               \
    case NTK_ISA_ALU_MAXIMUM:                \
        LOOP(max_f32(x, y));                 \
        break;                               \
    case NTK_ISA_ALU_MINIMUM:                \
        LOOP(min_f32(x, y));                 \
        break;                               \
    case NTK_ISA_ALU_EQUAL:                  \
        LOOP((float)(x == y));               \
        break;                               \
    case NTK_ISA_ALU_NOT_EQUAL:              \
        LOOP((float)(x != y));               \
        break;                               \
    case NTK_ISA_ALU_GREATER_EQUAL:          \
        LOOP((float)(x >= y));               \
        break;                               \
    case NTK_ISA_ALU_GREATER:                \
        LOOP((float)(x > y));                \
        break;                               \
    case NTK_ISA_ALU_LESS_EQUAL:             \
        LOOP((float)(x <= y));               \
        break;                               \
    case NTK_ISA_ALU_LESS:                   \
        LOOP((float)(x < y));                \
        break;                               \
    case NTK_ISA_ALU_LOGICAL_AND:            \
        LOOP((float)(x != 0 && y != 0));     \
        break;                               \
    case NTK_ISA_ALU_LOGICAL_OR:             \
        LOOP((float)(x != 0 || y != 0));     \
        break;                               \
    case NTK_ISA_ALU_LOGICAL_XOR:            \
        LOOP((float)((x != 0) != (y != 0))); \
        break;                               \
    case NTK_ISA_ALU_POWER:                  \
        LOOP(powf(x, y));                    \
        break;                               \
    case NTK_ISA_ALU_ABS_MAX:                \
        LOOP(max_f32(fabsf(x), fabsf(y)));   \
        break;                               \
    case NTK_ISA_ALU_ABS_MIN:                \
        LOOP(min_f32(fabsf(x), fabsf(y)));   \
        break;                               \
    case NTK_ISA_ALU_ABS:                    \
        LOOP(fabsf(x));                      \
        break;                               \
    case NTK_ISA_ALU_SQUARE:                 \
        LOOP(x *x);                          \
        break;                               \
    case NTK_ISA_ALU_RELU:                   \
        LOOP(max_f32(x, 0.0F));              \
        break;                               \
    case NTK_ISA_ALU_RSQRT:                  \
        LOOP(1.0F / sqrtf(x));               \
        break;                               \
    case NTK_ISA_ALU_RECIPROCAL:             \
        LOOP(1.0F / x);                      \
        break;

NTK_KERNEL_CLONES
void ntk_kernel_alu_f32(enum ntk_isa_alu op, const float *a, const float *b, size_t b_step,
                        size_t count, float *out)
{
    float scalar = b && b_step == 0 && count > 0 ? b[0] : 0.0F;

#define LOOP_VECTOR(expression)          \
    for (size_t i = 0; i < count; i++) { \
        float x = a[i];                  \
        float y = b[i];                  \
        (void)y;                         \
        out[i] = expression;             \
    }
#define LOOP_SCALAR(expression)          \
    for (size_t i = 0; i < count; i++) { \
        float x = a[i];                  \
        float y = scalar;                \
        (void)y;                         \
        out[i] = expression;             \
    }
    if (b && b_step == 1) {
        switch (op) {
            ALU_F32_CASES(LOOP_VECTOR)
        case NTK_ISA_ALU_NONE:
        default:
            memmove(out, a, count * sizeof *out);
        }
    } else {
        switch (op) {
            ALU_F32_CASES(LOOP_SCALAR)
        case NTK_ISA_ALU_NONE:
        default:
            memmove(out, a, count * sizeof *out);
        }
    }
#undef LOOP_VECTOR
#undef LOOP_SCALAR
}

void ntk_kernel_alu_f32_reverse(enum ntk_isa_alu op, float scalar, const float *b, size_t count,
                                float *out)
{
#define LOOP_REVERSE(expression)         \
    for (size_t i = 0; i < count; i++) { \
        float x = scalar;                \
        float y = b[i];                  \
        (void)y;                         \
        out[i] = expression;             \
    }
    switch (op) {
        ALU_F32_CASES(LOOP_REVERSE)
    case NTK_ISA_ALU_NONE:
    default:
        for (size_t i = 0; i < count; i++) {
            out[i] = scalar;
        }
    }
#undef LOOP_REVERSE
}

static int64_t shift(int64_t value, int64_t amount, bool left, unsigned width, bool is_signed)
{
    int64_t sign = is_signed && value < 0 ? -1 : 0;

    if (amount < 0 || amount >= (int64_t)width) {
        return left ? 0 : sign;
    }
    if (left) {
        return (int64_t)((uint64_t)value << amount);
    }
    /* The upper bits contain the sign or zero, so a 64-bit shift is correct. */
    return sign ? ~(~value >> amount) : (int64_t)((uint64_t)value >> amount);
}

void ntk_kernel_alu_bits(enum ntk_isa_alu op, enum ntk_dtype dtype, const int64_t *a,
                         const int64_t *b, size_t b_step, size_t count, int64_t *out)
{
    unsigned width = 8 * (unsigned)ntk_dtype_bytes(dtype);
    bool is_signed = dtype == NTK_DTYPE_INT8 || dtype == NTK_DTYPE_INT16 ||
                     dtype == NTK_DTYPE_INT32 || dtype == NTK_DTYPE_INT64;
    int64_t scalar = b && b_step == 0 && count > 0 ? b[0] : 0;

    for (size_t i = 0; i < count; i++) {
        int64_t x = a[i];
        int64_t y = b && b_step != 0 ? b[i] : scalar;

        switch (op) {
        case NTK_ISA_ALU_INVERT:
            x = ~x;
            break;
        case NTK_ISA_ALU_BITWISE_AND:
            x &= y;
            break;
        case NTK_ISA_ALU_BITWISE_OR:
            x |= y;
            break;
        case NTK_ISA_ALU_BITWISE_XOR:
            x ^= y;
            break;
        case NTK_ISA_ALU_LEFT_SHIFT:
            x = shift(x, y, true, width, is_signed);
            break;
        case NTK_ISA_ALU_RIGHT_SHIFT:
            x = shift(x, y, false, width, is_signed);
            break;
        default:
            break;
        }
        out[i] = x;
    }
}

/* The order does not affect a maximum or minimum, so these are computed in lanes that the compiler
 * vectorises. */
#define REDUCE_LANES(identity, pick)                    \
    do {                                                \
        float lane[LANES];                              \
        size_t i = 0;                                   \
        for (size_t l = 0; l < LANES; l++) {            \
            lane[l] = identity;                         \
        }                                               \
        for (; i + LANES <= count; i += LANES) {        \
            for (size_t l = 0; l < LANES; l++) {        \
                lane[l] = pick(lane[l], values[i + l]); \
            }                                           \
        }                                               \
        result = lane[0];                               \
        for (size_t l = 1; l < LANES; l++) {            \
            result = pick(result, lane[l]);             \
        }                                               \
        for (; i < count; i++) {                        \
            result = pick(result, values[i]);           \
        }                                               \
    } while (0)

float ntk_kernel_reduce_f32(enum ntk_isa_alu op, float start, const float *values, size_t count)
{
    float result = start;

    switch (op) {
    case NTK_ISA_ALU_ADD:
        for (size_t i = 0; i < count; i++) {
            result += values[i];
        }
        break;
    case NTK_ISA_ALU_MULTIPLY:
        for (size_t i = 0; i < count; i++) {
            result *= values[i];
        }
        break;
    case NTK_ISA_ALU_MAXIMUM:
        REDUCE_LANES(start, max_f32);
        break;
    case NTK_ISA_ALU_MINIMUM:
        REDUCE_LANES(start, min_f32);
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            ntk_kernel_alu_f32(op, &result, &values[i], 0, 1, &result);
        }
    }
    return result;
}

int64_t ntk_kernel_reduce_bits(enum ntk_isa_alu op, int64_t start, const int64_t *values,
                               size_t count)
{
    int64_t result = start;

    for (size_t i = 0; i < count; i++) {
        ntk_kernel_alu_bits(op, NTK_DTYPE_INT64, &result, &values[i], 0, 1, &result);
    }
    return result;
}

/* --- activation ------------------------------------------------------------------------------- */

static float sigmoid(float x)
{
    /* Uses a negative exponent, for which the exponential cannot overflow. */
    float e = expf(-fabsf(x));

    return x >= 0 ? 1.0F / (1.0F + e) : e / (1.0F + e);
}

static float softplus(float x)
{
    return max_f32(x, 0.0F) + log1pf(expf(-fabsf(x)));
}

static float gelu_dx(float x)
{
    const float inverse_sqrt_2 = 0.70710678118654752440F;
    const float inverse_sqrt_2pi = 0.39894228040143267794F;

    return 0.5F * (1.0F + erff(x * inverse_sqrt_2)) + x * inverse_sqrt_2pi * expf(-0.5F * x * x);
}

static float gelu_apprx_tanh(float x)
{
    const float sqrt_2_over_pi = 0.79788456080286535588F;

    return 0.5F * x * (1.0F + tanhf(sqrt_2_over_pi * (x + 0.044715F * x * x * x)));
}

static float gelu_apprx_sigmoid_dx(float x)
{
    float s = sigmoid(1.702F * x);

    return s + 1.702F * x * s * (1.0F - s);
}

static float silu_dx(float x)
{
    float s = sigmoid(x);

    return s * (1.0F + x * (1.0F - s));
}

static float sign(float x)
{
    return x > 0 ? 1.0F : x < 0 ? -1.0F : x; /* zero and NaN stay unchanged */
}

void ntk_kernel_act_f32(enum ntk_isa_act function, float alpha, float *values, size_t count)
{
#define EACH(expression)                 \
    for (size_t i = 0; i < count; i++) { \
        float x = values[i];             \
        values[i] = expression;          \
    }                                    \
    break

    switch (function) {
    case NTK_ISA_ACT_COPY:
    case NTK_ISA_ACT_COUNT:
        break;
    case NTK_ISA_ACT_SQUARE:
        EACH(x * x);
    case NTK_ISA_ACT_SIGMOID:
        EACH(sigmoid(x));
    case NTK_ISA_ACT_RELU:
        EACH(max_f32(x, 0.0F));
    case NTK_ISA_ACT_PRELU:
        EACH(x >= 0 ? x : alpha * x);
    case NTK_ISA_ACT_GELU:
        EACH(0.5F * x * (1.0F + erff(x * 0.70710678118654752440F)));
    case NTK_ISA_ACT_GELU_DX:
        EACH(gelu_dx(x));
    case NTK_ISA_ACT_GELU_APPRX_TANH:
        EACH(gelu_apprx_tanh(x));
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID:
        EACH(x * sigmoid(1.702F * x));
    case NTK_ISA_ACT_GELU_APPRX_SIGMOID_DX:
        EACH(gelu_apprx_sigmoid_dx(x));
    case NTK_ISA_ACT_SILU:
        EACH(x * sigmoid(x));
    case NTK_ISA_ACT_SILU_DX:
        EACH(silu_dx(x));
    case NTK_ISA_ACT_TANH:
        EACH(tanhf(x));
    case NTK_ISA_ACT_SOFTPLUS:
        EACH(softplus(x));
    case NTK_ISA_ACT_MISH:
        EACH(x * tanhf(softplus(x)));
    case NTK_ISA_ACT_ERF:
        EACH(erff(x));
    case NTK_ISA_ACT_ERF_DX:
        EACH(1.12837916709551257390F * expf(-x * x));
    case NTK_ISA_ACT_EXP:
        EACH(expf(x));
    case NTK_ISA_ACT_SIGN:
        EACH(sign(x));
    case NTK_ISA_ACT_ABS:
        EACH(fabsf(x));
    case NTK_ISA_ACT_LOG:
        EACH(logf(x));
    case NTK_ISA_ACT_SIN:
        EACH(sinf(x));
    case NTK_ISA_ACT_ARCTAN:
        EACH(atanf(x));
    case NTK_ISA_ACT_SQRT:
        EACH(sqrtf(x));
    case NTK_ISA_ACT_RSQRT:
        EACH(1.0F / sqrtf(x));
    case NTK_ISA_ACT_RECIPROCAL:
        EACH(1.0F / x);
    }
#undef EACH
}
