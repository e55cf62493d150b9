/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/cnml/references.h"

#include <math.h>
#include <string.h>

size_t shape_elements(struct shape shape)
{
    return (size_t)shape.n * (size_t)shape.c * (size_t)shape.h * (size_t)shape.w;
}

static size_t place(struct shape s, int n, int c, int h, int w)
{
    return ((size_t)(n * s.c + c) * (size_t)s.h + (size_t)h) * (size_t)s.w + (size_t)w;
}

void ref_conv(const struct ref_conv *conv, struct shape in_shape, const double *in,
              struct shape out_shape, double *out, const double *filter, const double *bias)
{
    int depth = in_shape.c / conv->group;
    struct shape filter_shape = { out_shape.c, depth, conv->kernel_h, conv->kernel_w };

    for (int n = 0; n < out_shape.n; n++) {
        for (int k = 0; k < out_shape.c; k++) {
            for (int y = 0; y < out_shape.h; y++) {
                for (int x = 0; x < out_shape.w; x++) {
                    double sum = bias ? bias[k] : 0;

                    for (int c = 0; c < depth; c++) {
                        for (int i = 0; i < conv->kernel_h; i++) {
                            for (int j = 0; j < conv->kernel_w; j++) {
                                int h = y * conv->stride_h + i * conv->dilation_h - conv->top;
                                int w = x * conv->stride_w + j * conv->dilation_w - conv->left;
                                int from = k / (out_shape.c / conv->group) * depth + c;

                                if (h >= 0 && h < in_shape.h && w >= 0 && w < in_shape.w) {
                                    sum += in[place(in_shape, n, from, h, w)] *
                                           filter[place(filter_shape, k, c, i, j)];
                                }
                            }
                        }
                    }
                    out[place(out_shape, n, k, y, x)] = sum;
                }
            }
        }
    }
}

void ref_deconv(int stride_h, int stride_w, int kernel_h, int kernel_w, int top, int left,
                struct shape in_shape, const double *in, struct shape out_shape, double *out,
                const double *filter, const double *bias)
{
    struct shape filter_shape = { out_shape.c, in_shape.c, kernel_h, kernel_w };

    for (size_t i = 0; i < shape_elements(out_shape); i++) {
        out[i] = bias ? bias[i / (size_t)(out_shape.h * out_shape.w) % (size_t)out_shape.c] : 0;
    }
    for (int n = 0; n < in_shape.n; n++) {
        for (int c = 0; c < in_shape.c; c++) {
            for (int h = 0; h < in_shape.h; h++) {
                for (int w = 0; w < in_shape.w; w++) {
                    for (int k = 0; k < out_shape.c; k++) {
                        for (int i = 0; i < kernel_h; i++) {
                            for (int j = 0; j < kernel_w; j++) {
                                int y = h * stride_h + i - top;
                                int x = w * stride_w + j - left;

                                if (y >= 0 && y < out_shape.h && x >= 0 && x < out_shape.w) {
                                    out[place(out_shape, n, k, y, x)] +=
                                        in[place(in_shape, n, c, h, w)] *
                                        filter[place(filter_shape, k, c, i, j)];
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

void ref_pool(const struct ref_pool *pool, struct shape in_shape, const double *in,
              struct shape out_shape, double *out)
{
    for (size_t o = 0; o < shape_elements(out_shape); o++) {
        int x = (int)(o % (size_t)out_shape.w);
        int y = (int)(o / (size_t)out_shape.w % (size_t)out_shape.h);
        int plane = (int)(o / (size_t)(out_shape.w * out_shape.h));
        double sum = 0;
        double squares = 0;
        double best = 0;
        int best_place = 0;
        int count = 0;

        for (int t = 0; t < pool->window_h * pool->window_w; t++) {
            int h = y * pool->stride_h + t / pool->window_w * pool->dilation_h - pool->top;
            int w = x * pool->stride_w + t % pool->window_w * pool->dilation_w - pool->left;

            if (h >= 0 && h < in_shape.h && w >= 0 && w < in_shape.w) {
                double value = in[place(in_shape, 0, plane, h, w)];

                if (count == 0 || value > best) {
                    best = value;
                    best_place = t;
                }
                count++;
                sum += value;
                squares += value * value;
            }
        }
        switch (pool->mode) {
        case REF_AVERAGE:
            out[o] = sum / (pool->window_h * pool->window_w);
            break;
        case REF_AVERAGE_INSIDE:
            out[o] = count > 0 ? sum / count : 0;
            break;
        case REF_MAX:
            out[o] = best;
            break;
        case REF_MAX_PLACE:
            out[o] = best_place;
            break;
        case REF_SUM:
            out[o] = sum;
            break;
        case REF_L2:
            out[o] = sqrt(squares / (pool->window_h * pool->window_w));
            break;
        }
    }
}

void ref_softmax(char axis, struct shape shape, const double *in, double *out)
{
    int d[4] = { shape.n, shape.c, shape.h, shape.w };
    int which = (int)(strchr("nchw", axis) - "nchw");
    int i[4];

    for (size_t e = 0; e < shape_elements(shape); e++) {
        size_t rest = e;
        double total = 0;

        for (int k = 3; k >= 0; k--) {
            i[k] = (int)(rest % (size_t)d[k]);
            rest /= (size_t)d[k];
        }
        for (int other = 0; other < d[which]; other++) {
            int j[4] = { i[0], i[1], i[2], i[3] };

            j[which] = other;
            total += exp(in[place(shape, j[0], j[1], j[2], j[3])]);
        }
        out[e] = exp(in[e]) / total;
    }
}
