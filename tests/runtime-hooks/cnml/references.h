/* SPDX-License-Identifier: MIT */
/*
 * references - simple implementations of operators for tests: arrays of
 * doubles in the order n, c, h, w.
 *
 * Owner: everything is the caller's. Threads: any.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CNML_REFERENCES_H
#define NTK_TESTS_RUNTIME_HOOKS_CNML_REFERENCES_H

#include <stdbool.h>
#include <stddef.h>

struct shape {
    int n, c, h, w;
};
size_t shape_elements(struct shape shape);

struct ref_conv {
    int stride_h, stride_w, dilation_h, dilation_w;
    int top, left;
    int group;
    int kernel_h, kernel_w;
};
void ref_conv(const struct ref_conv *conv, struct shape in_shape, const double *in,
              struct shape out_shape, double *out, const double *filter, const double *bias);
/* Every element of the input spreads the filter over the output. */
void ref_deconv(int stride_h, int stride_w, int kernel_h, int kernel_w, int top, int left,
                struct shape in_shape, const double *in, struct shape out_shape, double *out,
                const double *filter, const double *bias);

enum ref_pool_mode { REF_AVERAGE, REF_AVERAGE_INSIDE, REF_MAX, REF_MAX_PLACE, REF_SUM, REF_L2 };
struct ref_pool {
    enum ref_pool_mode mode;
    int window_h, window_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
};
void ref_pool(const struct ref_pool *pool, struct shape in_shape, const double *in,
              struct shape out_shape, double *out);
/* axis: 'n', 'c', 'h' or 'w'. */
void ref_softmax(char axis, struct shape shape, const double *in, double *out);

#endif
