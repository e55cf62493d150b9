/* SPDX-License-Identifier: MIT */
/*
 * observe - marks the start and end of every observed call; also holds common code of this folder.
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

/* The first physical core of a model of the runtime, and the model's reference in the hooks. */
struct interpose_model {
    struct ntk_hooks_model_ref ref;
    uint16_t core;
    uint16_t core_count;
    uint32_t vnc; /* number of the first core in the process */
    uint32_t is_unloading;
};

/* State of a thread. Its alignment is at most that of the C library's thread block, 16 bytes on
 * AArch64: a stricter one cannot be loaded by dlopen() or next to an audit library. */
struct interpose_thread {
    uint32_t depth;                  /* nesting depth of observed calls in the thread */
    struct interpose_model model;    /* result of the last lookup */
    const nrt_model_t *model_handle; /* handle of the last lookup */
    uint64_t model_seq;              /* state of the table in the last lookup */
    uint64_t execution_id;           /* latest execution, from the thread's block of numbers */
} __attribute__((aligned(16)));
extern __thread struct interpose_thread interpose_thread __attribute__((tls_model("initial-exec")));

/* Incremented at each attach; 0 while nothing is observed. Operations from another generation have
 * ended. */
extern uint32_t interpose_generation;

struct interpose_scope {
    uint32_t generation; /* 0 means that the call is passed on */
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

/* Returns true if an operation that started in the scope may be reported. */
static inline bool interpose_is_on(const struct interpose_scope *scope)
{
    return scope->generation != 0 &&
           scope->generation == __atomic_load_n(&interpose_generation, __ATOMIC_RELAXED);
}

/* In cores.c: the physical cores that belong to the cores of the process. */
struct interpose_cores {
    uint32_t count;
    uint32_t lnc; /* physical cores per logical core */
    uint32_t device_count;
    uint32_t cores_per_device; /* number of physical cores, 0 if unknown */
    bool is_guessed;
    const char *instance; /* "" if unknown */
    uint16_t logical[NTK_SEGMENT_CORES];
};
extern struct interpose_cores interpose_cores;
/* Finds the cores; called after nrt_init(). */
void interpose_cores_find(void);
/* Returns the first physical core for a core of the process; NTK_NO_CORE if unknown. */
uint16_t interpose_core_get(int64_t vnc);

/* Returns the core of the process with this first physical core; 0 if none. */
uint32_t interpose_vnc_get(uint16_t core);

/* Clears the tables of handles when the process closes the runtime, and in the child of a fork. */
void interpose_models_forget(void);
void interpose_tensors_forget(void);
/* Returns the first physical core of a tensor on the device; NTK_NO_CORE otherwise. *name is 0 if
 * unknown. */
uint16_t interpose_tensor_core_get(const nrt_tensor_t *handle, uint32_t *out_name);
void interpose_models_after_fork(void);
void interpose_tensors_after_fork(void);
void interpose_captures_after_fork(void);
void interpose_callbacks_after_fork(void);
/* In process.c: calls the functions above. */
void interpose_process_after_fork(void);
void interpose_collectives_after_fork(void);
/* In marks.c: passes marks on to the runtime, which has its own hooks. */
void interpose_marks_pass_on(void);

#endif
