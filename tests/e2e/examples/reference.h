/* SPDX-License-Identifier: MIT */
/*
 * reference - computes the results of the examples with plain loops over whole tensors. Written
 * from the formulas alone: no tiles, no kernels, nothing shared with the software core.
 */
#ifndef NTK_TESTS_E2E_EXAMPLES_REFERENCE_H
#define NTK_TESTS_E2E_EXAMPLES_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

/* Nearest bfloat16, ties to even. */
float reference_bfloat16(float value);

/* y[d][n] = sum over h of w2[h][d] * gelu(sum over k of w1[k][h] * x[k][n] + b1[h]) + b2[d]. When
 * rounds is set the hidden layer is kept in bfloat16. */
void reference_mlp(const float *x, const float *w1, const float *b1, const float *w2,
                   const float *b2, size_t features, size_t hidden, size_t columns, int rounds,
                   float *y);

/* result[o][r][c] = relu(bias[o] + sum over i, dr, dc of weights[dr][dc][i][o] * image[i][r + dr -
 * 1][c + dc - 1]), zeros outside the image. */
void reference_conv(const float *image, const float *weights, const float *bias, size_t in_channels,
                    size_t out_channels, size_t side, float *result);

/* out[s][e] = sum over t of softmax over t of (sum over d of q[d][s] * k[d][t] / sqrt(width)) *
 * v[t][e]. */
void reference_attention(const float *q, const float *k, const float *v, size_t width,
                         size_t length, float *out);

/* y[j][n] = relu(b[j] + sum over k of w[k][j] * x[k][n]), of features x features weights. */
void reference_dense(const float *x, const float *w, const float *b, size_t features,
                     size_t columns, float *y);

/* softmax of x / 4 in each row. */
void reference_scaled_softmax(const float *x, size_t rows, size_t columns, float *out);

#endif
