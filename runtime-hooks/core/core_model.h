/* SPDX-License-Identifier: MIT */
/*
 * core_model - a loaded model: the steps of its graph, their programs and memory. core_model.c
 * places, loads and unloads models, core_model_build.c builds and frees them, core_exec.c runs
 * them, core_profile.c records them.
 *
 * Owner:   the core owns models; core_model_free() frees one with its contexts. Callers return the
 *          contexts that they take.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H

#include "runtime-hooks/core/core_constants.h"
#include "runtime-hooks/core/core_state.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_cpu.h"

#define CORE_SLOT_NONE UINT32_MAX

/* A tensor of the graph: a node's output, or a tensor passed between a node's subgraphs
 * (core_pipeline.h). */
struct core_slot {
    uint32_t io; /* index in ios for a network input or output, else CORE_SLOT_NONE */
    bool is_passed;
    const struct core_param *param; /* NULL if it is not a parameter */
    uint64_t bytes;
    uint64_t offset;                  /* otherwise, offset in a context's buffer */
    struct ntk_neff_cpu_tensor shape; /* only dtype and dimensions, without data */
    char *name;                       /* only for passed tensors */
    uint32_t physical_core;           /* core with the memory that holds a passed tensor */
};

/* How a program's variable is bound to memory. */
struct core_variable {
    enum core_variable_kind {
        CORE_VARIABLE_NONE,
        CORE_VARIABLE_FIXED, /* in memory of the model */
        CORE_VARIABLE_SLOT,
        CORE_VARIABLE_SCRATCHPAD, /* at an offset in the core's shared scratchpad */
    } kind;
    uint32_t slot;
    uint64_t offset;
    uint64_t bytes;
    struct core_allocation allocation;
    struct core_weight *weight; /* owner of the memory if models share it */
    uint32_t physical_core;     /* core on which they share it */
};

struct core_queue_set {
    char *name;
    uint32_t type; /* enum ntk_neff_queue_type */
};

/* A parameter of the graph, with its value in device memory. */
struct core_param {
    struct core_allocation allocation;
    struct core_weight *weight; /* owner of the memory if models share it */
    uint32_t physical_core;
};

/* The program of a physical core in one step. */
struct core_subgraph {
    char *name; /* such as "sg00" */
    struct ntk_engine_program *program;
    uint32_t variable_count;
    struct core_variable *variables; /* indexed by var_id */
    /* indexed by var_id; filled under the core's execution lock */
    struct ntk_engine_binding *bindings;
    uint64_t scratchpad_bytes; /* size in the shared scratchpad */
    /* Memory accounted to the device; the code itself is only used for captures. */
    struct core_allocation code, rings_io, rings_spill;
    /* This struct's arrays and the program, accounted to host memory. */
    struct core_allocation host;
    uint64_t code_offset[NTK_ISA_ENGINE_COUNT], code_bytes[NTK_ISA_ENGINE_COUNT];
    uint32_t queue_set_count;
    struct core_queue_set *queue_sets;
};

struct core_step {
    bool is_cpu;
    bool is_empty; /* no subgraph has an instruction, so the outputs are zero */
    bool returns;  /* a later step runs on the same core */
    uint32_t nc;   /* core of the process */
    uint32_t node; /* index of the node in the file */
    uint32_t subgraph_count;
    struct core_subgraph subgraphs[NTK_CORE_LNC_MAX];
    ntk_neff_cpu_function *function;
    char name[NTK_CORE_NAME_BYTES];
    uint32_t input_count, output_count;
    uint32_t *inputs, *outputs; /* indices of slots */
};

/* A shared object from the file. */
struct core_library {
    char *member;
    void *handle;
    int fd; /* stays open, because the loader identifies the object by this descriptor's path */
};

/* The buffers between the steps of one execution. */
struct core_context {
    struct core_context *next;
    struct core_allocation buffer;
    struct core_allocation *passed; /* indexed by slot, from the model's first_passed on */
};

struct core_capture;

static inline uint64_t core_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

struct ntk_core_model {
    struct ntk_core *core;
    struct core_constants *constants; /* only set during loading */
    uint32_t id;
    char name[NTK_CORE_NAME_BYTES];
    uint8_t uuid[16];
    bool is_opaque; /* nothing is computed, durations are estimates */
    bool is_hosted; /* no step runs on a core */
    uint32_t nc, nc_count;
    bool takes_turns; /* all its nodes start on nc; otherwise each has separate cores */
    /* Copies of a model on adjacent cores: the front has the first one, and they take turns. */
    struct ntk_core_model *next_replica;
    uint32_t replica_count;            /* number of further copies; 0 in the copies */
    uint32_t group_nc, group_nc_count; /* cores of all copies */
    bool is_for_stack;                 /* its tensors may be on any core next to the same memory */
    _Atomic uint32_t turn;
    struct ntk_hooks_model_ref hook;
    uint64_t stop_ticks; /* time of the pending stop request; 0: none */
    uint64_t timeout_ns;
    bool hangs_last;
    bool rounds_by_chance;
    struct ntk_core_io *ios;
    uint32_t io_count, input_count;
    struct core_slot *slots;
    uint32_t slot_count;
    struct core_param *params;
    uint32_t param_count;
    uint32_t first_passed; /* slots from here on are in a context's device memory */
    uint32_t *node_slots;  /* first slot of each node in the file */
    struct core_step *steps;
    uint32_t step_count;
    uint32_t last_core_step;     /* step at which executions are counted */
    struct core_allocation host; /* this struct and its arrays, accounted to host memory */
    struct ntk_vec libraries;    /* elements are struct core_library */
    uint64_t context_bytes;      /* size of a context on the host */
    uint32_t depth;              /* number of contexts allocated at load */
    pthread_mutex_t context_lock;
    struct core_context *contexts;          /* list of free contexts; protected by context_lock */
    _Atomic(struct core_capture *) capture; /* the execution that records takes it */
};

/* The copy of the model to use for the next execution. */
struct ntk_core_model *core_model_turn(struct ntk_core_model *model);

/* --- core_model_build.c --- */

/* Builds tensors, programs and steps of a model that has a place and name. On failure, free the
 * model with core_model_free(). Returns -EBADMSG, -ENOTSUP, -ENOMEM and others. */
int core_model_build(struct ntk_core_model *model, const struct ntk_neff *neff,
                     struct ntk_err *err);
/* Frees a model; no execution may run, and no list may contain it. */
void core_model_free(struct ntk_core_model *model);

/* --- core_model_context.c --- */

/* Takes a free or new context of a model. NULL if out of memory, or (*out_ok) if the model needs
 * none. */
struct core_context *core_context_take(struct ntk_core_model *model, bool *out_ok,
                                       struct ntk_err *err);
void core_context_give_back(struct ntk_core_model *model, struct core_context *context);

/* --- core_profile.c --- */

/* Takes the capture for the steps of one execution; NULL if it is not recorded. */
struct core_capture *core_capture_take(struct ntk_core_model *model);
void core_capture_give_back(struct core_capture *capture);
/* Called when the model is unloaded; its recording can still be written. */
void core_capture_finish(struct ntk_core_model *model);

#endif
