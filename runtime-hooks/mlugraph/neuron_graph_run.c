/* SPDX-License-Identifier: MIT */
/* neuron-graph run: runs a network with its values, operator by operator or in segments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/mlugraph/mlu_fuse_graph_executor.h"
#include "runtime-hooks/mlugraph/mlu_params.h"
#include "runtime-hooks/mlugraph/neuron_graph.h"
#include "shared/base/fs.h"
#include "shared/base/json.h"
#include "shared/base/log.h"

static const char *arg_params;
static const char *arg_mode = "symbolic";
static const char *arg_mlu = "cnml";
static const char *arg_output;
static bool as_json;
static struct ntk_vec input_args = NTK_VEC_INIT(const char *);

static int take_input(const char *value, struct ntk_err *err)
{
    const char *path = strchr(value, '=');

    if (!path || path == value || path[1] == '\0') {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "expected NAME=FILE, such as data=x.npy");
    }
    return ntk_vec_push(&input_args, &value) < 0 ? ntk_err_no_memory(err) : 0;
}

static int (*const take_input_call)(const char *value, struct ntk_err *err) = take_input;

static const struct ntk_opt options[] = {
    { 'p', "params", "FILE", NTK_OPT_TEXT, &arg_params,
      "read the values of variables from a zip archive of .npy files or from raw parameters" },
    { 'i', "input", "NAME=FILE", NTK_OPT_CALL, (void *)&take_input_call,
      "read the value of a variable from a .npy file; may be repeated" },
    { 'm', "mode", "MODE", NTK_OPT_CHOICE, &arg_mode,
      "run operator by operator (imperative), or run each segment as one operator (symbolic, "
      "default)",
      "imperative symbolic" },
    { 0, "mlu", "WHAT", NTK_OPT_CHOICE, &arg_mlu,
      "use the MLUs of libcnml (cnml, default) or of this program (host)", "cnml host" },
    { 'o', "output", "FOLDER", NTK_OPT_TEXT, &arg_output,
      "write the outputs as NAME_output.npy to this folder, created if missing" },
    { 'j', "json", 0, NTK_OPT_FLAG, &as_json, "print a JSON array of the outputs" },
    NEURON_GRAPH_DEVICE_OPTIONS,
    NTK_OPT_COMMON,
    { 0 },
};

static const struct ntk_opt_program program = {
    .name = "neuron-graph run",
    .usage = "[OPTION]... FILE",
    .summary = "Runs the network of a symbol file and shows its outputs, one per line: name, type, "
               "shape, minimum, mean and maximum.",
    .options = options,
};

/* ---- values of variables ---- */

static bool is_variable(const struct mlu_symbol *symbol, const char *name)
{
    for (uint32_t n = 0; n < symbol->node_count; n++) {
        if (!symbol->nodes[n].op && strcmp(symbol->nodes[n].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Reads the arrays of --input, which override arrays of --params. */
static int read_inputs(const struct mlu_symbol *symbol, struct mlu_params *inputs,
                       struct ntk_err *err)
{
    ntk_vec_each(const char *, arg, &input_args) {
        const char *path = strchr(*arg, '=') + 1;
        char *name = strndup(*arg, (size_t)(path - 1 - *arg));
        struct mlu_array array;
        int ret;

        if (!name) {
            return ntk_err_no_memory(err);
        }
        ret = is_variable(symbol, name) ? mlu_array_read_npy(&array, path, err)
                                        : ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                                                      "--input %s: unknown variable", name);
        if (ret == 0) {
            ret = mlu_params_add(inputs, name, &array, err);
            if (ret < 0) {
                ntk_err_prefix(err, "--input");
            }
        }
        free(name);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* ---- outputs ---- */

/* Returns the name of a head as in MXNet's list_outputs(): "fc_output", "split_output1", or the
 * name of a variable. */
static void output_name(const struct mlu_symbol *symbol, uint32_t head, char *to, size_t to_bytes)
{
    const struct mlu_entry *entry = &symbol->heads[head];
    const struct mlu_node *node = &symbol->nodes[entry->node];

    if (!node->op) {
        snprintf(to, to_bytes, "%.200s", node->name);
    } else if (node->output_count == 1) {
        snprintf(to, to_bytes, "%.200s_output", node->name);
    } else {
        snprintf(to, to_bytes, "%.200s_output%u", node->name, entry->output);
    }
}

/* Returns a valid file name; a duplicate gets the number of the head. */
static void file_name(const char *name, uint32_t head, const struct ntk_map *taken, char *to,
                      size_t to_bytes)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    char clean[256];
    size_t i = 0;

    for (; name[i] && i + 1 < sizeof clean; i++) {
        clean[i] = strchr(plain, name[i]) && (i > 0 || name[i] != '.') ? name[i] : '_';
    }
    clean[i] = '\0';
    snprintf(to, to_bytes, "%s.npy", clean);
    if (ntk_map_get(taken, to)) {
        snprintf(to, to_bytes, "%s.%u.npy", clean, head);
    }
}

static void put_output(struct ntk_buf *text, struct ntk_json *json, const char *name,
                       const struct mlu_array *array, const char *path)
{
    char shape[MLU_SHAPE_TEXT_BYTES];
    double least = 0;
    double most = 0;
    double sum = 0;

    for (size_t i = 0; i < array->count; i++) {
        double value = mlu_array_get(array, i);

        least = i == 0 || value < least ? value : least;
        most = i == 0 || value > most ? value : most;
        sum += value;
    }
    double mean = array->count > 0 ? sum / (double)array->count : 0;
    if (!as_json) {
        ntk_buf_add_clean(text, name);
        ntk_buf_add_format(text, " %s %s %g %g %g\n", mlu_dtype_name(array->dtype),
                           mlu_shape_text(&array->shape, shape), least, mean, most);
        return;
    }
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "name", name);
    ntk_json_key_text(json, "dtype", mlu_dtype_name(array->dtype));
    ntk_json_key_array_begin(json, "shape");
    for (uint32_t i = 0; i < array->shape.dim_count; i++) {
        ntk_json_u64(json, array->shape.dims[i]);
    }
    ntk_json_array_end(json);
    ntk_json_key_double(json, "min", least);
    ntk_json_key_double(json, "mean", mean);
    ntk_json_key_double(json, "max", most);
    if (path[0]) {
        ntk_json_key_text(json, "file", path);
    }
    ntk_json_object_end(json);
}

static int give_outputs(struct graph_executor *graph, struct ntk_buf *text, struct ntk_err *err)
{
    struct ntk_map taken = { 0 };
    struct ntk_json json;
    int ret = arg_output ? ntk_fs_make_folders(arg_output, 0777, err) : 0;

    ntk_json_init(&json, text, false);
    if (as_json) {
        ntk_json_array_begin(&json);
    }
    for (uint32_t h = 0; ret == 0 && h < graph->symbol->head_count; h++) {
        const struct mlu_array *array = graph_executor_output(graph, h, err);
        char name[256];
        char file[300];
        char path[4096] = "";

        if (!array) {
            ret = -EINVAL;
            break;
        }
        output_name(graph->symbol, h, name, sizeof name);
        if (arg_output) {
            file_name(name, h, &taken, file, sizeof file);
            snprintf(path, sizeof path, "%s/%s", arg_output, file);
            ret = ntk_map_put(&taken, file, &taken) < 0 ? ntk_err_no_memory(err)
                                                        : mlu_array_write_npy(array, path, err);
        }
        put_output(text, &json, name, array, path);
    }
    if (as_json) {
        ntk_json_array_end(&json);
        ntk_buf_add_char(text, '\n');
    }
    ntk_map_fini(&taken);
    return ret;
}

/* ---- the run ---- */

static const struct mlu_device_ops *device(void)
{
    return strcmp(arg_mlu, mlu_device_host.name) == 0 ? &mlu_device_host : &mlu_device_cnml;
}

static void tell_what_is_on_cpu(const struct graph_executor *graph)
{
    for (uint32_t i = 0; i < graph->symbol->operator_count; i++) {
        if (graph->op_nodes[i].why_on_cpu) {
            ntk_log_warn("", "%s; the operator runs on the CPU", graph->op_nodes[i].why_on_cpu);
        }
    }
}

static int run_imperative(const struct mlu_symbol *symbol, const struct mlu_array *const *args,
                          struct ntk_buf *text, struct ntk_err *err)
{
    struct graph_executor graph = { 0 };
    int ret = graph_executor_bind(&graph, symbol, device(), args, err);

    if (ret == 0) {
        tell_what_is_on_cpu(&graph);
    }
    ret = ret < 0 ? ret : graph_executor_forward(&graph, err);
    ret = ret < 0 ? ret : give_outputs(&graph, text, err);
    graph_executor_fini(&graph);
    return ret;
}

static int run_symbolic(const struct mlu_symbol *symbol, const struct mlu_array *const *args,
                        struct ntk_buf *text, struct ntk_err *err)
{
    struct mlu_fuse_graph_executor executor = { 0 };
    int ret = mlu_fuse_bind(&executor, symbol, device(), args, err);

    if (ret == 0) {
        tell_what_is_on_cpu(&executor.graph);
    }
    ret = ret < 0 ? ret : mlu_run_ops(&executor, err);
    ret = ret < 0 ? ret : give_outputs(&executor.graph, text, err);
    mlu_fuse_graph_executor_fini(&executor);
    return ret;
}

static int run(const struct mlu_symbol *symbol, struct ntk_buf *text, struct ntk_err *err)
{
    const struct mlu_array **args = calloc((size_t)symbol->node_count + 1, sizeof *args);
    struct mlu_params params = { 0 };
    struct mlu_params inputs = { 0 };
    int ret = 0;

    if (!args) {
        return ntk_err_no_memory(err);
    }
    if (arg_params) {
        ret = mlu_params_read(arg_params, &params, err);
    }
    ret = ret < 0 ? ret : read_inputs(symbol, &inputs, err);
    for (uint32_t n = 0; ret == 0 && n < symbol->node_count; n++) {
        if (!symbol->nodes[n].op) {
            const struct mlu_array *input = mlu_params_get(&inputs, symbol->nodes[n].name);

            args[n] = input ? input : mlu_params_get(&params, symbol->nodes[n].name);
        }
    }
    if (ret == 0) {
        ret = strcmp(arg_mode, "imperative") == 0 ? run_imperative(symbol, args, text, err)
                                                  : run_symbolic(symbol, args, text, err);
    }
    mlu_params_fini(&inputs);
    mlu_params_fini(&params);
    free(args);
    return ret;
}

int neuron_graph_run(int argc, char **argv)
{
    struct mlu_symbol symbol = { 0 };
    struct ntk_buf text = { 0 };
    struct ntk_err err = { 0 };
    int code = 0;
    const char *path = neuron_graph_parse_file(&program, argc, argv, &code);

    if (path) {
        code = neuron_graph_read(path, false, &symbol);
    }
    if (path && code == 0) {
        if (symbol.head_count == 0) {
            ntk_err_set(&err, -EINVAL, NTK_ERR_NO_OFFSET, "%s: the network has no heads", path);
            code = neuron_graph_fail(&err);
        } else if (run(&symbol, &text, &err) < 0) {
            ntk_buf_fini(&text);
            code = neuron_graph_fail(&err);
        } else {
            code = neuron_graph_print(&text);
        }
    }
    mlu_symbol_fini(&symbol);
    ntk_vec_fini(&input_args);
    return code;
}
