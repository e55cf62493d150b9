/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_op_param.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "shared/base/str.h"

/* Sums and products of a few such numbers fit 64 bits. */
#define NUMBER_MAX (INT64_C(1) << 28)

#define BAD(...) ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define UNSUPPORTED(...) ntk_err_set(err, -ENOTSUP, NTK_ERR_NO_OFFSET, __VA_ARGS__)

static int bad_value(const struct mlu_node *node, const char *key, struct ntk_err *err)
{
    return BAD("node '%s': attribute '%s' has the invalid value '%s'", node->name, key,
               mlu_node_attr_get(node, key));
}

/* Parses tuples such as "(3, 3)", "[3,3]", "(3L,)", "3" and "()"; *count is the capacity on
 * entry. */
static bool parse_tuple(const char *text, int64_t *out, uint32_t *count)
{
    uint32_t room = *count;
    char closing = '\0';

    *count = 0;
    text += strspn(text, " ");
    if (*text == '(' || *text == '[') {
        closing = *text++ == '(' ? ')' : ']';
    }
    for (;;) {
        char number[24];
        size_t length;

        text += strspn(text, " ");
        if (*text == closing) {
            break;
        }
        length = strcspn(text, " ,)]L");
        if (length == 0 || length >= sizeof number || *count == room) {
            return false;
        }
        memcpy(number, text, length);
        number[length] = '\0';
        if (ntk_str_parse_i64(number, &out[*count]) < 0 || out[*count] > NUMBER_MAX ||
            out[*count] < -NUMBER_MAX) {
            return false;
        }
        ++*count;
        text += length;
        text += *text == 'L';
        text += strspn(text, " ");
        if (*text == ',') {
            text++;
        } else if (*text != closing) {
            return false;
        }
    }
    return closing == '\0' || text[1 + strspn(text + 1, " ")] == '\0';
}

/* Reads two numbers of at least `least`; "()" and a missing attribute leave the default. */
static int read_pair(const struct mlu_node *node, const char *key, int64_t least, uint64_t to[2],
                     struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);
    int64_t values[MLU_DIMS_MAX];
    uint32_t count = MLU_DIMS_MAX;

    if (!text) {
        return 0;
    }
    if (!parse_tuple(text, values, &count)) {
        return bad_value(node, key, err);
    }
    if (count == 0) {
        return 0;
    }
    if (count != 2) {
        return UNSUPPORTED(
            "node '%s': attribute '%s' is '%s'; only two-dimensional windows are supported",
            node->name, key, text);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (values[i] < least) {
            return bad_value(node, key, err);
        }
        to[i] = (uint64_t)values[i];
    }
    return 0;
}

static int read_count(const struct mlu_node *node, const char *key, uint64_t *to,
                      struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    if (!text) {
        return *to > 0
                   ? 0
                   : BAD("node '%s': %s requires attribute '%s'", node->name, node->op->name, key);
    }
    if (ntk_str_parse_u64(text, to) < 0 || *to == 0 || *to > (uint64_t)NUMBER_MAX) {
        return bad_value(node, key, err);
    }
    return 0;
}

static int read_bool(const struct mlu_node *node, const char *key, bool *to, struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    return text && ntk_str_parse_bool(text, to) < 0 ? bad_value(node, key, err) : 0;
}

static int read_double(const struct mlu_node *node, const char *key, double *to,
                       struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    return text && ntk_str_parse_double(text, to) < 0 ? bad_value(node, key, err) : 0;
}

static int read_axis(const struct mlu_node *node, const char *key, int64_t *to, struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    if (!text) {
        return 0;
    }
    if (ntk_str_parse_i64(text, to) < 0 || *to < -MLU_DIMS_MAX || *to >= MLU_DIMS_MAX) {
        return bad_value(node, key, err);
    }
    return 0;
}

static int read_list(const struct mlu_node *node, const char *key, struct mlu_op_param *p,
                     struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    p->shape_count = text ? MLU_DIMS_MAX * 2 : 0;
    return text && !parse_tuple(text, p->shape, &p->shape_count) ? bad_value(node, key, err) : 0;
}

/* Returns the index of the attribute's text in a NULL-terminated list of words; `def` if the
 * attribute is missing. */
static int read_word(const struct mlu_node *node, const char *key, const char *const *words,
                     int def, int *to, struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, key);

    *to = def;
    for (int i = 0; text && words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *to = i;
            return 0;
        }
    }
    return !text ? 0
                 : UNSUPPORTED("node '%s': attribute '%s' is '%s', which is not supported",
                               node->name, key, text);
}

/* Refuses attributes that change the result and are unsupported here. */
static int refuse_layout(const struct mlu_node *node, struct ntk_err *err)
{
    static const char *const layouts[] = { "NCHW", "None", NULL };
    int ignored;

    return read_word(node, "layout", layouts, 0, &ignored, err);
}

static int read_window(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    int ret = read_pair(node, "kernel", 1, p->kernel, err);

    ret = ret < 0 ? ret : read_pair(node, "stride", 1, p->stride, err);
    ret = ret < 0 ? ret : read_pair(node, "pad", 0, p->pad, err);
    ret = ret < 0 ? ret : read_pair(node, "dilate", 1, p->dilate, err);
    ret = ret < 0 ? ret : read_pair(node, "adj", 0, p->adj, err);
    return ret < 0 ? ret : refuse_layout(node, err);
}

static int read_bias(const struct mlu_node *node, bool no_bias, struct mlu_op_param *p,
                     struct ntk_err *err)
{
    int ret = read_bool(node, "no_bias", &no_bias, err);

    p->has_bias = !no_bias;
    if (ret == 0 && p->has_bias != (node->input_count == 3)) {
        return BAD("node '%s': no_bias is %s, but there are %u inputs", node->name,
                   no_bias ? "True" : "False", node->input_count);
    }
    return ret;
}

static int read_convolution(const struct mlu_node *node, struct mlu_op_param *p,
                            struct ntk_err *err)
{
    bool transposed = node->op->kind == MLU_OP_DECONVOLUTION;
    int ret = read_window(node, p, err);

    ret = ret < 0 ? ret : read_count(node, "num_filter", &p->num_filter, err);
    ret = ret < 0 ? ret : read_count(node, "num_group", &p->num_group, err);
    ret = ret < 0 ? ret : read_bias(node, transposed, p, err);
    if (ret == 0 && p->kernel[0] == 0) {
        return BAD("node '%s': %s requires attribute 'kernel'", node->name, node->op->name);
    }
    const char *target = mlu_node_attr_get(node, "target_shape");
    if (ret == 0 && target && strcmp(target, "()") != 0 && strcmp(target, "(0,0)") != 0 &&
        strcmp(target, "(0, 0)") != 0) {
        return UNSUPPORTED("node '%s': attribute target_shape is unsupported: use pad and adj",
                           node->name);
    }
    return ret;
}

static int read_pooling(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    static const char *const types[] = { "max", "avg", "sum", NULL };
    static const char *const conventions[] = { "valid", "full", NULL };
    int type = 0;
    int convention = 0;
    int ret = read_window(node, p, err);

    ret = ret < 0 ? ret : read_bool(node, "global_pool", &p->is_global, err);
    ret = ret < 0 ? ret : read_word(node, "pool_type", types, 0, &type, err);
    ret = ret < 0 ? ret : read_word(node, "pooling_convention", conventions, 0, &convention, err);
    ret = ret < 0 ? ret : read_bool(node, "count_include_pad", &p->counts_padding, err);
    p->pool = (enum mlu_pool)type;
    p->is_full = convention == 1;
    if (ret == 0 && !p->is_global && p->kernel[0] == 0) {
        return BAD("node '%s': %s requires attribute 'kernel'", node->name, node->op->name);
    }
    return ret;
}

static int read_activation(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    static const char *const types[] = { "", "relu", "sigmoid", "tanh", NULL };
    int type = node->op->variant;
    int ret = 0;

    if (node->op->variant == MLU_ACTIVE_BY_TYPE) {
        ret = read_word(node, "act_type", types, MLU_ACTIVE_BY_TYPE, &type, err);
        if (ret == 0 && type == MLU_ACTIVE_BY_TYPE) {
            return BAD("node '%s': Activation requires attribute 'act_type'", node->name);
        }
    }
    p->active = (enum mlu_active)type;
    return ret;
}

static int read_softmax(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    static const char *const modes[] = { "instance", "channel", NULL };
    bool multi_output = false;
    bool preserve_shape = false;
    int mode = 0;
    int ret = 0;

    p->axis = -1;
    if (node->op->variant == MLU_SOFTMAX_AXIS) {
        ret = read_axis(node, "axis", &p->axis, err);
        const char *temperature = mlu_node_attr_get(node, "temperature");
        if (ret == 0 && temperature && strcmp(temperature, "None") != 0) {
            ret = read_double(node, "temperature", &p->temperature, err);
        }
        return ret == 0 && p->temperature == 0 ? bad_value(node, "temperature", err) : ret;
    }
    if (node->op->variant == MLU_SOFTMAX_ACTIVATION) {
        ret = read_word(node, "mode", modes, 0, &mode, err);
    } else {
        ret = read_bool(node, "multi_output", &multi_output, err);
        ret = ret < 0 ? ret : read_bool(node, "preserve_shape", &preserve_shape, err);
    }
    if (mode == 1 || multi_output) {
        p->axis = 1;
    } else {
        p->is_flat_softmax = !preserve_shape;
    }
    return ret;
}

static int read_batch_norm(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    int ret = read_double(node, "eps", &p->eps, err);

    ret = ret < 0 ? ret : read_bool(node, "fix_gamma", &p->fix_gamma, err);
    return ret < 0 ? ret : read_axis(node, "axis", &p->axis, err);
}

static int read_cast(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    const char *text = mlu_node_attr_get(node, "dtype");

    if (!text) {
        return BAD("node '%s': %s requires attribute 'dtype'", node->name, node->op->name);
    }
    return mlu_dtype_parse(text, &p->dtype) ? 0 : bad_value(node, "dtype", err);
}

static int read_pad(const struct mlu_node *node, struct mlu_op_param *p, struct ntk_err *err)
{
    static const char *const modes[] = { "constant", "edge", "reflect", NULL };
    int mode = 0;
    int ret = read_word(node, "mode", modes, 0, &mode, err);

    p->pad_mode = (enum mlu_pad)mode;
    ret = ret < 0 ? ret : read_list(node, "pad_width", p, err);
    ret = ret < 0 ? ret : read_double(node, "constant_value", &p->scalar, err);
    for (uint32_t i = 0; ret == 0 && i < p->shape_count; i++) {
        ret = p->shape[i] < 0 ? bad_value(node, "pad_width", err) : 0;
    }
    return ret;
}

int mlu_op_param_read(const struct mlu_node *node, struct mlu_op_param *out_param,
                      struct ntk_err *err)
{
    struct mlu_op_param p = { .stride = { 1, 1 },
                              .dilate = { 1, 1 },
                              .num_group = 1,
                              .flatten = true,
                              .counts_padding = true,
                              .eps = 1e-3,
                              .fix_gamma = true,
                              .axis = 1,
                              .temperature = 1 };
    int ret = 0;

    switch (node->op->kind) {
    case MLU_OP_CONVOLUTION:
    case MLU_OP_DECONVOLUTION:
        ret = read_convolution(node, &p, err);
        break;
    case MLU_OP_FULLY_CONNECTED:
        ret = read_count(node, "num_hidden", &p.num_hidden, err);
        ret = ret < 0 ? ret : read_bool(node, "flatten", &p.flatten, err);
        ret = ret < 0 ? ret : read_bias(node, false, &p, err);
        break;
    case MLU_OP_ACTIVATION:
        ret = read_activation(node, &p, err);
        break;
    case MLU_OP_POOLING:
        ret = read_pooling(node, &p, err);
        break;
    case MLU_OP_BATCH_NORM:
        ret = read_batch_norm(node, &p, err);
        break;
    case MLU_OP_SOFTMAX:
        ret = read_softmax(node, &p, err);
        break;
    case MLU_OP_SCALAR:
        if (!mlu_node_attr_get(node, "scalar")) {
            return BAD("node '%s': %s requires attribute 'scalar'", node->name, node->op->name);
        }
        ret = read_double(node, "scalar", &p.scalar, err);
        p.binary = (enum mlu_binary)node->op->variant;
        break;
    case MLU_OP_BINARY:
        p.binary = (enum mlu_binary)node->op->variant;
        p.broadcasts = ntk_str_starts_with(node->op->name, "broadcast_");
        break;
    case MLU_OP_CONCAT:
        ret = read_axis(node, "dim", &p.axis, err);
        break;
    case MLU_OP_SPLIT:
        ret = read_axis(node, "axis", &p.axis, err);
        ret = ret < 0 ? ret : read_bool(node, "squeeze_axis", &p.squeezes, err);
        break;
    case MLU_OP_RESHAPE:
        ret = read_list(node, "shape", &p, err);
        ret = ret < 0 ? ret : read_bool(node, "reverse", &p.reverse, err);
        if (ret == 0 && p.shape_count == 0) { /* form before 0.9, where 0 meant the rest */
            ret = read_list(node, "target_shape", &p, err);
            for (uint32_t i = 1; i < p.shape_count; i++) {
                p.shape[i] = p.shape[i] == 0 ? -1 : p.shape[i];
            }
        }
        break;
    case MLU_OP_TRANSPOSE:
        ret = read_list(node, "axes", &p, err);
        break;
    case MLU_OP_CAST:
        ret = read_cast(node, &p, err);
        break;
    case MLU_OP_PAD:
        ret = read_pad(node, &p, err);
        break;
    default: /* kinds without relevant attributes */
        break;
    }
    if (ret == 0) {
        *out_param = p;
    }
    return ret;
}
