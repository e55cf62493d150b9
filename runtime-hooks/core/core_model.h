/* SPDX-License-Identifier: MIT */
/*
 * core_model - a loaded model: the steps of its graph, their programs and memory. Placed, loaded
 * and unloaded in core_model.c, made and unmade in core_model_build.c, run in core_exec.c, recorded
 * in core_profile.c.
 *
 * Owner:   the core owns models; core_model_free() frees one with its contexts. What was taken is
 *          put back by its taker.
 */
#ifndef NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H
#define NTK_RUNTIME_HOOKS_CORE_CORE_MODEL_H

#include "runtime-hooks/core/core_constants.h"
#include "runtime-hooks/core/core_state.h"
#include "shared/formats/neff/neff.h"
#include "shared/formats/neff/neff_cpu.h"

#define CORE_SLOT_NONE UINT32_MAX

/* One tensor that flows through the graph: output `output` of a node, or what the subgraphs of a
 * node pass on (core_pipeline.h). */
struct core_slot {
    uint32_t io; /* index in ios when it is a network input or output, else CORE_SLOT_NONE */
    bool is_passed;
    const struct core_param *param; /* NULL: it is none */
    uint64_t bytes;
    uint64_t offset;                  /* in a context's buffer, when it is none of these */
    struct ntk_neff_cpu_tensor shape; /* dtype and dimensions; no data */
    char *name;                       /* when it is passed, */
    uint32_t physical_core;           /* in memory next to this core */
};

/* What a variable of a program is bound to. */
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
    struct core_weight *weight; /* whose memory it is, when models share it */
    uint32_t physical_core;     /* on which they do */
};

struct core_queue_set {
    char *name;
    uint32_t type; /* enum ntk_neff_queue_type */
};

/* A parameter of the graph: its value, in device memory. */
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
    /* Counted as the device's; the code itself is there for captures. */
    struct core_allocation code, rings_io, rings_spill;
    struct core_allocation host; /* this struct's arrays and the program, as host memory */
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
    int fd; /* stays open: the loader knows the object by this path */
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
    struct core_constants *constants; /* while it is loaded */
    uint32_t id;
    char name[NTK_CORE_NAME_BYTES];
    uint8_t uuid[16];
    bool is_opaque; /* nothing is computed, durations are estimates */
    bool is_hosted; /* no step runs on a core */
    uint32_t nc, nc_count;
    bool takes_turns; /* its nodes all begin on nc, else each has its own cores */
    /* Copies of a model on neighbouring cores: the first one is what the front holds, they take
     * turns. */
    struct ntk_core_model *next_replica;
    uint32_t replica_count;            /* after the first; 0 in all others */
    uint32_t group_nc, group_nc_count; /* of all copies */
    bool is_for_stack;                 /* its tensors may lie on any core next to its own memory */
    _Atomic uint32_t turn;
    struct ntk_hooks_model_ref hook;
    uint64_t stop_ticks; /* the time of the pending stop request; 0: none */
    uint64_t timeout_ns;
    bool hangs_last;
    bool rounds_by_chance;
    struct ntk_core_io *ios;
    uint32_t io_count, input_count;
    struct core_slot *slots;
    uint32_t slot_count;
    struct core_param *params;
    uint32_t param_count;
    uint32_t first_passed; /* this slot and all after it lie in device memory of a context */
    uint32_t *node_slots;  /* first slot of each node of the file */
    struct core_step *steps;
    uint32_t step_count;
    uint32_t last_core_step;     /* executions count with it */
    struct core_allocation host; /* this struct and its arrays, as host memory */
    struct ntk_vec libraries;    /* of struct core_library */
    uint64_t context_bytes;      /* on the host */
    uint32_t depth;              /* contexts that it has from its load on */
    pthread_mutex_t context_lock;
    struct core_context *contexts;          /* free ones; under context_lock */
    _Atomic(struct core_capture *) capture; /* taken by the execution that records */
};

/* The copy of the model whose turn it is. */
struct ntk_core_model *core_model_turn(struct ntk_core_model *model);

/* --- core_model_build.c --- */

/* Tensors, programs and steps of a model that has its place and name. On failure the model is for
 * core_model_free(). -EBADMSG, -ENOTSUP, -ENOMEM, ... */
int core_model_build(struct ntk_core_model *model, const struct ntk_neff *neff,
                     struct ntk_err *err);
/* Gives all memory back; no execution runs, no list names it. */
void core_model_free(struct ntk_core_model *model);
/* The free context of a model or a new one; NULL if out of memory, or when it needs none
 * (*out_ok). */
struct core_context *core_context_take(struct ntk_core_model *model, bool *out_ok,
                                       struct ntk_err *err);
void core_context_give_back(struct ntk_core_model *model, struct core_context *context);

/* --- core_profile.c --- */

/* Where the steps of one execution are recorded; NULL while nothing records this one. */
struct core_capture *core_capture_take(struct ntk_core_model *model);
void core_capture_give_back(struct core_capture *capture);
/* The model goes; what is recorded of it can still be written. */
void core_capture_finish(struct ntk_core_model *model);

#endif
