/* SPDX-License-Identifier: MIT */
/*
 * neff_build - builds NEFFs for software NeuronCores from a program.
 *
 *   struct ntk_neff_build_options options = { .name = "double" };
 *   struct ntk_neff_build *b = ntk_neff_build_create(&options);
 *   struct ntk_neff_kernel *k = ntk_neff_build_kernel(b, "double");
 *   uint32_t x = ntk_neff_kernel_input(k, "x", NTK_DTYPE_FLOAT32, 2, (uint64_t[]){ 128, 256 });
 *   uint32_t y = ntk_neff_kernel_output(k, "y", NTK_DTYPE_FLOAT32, 2, (uint64_t[]){ 128, 256 });
 *   uint32_t q = ntk_neff_kernel_queue(k, "qSPIO0", NTK_ISA_ENGINE_SP, NTK_NEFF_QUEUE_IN, 16);
 *   ntk_neff_token in =
 *       ntk_neff_kernel_load(k, q, NTK_ROWS(x, 0, 1024, 128), 0, 1024, NTK_AFTER_NONE);
 *   struct ntk_isa_instr add = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);
 *   ...
 *   ntk_neff_token sum = ntk_neff_kernel_emit(k, NTK_ISA_ENGINE_DVE, &add, NTK_AFTER(in));
 *   ntk_neff_kernel_store(k, q, NTK_ROWS(y, 0, 1024, 128), 1024, 1024, NTK_AFTER(sum));
 *   ret = ntk_neff_build_write(b, "double.neff", &err);
 *   ntk_neff_build_destroy(b);
 *
 * After the first error every call does nothing and the finishing call reports it, so only that
 * call needs a check.
 *
 * Order. An engine executes its instructions one after the other. Across engines and for DMA, a
 * caller names the instructions that must be complete: every emit and every transfer returns a
 * token, and takes the tokens for which it waits. Semaphores are assigned when the file is written:
 * one per pair of engines and per waited transfer, each signal consumed by exactly one wait, so a
 * program may have any length. An instruction with an explicit wait or signal keeps it; missing
 * ones go into event_semaphore instructions next to it. Each engine starts and ends with notify,
 * and the tensor engine's last one waits for all the others and for every transfer without another
 * waiter.
 *
 * Owner:   create and destroy; kernels belong to their build. Data is copied.
 * Threads: one at a time per build.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_BUILD_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_BUILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/formats/neff/isa.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_neff_build;
struct ntk_neff_kernel; /* one node on a NeuronCore */

/* The end of an instruction or transfer, to wait for; 0 waits for nothing. */
typedef uint32_t ntk_neff_token;

#define NTK_AFTER_MAX 64
struct ntk_neff_after {
    const ntk_neff_token *tokens;
    size_t count;
};
#define NTK_AFTER(...)                                                          \
    ((struct ntk_neff_after){ (const ntk_neff_token[]){ __VA_ARGS__ },          \
                              sizeof((const ntk_neff_token[]){ __VA_ARGS__ }) / \
                                  sizeof(ntk_neff_token) })
#define NTK_AFTER_NONE ((struct ntk_neff_after){ NULL, 0 })

struct ntk_neff_build_options {
    const char *name;         /* name of the network; NULL: "model" */
    const char *target;       /* NULL: "*", any generation */
    const char *tool_version; /* version in info.json; NULL: ours */
    uint32_t lnc;             /* 0 or 1: one subgraph per kernel; 2: two subgraphs */
    uint64_t feature_bits;    /* added to the feature bits for lnc */
    uint64_t pkg_version;     /* 0 means 2 */
    uint8_t uuid[16];  /* all zero: derived from the content, so equal input creates equal files */
    bool uncompressed; /* plain tar payload without gzip */
};

/* Returns NULL if out of memory. */
struct ntk_neff_build *ntk_neff_build_create(const struct ntk_neff_build_options *options);
void ntk_neff_build_destroy(struct ntk_neff_build *build);
/* For code that generates programs: makes the build fail with this message. */
void ntk_neff_build_fail(struct ntk_neff_build *build, const char *sentence);

/* Adds any other member to the archive. */
void ntk_neff_build_member(struct ntk_neff_build *build, const char *name, const void *bytes,
                           size_t bytes_count);

/* Finish the file. The caller frees *out_bytes with free(). Writing replaces the path completely or
 * not at all. After either call the build can only be destroyed. */
int ntk_neff_build_bytes(struct ntk_neff_build *build, uint8_t **out_bytes, size_t *out_count,
                         struct ntk_err *err);
int ntk_neff_build_write(struct ntk_neff_build *build, const char *path, struct ntk_err *err);

/* ---- nodes and their tensors ---- */

/* Nodes run in the order of their creation. Tensors with the same name are the same tensor: an
 * input with the name of an earlier node's output gets that output, else it is a network input;
 * outputs that no later node takes are network outputs (force others with ntk_neff_build_head). */
struct ntk_neff_kernel *ntk_neff_build_kernel(struct ntk_neff_build *build, const char *node_name);

/* Adds the next subgraph of the node of `before`, for chips of the first generation: the subgraphs
 * run one after the other, each on a separate core. The result takes the same calls as a kernel.
 * Tensors with the same name pass from an earlier subgraph to later ones; tensors that no later
 * subgraph takes, that a later node takes or that ntk_neff_build_head() names are outputs of the
 * node. Must be called directly after `before` was created; LNC is 1. */
struct ntk_neff_kernel *ntk_neff_build_stage(struct ntk_neff_build *build,
                                             const struct ntk_neff_kernel *before);

struct ntk_neff_build_tensor {
    const char *name;
    enum ntk_dtype dtype;
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_DIMS_MAX];
};

/* Adds a node that runs on the host: the function (see neff_cpu.h) in the shared object that is
 * member `library`. */
void ntk_neff_build_cpu_node(struct ntk_neff_build *build, const char *node_name,
                             const char *function, const char *library,
                             const struct ntk_neff_build_tensor *inputs, size_t input_count,
                             const struct ntk_neff_build_tensor *outputs, size_t output_count);
/* Adds a tensor for nodes that is not an input of the network: its value is in the file. */
void ntk_neff_build_param(struct ntk_neff_build *build, const char *tensor_name,
                          enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims,
                          const void *data);
void ntk_neff_build_head(struct ntk_neff_build *build, const char *tensor_name);

/* The following calls act on subgraph `index` of the kernel (0 after creation): with LNC 2, the
 * second subgraph is idle until it gets instructions. Inputs and outputs exist in all subgraphs. */
void ntk_neff_kernel_subgraph(struct ntk_neff_kernel *kernel, uint32_t index);

/* ---- variables: each call returns a var_id ---- */

uint32_t ntk_neff_kernel_input(struct ntk_neff_kernel *kernel, const char *name,
                               enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims);
uint32_t ntk_neff_kernel_output(struct ntk_neff_kernel *kernel, const char *name,
                                enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims);
/* Adds a constant as a .npy member; bfloat16 and fp8 are stored as opaque bytes, as compilers
 * do. */
uint32_t ntk_neff_kernel_constant(struct ntk_neff_kernel *kernel, const char *name,
                                  enum ntk_dtype dtype, uint32_t dim_count, const uint64_t *dims,
                                  const void *data);
/* Adds a constant as a member of raw bytes. */
uint32_t ntk_neff_kernel_raw_constant(struct ntk_neff_kernel *kernel, const char *name,
                                      const void *data, size_t bytes_count);
uint32_t ntk_neff_kernel_tmp(struct ntk_neff_kernel *kernel, const char *name,
                             uint64_t bytes_count);
uint32_t ntk_neff_kernel_virtual(struct ntk_neff_kernel *kernel, const char *name,
                                 uint64_t backing_offset, uint64_t bytes_count);
/* Adds the address of another variable: descriptors read the address, DMA instructions access the
 * variable that it refers to. */
uint32_t ntk_neff_kernel_pointer(struct ntk_neff_kernel *kernel, const char *name,
                                 uint32_t referenced_var_id);
/* Adds a table of variables from which an index of dma_indirect_copy selects. */
uint32_t ntk_neff_kernel_table(struct ntk_neff_kernel *kernel, const char *name,
                               const uint32_t *var_ids, uint32_t count);
/* The state buffer has var_id 0 in every subgraph. */
#define NTK_NEFF_VAR_ID_SBUF 0

/* The var_id of a name in the current subgraph: inputs and outputs may have a different var_id in
 * each subgraph. */
uint32_t ntk_neff_kernel_var(struct ntk_neff_kernel *kernel, const char *name);

/* ---- instructions and transfers ---- */

/* Adds a queue set that an engine owns (triggers). Its index is the queue number in
 * instructions. */
uint32_t ntk_neff_kernel_queue(struct ntk_neff_kernel *kernel, const char *name,
                               enum ntk_isa_engine owner, enum ntk_neff_queue_type type,
                               uint32_t queue_count);
/* Makes the queue's transfers load constants into the state buffer when the model starts on its
 * core (NC-v1 only): no instruction starts them, and their token is 0. Call it before the first
 * transfer. */
void ntk_neff_kernel_queue_pin(struct ntk_neff_kernel *kernel, uint32_t queue);
/* Reserves a semaphore for explicit use. */
uint16_t ntk_neff_kernel_semaphore(struct ntk_neff_kernel *kernel);
/* The id of a name, for instr.name_id of this engine. */
uint32_t ntk_neff_kernel_name(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                              const char *name);

/* Instructions and transfers without a name that are appended from now on belong to this layer and
 * get its name. NULL: no layer. Profiles sum up the costs of layers. */
void ntk_neff_kernel_layer(struct ntk_neff_kernel *kernel, const char *name);

/* A source position. Code that this thread appends from now on comes from this source line, and
 * from the iterations around it; NULL: unknown, as in a new build. All texts are borrowed until the
 * build is destroyed. A kernel without positions gets no members for them. */
struct ntk_neff_place {
    const char *file;
    const char *function;
    uint32_t line; /* counted from 1 */
};
void ntk_neff_build_place(const struct ntk_neff_place *place);
/* Begins a loop; returns 0. Then ntk_neff_kernel_iterate() with the value of the variable begins an
 * iteration, or ends the loop if continues is false; it returns continues. */
uint64_t ntk_neff_kernel_loop(struct ntk_neff_kernel *kernel, const char *variable,
                              const struct ntk_neff_place *place);
bool ntk_neff_kernel_iterate(struct ntk_neff_kernel *kernel, uint64_t value, bool continues);
/* Maximum number of loops around a line that positions show. */
#define NTK_NEFF_BUILD_LOOPS_MAX 16
bool ntk_neff_build_names_file(const struct ntk_neff_build *build, const char *file);

/* Appends an instruction. Its token stands for its end; for dma_copy and dma_indirect_copy, for the
 * arrival of the data. */
ntk_neff_token ntk_neff_kernel_emit(struct ntk_neff_kernel *kernel, enum ntk_isa_engine engine,
                                    const struct ntk_isa_instr *instr, struct ntk_neff_after after);

/* A side of a transfer for ntk_neff_kernel_dma; steps and sizes as in struct ntk_neff_pattern, var
 * is a var_id. */
struct ntk_neff_build_side {
    uint32_t var_id;
    enum ntk_dtype dtype; /* 0 means uint8 */
    uint64_t offset;
    uint32_t dim_count;
    int64_t steps[NTK_NEFF_TRANSFER_DIMS_MAX];
    uint64_t sizes[NTK_NEFF_TRANSFER_DIMS_MAX];
};

struct ntk_neff_build_transfer {
    enum ntk_neff_transfer_op op;
    struct ntk_neff_build_side to;
    const struct ntk_neff_build_side *from;
    uint32_t source_count; /* if more than 1, written as from_arr */
    const float *scales;   /* fma: source_count elements, or NULL */
    bool has_constant;
    enum ntk_dtype constant_dtype;
    double constant;
    uint32_t transpose_shape[4];
    uint32_t transpose_element_bytes;
    const char *transpose_order;
};

/* Appends a descriptor group with one transfer, and the dma_trigger of the queue set's owner that
 * starts it. The token stands for the arrival of the data; only one engine can wait for it
 * directly, others wait for that engine (done automatically). */
ntk_neff_token ntk_neff_kernel_dma(struct ntk_neff_kernel *kernel, uint32_t queue,
                                   const struct ntk_neff_build_transfer *transfer,
                                   struct ntk_neff_after after);
/* Starts the group of an earlier token again. The engine that waits for the new token must be the
 * one that waited for the earlier one. */
ntk_neff_token ntk_neff_kernel_dma_again(struct ntk_neff_kernel *kernel, ntk_neff_token first,
                                         struct ntk_neff_after after);

/* Rows of a variable: the first at offset, the next ones row_step bytes apart. */
struct ntk_neff_rows {
    uint32_t var_id;
    uint64_t offset;
    uint64_t row_step;
    uint32_t count;
};
#define NTK_ROWS(var_id, offset, row_step, count) \
    ((struct ntk_neff_rows){ var_id, offset, row_step, count })

/* Transfer the first row_bytes bytes of each row to SBUF partitions 0, 1, ... at sbuf_offset
 * (load), or back (store). */
ntk_neff_token ntk_neff_kernel_load(struct ntk_neff_kernel *kernel, uint32_t queue,
                                    struct ntk_neff_rows rows, uint64_t sbuf_offset,
                                    uint64_t row_bytes, struct ntk_neff_after after);
ntk_neff_token ntk_neff_kernel_store(struct ntk_neff_kernel *kernel, uint32_t queue,
                                     struct ntk_neff_rows rows, uint64_t sbuf_offset,
                                     uint64_t row_bytes, struct ntk_neff_after after);

/* ---- the archive itself, for neuron-packager create ---- */

struct ntk_neff_pack_member {
    const char *name;
    const void *bytes;
    size_t bytes_count;
};

/* Makes header and archive from members; header->hash, data_size and header_size are computed,
 * everything else is copied. The caller frees *out_bytes with free(). */
int ntk_neff_pack(const struct ntk_neff_header *header, const struct ntk_neff_pack_member *members,
                  size_t member_count, bool compress, uint8_t **out_bytes, size_t *out_count,
                  struct ntk_err *err);

#ifdef __cplusplus
}
#endif
#endif
