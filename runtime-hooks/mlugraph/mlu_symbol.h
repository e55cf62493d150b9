/* SPDX-License-Identifier: MIT */
/*
 * mlu_symbol - reads a network in the format of MXNet: the JSON file of a symbol.
 *
 * Versions 0.x and 1.x are supported: the attributes of a node are in "param", "attr", "attrs" or
 * several of these, an entry of inputs and heads has two or three numbers, and files before 0.9 do
 * not list the states of BatchNorm, which are added as variables with MXNet's names. Nodes must be
 * in topological order, as MXNet writes them.
 *
 * The device of a node is its attribute "ctx" ("mlu0", "mlu(0)", "cpu"), else its group
 * ("ctx_group", "__ctx_group__") if that names a device or is mapped to one, else the default.
 *
 * Owner:   the caller provides the storage, which mlu_symbol_read() fills and mlu_symbol_fini()
 *          frees.
 * Threads: one at a time per symbol.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_SYMBOL_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime-hooks/mlugraph/mlu_op.h"
#include "shared/base/err.h"
#include "shared/base/map.h"

#define MLU_SYMBOL_BYTES_MAX (UINT64_C(64) << 20) /* maximum size of a file */
#define MLU_SYMBOL_NODES_MAX 131072
#define MLU_SYMBOL_OPERATORS_MAX 32768 /* finding segments takes quadratic memory and time */
#define MLU_SYMBOL_ENTRIES_MAX 1048576 /* maximum number of inputs in all nodes */
#define MLU_SYMBOL_OUTPUTS_MAX 1024    /* maximum number of outputs per node */
#define MLU_SYMBOL_NONE UINT32_MAX

#define MLU_DEVICE_CPU (-1) /* not an MLU */
#define MLU_DEVICE_ID_MAX 4095

/* One output of a node. */
struct mlu_entry {
    uint32_t node;
    uint32_t output;
};

struct mlu_attr {
    char *key;
    char *value;
};

struct mlu_node {
    char *name;
    const struct mlu_op *op; /* NULL for a variable */
    /* description of an operator missing in the table, including in op; owns its name */
    struct mlu_op *unknown;
    uint32_t order; /* index among operators, MLU_SYMBOL_NONE for a variable */
    int32_t device; /* device of an operator: MLU_DEVICE_CPU or the id of an MLU */
    uint32_t output_count;
    struct mlu_entry *inputs;
    uint32_t input_count;
    struct mlu_attr *attrs;
    uint32_t attr_count;
};

struct mlu_symbol {
    struct mlu_node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    struct mlu_entry *heads;
    uint32_t head_count;
    uint32_t *operators; /* numbers of the operators' nodes, in order */
    uint32_t operator_count;
    int32_t mxnet_version; /* 10300 for 1.3.0; 0 if missing in the file */
};

struct mlu_symbol_options {
    int32_t device_default;
    /* from the name of a group to the text of a device; NULL if none */
    const struct ntk_map *groups;
    /* Assign unknown operators to the CPU: all inputs arrive at run time, and the outputs are those
     * that are read. Otherwise the file is rejected. */
    bool takes_unknown;
};

/* -EBADMSG: the file is not a symbol file, or is contradictory; -EFBIG: it exceeds a limit;
 * -ENOTSUP: unknown operator. */
int mlu_symbol_parse(const char *text, size_t text_bytes, const struct mlu_symbol_options *options,
                     struct mlu_symbol *out_symbol, struct ntk_err *err);
int mlu_symbol_read(const char *path, const struct mlu_symbol_options *options,
                    struct mlu_symbol *out_symbol, struct ntk_err *err);
void mlu_symbol_fini(struct mlu_symbol *symbol);

/* Returns NULL if the node lacks the attribute. */
const char *mlu_node_attr_get(const struct mlu_node *node, const char *key);

/* Parses a device such as "mlu0", "mlu(0)", "mlu", "cpu", "cpu(0)" or "gpu1"; all devices except
 * MLUs count as CPU. Returns false for any other text. */
bool mlu_device_parse(const char *text, int32_t *out_device);
/* Formats a device such as "mlu3" or "cpu". Returns `to`. */
#define MLU_DEVICE_NAME_BYTES 16
const char *mlu_device_name(int32_t device, char to[MLU_DEVICE_NAME_BYTES]);

#endif
