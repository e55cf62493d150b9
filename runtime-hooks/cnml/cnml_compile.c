/* SPDX-License-Identifier: MIT */
/*
 * cnml_compile - compiles operators to the program of a software core: places the values, compiles
 * one operator after the other, and writes the file in memory.
 *
 * A value between the operators of a fusion stays in the state buffer if it fits and all its users
 * process it in channel blocks. Otherwise it is stored in device memory.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/cnml/cnml_program.h"
#include "runtime-hooks/cnrt/cnrt_internal.h"

/* Columns of a card's tensor engine. */
enum { ARRAY_COLUMNS = 64 };

struct cnml_program {
    int references;
    struct ntk_cnrt_program *program;
    int input_count, output_count;
    uint8_t *file;
    size_t file_bytes;
    uint64_t *bytes;   /* sizes of the inputs, then of the outputs */
    int64_t constants; /* bytes of instructions and constants, shared by all users */
    int64_t tensors;   /* bytes of inputs, outputs, and intermediate values in device memory */
};

enum ntk_dtype cnml_device_dtype(int dtype)
{
    switch (dtype) {
    case CNML_DATA_FLOAT16:
        return NTK_DTYPE_FLOAT16;
    case CNML_DATA_FLOAT32:
        return NTK_DTYPE_FLOAT32;
    case CNML_DATA_FIX8:
    case CNML_INT8_OF_G1:
    case CNML_DATA_QUANT8:
        return NTK_DTYPE_INT8;
    case CNML_DATA_INT16:
        return NTK_DTYPE_INT16;
    case CNML_DATA_INT32:
        return NTK_DTYPE_INT32;
    case CNML_DATA_UINT8:
    case CNML_DATA_BINARY:
    case CNML_DATA_BOOL:
        return NTK_DTYPE_UINT8;
    case CNML_DATA_UINT16:
        return NTK_DTYPE_UINT16;
    case CNML_DATA_UINT32:
        return NTK_DTYPE_UINT32;
    default:
        return NTK_DTYPE_NONE;
    }
}

/* --- values ---------------------------------------------------------------------------------- */

struct compiler {
    struct cnml_writer w;
    struct cnmlBaseOp *const *ops;
    int op_count;
    const struct cnmlTensor **tensors; /* tensor of each value */
    bool *is_fixed;                    /* per value: must be in device memory */
    uint64_t tmp_bytes;
};

static int find(const struct compiler *c, const struct cnmlTensor *tensor)
{
    for (int i = 0; i < c->w.value_count; i++) {
        if (c->tensors[i] == tensor) {
            return i;
        }
    }
    return -1;
}

static int add(struct compiler *c, const struct cnmlTensor *tensor, int op)
{
    int index = find(c, tensor);
    struct cnml_value *value;

    if (index < 0) {
        index = c->w.value_count++;
        c->tensors[index] = tensor;
        value = &c->w.values[index];
        memcpy(value->dims, tensor->dims, sizeof value->dims);
        value->dtype = cnml_device_dtype(tensor->dtype);
        value->first_use = op;
        if (value->dtype == NTK_DTYPE_NONE) {
            c->w.status = CNML_STATUS_UNSUPPORT;
        }
    }
    c->w.values[index].last_use = op;
    return index;
}

static bool goes_by_blocks(enum cnml_op_id id)
{
    switch (id) {
    case CNML_OP_SOFTMAX:
    case CNML_OP_CONCAT:
    case CNML_OP_SPLIT:
    case CNML_OP_RESHAPE:
    case CNML_OP_TRANSPOSE:
    case CNML_OP_DEVICE_MEMCPY:
        return false;
    default:
        return true;
    }
}

static uint64_t resident_bytes(const struct cnml_value *value)
{
    uint64_t bytes = (uint64_t)cnml_channel_blocks(value->dims[CNML_C]) *
                     cnml_elements(value->dims) / (uint64_t)value->dims[CNML_C] *
                     ntk_dtype_bytes((unsigned)value->dtype);

    return (bytes + 63) & ~UINT64_C(63);
}

/* Places a value at the lowest address that no value with an overlapping lifetime uses. */
static void place(struct compiler *c, struct cnml_value *value)
{
    uint64_t bytes = resident_bytes(value);
    uint64_t at = c->w.resident_at;
    bool moved = true;

    while (moved) {
        moved = false;
        for (int i = 0; i < c->w.value_count; i++) {
            const struct cnml_value *other = &c->w.values[i];

            if (other != value && other->is_resident && other->first_use <= value->last_use &&
                other->last_use >= value->first_use && at < other->at + resident_bytes(other) &&
                at + bytes > other->at) {
                at = other->at + resident_bytes(other);
                moved = true;
            }
        }
    }
    if (at + bytes <= c->w.resident_end) {
        value->is_resident = true;
        value->at = at;
    }
}

/* Makes the writer of a reused place wait for the users of the place's previous value. */
static void inherit(struct compiler *c, struct cnml_value *value)
{
    for (int i = 0; i < c->w.value_count; i++) {
        const struct cnml_value *other = &c->w.values[i];

        if (other == value || !other->is_resident || other->last_use >= value->first_use ||
            value->at >= other->at + resident_bytes(other) ||
            value->at + resident_bytes(value) <= other->at) {
            continue;
        }
        for (int s = 0; s < CNML_SOURCES; s++) {
            ntk_neff_token last = other->zone.read[s] > other->zone.written[s]
                                      ? other->zone.read[s]
                                      : other->zone.written[s];

            if (value->zone.read[s] < last) {
                value->zone.read[s] = last;
            }
        }
    }
}

static void put_values(struct compiler *c)
{
    for (int i = 0; i < c->w.value_count; i++) {
        struct cnml_value *value = &c->w.values[i];
        char name[24];

        if (c->is_fixed[i]) {
            continue;
        }
        place(c, value);
        if (!value->is_resident) {
            uint64_t bytes = cnml_elements(value->dims) * ntk_dtype_bytes((unsigned)value->dtype);

            (void)snprintf(name, sizeof name, "between%d", i);
            value->var = ntk_neff_kernel_tmp(c->w.kernel, name, bytes);
            c->tmp_bytes += bytes;
        }
    }
}

/* Adds a constant input of an operator. */
static void put_constant(struct compiler *c, int index)
{
    struct cnml_value *value = &c->w.values[index];
    const struct cnmlTensor *tensor = c->tensors[index];
    struct cnmlCpuTensor form = { .dtype = tensor->dtype, .order = CNML_NHWC };
    void *bytes = malloc(cnml_tensor_bytes(tensor));

    memcpy(form.dims, tensor->dims, sizeof form.dims);
    if (!bytes || cnml_host_write(&form, bytes, cnml_tensor_quant(tensor, 0), tensor->values) !=
                      CNML_STATUS_SUCCESS) {
        c->w.status = CNML_STATUS_BADALLOC;
    } else {
        value->var = cnml_constant(&c->w, value->dtype, 1, cnml_elements(value->dims), bytes);
        c->is_fixed[index] = true;
    }
    free(bytes);
}

static void collect(struct compiler *c)
{
    for (int i = 0; i < c->op_count; i++) {
        const struct cnmlBaseOp *op = c->ops[i];

        for (int k = 0; k < op->input_count + op->output_count; k++) {
            const struct cnmlTensor *tensor =
                k < op->input_count ? op->inputs[k] : op->outputs[k - op->input_count];
            int known = find(c, tensor);
            int index = add(c, tensor, i);

            if (known < 0 && k < op->input_count && tensor->type != CNML_TENSOR) {
                put_constant(c, index);
            }
        }
    }
}

/* --- operators ------------------------------------------------------------------------------- */

/* Checks the types: only these operators handle small integers by their scale. */
static int check_dtypes(const struct cnmlBaseOp *op)
{
    bool is_product = op->work.id <= CNML_OP_MLP;
    bool is_move = !goes_by_blocks(op->work.id) && op->work.id != CNML_OP_SOFTMAX;

    for (int i = 0; i < op->input_count + op->output_count; i++) {
        const struct cnmlTensor *tensor =
            i < op->input_count ? op->inputs[i] : op->outputs[i - op->input_count];
        bool is_first = i == 0;

        if (cnml_dtype_is_quantised(tensor->dtype) && !is_move && op->work.id != CNML_OP_CAST &&
            op->work.id != CNML_OP_ADD_PAD && !(is_product && is_first)) {
            return CNML_STATUS_UNSUPPORT;
        }
        if (is_move && tensor->dtype != op->inputs[0]->dtype) {
            return CNML_STATUS_BADCAST;
        }
    }
    return CNML_STATUS_SUCCESS;
}

static void write_op(struct compiler *c, struct cnmlBaseOp *op)
{
    struct cnml_values values;

    c->w.status = check_dtypes(op);
    if (c->w.status != CNML_STATUS_SUCCESS) {
        return;
    }
    for (int i = 0; i < op->input_count; i++) {
        values.in[i] = &c->w.values[find(c, op->inputs[i])];
    }
    for (int i = 0; i < op->output_count; i++) {
        values.out[i] = &c->w.values[find(c, op->outputs[i])];
        if (values.out[i]->is_resident) {
            inherit(c, values.out[i]);
        }
    }
    ntk_neff_kernel_layer(c->w.kernel, cnml_op_rows[op->work.id].name);
    switch (op->work.id) {
    case CNML_OP_CONV:
    case CNML_OP_CONV_GROUP:
    case CNML_OP_CONV_DEPTHWISE:
    case CNML_OP_CONV_FIRST:
    case CNML_OP_DECONV:
    case CNML_OP_MLP:
        cnml_write_conv(&c->w, op, &values);
        break;
    case CNML_OP_POOL:
    case CNML_OP_L2_POOL:
    case CNML_OP_ADD_PAD:
        cnml_write_pool(&c->w, op, &values);
        break;
    case CNML_OP_SOFTMAX:
        cnml_write_softmax(&c->w, op, &values);
        break;
    default:
        if (goes_by_blocks(op->work.id)) {
            cnml_write_element(&c->w, op, &values);
        } else {
            cnml_write_move(&c->w, op, &values);
        }
    }
}

/* --- the file -------------------------------------------------------------------------------- */

static void stage_take(struct cnml_stage *stage, struct ntk_kit_space *space, uint64_t bytes)
{
    stage->at[0] = ntk_kit_take(space, bytes);
    stage->at[1] = ntk_kit_take(space, bytes);
}

static void begin(struct compiler *c, const char *name)
{
    struct ntk_kit_space space = { 0 };
    struct cnml_writer *w = &c->w;

    w->kernel = ntk_neff_build_kernel(w->build, name);
    stage_take(&w->in, &space, CNML_STAGE_IN_BYTES);
    stage_take(&w->out, &space, CNML_STAGE_OUT_BYTES);
    stage_take(&w->sum, &space, CNML_STAGE_SUM_BYTES);
    stage_take(&w->weight, &space, CNML_WEIGHT_BYTES / 2);
    w->columns_at = ntk_kit_take(&space, CNML_COLUMN_BYTES);
    w->resident_at = space.used;
    w->resident_end = NTK_KIT_SBUF_BYTES;
    w->array_columns = ARRAY_COLUMNS;
    w->queue[CNML_QUEUE_IN] =
        ntk_neff_kernel_queue(w->kernel, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    w->queue[CNML_QUEUE_CONST] =
        ntk_neff_kernel_queue(w->kernel, "qSPIOParam0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
    w->queue[CNML_QUEUE_OUT] =
        ntk_neff_kernel_queue(w->kernel, "qPoolIO0", NTK_ISA_ENGINE_POOL, NTK_NEFF_QUEUE_OUT, 16);
}

/* Adds inputs and outputs in the client's order. A tensor's variable has the device's order. */
static void put_io(struct compiler *c, struct cnmlTensor *const *tensors, int count, bool is_output)
{
    for (int i = 0; i < count; i++) {
        int index = find(c, tensors[i]);
        const int *d = tensors[i]->dims;
        uint64_t dims[CNML_DIMS] = { (uint64_t)d[CNML_N], (uint64_t)d[CNML_H], (uint64_t)d[CNML_W],
                                     (uint64_t)d[CNML_C] };
        enum ntk_dtype dtype = cnml_device_dtype(tensors[i]->dtype);
        char name[24];
        uint32_t var;

        (void)snprintf(name, sizeof name, is_output ? "output%d" : "input%d", i);
        var = is_output ? ntk_neff_kernel_output(c->w.kernel, name, dtype, CNML_DIMS, dims)
                        : ntk_neff_kernel_input(c->w.kernel, name, dtype, CNML_DIMS, dims);
        if (index >= 0) { /* an input without a reader is only queried */
            c->w.values[index].var = var;
            c->is_fixed[index] = true;
        }
    }
}

static int load(struct compiler *c, struct cnml_program *program, const char *name)
{
    struct ntk_cnrt_program_options options = { .name = name };
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t count = 0;
    int ret = ntk_neff_build_bytes(c->w.build, &bytes, &count, &err);

    if (ret < 0) {
        char line[sizeof err.text + 128];

        (void)snprintf(line, sizeof line, "%s: %s", name, err.text);
        ntk_cnrt_say("cnml", line);
        return ret == -ENOMEM ? CNML_STATUS_BADALLOC : CNML_STATUS_UNSUPPORT;
    }
    options.file = bytes;
    options.file_bytes = count;
    options.code_bytes = count;
    program->constants = (int64_t)count;
    program->tensors += (int64_t)c->tmp_bytes;
    ret = ntk_cnrt_program_create(&options, &program->program);
    program->file = bytes; /* kept for models */
    program->file_bytes = count;
    return cnml_status_of(ret);
}

/* Puts the inputs or outputs into device memory if the operator transfers data through it. */
static void fix_moves(struct compiler *c)
{
    for (int i = 0; i < c->op_count; i++) {
        const struct cnmlBaseOp *op = c->ops[i];

        for (int k = 0; !goes_by_blocks(op->work.id) && k < op->input_count + op->output_count;
             k++) {
            int index =
                find(c, k < op->input_count ? op->inputs[k] : op->outputs[k - op->input_count]);
            struct cnml_value *value = &c->w.values[index];

            if (!c->is_fixed[index]) {
                uint64_t bytes =
                    cnml_elements(value->dims) * ntk_dtype_bytes((unsigned)value->dtype);
                char name[24];

                (void)snprintf(name, sizeof name, "through%d", index);
                value->var = ntk_neff_kernel_tmp(c->w.kernel, name, bytes);
                c->tmp_bytes += bytes;
                c->is_fixed[index] = true;
            }
        }
    }
}

static int compile(struct compiler *c, struct cnml_program *program,
                   struct cnmlTensor *const *inputs, struct cnmlTensor *const *outputs,
                   const char *name)
{
    begin(c, name);
    collect(c);
    if (c->w.status != CNML_STATUS_SUCCESS) {
        return c->w.status;
    }
    put_io(c, inputs, program->input_count, false);
    put_io(c, outputs, program->output_count, true);
    fix_moves(c);
    put_values(c);
    for (int i = 0; i < c->op_count && c->w.status == CNML_STATUS_SUCCESS; i++) {
        write_op(c, c->ops[i]);
    }
    return c->w.status == CNML_STATUS_SUCCESS ? load(c, program, name) : c->w.status;
}

static void free_program(struct cnml_program *program)
{
    if (program) {
        ntk_cnrt_program_drop(program->program);
        free(program->file);
        free(program->bytes);
        free(program);
    }
}

static struct cnml_program *make_program(struct cnmlTensor *const *inputs, int input_count,
                                         struct cnmlTensor *const *outputs, int output_count)
{
    struct cnml_program *program = calloc(1, sizeof *program);

    if (!program) {
        return NULL;
    }
    program->references = 1;
    program->input_count = input_count;
    program->output_count = output_count;
    program->bytes = calloc((size_t)input_count + (size_t)output_count + 1, sizeof *program->bytes);
    for (int i = 0; program->bytes && i < input_count + output_count; i++) {
        program->bytes[i] =
            cnml_tensor_bytes(i < input_count ? inputs[i] : outputs[i - input_count]);
        program->tensors += (int64_t)program->bytes[i];
    }
    if (!program->bytes) {
        free_program(program);
        return NULL;
    }
    return program;
}

int cnml_program_create(struct cnmlBaseOp *const *ops, int op_count,
                        struct cnmlTensor *const *inputs, int input_count,
                        struct cnmlTensor *const *outputs, int output_count, const char *name,
                        struct cnml_program **out_program)
{
    struct ntk_neff_build_options options = { .name = name, .uncompressed = true };
    struct compiler c = { .ops = ops, .op_count = op_count };
    struct cnml_program *program = make_program(inputs, input_count, outputs, output_count);
    size_t most = 1;
    int status = CNML_STATUS_BADALLOC;

    if (!ntk_cnrt_is_open()) {
        free_program(program);
        return CNML_STATUS_NODEVICE;
    }
    for (int i = 0; i < op_count; i++) {
        most += (size_t)ops[i]->input_count + (size_t)ops[i]->output_count;
    }
    c.w.build = ntk_neff_build_create(&options);
    c.w.values = calloc(most, sizeof *c.w.values);
    c.tensors = calloc(most, sizeof *c.tensors);
    c.is_fixed = calloc(most, sizeof *c.is_fixed);
    if (program && c.w.build && c.w.values && c.tensors && c.is_fixed) {
        status = compile(&c, program, inputs, outputs, name);
    }
    ntk_neff_build_destroy(c.w.build);
    free(c.w.values);
    free(c.tensors);
    free(c.is_fixed);
    if (status == CNML_STATUS_SUCCESS) {
        *out_program = program;
    } else {
        free_program(program);
    }
    return status;
}

struct cnml_program *cnml_program_hold(struct cnml_program *program)
{
    __atomic_add_fetch(&program->references, 1, __ATOMIC_RELAXED);
    return program;
}

const void *cnml_program_file(const struct cnml_program *program, size_t *out_bytes)
{
    *out_bytes = program->file_bytes;
    return program->file;
}

void cnml_program_drop(struct cnml_program *program)
{
    if (program && __atomic_sub_fetch(&program->references, 1, __ATOMIC_ACQ_REL) == 0) {
        free_program(program);
    }
}

int cnml_program_memory(const struct cnml_program *program, int64_t *total, int64_t *share,
                        int64_t *priv)
{
    if (!total || !share || !priv) {
        return CNML_STATUS_INVALIDARG;
    }
    if (!program) {
        return CNML_STATUS_INVALIDPARAM;
    }
    *share = program->constants;
    *priv = program->tensors;
    *total = *share + *priv;
    return CNML_STATUS_SUCCESS;
}

/* --- forward --------------------------------------------------------------------------------- */

/* Runs a batch in parts: part i of each buffer is part i of the batch. */
static int push(struct cnml_program *program, void *const *in, void *const *out, int part,
                const struct cnml_how *how, void *queue)
{
    int count = program->input_count + program->output_count;
    void *params[2 * CNML_LIST_MAX];
    struct ntk_cnrt_task task = { .program = program->program,
                                  .params = params,
                                  .param_count = (uint32_t)count,
                                  .cluster_mask = how->clusters };

    for (int i = 0; i < count; i++) {
        char *address = i < program->input_count ? in[i] : out[i - program->input_count];

        params[i] = address + (size_t)part * program->bytes[i];
    }
    return cnml_status_of(ntk_cnrt_task_push(queue, &task));
}

int cnml_forward(struct cnml_program *program, void *const *in, int in_count, void *const *out,
                 int out_count, const struct cnml_how *how, void *queue)
{
    int status = CNML_STATUS_SUCCESS;

    for (int i = 0; i < in_count + out_count; i++) {
        const void *address = i < in_count ? in[i] : out[i - in_count];

        if (!address) {
            return CNML_STATUS_INVALIDPARAM;
        }
        /* Prepare all parts before the first one runs. */
        if (ntk_cnrt_memory_bytes(address) / program->bytes[i] < (uint64_t)how->data_parallelism) {
            return CNML_STATUS_INVALIDARG;
        }
    }
    for (int part = 0; part < how->data_parallelism && status == CNML_STATUS_SUCCESS; part++) {
        status = push(program, in, out, part, how, queue);
    }
    return status;
}
