/* SPDX-License-Identifier: MIT */
/*
 * core_model - a loaded model: the steps of its graph, their programs and memory. Placed, loaded
 * and unloaded in core_model.c, built and freed in core_model_build.c, run in core_exec.c, recorded
 * in core_profile.c.
 *
 * Owner:   the core owns models; core_model_free() frees one with its contexts. Takers return what
 *          they take.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H

#include "runtime-hooks/core/core_constants.h"
#include "runtime-hooks/core/core_state.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_cpu.h"

#define CORE_SLOT_NONE UINT32_MAX

/* A tensor of the graph: an output of a node, or one passed between the subgraphs of a node
 * (core_pipeline.h). */
struct core_slot {
    uint32_t io; /* index in ios of a network input or output, else CORE_SLOT_NONE */
    bool is_passed;
    const struct core_param *param; /* NULL: it is none */
    uint64_t bytes;
    uint64_t offset;                  /* in a context's buffer, if it is neither */
    struct ntk_neff_cpu_tensor shape; /* dtype and dimensions; no data */
    char *name;                       /* for passed tensors: */
    uint32_t physical_core;           /* its memory is that of this core */
};

/* The binding of a program's variable. */
struct core_variable {
    enum core_variable_kind {
        CORE_VARIABLE_NONE,
        CORE_VARIABLE_FIXED, /* memory of the model */
        CORE_VARIABLE_SLOT,
        CORE_VARIABLE_SCRATCHPAD, /* offset in the core's shared scratchpad */
    } kind;
    uint32_t slot;
    uint64_t offset;
    uint64_t bytes;
    struct core_allocation allocation;
    struct core_weight *weight; /* owner of the memory, if models share it */
    uint32_t physical_core;     /* on which they do */
};

struct core_queue_set {
    char *name;
    uint32_t type; /* enum ntk_neff_queue_type */
};

/* A parameter of the graph: its value in device memory. */
struct core_param {
    struct core_allocation allocation;
    struct core_weight *weight; /* see struct core_variable */
    uint32_t physical_core;
};

/* The program of one physical core in one step. */
struct core_subgraph {
    char *name; /* "sg00" */
    struct ntk_engine_program *program;
    uint32_t variable_count;
    struct core_variable *variables;     /* by var_id */
    struct ntk_engine_binding *bindings; /* by var_id; filled under the core's execution lock */
    uint64_t scratchpad_bytes;           /* of the shared scratchpad */
    /* Accounted to the device; the code itself is only for captures. */
    struct core_allocation code, rings_io, rings_spill;
    /* this struct's arrays and the program, accounted to host memory */
    struct core_allocation host;
    uint64_t code_offset[NTK_ISA_ENGINE_COUNT], code_bytes[NTK_ISA_ENGINE_COUNT];
    uint32_t queue_set_count;
    struct core_queue_set *queue_sets;
};

struct core_step {
    bool is_cpu;
    bool is_empty; /* no subgraph has an instruction: the outputs are zero */
    bool returns;  /* a later step runs on the same core */
    uint32_t nc;   /* of the process */
    uint32_t node; /* of the file */
    uint32_t subgraph_count;
    struct core_subgraph subgraphs[NTK_CORE_LNC_MAX];
    ntk_neff_cpu_function *function;
    char name[NTK_CORE_NAME_BYTES];
    uint32_t input_count, output_count;
    uint32_t *inputs, *outputs; /* slots */
};

/* A shared object of the file. */
struct core_library {
    char *member;
    void *handle;
    int fd; /* stays open: the loader identifies the object by this path */
};

/* Buffers between the steps of one execution. */
struct core_context {
    struct core_context *next;
    struct core_allocation buffer;
    struct core_allocation *passed; /* by slot, from the model's first_passed on */
};

struct core_capture;

static inline uint64_t core_round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

struct ntk_core_model {
    struct ntk_core *core;
    struct core_constants *constants; /* during loading */
    uint32_t id;
    char name[NTK_CORE_NAME_BYTES];
    uint8_t uuid[16];
    bool is_opaque; /* nothing is computed, durations are estimates */
    bool is_hosted; /* no step runs on a core */
    uint32_t nc, nc_count;
    bool takes_turns; /* its nodes all start on nc, else each has its own cores */
    /* Copies of a model on neighbouring cores: the front holds the first one, and they take
     * turns. */
    struct ntk_core_model *next_replica;
    uint32_t replica_count;            /* further copies; 0 in the copies */
    uint32_t group_nc, group_nc_count; /* of all copies */
    bool is_for_stack;                 /* its tensors may be on any core with the same memory */
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
    uint32_t first_passed; /* this slot and later ones are in device memory of a context */
    uint32_t *node_slots;  /* first slot of each node of the file */
    struct core_step *steps;
    uint32_t step_count;
    uint32_t last_core_step;     /* executions are counted there */
    struct core_allocation host; /* this struct and its arrays, accounted to host memory */
    struct ntk_vec libraries;    /* of struct core_library */
    uint64_t context_bytes;      /* on the host */
    uint32_t depth;              /* contexts allocated at load */
    pthread_mutex_t context_lock;
    struct core_context *contexts;          /* free ones; under context_lock */
    _Atomic(struct core_capture *) capture; /* taken by the execution that records */
};

/* The copy of the model to use next. */
struct ntk_core_model *core_model_turn(struct ntk_core_model *model);

/* --- core_model_build.c --- */

/* Tensors, programs and steps of a model with a place and name. On failure free the model with
 * core_model_free(). -EBADMSG, -ENOTSUP, -ENOMEM, ... */
int core_model_build(struct ntk_core_model *model, const struct ntk_neff *neff,
                     struct ntk_err *err);
/* Frees everything; no execution may run, and no list may contain it. */
void core_model_free(struct ntk_core_model *model);
/* A free or new context of a model; NULL if out of memory, or if it needs none (*out_ok). */
struct core_context *core_context_take(struct ntk_core_model *model, bool *out_ok,
                                       struct ntk_err *err);
void core_context_give_back(struct ntk_core_model *model, struct core_context *context);

/* --- core_profile.c --- */

/* The capture for the steps of one execution; NULL if it is not recorded. */
struct core_capture *core_capture_take(struct ntk_core_model *model);
void core_capture_give_back(struct core_capture *capture);
/* The model is unloaded; its recording can still be written. */
void core_capture_finish(struct ntk_core_model *model);

#endif
