/* SPDX-License-Identifier: MIT */
/*
 * Captures: what the engines did in the first execution after a start, written as NTFF
 * (docs/decisions/0031: executions of a software core are alike, one says all).
 */
#include "runtime-hooks/core/core_model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/formats/ntff/ntff.h"

enum capture_state {
    CAPTURE_ARMED,     /* the next execution is recorded */
    CAPTURE_RECORDING, /* an execution is writing */
    CAPTURE_DONE,
};

struct core_capture {
    char *path;
    struct ntk_core_model *model; /* NULL once it is unloaded */
    struct ntk_hooks_model_ref hook;
    uint16_t physical_core;
    uint64_t session;
    uint64_t start_ticks;
    uint32_t name;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    enum capture_state state;       /* under lock */
    struct ntk_ntff_writer *writer; /* of the recording execution */
    uint64_t offset_ps;             /* of the running step on the capture's clock */
    uint32_t first_subgraph[64];    /* index in the file, by step */
    /* What the callbacks of one subgraph know. */
    size_t subgraph;
    struct ntk_engine_trace trace;
};

static _Atomic uint64_t next_session = 1;

/* --- while the engines run ----------------------------------------------------------------------- */

static void on_instruction(const struct ntk_engine_instruction_event *event, void *ctx)
{
    struct core_capture *capture = ctx;
    struct ntk_ntff_instruction instruction = {
        .engine = event->engine,
        .slot = event->slot,
        .wait_ps = event->wait_ps,
        .start_ps = capture->offset_ps + event->start_ps,
        .end_ps = capture->offset_ps + event->end_ps,
    };

    /* What cannot be kept is counted by the writer and told by its commit. */
    (void)ntk_ntff_writer_add_instruction(capture->writer, capture->subgraph, &instruction);
}

static void on_dma(const struct ntk_engine_dma_event *event, void *ctx)
{
    struct core_capture *capture = ctx;
    struct ntk_ntff_dma dma = {
        .dma_engine = event->dma_engine % NTK_NTFF_DMA_ENGINES,
        .queue = event->queue_set % NTK_NTFF_DMA_QUEUES,
        .bytes_count =
            event->write_bytes > event->read_bytes ? event->write_bytes : event->read_bytes,
        .start_ps = capture->offset_ps + event->start_ps,
        .end_ps = capture->offset_ps + event->end_ps,
    };

    (void)ntk_ntff_writer_add_dma(capture->writer, capture->subgraph, &dma);
}

static void on_semaphore(const struct ntk_engine_semaphore_event *event, void *ctx)
{
    struct core_capture *capture = ctx;
    struct ntk_ntff_event change = {
        .source = event->engine < NTK_NTFF_ENGINE_COUNT ? event->engine : NTK_NTFF_ENGINE_AXI,
        .is_semaphore = !event->is_event,
        .mode = !event->is_event ? NTK_NTFF_MODE_SEMAPHORE_INC
                : event->value   ? NTK_NTFF_MODE_EVENT_SET
                                 : NTK_NTFF_MODE_EVENT_CLEAR,
        .number = (uint8_t)event->number,
        .value = event->value,
        .time_ps = capture->offset_ps + event->time_ps,
    };

    (void)ntk_ntff_writer_add_event(capture->writer, capture->subgraph, &change);
}

struct core_capture *core_capture_take(struct ntk_core_model *model)
{
    struct core_capture *capture = NULL;

    /* One look while nothing is captured; the second, under the lock, keeps it from going away. */
    if (!atomic_load_explicit(&model->capture, memory_order_relaxed)) {
        return NULL;
    }
    pthread_mutex_lock(&model->core->lock);
    struct core_capture *candidate = atomic_load_explicit(&model->capture, memory_order_relaxed);
    if (candidate) {
        pthread_mutex_lock(&candidate->lock);
        if (candidate->state == CAPTURE_ARMED) {
            candidate->state = CAPTURE_RECORDING;
            capture = candidate;
        }
        pthread_mutex_unlock(&candidate->lock);
    }
    pthread_mutex_unlock(&model->core->lock);
    return capture;
}

const struct ntk_engine_trace *core_capture_trace(struct core_capture *capture, uint32_t step,
                                                  uint32_t subgraph)
{
    capture->subgraph = capture->first_subgraph[step % (sizeof capture->first_subgraph /
                                                        sizeof *capture->first_subgraph)] +
                        subgraph;
    capture->trace = (struct ntk_engine_trace){
        .instruction = on_instruction, .dma = on_dma, .semaphore = on_semaphore, .ctx = capture
    };
    return &capture->trace;
}

void core_capture_step_end(struct core_capture *capture, uint64_t device_ns)
{
    capture->offset_ps += device_ns * 1000;
}

void core_capture_give_back(struct core_capture *capture)
{
    if (capture) {
        pthread_mutex_lock(&capture->lock);
        capture->state = CAPTURE_DONE;
        pthread_cond_broadcast(&capture->idle);
        pthread_mutex_unlock(&capture->lock);
    }
}

/* --- start and stop ------------------------------------------------------------------------------- */

/* What lies in the memory of one physical core now; it is this process's alone. */
static void memory_fill(const struct ntk_core *core, uint32_t physical,
                        const struct core_subgraph *subgraph, uint64_t *memory_bytes)
{
    static const struct {
        enum ntk_memory_category category;
        enum ntk_ntff_memory_type type;
    } types[] = {
        { NTK_MEMORY_UNCATEGORIZED, NTK_NTFF_MEMORY_GENERIC },
        { NTK_MEMORY_RUNTIME, NTK_NTFF_MEMORY_GENERIC },
        { NTK_MEMORY_TENSORS, NTK_NTFF_MEMORY_TENSORS },
        { NTK_MEMORY_CONSTANTS, NTK_NTFF_MEMORY_WEIGHTS },
        { NTK_MEMORY_UCODE, NTK_NTFF_MEMORY_UCODE },
        { NTK_MEMORY_SHARED_SCRATCHPAD, NTK_NTFF_MEMORY_SHARED_SCRATCHPAD },
        { NTK_MEMORY_SCRATCHPAD, NTK_NTFF_MEMORY_SCRATCHPAD },
        { NTK_MEMORY_DMA_RINGS_IO, NTK_NTFF_MEMORY_DMA_RINGS_IO },
        { NTK_MEMORY_DMA_RINGS_SPILL, NTK_NTFF_MEMORY_DMA_RINGS_SPILL },
        { NTK_MEMORY_DMA_RINGS_RUNTIME, NTK_NTFF_MEMORY_DMA_RINGS_RUNTIME },
        { NTK_MEMORY_DMA_RINGS_COLLECTIVES, NTK_NTFF_MEMORY_DMA_RINGS_COLLECTIVES },
        { NTK_MEMORY_COLLECTIVES, NTK_NTFF_MEMORY_COLLECTIVES },
        { NTK_MEMORY_NOTIFICATIONS, NTK_NTFF_MEMORY_PROFILER_BUFFERS },
    };
    static const enum ntk_ntff_memory_type code_types[NTK_ISA_ENGINE_COUNT] = {
        NTK_NTFF_MEMORY_TENSOR_CODE, NTK_NTFF_MEMORY_SCALAR_CODE, NTK_NTFF_MEMORY_GPSIMD_CODE,
        NTK_NTFF_MEMORY_VECTOR_CODE, NTK_NTFF_MEMORY_SYNC_CODE,
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        memory_bytes[types[i].type] +=
            ntk_abi_load(&core->soft->state->core[physical].memory[types[i].category].total);
    }
    for (size_t e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        memory_bytes[code_types[e]] += subgraph->code_bytes[e];
    }
}

/* One entry per DMA engine and queue set; the queue of an engine is the number of its set. */
static int queues_make(const struct core_subgraph *subgraph, uint32_t dma_engine_count,
                       uint32_t stack, struct ntk_ntff_capture_subgraph *to)
{
    uint32_t sets = subgraph->queue_set_count;
    uint32_t engines =
        dma_engine_count < NTK_NTFF_DMA_ENGINES ? dma_engine_count : NTK_NTFF_DMA_ENGINES;

    sets = sets < NTK_NTFF_DMA_QUEUES ? sets : NTK_NTFF_DMA_QUEUES;
    struct ntk_ntff_capture_queue *queues = calloc((size_t)sets * engines + 1, sizeof *queues);
    if (!queues) {
        return -ENOMEM;
    }
    for (uint32_t s = 0; s < sets; s++) {
        bool is_io = subgraph->queue_sets[s].type == NTK_NEFF_QUEUE_IN ||
                     subgraph->queue_sets[s].type == NTK_NEFF_QUEUE_OUT;

        for (uint32_t e = 0; e < engines; e++) {
            queues[to->queue_count++] = (struct ntk_ntff_capture_queue){
                .name = subgraph->queue_sets[s].name,
                .dma_engine = e,
                .queue = s,
                .type = is_io ? NTK_NTFF_QUEUE_IO : NTK_NTFF_QUEUE_WEIGHTS,
                .dram_channel = stack,
            };
        }
    }
    to->queues = queues;
    return 0;
}

static int subgraph_describe(const struct ntk_core_model *model, const struct core_step *step,
                             uint32_t index, struct ntk_ntff_capture_subgraph *to)
{
    const struct ntk_core *core = model->core;
    const struct core_subgraph *subgraph = &step->subgraphs[index];
    const struct core_nc *nc = &core->ncs[step->nc];
    uint32_t physical = nc->first_physical + index;

    to->name = subgraph->name;
    to->core = physical % core->row->facts.cores_per_device;
    for (size_t e = 0; e < NTK_ISA_ENGINE_COUNT; e++) {
        to->engines[e] = (struct ntk_ntff_capture_code){
            .code = subgraph->code_bytes[e] > 0
                        ? (const uint8_t *)subgraph->code.address + subgraph->code_offset[e]
                        : NULL,
            .code_bytes = subgraph->code_bytes[e],
            .address = subgraph->code.hook.address + subgraph->code_offset[e],
        };
    }
    memory_fill(core, physical, subgraph, to->memory_bytes);
    return queues_make(subgraph,
                       ntk_engine_core_spec_get(core->row->facts.generation)->dma_engine_count,
                       nc->stack->index, to);
}

static int writer_make(struct core_capture *capture, struct ntk_err *err)
{
    const struct ntk_core_model *model = capture->model;
    const struct ntk_core_machine *machine = &model->core->row->facts;
    struct ntk_ntff_capture_subgraph *subgraphs =
        calloc((size_t)model->step_count * NTK_CORE_LNC_MAX + 1, sizeof *subgraphs);
    struct ntk_ntff_capture description = {
        .neff_name = model->name,
        .model_id = model->id,
        .runtime = { .present = true, .major = 2, .minor = 31, .patch = 24 },
        .driver = { .present = true, .major = 2, .minor = 30, .patch = 2 },
        .instance_type = machine->instance,
        .instance_id = "i-local",
        .process_id = (uint64_t)getpid(),
        .base_clock_mhz = ntk_engine_core_spec_get(machine->generation)->clock_mhz[NTK_ENGINE_SP],
        .subgraphs = subgraphs,
    };
    int ret = subgraphs ? 0 : -ENOMEM;

    memcpy(description.neff_uuid, model->uuid, sizeof description.neff_uuid);
    for (uint32_t s = 0; s < model->step_count && ret == 0; s++) {
        if (s < sizeof capture->first_subgraph / sizeof *capture->first_subgraph) {
            capture->first_subgraph[s] = (uint32_t)description.subgraph_count;
        }
        for (uint32_t i = 0; i < model->steps[s].subgraph_count && ret == 0; i++) {
            ret = subgraph_describe(model, &model->steps[s], i,
                                    &subgraphs[description.subgraph_count++]);
        }
    }
    ret = ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory")
                  : ntk_ntff_writer_create(capture->path, &description, &capture->writer, err);
    for (size_t i = 0; i < description.subgraph_count; i++) {
        free((void *)subgraphs[i].queues);
    }
    free(subgraphs);
    return ret;
}

static void capture_free(struct core_capture *capture)
{
    if (capture) {
        ntk_ntff_writer_destroy(capture->writer);
        pthread_cond_destroy(&capture->idle);
        pthread_mutex_destroy(&capture->lock);
        free(capture->path);
        free(capture);
    }
}

int ntk_core_profile_start(struct ntk_core_model *model, const char *path, struct ntk_err *err)
{
    struct ntk_core *core = model->core;
    struct core_capture *capture = calloc(1, sizeof *capture);
    int ret = 0;

    if (!capture || !(capture->path = strdup(path))) {
        free(capture);
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->idle, NULL);
    capture->model = model;
    capture->hook = model->hook;
    capture->physical_core = (uint16_t)core->ncs[model->nc].first_physical;
    capture->session = atomic_fetch_add(&next_session, 1);
    capture->name = ntk_hooks_name(path);

    pthread_mutex_lock(&core->lock);
    ntk_vec_each(struct core_capture *, other, &core->captures) {
        if ((*other)->model == model || strcmp((*other)->path, path) == 0) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "a capture of %s goes to %s already",
                              model->name, (*other)->path);
        }
    }
    if (ret == 0) {
        /* An old capture must not be taken for this one. */
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

        if (fd < 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot write %s: %s", path,
                              strerror(errno));
        } else {
            close(fd);
            ret = writer_make(capture, err);
        }
    }
    if (ret == 0 && ntk_vec_push(&core->captures, &capture) < 0) {
        ret = ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    pthread_mutex_unlock(&core->lock);
    if (ret < 0) {
        capture_free(capture);
        return ret;
    }
    capture->start_ticks = ntk_hooks_profile_start(capture->hook, capture->physical_core,
                                                   capture->session, capture->name);
    pthread_mutex_lock(&core->lock);
    atomic_store_explicit(&model->capture, capture, memory_order_relaxed);
    pthread_mutex_unlock(&core->lock);
    return 0;
}

int ntk_core_profile_stop(struct ntk_core *core, const char *path, struct ntk_err *err)
{
    struct core_capture *capture = NULL;
    struct stat status = { 0 };

    pthread_mutex_lock(&core->lock);
    for (size_t i = 0; i < core->captures.count && !capture; i++) {
        struct core_capture *candidate = *(struct core_capture **)ntk_vec_at(&core->captures, i);

        if (strcmp(candidate->path, path) == 0) {
            capture = candidate;
            ntk_vec_remove(&core->captures, i);
        }
    }
    if (capture && capture->model) {
        atomic_store_explicit(&capture->model->capture, NULL, memory_order_relaxed);
    }
    pthread_mutex_unlock(&core->lock);
    if (!capture) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "no capture goes to %s", path);
    }
    pthread_mutex_lock(&capture->lock);
    while (capture->state == CAPTURE_RECORDING) {
        pthread_cond_wait(&capture->idle, &capture->lock);
    }
    capture->state = CAPTURE_DONE;
    pthread_mutex_unlock(&capture->lock);
    if (capture->offset_ps > 0) {
        ntk_ntff_writer_set_execution(capture->writer, 0, capture->offset_ps);
    }
    int ret = ntk_ntff_writer_commit(capture->writer, err);
    (void)stat(path, &status);
    ntk_hooks_profile_stop(capture->hook, capture->physical_core, capture->session, capture->name,
                           capture->start_ticks, (uint64_t)status.st_size,
                           ntk_core_status(ret < 0 ? ret : 0));
    capture_free(capture);
    return ret;
}

void core_capture_finish(struct ntk_core_model *model)
{
    struct ntk_core *core = model->core;

    pthread_mutex_lock(&core->lock);
    ntk_vec_each(struct core_capture *, capture, &core->captures) {
        if ((*capture)->model == model) {
            (*capture)->model = NULL;
        }
    }
    pthread_mutex_unlock(&core->lock);
}

void core_captures_drop(struct ntk_core *core)
{
    ntk_vec_each(struct core_capture *, capture, &core->captures) {
        capture_free(*capture);
    }
    ntk_vec_clear(&core->captures);
}
