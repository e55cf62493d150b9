/* SPDX-License-Identifier: MIT */
/*
 * core_recorder - recorders: captures of everything that runs on a core. All models of a session
 * are in one capture, each as a separate graph; times are on the core's clock.
 */
#include "runtime-hooks/core/core_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A step of a model that is already in the capture. */
struct known_step {
    uint32_t model_id;
    uint32_t step;
    size_t first_subgraph;
};

struct ntk_core_recording {
    enum ntk_core_recorder_keeps keeps;
    uint64_t first_execution, execution_count;
    char *folder;
    struct ntk_ntff_bounds bounds;
    struct ntk_ntff_writer *writer; /* NULL until something has run */
    struct ntk_vec known;           /* elements are struct known_step */
    bool is_held;                   /* for KEEPS_FAILED: the content waits to be saved */
    bool has_warned;
    uint8_t uuid[16];               /* uuid of the last execution's program */
    uint64_t execution_id;          /* number of the last execution */
    uint64_t lowest_id, highest_id; /* numbers of the executions in the recording; 0: none */
    uint64_t begin_ns;              /* start on the core's clock */
    uint64_t duration_ns;
    /* per core: memory for the recording buffers that hardware would use */
    struct core_allocation buffers[NTK_CORE_LNC_MAX];
};

void ntk_core_recording_destroy(struct ntk_core_recording *recording)
{
    if (recording) {
        ntk_ntff_writer_destroy(recording->writer);
        ntk_vec_fini(&recording->known);
        free(recording->folder);
        free(recording);
    }
}

static void forget(struct ntk_core_recording *recorder)
{
    ntk_ntff_writer_destroy(recorder->writer);
    recorder->writer = NULL;
    ntk_vec_clear(&recorder->known);
}

/* --- while the engines run; the caller holds the execution lock ------------------------------- */

/* Begins another execution: clears the data of the last one. */
static void execution_begin(struct ntk_core_recording *recorder, const struct ntk_core_model *model,
                            uint32_t step_index, uint64_t device_clock_ns)
{
    const struct known_step *only =
        recorder->known.count == 1 ? ntk_vec_at(&recorder->known, 0) : NULL;

    if (only && only->model_id == model->id && only->step == step_index) {
        ntk_ntff_writer_reset(recorder->writer);
    } else {
        forget(recorder);
    }
    recorder->begin_ns = device_clock_ns;
    recorder->duration_ns = 0;
}

static int program_add(struct ntk_core_recording *recorder, const struct ntk_core_model *model,
                       uint32_t step_index, size_t *out_first, struct ntk_err *err)
{
    struct known_step known = { .model_id = model->id, .step = step_index };
    struct core_record_description description = { 0 };

    if (core_record_describe(model, step_index, 1, &description) < 0) {
        return ntk_err_no_memory(err);
    }
    description.capture.bounds = recorder->bounds;
    int ret = recorder->writer
                  ? ntk_ntff_writer_add_program(recorder->writer, &description.capture,
                                                &known.first_subgraph, err)
                  : ntk_ntff_writer_create_unnamed(recorder->folder, &description.capture,
                                                   &recorder->writer, err);
    core_record_description_fini(&description);
    if (ret == 0 && ntk_vec_push(&recorder->known, &known) < 0) {
        ret = ntk_err_no_memory(err);
    }
    *out_first = known.first_subgraph;
    return ret;
}

bool core_recorder_step_begin(struct ntk_core_recording *recorder,
                              const struct ntk_core_model *model, uint32_t step_index,
                              uint64_t execution_id, uint64_t device_clock_ns,
                              struct core_record_sink *out_first)
{
    struct ntk_err err = { 0 };
    char sentence[NTK_ERR_TEXT_BYTES + 64];
    size_t first = SIZE_MAX;

    if (recorder->is_held ||
        (recorder->execution_count > 0 &&
         execution_id - recorder->first_execution >= recorder->execution_count)) {
        return false;
    }
    if (recorder->execution_count > 0 && !recorder->writer) {
        recorder->begin_ns = device_clock_ns;
    }
    if (recorder->keeps != NTK_CORE_KEEPS_ALL && recorder->execution_id != execution_id) {
        execution_begin(recorder, model, step_index, device_clock_ns);
    }
    recorder->execution_id = execution_id;
    if (recorder->lowest_id == 0 || execution_id < recorder->lowest_id) {
        recorder->lowest_id = execution_id;
    }
    if (execution_id > recorder->highest_id) {
        recorder->highest_id = execution_id;
    }
    memcpy(recorder->uuid, model->uuid, sizeof recorder->uuid);
    ntk_vec_each(struct known_step, known, &recorder->known) {
        if (known->model_id == model->id && known->step == step_index) {
            first = known->first_subgraph;
        }
    }
    if (first == SIZE_MAX && program_add(recorder, model, step_index, &first, &err) < 0) {
        if (!recorder->has_warned && model->core->options.warn) {
            recorder->has_warned = true;
            (void)snprintf(sentence, sizeof sentence, "an execution was not recorded: %s",
                           err.text);
            model->core->options.warn(sentence);
        }
        return false;
    }
    *out_first = (struct core_record_sink){ .writer = recorder->writer,
                                            .subgraph = first,
                                            .offset_ps = device_clock_ns * 1000 };
    return true;
}

void core_recorder_step_end(struct ntk_core_recording *recorder, uint64_t device_end_ns,
                            bool has_failed)
{
    recorder->duration_ns = device_end_ns - recorder->begin_ns;
    recorder->is_held = has_failed && recorder->keeps == NTK_CORE_KEEPS_FAILED;
}

/* --- buffers ---------------------------------------------------------------------------------- */

static void buffers_release(struct ntk_core *core, struct ntk_core_recording *recorder)
{
    for (uint32_t i = 0; i < NTK_CORE_LNC_MAX; i++) {
        core_memory_release(core, &recorder->buffers[i]);
    }
}

/* Accounts the memory into which hardware would record. Here the records are stored elsewhere. */
static int buffers_take(struct ntk_core *core, uint32_t nc, struct ntk_core_recording *recorder,
                        struct ntk_err *err)
{
    const struct ntk_ntff_bounds *bounds = &recorder->bounds;
    int ret = 0;

    for (uint32_t i = 0; ret == 0 && i < core->lnc; i++) {
        struct core_memory_request request = {
            .physical_core = core->ncs[nc].first_physical + i,
            .category = NTK_MEMORY_NOTIFICATIONS,
            .bytes = bounds->instruction_bytes + bounds->event_bytes + bounds->dma_bytes +
                     bounds->throttle_bytes,
            .name = "profiler buffers",
        };

        if (request.bytes > 0) {
            ret = core_memory_take(core, &request, &recorder->buffers[i], err);
        }
    }
    if (ret < 0) {
        buffers_release(core, recorder);
    }
    return ret;
}

/* --- start, save, stop ------------------------------------------------------------------------ */

int ntk_core_recorder_start(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                            const struct ntk_core_recorder_options *options, struct ntk_err *err)
{
    if (nc >= core->core_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core %u", nc);
    }
    struct ntk_core_recording *recorder = calloc(1, sizeof *recorder);
    if (!recorder || !(recorder->folder = strdup(options->folder))) {
        free(recorder);
        return ntk_err_no_memory(err);
    }
    recorder->keeps = options->keeps;
    recorder->first_execution = options->first_execution;
    recorder->execution_count = options->execution_count;
    recorder->bounds =
        (struct ntk_ntff_bounds){ .instruction_bytes = options->bounds.instruction_bytes_max,
                                  .event_bytes = options->bounds.event_bytes_max,
                                  .dma_bytes = options->bounds.dma_bytes_max,
                                  .throttle_bytes = options->bounds.throttle_bytes_max };
    ntk_vec_init(&recorder->known, sizeof(struct known_step));
    /* A trigger comes while a job runs, so it takes no device memory from the job. */
    int ret = slot == NTK_CORE_RECORDER_TRIGGER ? 0 : buffers_take(core, nc, recorder, err);
    if (ret < 0) {
        ntk_core_recording_destroy(recorder);
        return ret;
    }

    struct core_nc *on = &core->ncs[nc];
    pthread_mutex_lock(&on->execution_lock);
    bool is_free = !on->recorders[slot];
    uint64_t last = on->last_execution;
    /* The recorder may have missed its first execution while it waited for the lock. */
    bool is_late = recorder->execution_count > 0 && last >= recorder->first_execution;
    if (is_free && !is_late) {
        recorder->begin_ns = on->device_clock_ns;
        on->recorders[slot] = recorder;
        on->recorder_count++;
    }
    pthread_mutex_unlock(&on->execution_lock);
    if (is_free && !is_late) {
        return 0;
    }
    buffers_release(core, recorder);
    ntk_core_recording_destroy(recorder);
    return is_free ? ntk_err_set(err, -EAGAIN, NTK_ERR_NO_OFFSET,
                                 "execution %llu has already started on core %u",
                                 (unsigned long long)last, nc)
                   : ntk_err_set(err, -EALREADY, NTK_ERR_NO_OFFSET,
                                 "core %u is already being recorded", nc);
}

int ntk_core_recorder_stop(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                           struct ntk_core_recording **out_recording, struct ntk_err *err)
{
    struct ntk_core_recording *recorder = NULL;

    if (nc < core->core_count) {
        struct core_nc *on = &core->ncs[nc];

        pthread_mutex_lock(&on->execution_lock);
        recorder = on->recorders[slot];
        on->recorders[slot] = NULL;
        on->recorder_count -= recorder ? 1 : 0;
        pthread_mutex_unlock(&on->execution_lock);
    }
    if (!recorder) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "core %u is not being recorded", nc);
    }
    buffers_release(core, recorder);
    if (out_recording) {
        *out_recording = recorder;
    } else {
        ntk_core_recording_destroy(recorder);
    }
    return 0;
}

void ntk_core_recording_range(const struct ntk_core_recording *recording, uint64_t *out_lowest,
                              uint64_t *out_highest)
{
    *out_lowest = recording->lowest_id;
    *out_highest = recording->highest_id;
}

int ntk_core_recording_save(struct ntk_core_recording *recording, const char *path,
                            struct ntk_err *err)
{
    if (!recording->writer) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "no execution was recorded for '%s'",
                           path);
    }
    /* Uses the core's clock, by which traces find the execution. */
    ntk_ntff_writer_set_execution(recording->writer, recording->begin_ns * 1000,
                                  (recording->begin_ns + recording->duration_ns) * 1000);
    return ntk_ntff_writer_save(recording->writer, path, err);
}

int ntk_core_recorder_save(struct ntk_core *core, uint32_t nc, enum ntk_core_recorder_slot slot,
                           const uint8_t *uuid, const char *path, struct ntk_err *err)
{
    int ret = 0;

    if (nc >= core->core_count) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unknown core %u", nc);
    }
    struct core_nc *on = &core->ncs[nc];
    pthread_mutex_lock(&on->execution_lock);
    struct ntk_core_recording *recorder = on->recorders[slot];
    if (!recorder) {
        ret = ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "core %u is not being recorded", nc);
    } else if ((recorder->keeps == NTK_CORE_KEEPS_FAILED && !recorder->is_held) ||
               (uuid && memcmp(recorder->uuid, uuid, sizeof recorder->uuid) != 0)) {
        ret = ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                          "no matching execution was kept for '%s'", path);
    } else {
        ret = ntk_core_recording_save(recorder, path, err);
        recorder->is_held = false;
    }
    pthread_mutex_unlock(&on->execution_lock);
    return ret;
}

void core_recorders_drop(struct ntk_core *core)
{
    for (uint32_t nc = 0; nc < core->core_count; nc++) {
        for (size_t slot = 0; slot < NTK_CORE_RECORDER_SLOTS; slot++) {
            if (core->ncs[nc].recorders[slot]) {
                buffers_release(core, core->ncs[nc].recorders[slot]);
            }
            ntk_core_recording_destroy(core->ncs[nc].recorders[slot]);
            core->ncs[nc].recorders[slot] = NULL;
        }
        core->ncs[nc].recorder_count = 0;
    }
}
