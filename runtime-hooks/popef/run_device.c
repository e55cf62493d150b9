/* SPDX-License-Identifier: MIT */
/*
 * run_device - loads programs on the cores of each replica, and allocates memory by handle. Data
 * stays on the device: programs with the same handle share it, and a weight that is written by
 * another handle is swapped with the weight that was read.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"

/* ---- anchors ---- */

const struct popef_model_anchor *run_anchor_find(const struct popef_model *model,
                                                 const char *handle, enum popef_tensor_type type)
{
    const struct popef_model_anchor *anchor;

    for (size_t i = 0; (anchor = popef_model_anchor(model, i)); i++) {
        if (anchor->anchor->type == type && strcmp(anchor->anchor->handle, handle) == 0) {
            return anchor;
        }
    }
    return NULL;
}

bool run_anchor_lists(const struct popef_anchor *anchor, uint32_t program)
{
    for (size_t i = 0; i < anchor->programs.count; i++) {
        if (anchor->programs.indices[i] == program) {
            return true;
        }
    }
    return false;
}

uint64_t run_anchor_replica_bytes(const struct popef_anchor *anchor,
                                  const struct popef_metadata *metadata, uint64_t *out_one_bytes)
{
    struct popef_tensor_info one;
    int64_t all = popef_tensor_info_size_in_bytes(&anchor->tensor_info);
    bool is_split = anchor->is_per_replica && metadata->replication_factor > 1;

    *out_one_bytes = 0;
    if (popef_anchor_unextended(anchor, metadata->replication_factor, &one) < 0 || all < 0) {
        return 0;
    }
    *out_one_bytes = (uint64_t)popef_tensor_info_size_in_bytes(&one);
    return (uint64_t)all / (is_split ? (uint64_t)metadata->replication_factor : 1);
}

/* ---- buffers ---- */

/* Maximum number of tensors in a buffer of repeats. */
#define PARTS_MAX 65536

static void buffer_destroy(const struct ntk_nrt *nrt, struct run_buffer *buffer)
{
    for (uint32_t i = 0; buffer->parts && i < buffer->part_count; i++) {
        if (buffer->parts[i]) {
            nrt->nrt_tensor_free(&buffer->parts[i]);
        }
    }
    free(buffer->parts);
    free(buffer->handle);
    free(buffer);
}

/* Returns the number of tensors of the program's size per replica: one, or one per repeat. */
static int parts_of(const struct run_device *device, const nrt_tensor_info_t *info,
                    uint32_t *out_count, struct ntk_err *err)
{
    const struct popef_metadata *metadata = popef_model_metadata(device->model);
    enum popef_tensor_type type =
        info->usage == NRT_TENSOR_USAGE_INPUT ? POPEF_TENSOR_INPUT : POPEF_TENSOR_OUTPUT;
    const struct popef_model_anchor *found = run_anchor_find(device->model, info->name, type);
    uint64_t one = 0;

    *out_count = 1;
    if (!found) {
        return 0;
    }
    uint64_t all = run_anchor_replica_bytes(found->anchor, metadata, &one);
    if (info->size == all) {
        return 0;
    }
    if (one == 0 || info->size != one || all / one > PARTS_MAX) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "%s: the program's tensor '%s' has %zu bytes, but the anchor has %" PRIu64
            " per replica",
            found->anchor->name, info->name, info->size, all);
    }
    *out_count = (uint32_t)(all / one);
    return 0;
}

/* Returns the buffer of a handle, created if missing. */
static int buffer_get(struct run_device *device, struct run_replica *replica,
                      const nrt_tensor_info_t *info, struct run_buffer **out, struct ntk_err *err)
{
    struct run_buffer *buffer = ntk_map_get(&replica->buffers, info->name);
    uint32_t count = 1;
    int ret = parts_of(device, info, &count, err);

    if (ret < 0) {
        return ret;
    }
    if (buffer) {
        *out = buffer;
        if (buffer->part_bytes != info->size) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "two programs have tensors %s of different sizes: %zu and %zu bytes",
                               info->name, buffer->part_bytes, info->size);
        }
        return 0;
    }
    buffer = calloc(1, sizeof *buffer);
    if (!buffer) {
        return ntk_err_no_memory(err);
    }
    buffer->handle = strdup(info->name);
    buffer->part_bytes = info->size;
    buffer->part_count = count;
    buffer->parts = calloc(count, sizeof *buffer->parts);
    if (!buffer->handle || !buffer->parts ||
        ntk_map_put(&replica->buffers, info->name, buffer) < 0) {
        buffer_destroy(&device->nrt, buffer);
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < count; i++) {
        NRT_STATUS status =
            device->nrt.nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)replica->core,
                                            info->size, info->name, &buffer->parts[i]);
        if (status != NRT_SUCCESS) {
            return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot allocate %zu bytes for %s: %s",
                               info->size, info->name, ntk_nrt_status_name(&device->nrt, status));
        }
    }
    *out = buffer;
    return 0;
}

/* ---- models ---- */

static int bind(const struct run_device *device, const struct run_model *model, size_t index,
                uint64_t iteration, struct ntk_err *err)
{
    const nrt_tensor_info_t *info = &model->io.infos->tensor_array[index];
    const struct run_buffer *buffer = model->buffers[index];
    NRT_STATUS status = device->nrt.nrt_add_tensor_to_tensor_set(
        model->io.sets[info->usage == NRT_TENSOR_USAGE_OUTPUT], info->name,
        buffer->parts[iteration % buffer->part_count]);

    return status == NRT_SUCCESS
               ? 0
               : ntk_nrt_fail(&device->nrt, err, status, "nrt_add_tensor_to_tensor_set");
}

static int model_load(struct run_device *device, struct run_replica *replica,
                      struct run_model *model, struct ntk_err *err)
{
    const struct ntk_nrt *nrt = &device->nrt;
    const struct run_program *program = model->program;
    const char *call;
    NRT_STATUS status = nrt->nrt_load(program->neff, program->neff_bytes, (int32_t)replica->core,
                                      -1, &model->model);

    if (status != NRT_SUCCESS) {
        return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot load program %u on core %u: %s",
                           program->index, replica->core, ntk_nrt_status_name(nrt, status));
    }
    status = ntk_nrt_io_open(nrt, model->model, &model->io, &call);
    if (status != NRT_SUCCESS) {
        return ntk_nrt_fail(nrt, err, status, call);
    }
    model->buffers = calloc(model->io.infos->tensor_count + 1, sizeof(struct run_buffer *));
    if (!model->buffers) {
        return ntk_err_no_memory(err);
    }
    for (size_t i = 0; i < model->io.infos->tensor_count; i++) {
        int ret =
            buffer_get(device, replica, &model->io.infos->tensor_array[i], &model->buffers[i], err);

        if (ret == 0 && model->buffers[i]) {
            ret = bind(device, model, i, 0, err);
        }
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

static bool is_tensor_of(const struct run_replica *replica, const char *handle,
                         nrt_tensor_usage_t usage)
{
    ntk_vec_each(struct run_model, model, &replica->models) {
        for (size_t i = 0; model->io.infos && i < model->io.infos->tensor_count; i++) {
            if (model->io.infos->tensor_array[i].usage == usage &&
                strcmp(model->io.infos->tensor_array[i].name, handle) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Finds outputs that are the next value of an input: anchors with the same name and shape, but two
 * handles. */
static int pairs_find(const struct run_device *device, struct run_replica *replica,
                      struct ntk_err *err)
{
    const struct popef_model_anchor *in;
    const struct popef_model_anchor *out;

    for (size_t i = 0; (in = popef_model_anchor(device->model, i)); i++) {
        for (size_t o = 0; (out = popef_model_anchor(device->model, o)); o++) {
            const struct popef_anchor *read = in->anchor;
            const struct popef_anchor *written = out->anchor;
            struct run_pair pair = { ntk_map_get(&replica->buffers, read->handle),
                                     ntk_map_get(&replica->buffers, written->handle) };

            if (read->type != POPEF_TENSOR_INPUT || written->type != POPEF_TENSOR_OUTPUT ||
                strcmp(read->name, written->name) != 0 || !pair.in || !pair.out ||
                pair.in == pair.out || pair.in->is_paired || pair.out->is_paired ||
                pair.in->part_bytes != pair.out->part_bytes ||
                pair.in->part_count != pair.out->part_count ||
                !is_tensor_of(replica, read->handle, NRT_TENSOR_USAGE_INPUT) ||
                !is_tensor_of(replica, written->handle, NRT_TENSOR_USAGE_OUTPUT)) {
                continue;
            }
            pair.in->is_paired = true;
            pair.out->is_paired = true;
            if (ntk_vec_push(&replica->pairs, &pair) < 0) {
                return ntk_err_no_memory(err);
            }
        }
    }
    return 0;
}

int run_device_open(struct run_device *device, const struct run_programs *programs,
                    struct ntk_err *err)
{
    uint32_t cores = 1; /* cores per replica */
    int ret = 0;

    device->replicas = calloc(device->replica_count, sizeof *device->replicas);
    if (!device->replicas) {
        return ntk_err_no_memory(err);
    }
    ntk_vec_each(struct run_program, program, &programs->list) {
        cores = program->core_count > cores ? program->core_count : cores;
    }
    for (uint32_t r = 0; r < device->replica_count; r++) {
        ntk_vec_init(&device->replicas[r].models, sizeof(struct run_model));
        ntk_vec_init(&device->replicas[r].pairs, sizeof(struct run_pair));
        device->replicas[r].core = r * cores;
    }
    for (uint32_t r = 0; r < device->replica_count && ret == 0; r++) {
        struct run_replica *replica = &device->replicas[r];

        ntk_vec_each(struct run_program, program, &programs->list) {
            struct run_model *model =
                ret == 0 && program->kind == RUN_NEFF ? ntk_vec_add(&replica->models) : NULL;

            if (model) {
                model->program = program;
                ret = model_load(device, replica, model, err);
            } else if (ret == 0 && program->kind == RUN_NEFF) {
                ret = ntk_err_no_memory(err);
            }
        }
        ret = ret == 0 ? pairs_find(device, replica, err) : ret;
    }
    return ret;
}

void run_device_close(struct run_device *device)
{
    const struct ntk_nrt *nrt = &device->nrt;

    for (uint32_t r = 0; device->replicas && r < device->replica_count; r++) {
        struct run_replica *replica = &device->replicas[r];

        ntk_vec_each(struct run_model, model, &replica->models) {
            ntk_nrt_io_close(nrt, &model->io);
            free(model->buffers);
            if (model->model) {
                (void)nrt->nrt_unload(model->model);
            }
        }
        ntk_map_each(entry, &replica->buffers) {
            buffer_destroy(nrt, entry->value);
        }
        ntk_map_fini(&replica->buffers);
        ntk_vec_fini(&replica->models);
        ntk_vec_fini(&replica->pairs);
    }
    free(device->replicas);
    device->replicas = NULL;
    if (device->is_initialised) {
        nrt->nrt_close();
        device->is_initialised = false;
    }
}

/* ---- data ---- */

bool run_device_has(const struct run_device *device, const char *handle)
{
    return ntk_map_get(&device->replicas[0].buffers, handle) != NULL;
}

static struct run_buffer *buffer_of(const struct run_device *device, uint32_t replica,
                                    const char *handle, uint64_t bytes_count, struct ntk_err *err)
{
    struct run_buffer *buffer = ntk_map_get(&device->replicas[replica].buffers, handle);

    if (!buffer) {
        (void)ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "no program has a tensor '%s'", handle);
        return NULL;
    }
    if ((uint64_t)buffer->part_bytes * buffer->part_count != bytes_count) {
        (void)ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                          "%s: %" PRIu64 " bytes do not match the tensor of %zu bytes", handle,
                          bytes_count, buffer->part_bytes * buffer->part_count);
        return NULL;
    }
    return buffer;
}

int run_device_write(struct run_device *device, uint32_t replica, const char *handle,
                     const uint8_t *bytes, uint64_t bytes_count, struct ntk_err *err)
{
    struct run_buffer *buffer = buffer_of(device, replica, handle, bytes_count, err);

    for (uint32_t i = 0; buffer && i < buffer->part_count; i++) {
        NRT_STATUS status = device->nrt.nrt_tensor_write(
            buffer->parts[i], bytes + i * buffer->part_bytes, 0, buffer->part_bytes);

        if (status != NRT_SUCCESS) {
            return ntk_nrt_fail(&device->nrt, err, status, "nrt_tensor_write");
        }
    }
    return buffer ? 0 : -ENOENT;
}

int run_device_read(struct run_device *device, uint32_t replica, const char *handle, uint8_t *to,
                    uint64_t bytes_count, struct ntk_err *err)
{
    struct run_buffer *buffer = buffer_of(device, replica, handle, bytes_count, err);

    /* The next execution would read the value that was written last. */
    ntk_vec_each(struct run_pair, pair, &device->replicas[replica].pairs) {
        buffer = pair->out == buffer ? pair->in : buffer;
    }
    for (uint32_t i = 0; buffer && i < buffer->part_count; i++) {
        NRT_STATUS status = device->nrt.nrt_tensor_read(
            buffer->parts[i], to + i * buffer->part_bytes, 0, buffer->part_bytes);

        if (status != NRT_SUCCESS) {
            return ntk_nrt_fail(&device->nrt, err, status, "nrt_tensor_read");
        }
    }
    return buffer ? 0 : -ENOENT;
}

/* ---- execution ---- */

struct execution {
    const struct run_device *device;
    const struct run_model *model;
    pthread_t thread;
    NRT_STATUS status;
};

static void *execute(void *argument)
{
    struct execution *e = argument;

    e->status =
        e->device->nrt.nrt_execute(e->model->model, e->model->io.sets[0], e->model->io.sets[1]);
    return NULL;
}

static struct run_model *model_of(struct run_replica *replica, uint32_t program)
{
    ntk_vec_each(struct run_model, model, &replica->models) {
        if (model->program->index == program) {
            return model;
        }
    }
    return NULL;
}

/* Binds the tensors that change between executions. */
static int bind_changing(const struct run_device *device, const struct run_model *model,
                         uint64_t iteration, struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < model->io.infos->tensor_count && ret == 0; i++) {
        if (model->buffers[i]->is_paired || model->buffers[i]->part_count > 1) {
            ret = bind(device, model, i, iteration, err);
        }
    }
    return ret;
}

/* Swaps a pair, so that the written value is read next. */
static void pairs_turn(struct run_replica *replica, const struct run_model *model,
                       uint64_t iteration)
{
    ntk_vec_each(struct run_pair, pair, &replica->pairs) {
        for (size_t i = 0; i < model->io.infos->tensor_count; i++) {
            if (model->buffers[i] == pair->out &&
                model->io.infos->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT) {
                uint64_t part = iteration % pair->in->part_count;
                nrt_tensor_t *read = pair->in->parts[part];

                pair->in->parts[part] = pair->out->parts[part];
                pair->out->parts[part] = read;
            }
        }
    }
}

int run_device_execute(struct run_device *device, uint32_t program, uint64_t iteration,
                       struct ntk_err *err)
{
    const uint32_t count = device->replica_count;
    struct execution *executions = calloc(count, sizeof *executions);
    uint32_t started = 0;
    int ret = 0;

    if (!executions) {
        return ntk_err_no_memory(err);
    }
    assert(count > 0);

    for (uint32_t r = 0; r < count && ret == 0; r++) {
        const struct run_model *model = model_of(&device->replicas[r], program);

        assert(model); /* the caller has checked it together with the flow */
        executions[r].device = device;
        executions[r].model = model;
        ret = bind_changing(device, model, iteration, err);
    }
    /* The last replica runs in this thread. */
    for (; ret == 0 && started + 1 < count; started++) {
        ret = -pthread_create(&executions[started].thread, NULL, execute, &executions[started]);
        if (ret < 0) {
            ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s", strerror(-ret));
            break;
        }
    }
    if (ret == 0) {
        (void)execute(&executions[count - 1]);
    }
    for (uint32_t i = 0; i < started; i++) {
        (void)pthread_join(executions[i].thread, NULL);
    }
    for (uint32_t r = 0; r < count && ret == 0; r++) {
        NRT_STATUS status = executions[r].status;

        if (status != NRT_SUCCESS && status != NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
            ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET,
                              "program %u, iteration %" PRIu64 ", replica %u: %s", program,
                              iteration, r, ntk_nrt_status_name(&device->nrt, status));
        }
        device->executions++;
        device->numerical_errors += status == NRT_EXEC_COMPLETED_WITH_NUM_ERR;
        pairs_turn(&device->replicas[r], executions[r].model, iteration);
    }
    free(executions);
    return ret;
}
