/* SPDX-License-Identifier: MIT */
/* mlu_compute_window - operators that sum: convolution and its transpose, matrix products,
 * pooling. */
#include <math.h>
#include <stdlib.h>

#include "runtime-hooks/mlugraph/mlu_compute_private.h"

/* The data, weight, bias and result of a product, as doubles. */
struct sums {
    double *data;
    double *weight;
    double *bias; /* NULL without a bias */
    double *out;
};

static void sums_fini(struct sums *s)
{
    free(s->data);
    free(s->weight);
    free(s->bias);
    free(s->out);
}

static int sums_init(const struct mlu_call *call, struct sums *s)
{
    s->data = mlu_compute_doubles(call->in[0]);
    s->weight = mlu_compute_doubles(call->in[1]);
    s->bias = call->param->has_bias ? mlu_compute_doubles(call->in[2]) : NULL;
    s->out = calloc(call->out[0]->count + 1, sizeof *s->out);
    return s->data && s->weight && s->out && (s->bias || !call->param->has_bias)
               ? 0
               : ntk_err_no_memory(call->err);
}

/* Initialises the sums with the bias of each channel, the second dimension. */
static void begin_with_bias(const struct mlu_call *call, struct sums *s)
{
    const struct mlu_array *out = call->out[0];
    size_t plane = out->shape.dims[2] * out->shape.dims[3];

    for (size_t i = 0; s->bias && i < out->count; i++) {
        s->out[i] = s->bias[i / plane % out->shape.dims[1]];
    }
}

static void round_out(const struct mlu_call *call, const struct sums *s)
{
    for (size_t i = 0; i < call->out[0]->count; i++) {
        mlu_array_set(call->out[0], i, s->out[i]);
    }
}

/* Convolves one image, one input channel and one filter: multiplies every weight with the rows that
 * it covers. */
static void convolve_plane(const struct mlu_op_param *p, const double *in, uint64_t h, uint64_t w,
                           const double *weight, double *out, uint64_t out_h, uint64_t out_w)
{
    for (uint64_t ky = 0; ky < p->kernel[0]; ky++) {
        for (uint64_t kx = 0; kx < p->kernel[1]; kx++) {
            double factor = weight[ky * p->kernel[1] + kx];

            for (uint64_t oy = 0; oy < out_h; oy++) {
                int64_t y = (int64_t)(oy * p->stride[0] + ky * p->dilate[0]) - (int64_t)p->pad[0];

                if (y < 0 || y >= (int64_t)h) {
                    continue;
                }
                for (uint64_t ox = 0; ox < out_w; ox++) {
                    int64_t x =
                        (int64_t)(ox * p->stride[1] + kx * p->dilate[1]) - (int64_t)p->pad[1];

                    if (x >= 0 && x < (int64_t)w) {
                        out[oy * out_w + ox] += factor * in[(uint64_t)y * w + (uint64_t)x];
                    }
                }
            }
        }
    }
}

/* Computes the transpose: adds every input element to all output elements in its window. */
static void spread_plane(const struct mlu_op_param *p, const double *in, uint64_t h, uint64_t w,
                         const double *weight, double *out, uint64_t out_h, uint64_t out_w)
{
    for (uint64_t ky = 0; ky < p->kernel[0]; ky++) {
        for (uint64_t kx = 0; kx < p->kernel[1]; kx++) {
            double factor = weight[ky * p->kernel[1] + kx];

            for (uint64_t y = 0; y < h; y++) {
                int64_t oy = (int64_t)(y * p->stride[0] + ky * p->dilate[0]) - (int64_t)p->pad[0];

                if (oy < 0 || oy >= (int64_t)out_h) {
                    continue;
                }
                for (uint64_t x = 0; x < w; x++) {
                    int64_t ox =
                        (int64_t)(x * p->stride[1] + kx * p->dilate[1]) - (int64_t)p->pad[1];

                    if (ox >= 0 && ox < (int64_t)out_w) {
                        out[(uint64_t)oy * out_w + (uint64_t)ox] += factor * in[y * w + x];
                    }
                }
            }
        }
    }
}

static int convolve(const struct mlu_call *call, bool transposed)
{
    const struct mlu_op_param *p = call->param;
    const struct mlu_shape *in = &call->in[0]->shape;
    const struct mlu_shape *out = &call->out[0]->shape;
    uint64_t channels = in->dims[1] / p->num_group; /* channels per group */
    uint64_t filters = p->num_filter / p->num_group;
    uint64_t in_plane = in->dims[2] * in->dims[3];
    uint64_t out_plane = out->dims[2] * out->dims[3];
    uint64_t window = p->kernel[0] * p->kernel[1];
    struct sums s = { 0 };
    int ret = sums_init(call, &s);

    if (ret < 0) {
        sums_fini(&s);
        return ret;
    }
    begin_with_bias(call, &s);
    for (uint64_t n = 0; n < in->dims[0]; n++) {
        for (uint64_t f = 0; f < p->num_filter; f++) {
            for (uint64_t c = 0; c < channels; c++) {
                uint64_t channel = f / filters * channels + c;
                uint64_t weight = transposed ? channel * filters + f % filters : f * channels + c;

                (transposed ? spread_plane : convolve_plane)(
                    p, s.data + (n * in->dims[1] + channel) * in_plane, in->dims[2], in->dims[3],
                    s.weight + weight * window, s.out + (n * p->num_filter + f) * out_plane,
                    out->dims[2], out->dims[3]);
            }
        }
    }
    round_out(call, &s);
    sums_fini(&s);
    return 0;
}

int mlu_compute_convolution(const struct mlu_call *call)
{
    return convolve(call, false);
}

int mlu_compute_deconvolution(const struct mlu_call *call)
{
    return convolve(call, true);
}

int mlu_compute_fully_connected(const struct mlu_call *call)
{
    uint64_t hidden = call->param->num_hidden;
    uint64_t width = call->in[1]->shape.dims[1];
    uint64_t rows = call->out[0]->count / hidden;
    struct sums s = { 0 };
    int ret = sums_init(call, &s);

    for (uint64_t r = 0; ret == 0 && r < rows; r++) {
        for (uint64_t o = 0; o < hidden; o++) {
            double sum = s.bias ? s.bias[o] : 0;

            for (uint64_t i = 0; i < width; i++) {
                sum += s.data[r * width + i] * s.weight[o * width + i];
            }
            s.out[r * hidden + o] = sum;
        }
    }
    if (ret == 0) {
        round_out(call, &s);
    }
    sums_fini(&s);
    return ret;
}

/* The extent of a window in one dimension: the part inside, and the length including padding. */
struct reach {
    int64_t from;
    int64_t to;
    int64_t length;
};

static struct reach reach_of(const struct mlu_op_param *p, int axis, uint64_t place, uint64_t size)
{
    int64_t from = (int64_t)(place * p->stride[axis]) - (int64_t)p->pad[axis];
    int64_t to = from + (int64_t)p->kernel[axis];
    int64_t end = (int64_t)(size + p->pad[axis]); /* end of the padding */
    struct reach reach = { from, to, 0 };

    if (p->is_global) {
        return (struct reach){ 0, (int64_t)size, (int64_t)size };
    }
    reach.to = to < end ? to : end;
    reach.length = reach.to - from;
    reach.from = from < 0 ? 0 : from;
    reach.to = reach.to < (int64_t)size ? reach.to : (int64_t)size;
    return reach;
}

static double pool_window(const struct mlu_op_param *p, const struct mlu_array *in, size_t plane,
                          const struct reach *y, const struct reach *x)
{
    double value = p->pool == MLU_POOL_MAX ? -INFINITY : 0;
    int64_t inside = 0;

    for (int64_t iy = y->from; iy < y->to; iy++) {
        for (int64_t ix = x->from; ix < x->to; ix++) {
            double element = mlu_array_get(in, plane + (size_t)iy * in->shape.dims[3] + (size_t)ix);

            inside++;
            value = p->pool == MLU_POOL_MAX ? fmax(value, element) : value + element;
        }
    }
    if (p->pool != MLU_POOL_AVG) {
        return value;
    }
    int64_t count = p->counts_padding ? y->length * x->length : inside;
    return count > 0 ? value / (double)count : 0;
}

int mlu_compute_pooling(const struct mlu_call *call)
{
    const struct mlu_array *in = call->in[0];
    struct mlu_array *out = call->out[0];
    size_t in_plane = in->shape.dims[2] * in->shape.dims[3];
    size_t at = 0;

    for (uint64_t plane = 0; plane < in->shape.dims[0] * in->shape.dims[1]; plane++) {
        for (uint64_t oy = 0; oy < out->shape.dims[2]; oy++) {
            struct reach y = reach_of(call->param, 0, oy, in->shape.dims[2]);

            for (uint64_t ox = 0; ox < out->shape.dims[3]; ox++) {
                struct reach x = reach_of(call->param, 1, ox, in->shape.dims[3]);

                mlu_array_set(out, at++, pool_window(call->param, in, plane * in_plane, &y, &x));
            }
        }
    }
    return 0;
}
