/* SPDX-License-Identifier: MIT */
/* cnml_reference_conv - computes convolutions, their transposes and dense layers on the host, with
 * sums in double precision. */
#include "runtime-hooks/cnml/cnml_internal.h"

static float at(const struct cnml_array *array, int n, int c, int h, int w)
{
    const int *d = array->dims;

    if (h < 0 || w < 0 || h >= d[CNML_H] || w >= d[CNML_W]) {
        return 0;
    }
    return array
        ->values[(((size_t)n * (size_t)d[CNML_C] + (size_t)c) * (size_t)d[CNML_H] + (size_t)h) *
                     (size_t)d[CNML_W] +
                 (size_t)w];
}

struct conv {
    const struct cnml_work *work;
    const struct cnml_array *in;
    const struct cnml_array *filter;
    int kernel_h, kernel_w;
    int depth;   /* input channels of a group */
    int outputs; /* output channels of a group */
};

static double sum(const struct conv *conv, int n, int k, int y, int x)
{
    const struct cnml_param *p = &conv->work->param;
    const float *filter =
        conv->filter->values + (size_t)k * (size_t)(conv->depth * conv->kernel_h * conv->kernel_w);
    int first = k / conv->outputs * conv->depth;
    bool is_transposed = conv->work->id == CNML_OP_DECONV;
    double total = 0;

    for (int c = 0; c < conv->depth; c++) {
        for (int i = 0; i < conv->kernel_h; i++) {
            for (int j = 0; j < conv->kernel_w; j++) {
                double weight = (double)filter[(c * conv->kernel_h + i) * conv->kernel_w + j];

                if (is_transposed) {
                    int from_y = y + p->top - i;
                    int from_x = x + p->left - j;

                    if (from_y % p->stride_h == 0 && from_x % p->stride_w == 0) {
                        total += weight * (double)at(conv->in, n, first + c, from_y / p->stride_h,
                                                     from_x / p->stride_w);
                    }
                } else {
                    total += weight * (double)at(conv->in, n, first + c,
                                                 y * p->stride_h - p->top + i * p->dilation_h,
                                                 x * p->stride_w - p->left + j * p->dilation_w);
                }
            }
        }
    }
    return total;
}

/* Subtracts the mean from an image and multiplies it by the other constant. */
static int normalise(struct cnml_array *image, const struct cnml_array *mean,
                     const struct cnml_array *std)
{
    size_t channels = (size_t)image->dims[CNML_C];
    size_t area = (size_t)image->dims[CNML_H] * (size_t)image->dims[CNML_W];
    size_t count = cnml_elements(image->dims);
    bool is_image = mean->values && cnml_elements(mean->dims) != channels;

    for (size_t i = 0; i < count; i++) {
        size_t c = i / area % channels;

        if (mean->values) {
            image->values[i] -= mean->values[is_image ? i % (area * channels) : c];
        }
        if (std->values) {
            image->values[i] *= std->values[c];
        }
    }
    return CNML_STATUS_SUCCESS;
}

int cnml_reference_conv(const struct cnml_work *work, const struct cnml_array *in,
                        struct cnml_array *out, const struct cnml_array *consts)
{
    const struct cnml_array *filter = &consts[CNML_FILTER_OF];
    const struct cnml_array *bias = &consts[CNML_BIAS_OF];
    struct cnml_array image = *in;
    struct conv conv = { .work = work,
                         .in = &image,
                         .filter = filter,
                         .kernel_h = filter->dims[CNML_H],
                         .kernel_w = filter->dims[CNML_W],
                         .depth = in->dims[CNML_C] / work->group,
                         .outputs = out->dims[CNML_C] / work->group };
    size_t i = 0;

    if (work->id == CNML_OP_CONV_FIRST) {
        normalise(&image, &consts[CNML_MEAN_OF], &consts[CNML_STD_OF]);
    }
    if (work->id == CNML_OP_MLP) {
        conv.kernel_h = in->dims[CNML_H];
        conv.kernel_w = in->dims[CNML_W];
    }
    for (int n = 0; n < out->dims[CNML_N]; n++) {
        for (int k = 0; k < out->dims[CNML_C]; k++) {
            double start = bias->values ? (double)bias->values[k] : 0;

            for (int y = 0; y < out->dims[CNML_H]; y++) {
                for (int x = 0; x < out->dims[CNML_W]; x++) {
                    out->values[i++] = (float)(start + sum(&conv, n, k, y, x));
                }
            }
        }
    }
    return CNML_STATUS_SUCCESS;
}
