/* SPDX-License-Identifier: MIT */
/* cnml_reference_move - computes operators that only move data, on the host. */
#include "runtime-hooks/cnml/cnml_internal.h"

#include <stdlib.h>
#include <string.h>

static void strides_of(const int dims[CNML_DIMS], size_t strides[CNML_DIMS])
{
    cnml_order_strides(CNML_NCHW, dims, strides);
}

/* Copies count[0..3] elements between two sets of strides. */
static void walk(const float *from, const size_t from_strides[CNML_DIMS], float *to,
                 const size_t to_strides[CNML_DIMS], const int counts[CNML_DIMS])
{
    for (int a = 0; a < counts[0]; a++) {
        for (int b = 0; b < counts[1]; b++) {
            for (int c = 0; c < counts[2]; c++) {
                for (int d = 0; d < counts[3]; d++) {
                    const size_t i[] = { (size_t)a, (size_t)b, (size_t)c, (size_t)d };
                    size_t f = 0;
                    size_t t = 0;

                    for (int k = 0; k < CNML_DIMS; k++) {
                        f += i[k] * from_strides[k];
                        t += i[k] * to_strides[k];
                    }
                    to[t] = from[f];
                }
            }
        }
    }
}

static void reshape(const struct cnml_work *work, const struct cnml_array *in,
                    struct cnml_array *out)
{
    size_t plain[CNML_DIMS];
    size_t ordered[CNML_DIMS];
    float *flat = malloc(cnml_elements(in->dims) * sizeof *flat);

    if (!flat) {
        return;
    }
    strides_of(in->dims, plain);
    cnml_order_strides(work->param.order, in->dims, ordered);
    walk(in->values, plain, flat, ordered, in->dims);
    strides_of(out->dims, plain);
    cnml_order_strides(work->param.order, out->dims, ordered);
    walk(flat, ordered, out->values, plain, out->dims);
    free(flat);
}

static void add_pad(const struct cnml_work *work, const struct cnml_array *in,
                    struct cnml_array *out)
{
    size_t from[CNML_DIMS];
    size_t to[CNML_DIMS];

    for (size_t i = 0; i < cnml_elements(out->dims); i++) {
        out->values[i] = work->param.value;
    }
    strides_of(in->dims, from);
    strides_of(out->dims, to);
    walk(in->values, from,
         out->values + (size_t)work->param.top * to[CNML_H] + (size_t)work->param.left * to[CNML_W],
         to, in->dims);
}

int cnml_reference_move(const struct cnml_work *work, const struct cnml_array *in, int in_count,
                        struct cnml_array *out, int out_count)
{
    size_t from[CNML_DIMS];
    size_t to[CNML_DIMS];
    size_t turned[CNML_DIMS];
    int axes[CNML_DIMS];
    size_t done = 0;
    int axis = cnml_list_axis(work->param.mode);

    switch (work->id) {
    case CNML_OP_RESHAPE:
        reshape(work, in, out);
        break;
    case CNML_OP_ADD_PAD:
        add_pad(work, in, out);
        break;
    case CNML_OP_TRANSPOSE:
        cnml_transpose_axes(in->dims, out->dims, axes);
        strides_of(in->dims, from);
        strides_of(out->dims, to);
        for (int i = 0; i < CNML_DIMS; i++) {
            turned[i] = from[axes[i]];
        }
        walk(in->values, turned, out->values, to, out->dims);
        break;
    case CNML_OP_CONCAT:
        strides_of(out->dims, to);
        for (int i = 0; i < in_count; i++) {
            strides_of(in[i].dims, from);
            walk(in[i].values, from, out->values + done * to[axis], to, in[i].dims);
            done += (size_t)in[i].dims[axis];
        }
        break;
    case CNML_OP_SPLIT:
        strides_of(in->dims, from);
        for (int i = 0; i < out_count; i++) {
            strides_of(out[i].dims, to);
            walk(in->values + done * from[axis], from, out[i].values, to, out[i].dims);
            done += (size_t)out[i].dims[axis];
        }
        break;
    default:
        memcpy(out->values, in->values, cnml_elements(in->dims) * sizeof *out->values);
    }
    return CNML_STATUS_SUCCESS;
}
