/* SPDX-License-Identifier: MIT */
/*
 * cards - a scratch machine of cards, and tasks to put on it, for tests of libcnrt.
 *
 * Threads: one test at a time.
 */
#ifndef NTK_TESTS_RUNTIME_HOOKS_CNRT_CARDS_H
#define NTK_TESTS_RUNTIME_HOOKS_CNRT_CARDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "runtime-hooks/cnrt/cnrt_internal.h"

struct cards {
    char *folder; /* NEURON_HOOKS_DIR */
};

/* A private hooks folder with an mlu270x4, without opening the library. Returns 0. */
int cards_setup(void **state);
/* The same, with the library opened. */
int cards_setup_open(void **state);
int cards_teardown(void **state);

/* A task that runs until it is released, and may fail. */
struct cards_task {
    atomic_bool is_let_go, is_running, is_destroyed;
    int code; /* what it returns */
    void (*work)(void *ctx);
    void *ctx;
    struct ntk_cnrt_work facts;
};
/* Pushes it; asserts success. */
void cards_push(void *queue, struct ntk_cnrt_program *program, struct cards_task *task);
void cards_running_wait(const struct cards_task *task);
struct ntk_cnrt_program *cards_program(const char *name);

#endif
