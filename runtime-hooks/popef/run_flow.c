/* SPDX-License-Identifier: MIT */
/*
 * run_flow - runs the load programs once, the main programs for each iteration of each call, and
 * the save programs once. A program transfers the anchors that list it: inputs before it runs,
 * outputs after.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/popef/run.h"

struct flow {
    struct run_device *device;
    const struct run_programs *programs;
    const struct popef_metadata *metadata;
    struct ntk_vec sources; /* elements are struct run_source */
    struct ntk_vec outputs; /* elements are struct run_output */
    uint64_t iteration;
};

static bool lists_any(const struct popef_anchor *anchor, const struct popef_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        if (run_anchor_lists(anchor, programs->indices[i])) {
            return true;
        }
    }
    return false;
}

/* ---- checks before a run ---- */

static int flow_check(const struct flow *flow, struct ntk_err *err)
{
    const struct popef_program_flow *f = &flow->metadata->program_flow;
    const struct popef_programs *lists[] = { &f->load, &f->main, &f->save };

    for (size_t l = 0; l < 3; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            if (!run_programs_find(flow->programs, lists[l]->indices[i])) {
                return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                                   "program %u of the flow is missing from the executable",
                                   lists[l]->indices[i]);
            }
        }
    }
    return 0;
}

static const char *given_path(const struct run_options *options, const char *name)
{
    for (size_t i = 0; i < options->given_count; i++) {
        if (strcmp(options->given[i].name, name) == 0) {
            return options->given[i].path;
        }
    }
    return NULL;
}

static int given_check(const struct flow *flow, const struct run_options *options,
                       struct ntk_err *err)
{
    for (size_t i = 0; i < options->given_count; i++) {
        bool is_there = false;

        ntk_vec_each(struct run_source, source, &flow->sources) {
            is_there = is_there || strcmp(source->anchor->name, options->given[i].name) == 0;
        }
        if (!is_there) {
            return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                               "no program in the flow uses an input '%s'", options->given[i].name);
        }
    }
    return 0;
}

static int sources_open(struct flow *flow, const struct popef_reader *reader,
                        const struct run_options *options, struct ntk_err *err)
{
    const struct popef_program_flow *f = &flow->metadata->program_flow;
    const struct popef_model_anchor *found;

    for (size_t i = 0; (found = popef_model_anchor(flow->device->model, i)); i++) {
        const struct popef_anchor *anchor = found->anchor;
        bool is_streamed = lists_any(anchor, &f->main);

        if (anchor->type != POPEF_TENSOR_INPUT || anchor->handle[0] == '\0' ||
            !run_device_has(flow->device, anchor->handle) ||
            (!is_streamed && !lists_any(anchor, &f->load))) {
            continue;
        }
        struct run_source *source = ntk_vec_add(&flow->sources);
        if (!source) {
            return ntk_err_no_memory(err);
        }
        int ret = run_source_open(source, reader, found, flow->metadata,
                                  given_path(options, anchor->name), options->seed,
                                  options->has_seed, err);
        if (ret < 0) {
            return ret;
        }
        source->is_streamed = is_streamed;
    }
    return given_check(flow, options, err);
}

static bool is_name_taken(const struct flow *flow, const struct popef_anchor *anchor,
                          const char *folder)
{
    char *name = run_output_name(anchor, false);
    bool is_taken = false;

    ntk_vec_each(struct run_output, output, &flow->outputs) {
        is_taken = is_taken || (name && strcmp(output->path + strlen(folder) + 1, name) == 0);
    }
    free(name);
    return is_taken;
}

/* Returns the handle of an output: its own or, for a weight that no program writes, the handle of
 * the input with its name. */
static const char *read_handle(const struct flow *flow, const struct popef_anchor *anchor)
{
    const struct popef_model_anchor *other;

    if (run_device_has(flow->device, anchor->handle)) {
        return anchor->handle;
    }
    for (size_t i = 0; (other = popef_model_anchor(flow->device->model, i)); i++) {
        if (other->anchor->type == POPEF_TENSOR_INPUT &&
            strcmp(other->anchor->name, anchor->name) == 0 &&
            run_device_has(flow->device, other->anchor->handle)) {
            return other->anchor->handle;
        }
    }
    return NULL;
}

static int outputs_open(struct flow *flow, const char *folder, struct ntk_err *err)
{
    const struct popef_program_flow *f = &flow->metadata->program_flow;
    const struct popef_model_anchor *found;

    for (size_t i = 0; (found = popef_model_anchor(flow->device->model, i)); i++) {
        const struct popef_anchor *anchor = found->anchor;
        bool is_main = lists_any(anchor, &f->main);

        if (anchor->type != POPEF_TENSOR_OUTPUT ||
            !(is_main || lists_any(anchor, &f->load) || lists_any(anchor, &f->save))) {
            continue;
        }
        if (!read_handle(flow, anchor)) {
            return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                               "output '%s': no program has a tensor '%s'", anchor->name,
                               anchor->handle);
        }
        bool is_taken = is_name_taken(flow, anchor, folder);
        struct run_output *output = ntk_vec_add(&flow->outputs);
        if (!output) {
            return ntk_err_no_memory(err);
        }
        int ret = run_output_open(output, anchor, folder, is_main, is_taken, err);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}

/* Checks that every input of a program has an anchor with data, or is an output of another
 * program. */
static int inputs_check(const struct flow *flow, struct ntk_err *err)
{
    const struct run_replica *replica = &flow->device->replicas[0];

    ntk_vec_each(struct run_model, model, &replica->models) {
        for (size_t i = 0; i < model->io.infos->tensor_count; i++) {
            const nrt_tensor_info_t *info = &model->io.infos->tensor_array[i];
            bool is_fed = info->usage != NRT_TENSOR_USAGE_INPUT;

            ntk_vec_each(struct run_source, source, &flow->sources) {
                is_fed = is_fed || strcmp(source->anchor->handle, info->name) == 0;
            }
            ntk_vec_each(struct run_model, other, &replica->models) {
                for (size_t o = 0; o < other->io.infos->tensor_count && other != model; o++) {
                    const nrt_tensor_info_t *written = &other->io.infos->tensor_array[o];

                    is_fed = is_fed || (written->usage == NRT_TENSOR_USAGE_OUTPUT &&
                                        strcmp(written->name, info->name) == 0);
                }
            }
            if (!is_fed) {
                return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                                   "input %s of program %u has no source: neither load nor main "
                                   "moves an input anchor with this handle",
                                   info->name, model->program->index);
            }
        }
    }
    return 0;
}

/* Finds the number of iterations with data, which must be equal for all inputs. 0: no input is
 * streamed. */
static int iterations_find(const struct flow *flow, uint64_t *out, struct ntk_err *err)
{
    const struct run_source *first = NULL;

    *out = 0;
    ntk_vec_each(struct run_source, source, &flow->sources) {
        uint64_t items = run_source_items(source);

        if (!source->is_streamed || items == UINT64_MAX) {
            continue;
        }
        if (first && items != *out) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "'%s' has data for %" PRIu64
                               " iterations, but '%s' has data for %" PRIu64,
                               first->anchor->name, *out, source->anchor->name, items);
        }
        first = source;
        *out = items;
    }
    return 0;
}

/* ---- programs ---- */

static int inputs_move(struct flow *flow, uint32_t program, struct ntk_err *err)
{
    int ret = 0;

    ntk_vec_each(struct run_source, source, &flow->sources) {
        const struct popef_anchor *anchor = source->anchor;
        bool is_split = anchor->is_per_replica && flow->device->replica_count > 1;
        uint64_t share = source->item_bytes / (is_split ? flow->device->replica_count : 1);

        if (!run_anchor_lists(anchor, program)) {
            continue;
        }
        ret = run_source_take(source, err);
        for (uint32_t r = 0; r < flow->device->replica_count && ret == 0; r++) {
            ret = run_device_write(flow->device, r, anchor->handle,
                                   source->item + (is_split ? r * share : 0), share, err);
        }
        if (ret < 0) {
            break;
        }
    }
    return ret;
}

/* Moves outputs; data that is the same on all replicas is taken from the first. */
static int outputs_move(struct flow *flow, uint32_t program, struct ntk_err *err)
{
    int ret = 0;

    ntk_vec_each(struct run_output, output, &flow->outputs) {
        const struct popef_anchor *anchor = output->anchor;
        bool is_split = anchor->is_per_replica && flow->device->replica_count > 1;
        uint32_t count = is_split ? flow->device->replica_count : 1;
        uint64_t share = output->item_bytes / count;

        if (!run_anchor_lists(anchor, program)) {
            continue;
        }
        for (uint32_t r = 0; r < count && ret == 0; r++) {
            ret = run_device_read(flow->device, r, read_handle(flow, anchor),
                                  output->item + r * share, share, err);
        }
        if (ret == 0 && !output->is_counted && output->items > 0) {
            continue; /* if two programs save a weight, the first is used */
        }
        ret = ret == 0 ? run_output_add(output, err) : ret;
        if (ret < 0) {
            break;
        }
    }
    return ret;
}

static int program_run(struct flow *flow, uint32_t index, struct ntk_err *err)
{
    const struct run_program *program = run_programs_find(flow->programs, index);
    int ret = 0;

    if (program->kind != RUN_COPY_OUT) {
        ret = inputs_move(flow, index, err);
    }
    if (ret == 0 && program->kind == RUN_NEFF) {
        ret = run_device_execute(flow->device, index, flow->iteration, err);
    }
    if (ret == 0 && program->kind != RUN_COPY_IN) {
        ret = outputs_move(flow, index, err);
    }
    return ret;
}

static int programs_run(struct flow *flow, const struct popef_programs *programs,
                        struct ntk_err *err)
{
    int ret = 0;

    for (size_t i = 0; i < programs->count && ret == 0; i++) {
        ret = program_run(flow, programs->indices[i], err);
    }
    return ret;
}

static int calls_run(struct flow *flow, const struct run_options *options, uint64_t data,
                     struct run_result *result, struct ntk_err *err)
{
    uint64_t per_call = (uint64_t)flow->metadata->device_iterations;
    uint64_t calls = options->calls;
    int ret = 0;

    if (calls == 0) {
        calls = data == 0 ? 1 : data / per_call + (data % per_call != 0);
    }
    for (; result->calls < calls && ret == 0 && !*options->stop; result->calls++) {
        /* The last call ends when the data ends. */
        for (uint64_t i = 0;
             i < per_call && (data == 0 || flow->iteration < data) && ret == 0 && !*options->stop;
             i++) {
            ret = programs_run(flow, &flow->metadata->program_flow.main, err);
            flow->iteration++;
        }
        if (data > 0 && flow->iteration >= data) {
            result->calls++;
            break;
        }
    }
    result->iterations = flow->iteration;
    return ret;
}

int run_flow(struct run_device *device, const struct popef_reader *reader,
             const struct run_programs *programs, const struct run_options *options,
             struct run_result *out_result, struct ntk_err *err)
{
    struct flow flow = {
        .device = device,
        .programs = programs,
        .metadata = popef_model_metadata(device->model),
        .sources = NTK_VEC_INIT(struct run_source),
        .outputs = NTK_VEC_INIT(struct run_output),
    };
    struct run_result result = { 0 };
    uint64_t data = 0;
    int ret = flow_check(&flow, err);

    if (ret == 0) {
        ret = sources_open(&flow, reader, options, err);
    }
    if (ret == 0) {
        ret = inputs_check(&flow, err);
    }
    if (ret == 0) {
        ret = iterations_find(&flow, &data, err);
    }
    if (ret == 0) {
        ret = outputs_open(&flow, options->folder, err);
    }
    if (ret == 0) {
        ret = programs_run(&flow, &flow.metadata->program_flow.load, err);
    }
    if (ret == 0) {
        ret = calls_run(&flow, options, data, &result, err);
    }
    if (ret == 0) {
        ret = programs_run(&flow, &flow.metadata->program_flow.save, err);
    }
    ntk_vec_each(struct run_output, output, &flow.outputs) {
        ret = ret == 0 ? run_output_commit(output, err) : ret;
    }
    ntk_vec_each(struct run_source, source, &flow.sources) {
        run_source_close(source);
    }
    ntk_vec_fini(&flow.sources);
    result.outputs = flow.outputs;
    if (ret < 0) {
        run_result_fini(&result);
        return ret;
    }
    *out_result = result;
    return 0;
}

void run_result_fini(struct run_result *result)
{
    ntk_vec_each(struct run_output, output, &result->outputs) {
        run_output_close(output);
    }
    ntk_vec_fini(&result->outputs);
}
