/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/cnrt/cnrt_program.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime-hooks/env/env_soft.h"

struct ntk_cnrt_program {
    _Atomic uint32_t references;
    struct ntk_core_kernel *kernel; /* for a function */
    char *file;                     /* for a file */
    size_t file_bytes;
    uint64_t code_bytes;
    const struct ntk_core_io *ios; /* inputs and outputs, borrowed from the first model */
    size_t io_count;
    pthread_mutex_t lock;           /* protects models */
    struct ntk_core_model **models; /* by core of the process; NULL: not loaded there */
    uint32_t model_count;
    bool is_closed; /* the library was closed; protected by list_lock */
    struct ntk_cnrt_program *previous, *next;
};

/* Protects the list of programs: they may outlive the open library, but not their data in the
 * core. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ntk_cnrt_program *list;

static int model_load(struct ntk_cnrt_program *program, uint32_t nc, struct ntk_err *err)
{
    struct ntk_core_load_options options = {
        .nc = nc,
        .tensors_on_stack = true,
        .share_weights = true,
    };
    int ret = ntk_env_soft_load_options_get(&options, err);

    return ret < 0 ? ret
                   : ntk_core_model_load(cnrt_front_core(), program->file, program->file_bytes,
                                         &options, &program->models[nc], err);
}

/* Copies the file and loads its first model, which defines inputs and outputs. */
static int file_load(struct ntk_cnrt_program *program,
                     const struct ntk_cnrt_program_options *options, struct ntk_err *err)
{
    uint32_t nc = cnrt_front_device(cnrt_front_current_device())->first_nc;

    program->model_count = ntk_core_count(cnrt_front_core());
    program->models = calloc(program->model_count, sizeof(struct ntk_core_model *));
    program->file = malloc(options->file_bytes > 0 ? options->file_bytes : 1);
    if (!program->models || !program->file) {
        return ntk_err_no_memory(err);
    }
    memcpy(program->file, options->file, options->file_bytes);
    program->file_bytes = options->file_bytes;
    int ret = model_load(program, nc, err);
    if (ret == 0) {
        program->ios = ntk_core_model_io_get(program->models[nc], &program->io_count);
    }
    return ret;
}

static int kernel_load(struct ntk_cnrt_program *program,
                       const struct ntk_cnrt_program_options *options, struct ntk_err *err)
{
    const struct ntk_core_kernel_options kernel = {
        .name = options->name,
        .nc = cnrt_front_device(cnrt_front_current_device())->first_nc,
        .code_bytes = options->code_bytes,
        .begin_ticks = options->begin_ticks,
    };

    return ntk_core_kernel_create(cnrt_front_core(), &kernel, &program->kernel, err);
}

/* Frees the program's data in the core. */
static void unload(struct ntk_cnrt_program *program)
{
    ntk_core_kernel_drop(program->kernel);
    program->kernel = NULL;
    for (uint32_t i = 0; i < program->model_count; i++) {
        ntk_core_model_unload(program->models[i]);
        program->models[i] = NULL;
    }
    program->ios = NULL;
    program->io_count = 0;
}

static void program_free(struct ntk_cnrt_program *program)
{
    pthread_mutex_destroy(&program->lock);
    free(program->models);
    free(program->file);
    free(program);
}

int cnrt_program_make(const struct ntk_cnrt_program_options *options,
                      struct ntk_cnrt_program **out_program)
{
    struct ntk_cnrt_program *program = calloc(1, sizeof *program);
    struct ntk_err err = { 0 };

    if (!program) {
        return CNRT_ERR_NOMEM;
    }
    atomic_init(&program->references, 1);
    pthread_mutex_init(&program->lock, NULL);
    program->code_bytes = options->code_bytes;
    int ret =
        options->file ? file_load(program, options, &err) : kernel_load(program, options, &err);
    if (ret < 0) {
        unload(program);
        program_free(program);
        return ret == -ENOMEM ? CNRT_ERR_NOMEM : cnrt_front_fail("a program", ret, &err);
    }
    pthread_mutex_lock(&list_lock);
    program->next = list;
    if (list) {
        list->previous = program;
    }
    list = program;
    pthread_mutex_unlock(&list_lock);
    *out_program = program;
    return CNRT_OK;
}

int ntk_cnrt_program_create(const struct ntk_cnrt_program_options *options,
                            struct ntk_cnrt_program **out_program)
{
    CNRT_INSIDE(cnrt_program_make(options, out_program));
}

bool cnrt_program_hold(struct ntk_cnrt_program *program)
{
    pthread_mutex_lock(&list_lock);
    bool is_open = !program->is_closed;
    if (is_open) {
        atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&list_lock);
    return is_open;
}

void cnrt_program_drop(struct ntk_cnrt_program *program)
{
    if (!program || atomic_fetch_sub_explicit(&program->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    pthread_mutex_lock(&list_lock);
    if (program->next) {
        program->next->previous = program->previous;
    }
    *(program->previous ? &program->previous->next : &list) = program->next;
    pthread_mutex_unlock(&list_lock);
    unload(program);
    program_free(program);
}

void ntk_cnrt_program_drop(struct ntk_cnrt_program *program)
{
    /* The library may be closed, but it cannot close while this runs. */
    int entered = cnrt_front_enter();

    cnrt_program_drop(program);
    if (entered == CNRT_OK) {
        (void)cnrt_front_leave(entered, CNRT_OK);
    }
}

const struct ntk_core_io *cnrt_program_io_get(const struct ntk_cnrt_program *program,
                                              size_t *out_count)
{
    *out_count = program->io_count;
    return program->ios;
}

struct ntk_core_kernel *cnrt_program_kernel_get(const struct ntk_cnrt_program *program)
{
    return program->kernel;
}

int cnrt_program_run(struct ntk_cnrt_program *program, uint32_t nc,
                     struct ntk_core_tensor *const *tensors, size_t tensor_count,
                     const struct ntk_core_queued *queued, enum ntk_core_outcome *out_outcome,
                     struct ntk_err *err)
{
    struct ntk_core_queued full = *queued;

    full.code_bytes = program->code_bytes;
    pthread_mutex_lock(&program->lock);
    int ret = program->models[nc] ? 0 : model_load(program, nc, err);
    struct ntk_core_model *model = program->models[nc];
    pthread_mutex_unlock(&program->lock);
    return ret < 0 ? ret
                   : ntk_core_execute_queued(model, tensors, tensor_count, &full, out_outcome, err);
}

void cnrt_programs_close_all(void)
{
    pthread_mutex_lock(&list_lock);
    for (struct ntk_cnrt_program *program = list; program; program = program->next) {
        unload(program);
        program->is_closed = true;
    }
    pthread_mutex_unlock(&list_lock);
}

/* Drops the programs' data in the core, which belongs to the parent. */
void cnrt_programs_forget(void)
{
    pthread_mutex_init(&list_lock, NULL);
    for (struct ntk_cnrt_program *program = list; program; program = program->next) {
        pthread_mutex_init(&program->lock, NULL);
        program->kernel = NULL;
        program->model_count = 0;
        program->ios = NULL;
        program->io_count = 0;
        program->is_closed = true;
    }
}
