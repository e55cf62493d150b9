/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/mlugraph/random_symbol.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/buf.h"
#include "shared/base/vec.h"
#include "tests/runtime-hooks/mlugraph/random_graph.h"

#define CHANNELS 4 /* of most values; the results of Concat have twice as many */
#define SIDE 3

struct value {
    uint32_t node;
    uint32_t output;
    uint32_t channels;
};

struct maker {
    uint64_t state;
    const char *everywhere;
    uint32_t home; /* most operators are on this device */
    struct ntk_buf text;
    struct ntk_vec values; /* struct value: values that operators may read */
    struct ntk_vec shapes; /* struct mlu_shape per node; no dimensions for an operator */
    uint32_t node_count;
};

static uint32_t add_variable(struct maker *m, uint32_t dim_count, const uint64_t *dims)
{
    struct mlu_shape *shape = ntk_vec_add(&m->shapes);

    shape->dim_count = dim_count;
    memcpy(shape->dims, dims, dim_count * sizeof dims[0]);
    ntk_buf_add_format(&m->text, "%s{\"op\":\"null\",\"name\":\"v%u\",\"inputs\":[]}",
                       m->node_count > 0 ? "," : "", m->node_count);
    return m->node_count++;
}

static uint32_t weight(struct maker *m, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    const uint64_t dims[4] = { a, b, c, d };

    return add_variable(m, b == 0 ? 1 : 4, dims);
}

static struct value data(struct maker *m)
{
    const uint64_t dims[4] = { 1, CHANNELS, SIDE, SIDE };
    struct value value = { add_variable(m, 4, dims), 0, CHANNELS };

    ntk_vec_push(&m->values, &value);
    return value;
}

/* A value with this number of channels, mostly one of the last few. */
static struct value pick(struct maker *m, uint32_t channels)
{
    struct value found = { 0 };
    bool any = false;

    for (size_t tries = 0; tries < 12 && !any; tries++) {
        size_t back = 1 + random_below(&m->state, tries < 6 ? 3 : (uint32_t)m->values.count);

        if (back <= m->values.count) {
            found = *(struct value *)ntk_vec_at(&m->values, m->values.count - back);
            any = found.channels == channels;
        }
    }
    return any ? found : (struct value){ 0, 0, CHANNELS };
}

static void add_operator(struct maker *m, const char *op, const char *attrs,
                         const struct value *inputs, uint32_t input_count, uint32_t outputs,
                         uint32_t channels)
{
    static const char *const devices[] = { "mlu0", "mlu1", "cpu" };
    const char *device =
        devices[random_below(&m->state, 5) > 0 ? m->home : random_below(&m->state, 3)];
    bool is_copy = random_below(&m->state, 12) == 0;

    ntk_vec_add(&m->shapes);
    if (is_copy && input_count == 1 && outputs == 1) {
        op = "_CrossDeviceCopy";
        attrs = "";
        channels = inputs[0].channels;
    }
    ntk_buf_add_format(&m->text,
                       ",{\"op\":\"%s\",\"name\":\"n%u\",\"attrs\":{\"ctx\":\"%s\"%s},\"inputs\":[",
                       op, m->node_count, m->everywhere ? m->everywhere : device, attrs);
    for (uint32_t i = 0; i < input_count; i++) {
        ntk_buf_add_format(&m->text, "%s[%u,%u]", i > 0 ? "," : "", inputs[i].node,
                           inputs[i].output);
    }
    ntk_buf_add_text(&m->text, "]}");
    for (uint32_t o = 0; o < outputs; o++) {
        struct value value = { m->node_count, o, channels };

        ntk_vec_push(&m->values, &value);
    }
    m->node_count++;
}

/* Every number is drawn for any device, so that a seed yields the same graph. */
static void add_some_operator(struct maker *m)
{
    static const char *const unary[] = { "relu", "sigmoid", "tanh", "Dropout", "_copy" };
    uint32_t kind = random_below(&m->state, 12);
    struct value a = pick(m, CHANNELS);
    struct value b = pick(m, CHANNELS);
    struct value wide = pick(m, 2 * CHANNELS);
    uint32_t which = random_below(&m->state, 5);

    if (random_below(&m->state, 10) == 0) {
        b = data(m);
    }
    struct value in[5] = { a, b };
    switch (kind) {
    case 0:
    case 1:
        in[1].node = weight(m, CHANNELS, CHANNELS, 3, 3);
        in[2].node = weight(m, CHANNELS, 0, 0, 0);
        in[1].output = in[2].output = 0;
        add_operator(m, "Convolution",
                     ",\"kernel\":\"(3, 3)\",\"pad\":\"(1, 1)\",\"num_filter\":\"4\"", in, 3, 1,
                     CHANNELS);
        break;
    case 2:
        for (uint32_t i = 1; i < 5; i++) {
            in[i] = (struct value){ weight(m, CHANNELS, 0, 0, 0), 0, 0 };
        }
        add_operator(m, "BatchNorm", ",\"fix_gamma\":\"False\",\"eps\":\"2\"", in, 5, 1, CHANNELS);
        break;
    case 3:
    case 4:
        add_operator(m, "elemwise_add", "", in, 2, 1, CHANNELS);
        break;
    case 5:
        add_operator(m, "elemwise_mul", "", in, 2, 1, CHANNELS);
        break;
    case 6:
        add_operator(m, "Concat", ",\"num_args\":\"2\",\"dim\":\"1\"", in, 2, 1, 2 * CHANNELS);
        break;
    case 7:
        if (wide.channels == 2 * CHANNELS) {
            add_operator(m, "SliceChannel", ",\"num_outputs\":\"2\"", &wide, 1, 2, CHANNELS);
            break;
        }
        add_operator(m, "softmax", ",\"axis\":\"1\"", in, 1, 1, CHANNELS);
        break;
    case 8:
        add_operator(m, "Pooling",
                     ",\"kernel\":\"(3, 3)\",\"pad\":\"(1, 1)\",\"pool_type\":\"avg\"", in, 1, 1,
                     CHANNELS);
        break;
    case 9:
        add_operator(m, "transpose", ",\"axes\":\"(0, 1, 3, 2)\"", in, 1, 1, CHANNELS);
        break;
    default:
        add_operator(m, unary[which], "", in, 1, 1, CHANNELS);
        break;
    }
}

static void make_values(struct random_symbol *random, struct maker *m)
{
    random->values = calloc(random->symbol.node_count, sizeof *random->values);
    random->args = calloc(random->symbol.node_count, sizeof *random->args);
    for (uint32_t n = 0; n < random->symbol.node_count; n++) {
        const struct mlu_shape *shape = ntk_vec_at(&m->shapes, n);

        if (shape->dim_count == 0) {
            continue;
        }
        if (mlu_array_init(&random->values[n], MLU_DTYPE_FLOAT32, shape, NULL) < 0) {
            abort();
        }
        for (size_t i = 0; i < random->values[n].count; i++) { /* above 0: some are variances */
            mlu_array_set(&random->values[n], i,
                          0.05 + (double)random_below(&m->state, 1000) / 1000);
        }
        random->args[n] = &random->values[n];
    }
}

void random_symbol_make(struct random_symbol *random, uint64_t seed, uint32_t operator_count,
                        const char *everywhere)
{
    struct maker m = { .state = seed, .everywhere = everywhere };
    const struct mlu_symbol_options options = { 0, NULL };
    struct ntk_err err = { 0 };
    bool any = false;

    ntk_vec_init(&m.values, sizeof(struct value));
    ntk_vec_init(&m.shapes, sizeof(struct mlu_shape));
    m.home = random_below(&m.state, 4) == 0 ? 1 : 0;
    ntk_buf_add_text(&m.text, "{\"nodes\":[");
    data(&m);
    for (uint32_t i = 0; i < operator_count; i++) {
        add_some_operator(&m);
    }
    ntk_buf_add_text(&m.text, "],\"heads\":[");
    for (size_t i = 0; i < m.values.count; i++) {
        const struct value *value = ntk_vec_at(&m.values, i);

        if (i + 1 == m.values.count || random_below(&m.state, 8) == 0) {
            ntk_buf_add_format(&m.text, "%s[%u,%u]", any ? "," : "", value->node, value->output);
            any = true;
        }
    }
    ntk_buf_add_text(&m.text, "]}");
    memset(random, 0, sizeof *random);
    if (mlu_symbol_parse(m.text.bytes, m.text.bytes_count, &options, &random->symbol, &err) < 0) {
        abort();
    }
    make_values(random, &m);
    ntk_buf_fini(&m.text);
    ntk_vec_fini(&m.values);
    ntk_vec_fini(&m.shapes);
}

void random_symbol_fini(struct random_symbol *random)
{
    for (uint32_t n = 0; n < random->symbol.node_count; n++) {
        mlu_array_fini(&random->values[n]);
    }
    free(random->values);
    free(random->args);
    mlu_symbol_fini(&random->symbol);
}
