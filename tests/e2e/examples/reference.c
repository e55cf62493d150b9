/* SPDX-License-Identifier: MIT */
#include "tests/e2e/examples/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float reference_bfloat16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, 4);
    bits = (bits + 0x7fffU + ((bits >> 16) & 1U)) & 0xffff0000U;
    memcpy(&value, &bits, 4);
    return value;
}

void reference_mlp(const float *x, const float *w1, const float *b1, const float *w2,
                   const float *b2, size_t features, size_t hidden, size_t columns, int rounds,
                   float *y)
{
    double *sums = malloc(columns * sizeof *sums);
    float *h = malloc(hidden * columns * sizeof *h);

    for (size_t j = 0; j < hidden; j++) {
        for (size_t n = 0; n < columns; n++) {
            sums[n] = 0;
        }
        for (size_t k = 0; k < features; k++) {
            for (size_t n = 0; n < columns; n++) {
                sums[n] += (double)w1[k * hidden + j] * x[k * columns + n];
            }
        }
        for (size_t n = 0; n < columns; n++) {
            double value = sums[n] + b1[j];
            float activated = (float)(value / 2 * (1 + erf(value / sqrt(2.0))));

            h[j * columns + n] = rounds ? reference_bfloat16(activated) : activated;
        }
    }
    for (size_t d = 0; d < features; d++) {
        for (size_t n = 0; n < columns; n++) {
            sums[n] = b2[d];
        }
        for (size_t j = 0; j < hidden; j++) {
            for (size_t n = 0; n < columns; n++) {
                sums[n] += (double)w2[j * features + d] * h[j * columns + n];
            }
        }
        for (size_t n = 0; n < columns; n++) {
            y[d * columns + n] = (float)sums[n];
        }
    }
    free(h);
    free(sums);
}

void reference_dense(const float *x, const float *w, const float *b, size_t features,
                     size_t columns, float *y)
{
    for (size_t j = 0; j < features; j++) {
        for (size_t n = 0; n < columns; n++) {
            double sum = b[j];

            for (size_t k = 0; k < features; k++) {
                sum += (double)w[k * features + j] * x[k * columns + n];
            }
            y[j * columns + n] = sum > 0 ? (float)sum : 0;
        }
    }
}

void reference_conv(const float *image, const float *weights, const float *bias, size_t in_channels,
                    size_t out_channels, size_t side, float *result)
{
    for (size_t o = 0; o < out_channels; o++) {
        for (size_t r = 0; r < side; r++) {
            for (size_t c = 0; c < side; c++) {
                double sum = bias[o];

                for (size_t tap = 0; tap < 9; tap++) {
                    size_t row = r + tap / 3;
                    size_t column = c + tap % 3;

                    if (row < 1 || row > side || column < 1 || column > side) {
                        continue;
                    }
                    for (size_t i = 0; i < in_channels; i++) {
                        sum += (double)weights[(tap * in_channels + i) * out_channels + o] *
                               image[(i * side + row - 1) * side + column - 1];
                    }
                }
                result[(o * side + r) * side + c] = sum > 0 ? (float)sum : 0;
            }
        }
    }
}

void reference_attention(const float *q, const float *k, const float *v, size_t width,
                         size_t length, float *out)
{
    double *weights = malloc(length * sizeof *weights);

    for (size_t s = 0; s < length; s++) {
        double greatest = -INFINITY;
        double sum = 0;

        for (size_t t = 0; t < length; t++) {
            weights[t] = 0;
            for (size_t d = 0; d < width; d++) {
                weights[t] += (double)q[d * length + s] * k[d * length + t];
            }
            weights[t] /= sqrt((double)width);
            greatest = weights[t] > greatest ? weights[t] : greatest;
        }
        for (size_t t = 0; t < length; t++) {
            weights[t] = exp(weights[t] - greatest);
            sum += weights[t];
        }
        for (size_t e = 0; e < width; e++) {
            double value = 0;

            for (size_t t = 0; t < length; t++) {
                value += weights[t] * v[t * width + e];
            }
            out[s * width + e] = (float)(value / sum);
        }
    }
    free(weights);
}

void reference_scaled_softmax(const float *x, size_t rows, size_t columns, float *out)
{
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;

        for (size_t c = 0; c < columns; c++) {
            sum += exp(x[r * columns + c] / 4.0);
        }
        for (size_t c = 0; c < columns; c++) {
            out[r * columns + c] = (float)(exp(x[r * columns + c] / 4.0) / sum);
        }
    }
}
