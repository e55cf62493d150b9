/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/mlugraph/mlu_symbol.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/fs.h"
#include "shared/base/str.h"

#define BAD(...) ntk_err_set(r->err, -EBADMSG, NTK_ERR_NO_OFFSET, __VA_ARGS__)
#define TOO_MANY(...) ntk_err_set(r->err, -EFBIG, NTK_ERR_NO_OFFSET, __VA_ARGS__)

struct reader {
    const struct mlu_symbol_options *options;
    struct mlu_symbol *symbol;
    uint32_t entry_count; /* number of inputs of all nodes so far */
    struct ntk_err *err;
};

const char *mlu_node_attr_get(const struct mlu_node *node, const char *key)
{
    /* if a key is repeated, the last value counts */
    for (uint32_t i = node->attr_count; i > 0; i--) {
        if (strcmp(node->attrs[i - 1].key, key) == 0) {
            return node->attrs[i - 1].value;
        }
    }
    return NULL;
}

bool mlu_device_parse(const char *text, int32_t *out_device)
{
    static const char *const kinds[] = { "mlu", "cpu_pinned", "cpu_shared", "cpu", "gpu" };
    uint64_t id = 0;

    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!ntk_str_starts_with(text, kinds[k])) {
            continue;
        }
        char digits[16];
        const char *rest = text + strlen(kinds[k]);
        size_t length = strlen(rest);

        if (length > 0) {
            if (*rest == '(' && rest[length - 1] == ')') {
                rest++;
                length -= 2;
            } else if (*rest == ':') {
                rest++;
                length--;
            }
            if (length == 0 || length >= sizeof digits ||
                strspn(rest, "0123456789") != (rest[length] ? length : strlen(rest))) {
                return false;
            }
            memcpy(digits, rest, length);
            digits[length] = '\0';
            if (ntk_str_parse_u64(digits, &id) < 0 || id > MLU_DEVICE_ID_MAX) {
                return false;
            }
        }
        *out_device = k == 0 ? (int32_t)id : MLU_DEVICE_CPU;
        return true;
    }
    return false;
}

const char *mlu_device_name(int32_t device, char to[MLU_DEVICE_NAME_BYTES])
{
    if (device < 0) {
        snprintf(to, MLU_DEVICE_NAME_BYTES, "cpu");
    } else {
        snprintf(to, MLU_DEVICE_NAME_BYTES, "mlu%d", device);
    }
    return to;
}

static void node_fini(struct mlu_node *node)
{
    if (node->unknown) {
        free((char *)node->unknown->name);
        free(node->unknown);
    }
    free(node->name);
    free(node->inputs);
    for (uint32_t i = 0; i < node->attr_count; i++) {
        free(node->attrs[i].key);
        free(node->attrs[i].value);
    }
    free(node->attrs);
}

void mlu_symbol_fini(struct mlu_symbol *symbol)
{
    for (uint32_t i = 0; i < symbol->node_count; i++) {
        node_fini(&symbol->nodes[i]);
    }
    free(symbol->nodes);
    free(symbol->heads);
    free(symbol->operators);
    *symbol = (struct mlu_symbol){ 0 };
}

/* Returns a number as text; files contain texts or numbers. */
static char *text_of(const json_t *value)
{
    char number[48];

    if (json_is_string(value)) {
        return strdup(json_string_value(value));
    }
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return strdup(number);
    }
    if (json_is_real(value)) {
        snprintf(number, sizeof number, "%.17g", json_real_value(value));
        return strdup(number);
    }
    return strdup(json_is_true(value) ? "True" : "False");
}

static int read_attrs(struct reader *r, uint32_t index, struct mlu_node *node, const json_t *json,
                      const char *key)
{
    json_t *object = json_object_get(json, key);
    const char *name;
    json_t *value;

    if (!object || json_is_null(object)) {
        return 0;
    }
    if (!json_is_object(object)) {
        return BAD("node %u '%s': its %s is not an object", index, node->name, key);
    }
    size_t more = json_object_size(object);
    if (more == 0) {
        return 0;
    }
    struct mlu_attr *grown = reallocarray(node->attrs, node->attr_count + more, sizeof *grown);
    if (!grown) {
        return ntk_err_no_memory(r->err);
    }
    node->attrs = grown;
    json_object_foreach(object, name, value)
    {
        if (json_is_object(value) || json_is_array(value) || json_is_null(value)) {
            return BAD("node %u '%s': attribute '%s' is not a string", index, node->name, name);
        }
        struct mlu_attr *attr = &node->attrs[node->attr_count++];
        attr->key = strdup(name);
        attr->value = text_of(value);
        if (!attr->key || !attr->value) {
            return ntk_err_no_memory(r->err);
        }
    }
    return 0;
}

/* Reads [node, output] or [node, output, version]. */
static int read_entry(const json_t *json, struct mlu_entry *entry)
{
    size_t count = json_is_array(json) ? json_array_size(json) : 0;

    if (count < 2 || count > 3) {
        return -EINVAL;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(json, i);

        if (!json_is_integer(number)) {
            return -EINVAL;
        }
        json_int_t value = json_integer_value(number);
        if (i < 2) { /* an out-of-range number becomes the largest, which is also invalid */
            uint32_t bounded = value < 0 || value >= UINT32_MAX ? UINT32_MAX : (uint32_t)value;
            *(i == 0 ? &entry->node : &entry->output) = bounded;
        }
    }
    return 0;
}

/* Returns true if a cycle through inputs contains node `from`; only for the error message. */
static bool is_in_cycle(uint32_t from, const json_t *nodes)
{
    size_t count = json_array_size(nodes);
    uint8_t *seen = calloc(count, 1);
    uint32_t *stack = calloc(count, sizeof *stack);
    uint32_t depth = 0;
    bool found = false;

    if (seen && stack) {
        stack[depth++] = from;
    }
    while (depth > 0 && !found) {
        json_t *inputs = json_object_get(json_array_get(nodes, stack[--depth]), "inputs");
        size_t i;
        json_t *input;

        json_array_foreach(inputs, i, input)
        {
            json_int_t next = json_integer_value(json_array_get(input, 0));

            if (next == (json_int_t)from) {
                found = true;
            } else if (next >= 0 && (size_t)next < count && !seen[next]) {
                seen[next] = 1;
                stack[depth++] = (uint32_t)next;
            }
        }
    }
    free(seen);
    free(stack);
    return found;
}

/* Returns true if the node has this output; an unknown operator has all outputs that are read. */
static bool has_output(struct mlu_node *node, uint32_t output)
{
    if (node->unknown && output >= node->output_count && output < MLU_SYMBOL_OUTPUTS_MAX) {
        node->output_count = output + 1;
    }
    return output < node->output_count;
}

static int read_inputs(struct reader *r, uint32_t index, struct mlu_node *node, const json_t *nodes,
                       const json_t *json)
{
    json_t *inputs = json_object_get(json, "inputs");
    size_t i;
    json_t *input;

    if (!inputs || json_is_null(inputs)) {
        return 0;
    }
    if (!json_is_array(inputs)) {
        return BAD("node %u '%s': its inputs are not an array", index, node->name);
    }
    size_t count = json_array_size(inputs);
    if (count > MLU_SYMBOL_ENTRIES_MAX - r->entry_count) {
        return TOO_MANY("node %u '%s': the file has more than %d inputs", index, node->name,
                        MLU_SYMBOL_ENTRIES_MAX);
    }
    if (count == 0) {
        return 0;
    }
    node->inputs = calloc(count, sizeof *node->inputs);
    if (!node->inputs) {
        return ntk_err_no_memory(r->err);
    }
    json_array_foreach(inputs, i, input)
    {
        struct mlu_entry *entry = &node->inputs[i];

        if (read_entry(input, entry) < 0) {
            return BAD("node %u '%s': input %zu is not [node, output]", index, node->name, i);
        }
        if (entry->node >= json_array_size(nodes)) {
            return BAD("node %u '%s': input %zu refers to a missing node; the file has only %zu",
                       index, node->name, i, json_array_size(nodes));
        }
        if (entry->node >= index) {
            return is_in_cycle(index, nodes)
                       ? BAD("node %u '%s': depends on itself; cycles are not allowed", index,
                             node->name)
                       : BAD("node %u '%s': input %zu comes from the later node %u; expected "
                             "topological order",
                             index, node->name, i, entry->node);
        }
        struct mlu_node *producer = &r->symbol->nodes[entry->node];
        if (!has_output(producer, entry->output)) {
            return BAD("node %u '%s': input %zu refers to a missing output of node %u '%s', "
                       "which has only %u",
                       index, node->name, i, entry->node, producer->name, producer->output_count);
        }
    }
    node->input_count = (uint32_t)count;
    r->entry_count += node->input_count;
    return 0;
}

static int find_device(struct reader *r, uint32_t index, struct mlu_node *node)
{
    static const char *const device_keys[] = { "ctx", "__ctx__" };
    static const char *const group_keys[] = { "ctx_group", "__ctx_group__" };

    node->device = r->options->device_default;
    for (size_t k = 0; k < 2; k++) {
        const char *text = mlu_node_attr_get(node, device_keys[k]);

        if (text && !mlu_device_parse(text, &node->device)) {
            return BAD("node %u '%s': unknown device '%s': expected a device such as mlu0 or cpu",
                       index, node->name, text);
        }
        if (text) {
            return 0;
        }
    }
    for (size_t k = 0; k < 2; k++) {
        const char *group = mlu_node_attr_get(node, group_keys[k]);

        if (group) {
            const char *mapped = r->options->groups ? ntk_map_get(r->options->groups, group) : NULL;

            mlu_device_parse(mapped ? mapped : group, &node->device);
            return 0;
        }
    }
    return 0;
}

/* Determines the number of outputs from the table or the attribute. */
static int count_outputs(struct reader *r, uint32_t index, struct mlu_node *node)
{
    if (node->op->output_count > 0) {
        node->output_count = node->op->output_count;
        return 0;
    }
    const char *text = mlu_node_attr_get(node, "num_outputs");
    uint64_t count = 0;

    if (!text) {
        return BAD("node %u '%s': %s requires attribute 'num_outputs'", index, node->name,
                   node->op->name);
    }
    if (ntk_str_parse_u64(text, &count) < 0 || count == 0 || count > MLU_SYMBOL_OUTPUTS_MAX) {
        return BAD("node %u '%s': num_outputs is %s: expected 1 to %d", index, node->name, text,
                   MLU_SYMBOL_OUTPUTS_MAX);
    }
    node->output_count = (uint32_t)count;
    return 0;
}

static int check_input_count(struct reader *r, uint32_t index, const struct mlu_node *node)
{
    const struct mlu_op *op = node->op;
    uint32_t most = mlu_op_input_count_max(op);
    const char *text = mlu_node_attr_get(node, "num_args");
    uint64_t num_args;

    if (node->input_count < op->input_count_min || node->input_count > most) {
        return BAD("node %u '%s': %s has %u inputs: expected %s%u", index, node->name, op->name,
                   node->input_count,
                   most == op->input_count_min               ? ""
                   : node->input_count < op->input_count_min ? "at least "
                                                             : "at most ",
                   node->input_count < op->input_count_min ? op->input_count_min : most);
    }
    if (most == UINT32_MAX && text &&
        (ntk_str_parse_u64(text, &num_args) < 0 || num_args != node->input_count)) {
        return BAD("node %u '%s': num_args is %s, but there are %u inputs", index, node->name, text,
                   node->input_count);
    }
    return 0;
}

static int take_unknown(struct reader *r, struct mlu_node *node, const char *op_name)
{
    node->unknown = calloc(1, sizeof *node->unknown);
    char *name = strdup(op_name);

    if (!node->unknown || !name) {
        free(name);
        return ntk_err_no_memory(r->err);
    }
    *node->unknown =
        (struct mlu_op){ .name = name, .kind = MLU_OP_KIND_COUNT, .roles = "+", .arguments = "" };
    node->op = node->unknown;
    node->output_count = 1;
    return 0;
}

static int read_node(struct reader *r, uint32_t index, const json_t *nodes, const json_t *json)
{
    static const char *const attr_keys[] = { "param", "attr", "attrs" };
    struct mlu_symbol *symbol = r->symbol;
    struct mlu_node *node = &symbol->nodes[index];

    if (!json_is_object(json)) {
        return BAD("node %u is not an object", index);
    }
    const char *op_name = json_string_value(json_object_get(json, "op"));
    const char *name = json_string_value(json_object_get(json, "name"));
    *node = (struct mlu_node){ .order = MLU_SYMBOL_NONE, .device = MLU_DEVICE_CPU };
    node->name = strdup(name ? name : "");
    symbol->node_count = index + 1;
    if (!node->name) {
        return ntk_err_no_memory(r->err);
    }
    if (!op_name) {
        return BAD("node %u '%s': no \"op\"", index, node->name);
    }
    for (size_t i = 0; i < sizeof attr_keys / sizeof attr_keys[0]; i++) {
        int ret = read_attrs(r, index, node, json, attr_keys[i]);
        if (ret < 0) {
            return ret;
        }
    }
    int ret = read_inputs(r, index, node, nodes, json);
    if (ret < 0) {
        return ret;
    }
    if (strcmp(op_name, "null") == 0) {
        node->output_count = 1;
        return node->input_count > 0
                   ? BAD("node %u '%s': a variable cannot have inputs", index, node->name)
                   : 0;
    }
    node->op = mlu_op_find(op_name);
    if (!node->op && !r->options->takes_unknown) {
        return ntk_err_set(r->err, -ENOTSUP, NTK_ERR_NO_OFFSET,
                           "node %u '%s': unknown operator '%s'", index, node->name, op_name);
    }
    ret = node->op ? 0 : take_unknown(r, node, op_name);
    if (ret < 0) {
        return ret;
    }
    if (symbol->operator_count == MLU_SYMBOL_OPERATORS_MAX) {
        return TOO_MANY("node %u '%s': more than %d operators", index, node->name,
                        MLU_SYMBOL_OPERATORS_MAX);
    }
    node->order = symbol->operator_count;
    symbol->operators[symbol->operator_count++] = index;
    if (node->unknown) {
        return 0;
    }
    ret = check_input_count(r, index, node);
    if (ret == 0) {
        ret = count_outputs(r, index, node);
    }
    return ret < 0 ? ret : find_device(r, index, node);
}

/* Adds variables NODE_ARGUMENT for states of operators, which files before 0.9 omit. */
static int add_states(struct reader *r)
{
    struct mlu_symbol *symbol = r->symbol;

    for (uint32_t o = 0; o < symbol->operator_count; o++) {
        struct mlu_node *node = &symbol->nodes[symbol->operators[o]];
        uint32_t most = mlu_op_input_count_max(node->op);

        if (most == UINT32_MAX || node->input_count == most ||
            mlu_op_role(node->op, most - 1) != MLU_ROLE_STATE) {
            continue;
        }
        struct mlu_entry *grown = reallocarray(node->inputs, most, sizeof *grown);
        if (!grown) {
            return ntk_err_no_memory(r->err);
        }
        node->inputs = grown;
        while (node->input_count < most) {
            struct mlu_node *state = &symbol->nodes[symbol->node_count];
            char argument[32];

            mlu_op_argument(node->op, node->input_count, argument, sizeof argument);
            *state = (struct mlu_node){ .order = MLU_SYMBOL_NONE,
                                        .device = MLU_DEVICE_CPU,
                                        .output_count = 1 };
            if (asprintf(&state->name, "%s_%s", node->name, argument) < 0) {
                state->name = NULL;
                return ntk_err_no_memory(r->err);
            }
            node->inputs[node->input_count++] = (struct mlu_entry){ symbol->node_count++, 0 };
        }
    }
    return 0;
}

static int read_nodes(struct reader *r, const json_t *root)
{
    const json_t *nodes = json_object_get(root, "nodes");
    struct mlu_symbol *symbol = r->symbol;
    size_t i;
    json_t *json;

    if (!json_is_array(nodes)) {
        return BAD("no array \"nodes\": expected the JSON of an MXNet symbol");
    }
    size_t count = json_array_size(nodes);
    if (count > MLU_SYMBOL_NODES_MAX) {
        return TOO_MANY("too many nodes: %zu (at most %d)", count, MLU_SYMBOL_NODES_MAX);
    }
    if (count == 0) {
        return BAD("no nodes");
    }
    symbol->node_capacity = (uint32_t)count * 3; /* two states per operator of an old file */
    symbol->nodes = calloc(symbol->node_capacity, sizeof *symbol->nodes);
    symbol->operators = calloc(count, sizeof *symbol->operators);
    if (!symbol->nodes || !symbol->operators) {
        return ntk_err_no_memory(r->err);
    }
    json_array_foreach(nodes, i, json)
    {
        int ret = read_node(r, (uint32_t)i, nodes, json);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static int read_arg_nodes(struct reader *r, const json_t *root)
{
    const json_t *args = json_object_get(root, "arg_nodes");
    size_t i;
    json_t *number;

    if (!args) {
        return 0;
    }
    if (!json_is_array(args)) {
        return BAD("arg_nodes is not an array");
    }
    json_array_foreach(args, i, number)
    {
        json_int_t index = json_is_integer(number) ? json_integer_value(number) : -1;

        if (index < 0 || index >= (json_int_t)r->symbol->node_count) {
            return BAD("arg_nodes %zu refers to a missing node; the file has only %u", i,
                       r->symbol->node_count);
        }
        if (r->symbol->nodes[index].op) {
            return BAD("arg_nodes %zu is node %d '%s', which is an operator", i, (int)index,
                       r->symbol->nodes[index].name);
        }
    }
    return 0;
}

static int read_heads(struct reader *r, const json_t *root)
{
    const json_t *heads = json_object_get(root, "heads");
    struct mlu_symbol *symbol = r->symbol;
    size_t i;
    json_t *json;

    if (!json_is_array(heads)) {
        return BAD("no array \"heads\": expected the JSON of an MXNet symbol");
    }
    size_t count = json_array_size(heads);
    if (count > MLU_SYMBOL_ENTRIES_MAX) {
        return TOO_MANY("too many heads: %zu (at most %d)", count, MLU_SYMBOL_ENTRIES_MAX);
    }
    symbol->heads = calloc(count + 1, sizeof *symbol->heads);
    if (!symbol->heads) {
        return ntk_err_no_memory(r->err);
    }
    json_array_foreach(heads, i, json)
    {
        struct mlu_entry *head = &symbol->heads[i];

        if (read_entry(json, head) < 0) {
            return BAD("head %zu is not [node, output]", i);
        }
        if (head->node >= symbol->node_count) {
            return BAD("head %zu refers to a missing node; the file has only %u", i,
                       symbol->node_count);
        }
        if (!has_output(&symbol->nodes[head->node], head->output)) {
            return BAD("head %zu refers to a missing output of node %u '%s', which has only %u", i,
                       head->node, symbol->nodes[head->node].name,
                       symbol->nodes[head->node].output_count);
        }
    }
    symbol->head_count = (uint32_t)count;
    return 0;
}

static int read_root(struct reader *r, const json_t *root)
{
    const json_t *version;

    if (!json_is_object(root)) {
        return BAD("not a JSON object");
    }
    int ret = read_nodes(r, root);
    if (ret == 0) {
        ret = read_arg_nodes(r, root);
    }
    if (ret == 0) {
        ret = read_heads(r, root);
    }
    if (ret == 0) {
        ret = add_states(r);
    }
    version = json_array_get(json_object_get(json_object_get(root, "attrs"), "mxnet_version"), 1);
    if (json_is_integer(version) && json_integer_value(version) > 0 &&
        json_integer_value(version) <= INT32_MAX) {
        r->symbol->mxnet_version = (int32_t)json_integer_value(version);
    }
    return ret;
}

int mlu_symbol_parse(const char *text, size_t text_bytes, const struct mlu_symbol_options *options,
                     struct mlu_symbol *out_symbol, struct ntk_err *err)
{
    struct mlu_symbol symbol = { 0 };
    struct reader reader = { .options = options, .symbol = &symbol, .err = err };
    json_error_t at;

    if (text_bytes == 0) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "the file is empty");
    }
    json_t *root = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES, &at);
    if (!root) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "line %d, column %d: %s", at.line,
                           at.column, at.text);
    }
    int ret = read_root(&reader, root);
    json_decref(root);
    if (ret < 0) {
        mlu_symbol_fini(&symbol);
        return ret;
    }
    *out_symbol = symbol;
    return 0;
}

int mlu_symbol_read(const char *path, const struct mlu_symbol_options *options,
                    struct mlu_symbol *out_symbol, struct ntk_err *err)
{
    uint8_t *text = NULL;
    size_t text_bytes;

    int ret = ntk_fs_read(path, MLU_SYMBOL_BYTES_MAX, &text, &text_bytes, err);
    if (ret < 0) {
        return ret;
    }
    ret = mlu_symbol_parse((const char *)text, text_bytes, options, out_symbol, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", path);
    }
    free(text);
    return ret;
}
