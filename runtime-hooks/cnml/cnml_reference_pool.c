/* SPDX-License-Identifier: MIT */
/* cnml_reference_pool - computes pooling on the host. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <float.h>
#include <math.h>

struct window {
    double sum;
    double squares;
    float greatest;
    int place; /* index of the maximum in the window */
    int inside;
};

static struct window look(const struct cnml_param *p, const float *plane, int height, int width,
                          int y, int x)
{
    struct window window = { .greatest = -FLT_MAX };

    for (int i = 0; i < p->window_h; i++) {
        for (int j = 0; j < p->window_w; j++) {
            int h = y * p->stride_h - p->top + i * p->dilation_h;
            int w = x * p->stride_w - p->left + j * p->dilation_w;
            float value;

            if (h < 0 || w < 0 || h >= height || w >= width) {
                continue;
            }
            value = plane[(size_t)h * (size_t)width + (size_t)w];
            window.sum += (double)value;
            window.squares += (double)value * (double)value;
            if (window.inside++ == 0 || value > window.greatest) {
                window.greatest = value;
                window.place = i * p->window_w + j;
            }
        }
    }
    return window;
}

static float answer(const struct cnml_work *work, const struct window *window)
{
    const struct cnml_param *p = &work->param;
    int size = p->window_h * p->window_w;

    if (window->inside == 0) {
        return 0; /* the window is entirely beyond the edge */
    }
    if (work->id == CNML_OP_L2_POOL) {
        return (float)sqrt(p->mode == CNML_POOL_AVG ? window->squares / size : window->squares);
    }
    switch (p->mode) {
    case CNML_POOL_AVG:
        return (float)(window->sum / (p->real ? window->inside : size));
    case CNML_POOL_MAX:
        return window->greatest;
    case CNML_POOL_MAXINDEX:
        return (float)window->place;
    default:
        return (float)window->sum;
    }
}

int cnml_reference_pool(const struct cnml_work *work, const struct cnml_array *in,
                        struct cnml_array *out)
{
    int height = in->dims[CNML_H];
    int width = in->dims[CNML_W];
    size_t planes = (size_t)in->dims[CNML_N] * (size_t)in->dims[CNML_C];
    size_t i = 0;

    for (size_t plane = 0; plane < planes; plane++) {
        const float *values = in->values + plane * (size_t)height * (size_t)width;

        for (int y = 0; y < out->dims[CNML_H]; y++) {
            for (int x = 0; x < out->dims[CNML_W]; x++) {
                struct window window = look(&work->param, values, height, width, y, x);

                out->values[i++] = answer(work, &window);
            }
        }
    }
    return CNML_STATUS_SUCCESS;
}
