/* SPDX-License-Identifier: MIT */
/*
 * neff_build_private - the state of a NEFF under construction; shared by the files neff_build*.c.
 *
 * Owner:   the builder owns everything except the bytes of neff_build_npy(), which are freed with
 *          free().
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_BUILD_PRIVATE_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_BUILD_PRIVATE_H

#include <stdarg.h>
#include <stdio.h>

#include "shared/base/buf.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff_build.h"

#define SUBGRAPHS_MAX 2
#define UNBOUND (-1)
#define NO_GROUP UINT32_MAX

struct ntk_json;

struct build_tensor {
    char *name;
    enum ntk_dtype dtype;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX];
    uint64_t bytes_count;
};

struct build_var { /* a variable; its index is its var_id */
    char *name;
    enum ntk_neff_var_type type;
    uint64_t bytes_count;
    uint64_t backing_offset;
    char *file_name;
    uint32_t referenced_var_id; /* POINTER only */
    uint32_t *list;             /* DGE_TABLE only: var_ids */
    uint32_t list_count;
};

struct build_queue {
    char *name;
    enum ntk_isa_engine owner;
    enum ntk_neff_queue_type type;
    bool is_pinned;
    uint32_t queue_count;
    uint32_t group_count;
    /* Semaphores signalled by the queue's transfers, by the engine that waits for them. */
    uint16_t semaphore_to[NTK_ISA_ENGINE_COUNT];
    /* 1 + index of the latest token that each engine waited for */
    size_t waited_by[NTK_ISA_ENGINE_COUNT];
};

struct build_group {
    uint32_t queue;
    uint32_t id;
    uint16_t semaphore;
    int bound_to; /* engine that the transfer signals, or UNBOUND */
    struct ntk_neff_build_transfer transfer;
    struct ntk_neff_build_side *from;
    float *scales;
    char *transpose_order;
};

struct build_sync {
    uint16_t semaphore;
    uint16_t value;
};

struct build_instr {
    struct ntk_isa_instr instr;
    uint32_t place;      /* 1 + index in the kernel's places; 0: none */
    uint32_t slot_count; /* slots after encoding, including waits and signals */
    /* elements are struct build_sync: waits in addition to the instruction's own fields */
    struct ntk_vec waits;
    struct ntk_vec signals;
};

struct build_engine {
    struct ntk_vec program; /* struct build_instr */
    struct ntk_vec names;   /* char * */
    /* semaphore that this engine signals for each other engine */
    uint16_t semaphore_to[NTK_ISA_ENGINE_COUNT];
    /* 1 + index of the latest instruction that each engine waited for */
    size_t waited_by[NTK_ISA_ENGINE_COUNT];
};

struct build_token {
    int engine;   /* engine of the instruction, or engine that starts the transfer */
    size_t index; /* index in the engine's program */
    bool is_transfer;
    uint32_t queue;
    uint32_t group;   /* NO_GROUP for an instruction */
    int bound_to;     /* engine that its completion signals */
    uint16_t amount;  /* value that it signals */
    bool waited;      /* whether a wait consumed it */
    size_t waited_at; /* index of the waiting instruction of bound_to */
};

struct build_subgraph {
    uint32_t index; /* number NN in sgNN */
    uint16_t next_semaphore;
    struct ntk_vec vars;
    struct ntk_vec queues;
    struct ntk_vec groups;
    struct ntk_vec tokens;
    size_t first_open; /* earlier tokens need no further check */
    struct build_engine engines[NTK_ISA_ENGINE_COUNT];
};

/* A source line or a loop iteration, in order of execution. */
struct build_place {
    struct ntk_neff_place at;
    const char *variable; /* loop variable; NULL for a line */
    uint64_t value;
    uint32_t parent; /* 1 + index of the enclosing iteration; 0: none */
};

struct build_located { /* an instruction with its source position */
    uint32_t place;
    uint32_t id; /* number in the name, such as 7 in "inst.7" */
};

struct ntk_neff_kernel {
    struct ntk_neff_build *build;
    struct build_node *node;
    uint32_t current;
    char *layer;           /* name for instructions without a name; NULL: none */
    struct ntk_vec places; /* struct build_place */
    uint32_t place;        /* 1 + index of the source line of the last appended code; 0: none */
    uint32_t iteration;    /* 1 + index of the innermost iteration; 0: none */
    struct build_subgraph subgraphs[SUBGRAPHS_MAX];
};

struct build_node {
    char *name;
    bool is_kernel;
    bool is_stage;  /* its subgraph belongs to the previous node */
    char *function; /* for CPU nodes */
    char *library;
    struct ntk_vec inputs;
    struct ntk_vec outputs;
    struct ntk_neff_kernel kernel;
};

/* A node of neff.json: a single node, or the first of several stages. */
struct graph_node {
    const struct build_node *node;
    size_t stage_count; /* number of stages: this one and the following ones in build->nodes */
    /* elements are struct build_tensor; names are borrowed from the stages */
    struct ntk_vec inputs;
    /* elements are struct build_tensor; names are borrowed from the stages */
    struct ntk_vec outputs;
};

struct build_member {
    char *name;
    uint8_t *bytes;
    size_t bytes_count;
};

struct ntk_neff_build {
    struct ntk_neff_build_options options;
    struct ntk_err err; /* first error */
    char *name;
    char *target;
    char *tool_version;
    uint32_t subgraph_count;
    struct ntk_vec nodes; /* struct build_node * */
    struct ntk_vec graph; /* elements are struct graph_node, made after all nodes */
    struct ntk_vec members;
    struct ntk_vec heads;
    struct ntk_vec params; /* elements are char *: names of tensors with a member as value */
    struct ntk_vec packed; /* elements are struct ntk_neff_pack_member, in archive order */
    struct ntk_neff_kernel dead;
};

/* Records the error unless there was one before; returns code. */
int neff_build_fail(struct ntk_neff_build *build, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool neff_build_failed(const struct ntk_neff_build *build);
void neff_build_no_memory(struct ntk_neff_build *build);
/* Adds a zeroed item at the end of `vec`. On failure, returns NULL and records the error. */
void *neff_build_add(struct ntk_neff_build *build, struct ntk_vec *vec);
/* A copy that the builder owns. On failure, returns NULL and records the error. */
char *neff_build_copy_text(struct ntk_neff_build *build, const char *text);
/* Returns NULL if out of memory. */
struct build_node *neff_build_node_add(struct ntk_neff_build *build, const char *name);
/* The bytes of a .npy file, which the caller frees. On failure, returns NULL and records the
 * error. */
void *neff_build_npy(struct ntk_neff_build *build, enum ntk_dtype dtype, uint32_t dim_count,
                     const uint64_t *dims, const void *data, size_t *out_file_bytes,
                     uint64_t *out_array_bytes);
/* Writes the name of a parameter's member into path, which has NTK_NEFF_MEMBER_NAME_MAX bytes. */
void neff_build_param_path(char *path, const char *tensor_name);
/* Adds an input or output of a node. */
void neff_build_add_tensor(struct ntk_neff_build *build, struct ntk_vec *tensors, const char *name,
                           enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims);
/* Makes each engine of the current subgraph wait for transfers of its queues without another
 * waiter, and then signal its end; the tensor engine ends last, as the program's end. */
void neff_build_finish(struct ntk_neff_kernel *kernel);
/* Adds a member and takes ownership of the bytes, even on failure. */
void neff_build_member_take(struct ntk_neff_build *build, const char *name, void *bytes,
                            size_t bytes_count);
/* Adds the buffer's text as a member and empties the buffer. */
void neff_build_finish_member(struct ntk_neff_build *build, const char *name, struct ntk_buf *buf);
/* The engine's part in names of members, such as "PE". */
const char *neff_build_engine_file(int engine);
/* The place of code that is appended now: 1 + index, or 0 if unknown. */
uint32_t neff_build_place_now(struct ntk_neff_kernel *kernel);
/* Adds the members with source positions; slots must be counted before. */
void neff_build_positions(struct ntk_neff_build *build);
/* Adds the kernel tree of the instructions (struct build_located), and sorts these. */
void neff_build_tree(struct ntk_neff_kernel *kernel, const char *member, struct ntk_vec *located);
/* Builds build->graph from build->nodes. */
void neff_build_graph(struct ntk_neff_build *build);
/* Begins a JSON object in buf. */
void neff_build_begin_json(struct ntk_json *json, struct ntk_buf *buf);
void neff_build_put_dims(struct ntk_json *json, const struct build_tensor *tensor);
/* Adds the members of one program. */
void neff_build_program(struct ntk_neff_build *build, const struct graph_node *graph,
                        struct build_node *const *nodes, uint32_t kelf_index);
/* Adds all JSON members and engine binaries, and fills build->packed; tpb_count cores are
 * requested. */
void neff_build_json(struct ntk_neff_build *build, uint32_t tpb_count);

#endif
