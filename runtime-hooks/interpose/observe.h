/* SPDX-License-Identifier: MIT */
/*
 * observe - the start and end of every observed call, and common code of this folder.
 *
 * A call of the client is observed while the process is attached; calls of the runtime to itself,
 * through the same exported names, are passed on. Exceptions and thread cancellation may pass
 * through these functions: a cleanup undoes what is necessary.
 */
#ifndef NTK_RUNTIME_HOOKS_INTERPOSE_OBSERVE_H
#define NTK_RUNTIME_HOOKS_INTERPOSE_OBSERVE_H

#define NRT_CLOSE_RETURNS_STATUS 1

#include <stdbool.h>
#include <stdint.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_version.h"
#include "runtime-hooks/hooks/hooks.h"
#include "runtime-hooks/interpose/real.h"

#define OBSERVED(name) __typeof__(name) observed_##name;
#define OBSERVED_2(name)
#define OBSERVED_3(name)
#include "runtime-hooks/interpose/interpose.def"

/* First physical core of a model of the runtime, and its reference in the hooks. */
struct interpose_model {
    struct ntk_hooks_model_ref ref;
    uint16_t core;
    uint16_t core_count;
    uint32_t vnc; /* the first, in the process's numbering */
    uint32_t is_unloading;
};

/* One cache line per thread. */
struct interpose_thread {
    uint32_t depth;                  /* nesting of observed calls in the thread */
    struct interpose_model model;    /* its last lookup, */
    const nrt_model_t *model_handle; /* by this */
    uint64_t model_seq;              /* with this state of the table */
    uint64_t execution_id;           /* the latest, from the thread's block of numbers */
} __attribute__((aligned(64)));
extern __thread struct interpose_thread interpose_thread __attribute__((tls_model("initial-exec")));

/* Incremented at each attach; 0 while nothing is observed. Operations with another number have
 * ended. */
extern uint32_t interpose_generation;

struct interpose_scope {
    uint32_t generation; /* 0: pass the call on */
};

static inline struct interpose_scope interpose_enter(void)
{
    return (struct interpose_scope){
        .generation = interpose_thread.depth++ == 0
                          ? __atomic_load_n(&interpose_generation, __ATOMIC_ACQUIRE)
                          : 0,
    };
}

static inline void interpose_leave(const struct interpose_scope *scope)
{
    (void)scope;
    interpose_thread.depth--;
}

/* The first line of an observed call. */
#define INTERPOSE_SCOPE \
    struct interpose_scope scope __attribute__((cleanup(interpose_leave))) = interpose_enter()

/* Whether an operation that started in the scope may be reported. */
static inline bool interpose_is_on(const struct interpose_scope *scope)
{
    return scope->generation != 0 &&
           scope->generation == __atomic_load_n(&interpose_generation, __ATOMIC_RELAXED);
}

/* cores.c: the physical cores of the process's cores. */
struct interpose_cores {
    uint32_t count;
    uint32_t lnc; /* physical cores of each */
    uint32_t device_count;
    uint32_t cores_per_device; /* physical; 0 unknown */
    bool is_guessed;
    const char *instance; /* "" unknown */
    uint16_t logical[NTK_SEGMENT_CORES];
};
extern struct interpose_cores interpose_cores;
/* After nrt_init. */
void interpose_cores_find(void);
/* First physical core of a core of the process; NTK_NO_CORE. */
uint16_t interpose_core_get(int64_t vnc);

/* The process's core with this first physical core; 0 if none. */
uint32_t interpose_vnc_get(uint16_t core);

/* Clears the tables of handles when the process closes the runtime, and in the child of a fork. */
void interpose_models_forget(void);
void interpose_tensors_forget(void);
/* First physical core of a tensor on the device; NTK_NO_CORE. name: 0 if unknown. */
uint16_t interpose_tensor_core_get(const nrt_tensor_t *handle, uint32_t *out_name);
void interpose_models_after_fork(void);
void interpose_tensors_after_fork(void);
void interpose_captures_after_fork(void);
void interpose_callbacks_after_fork(void);
/* process.c: calls all of these. */
void interpose_process_after_fork(void);
void interpose_collectives_after_fork(void);
/* marks.c: the runtime has its own hooks. */
void interpose_marks_pass_on(void);

#endif
