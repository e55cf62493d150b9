/* SPDX-License-Identifier: MIT */
/*
 * mlu_op_param - converts the attributes of an operator to numbers, with MXNet's defaults.
 *
 * Attributes are texts such as "(3, 3)", "True" and "1e-05". Attributes that do not apply to an
 * operator have their defaults. Only windows of two dimensions are supported.
 *
 * Owner: plain data. Threads: any.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_PARAM_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_OP_PARAM_H

#include "runtime-hooks/mlugraph/mlu_array.h"
#include "runtime-hooks/mlugraph/mlu_op_variant.h"
#include "runtime-hooks/mlugraph/mlu_symbol.h"

enum mlu_pool { MLU_POOL_MAX, MLU_POOL_AVG, MLU_POOL_SUM };
enum mlu_pad { MLU_PAD_CONSTANT, MLU_PAD_EDGE, MLU_PAD_REFLECT };

struct mlu_op_param {
    /* attributes of windows: height, then width */
    uint64_t kernel[2];
    uint64_t stride[2];
    uint64_t pad[2];
    uint64_t dilate[2];
    uint64_t adj[2];
    uint64_t num_filter;
    uint64_t num_group;
    bool has_bias;
    /* attributes of fully connected layers */
    uint64_t num_hidden;
    bool flatten;
    /* attributes of pooling */
    enum mlu_pool pool;
    bool is_global;
    bool is_full; /* a window may extend beyond the border */
    bool counts_padding;
    /* attributes of batch norm */
    double eps;
    bool fix_gamma; /* gamma is 1 regardless of the value */
    /* attributes of activation and arithmetic */
    enum mlu_active active;
    enum mlu_binary binary;
    double scalar;
    bool broadcasts;
    /* an axis from 0, or from -1 backwards */
    int64_t axis;
    bool squeezes; /* split: removes the axis if it is 1 */
    double temperature;
    bool is_flat_softmax; /* softmax over all dimensions except the first */
    /* attributes of reshape, transpose, pad and cast */
    int64_t shape[MLU_DIMS_MAX * 2];
    uint32_t shape_count;
    bool reverse;
    enum mlu_pad pad_mode;
    enum mlu_dtype dtype;
};

/* -EINVAL: an attribute is missing or invalid; -ENOTSUP: an attribute is unsupported. */
int mlu_op_param_read(const struct mlu_node *node, struct mlu_op_param *out_param,
                      struct ntk_err *err);

#endif
