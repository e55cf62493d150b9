/* SPDX-License-Identifier: MIT */
#include "tests/runtime-hooks/cnrt/cards.h"

#include <stdlib.h>
#include <time.h>

#include "tests/support/scratch.h"
#include "tests/support/unit.h"

int cards_setup(void **state)
{
    static const char *const unset[] = { "MLU_VISIBLE_DEVICES", "NEURON_SOFT_FAULT",
                                         "NEURON_SOFT_PACE",    "NEURON_SOFT_SYSFS",
                                         "NEURON_HOOKS",        "NEURON_PROCESS_TAG" };
    struct cards *cards = calloc(1, sizeof *cards);

    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        unsetenv(unset[i]);
    }
    test_scratch_in_memory();
    cards->folder = test_scratch_create();
    setenv("NEURON_HOOKS_DIR", cards->folder, 1);
    setenv("NEURON_SOFT_INSTANCE", "mlu270x4", 1);
    *state = cards;
    return 0;
}

int cards_setup_open(void **state)
{
    return cards_setup(state) == 0 && ntk_cnrt_open() == 0 ? 0 : -1;
}

int cards_teardown(void **state)
{
    struct cards *cards = *state;

    ntk_cnrt_close();
    test_scratch_destroy(cards->folder);
    free(cards);
    return 0;
}

static void nap(void)
{
    struct timespec time = { .tv_nsec = 200000 };

    (void)nanosleep(&time, NULL);
}

static int run(void *ctx, struct ntk_cnrt_work *out_work)
{
    struct cards_task *task = ctx;

    atomic_store(&task->is_running, true);
    while (!atomic_load(&task->is_let_go)) {
        nap();
    }
    if (task->work) {
        task->work(task->ctx);
    }
    *out_work = task->facts;
    return task->code;
}

static void destroy(void *ctx)
{
    struct cards_task *task = ctx;

    atomic_store(&task->is_destroyed, true);
}

void cards_push(void *queue, struct ntk_cnrt_program *program, struct cards_task *task)
{
    const struct ntk_cnrt_task pushed = {
        .program = program, .core_count = 1, .run = run, .destroy = destroy, .ctx = task
    };

    assert_int_equal(ntk_cnrt_task_push(queue, &pushed), 0);
}

void cards_running_wait(const struct cards_task *task)
{
    while (!atomic_load(&task->is_running)) {
        nap();
    }
}

struct ntk_cnrt_program *cards_program(const char *name)
{
    const struct ntk_cnrt_program_options options = { .name = name, .code_bytes = 4096 };
    struct ntk_cnrt_program *program = NULL;

    assert_int_equal(ntk_cnrt_program_create(&options, &program), 0);
    return program;
}
