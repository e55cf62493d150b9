/* SPDX-License-Identifier: MIT */
/* neuron-graph params: the arrays of a parameter file as a table or JSON, and its raw form. */
#include <stdio.h>

#include "runtime-hooks/mlugraph/mlu_params.h"
#include "runtime-hooks/mlugraph/neuron_graph.h"
#include "shared/base/json.h"

static bool as_json;
static const char *output;

static const struct ntk_opt options[] = {
    { 'j', "json", 0, NTK_OPT_FLAG, &as_json, "print a JSON array" },
    { 'o', "output", "FILE", NTK_OPT_TEXT, &output,
      "write the arrays in the raw format instead of printing them" },
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-graph params",
    .usage = "[OPTION]... FILE",
    .summary = "Shows the arrays in a parameter file, one per line: name, type, shape.",
    .options = options,
};

static void put_json(struct ntk_buf *text, const struct mlu_params *params)
{
    struct ntk_json json;

    ntk_json_init(&json, text, false);
    ntk_json_array_begin(&json);
    ntk_map_each(entry, &params->arrays) {
        const struct mlu_array *array = entry->value;

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "name", entry->key);
        ntk_json_key_text(&json, "dtype", mlu_dtype_name(array->dtype));
        ntk_json_key_array_begin(&json, "shape");
        for (uint32_t i = 0; i < array->shape.dim_count; i++) {
            ntk_json_u64(&json, array->shape.dims[i]);
        }
        ntk_json_array_end(&json);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_buf_add_char(text, '\n');
}

int neuron_graph_params(int argc, char **argv)
{
    char shape[MLU_SHAPE_TEXT_BYTES];
    struct mlu_params params;
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int code = 0;
    const char *path = neuron_graph_parse_file(&program, argc, argv, &code);

    if (!path) {
        return code;
    }
    if (mlu_params_read(path, &params, &err) < 0) {
        return neuron_graph_fail(&err);
    }
    if (output) {
        code = mlu_params_write(&params, output, &err) < 0 ? neuron_graph_fail(&err) : 0;
    } else {
        if (as_json) {
            put_json(&text, &params);
        } else {
            ntk_map_each(entry, &params.arrays) {
                const struct mlu_array *array = entry->value;

                ntk_buf_add_clean(&text, entry->key);
                ntk_buf_add_format(&text, " %s %s\n", mlu_dtype_name(array->dtype),
                                   mlu_shape_text(&array->shape, shape));
            }
        }
        code = neuron_graph_print(&text);
    }
    mlu_params_fini(&params);
    return code;
}
