/* SPDX-License-Identifier: MIT */
/*
 * nrt_loader - libnrt.so.1 opened at run time: ours or the vendor's.
 *
 * The library is $NEURON_LIBNRT when set, else the one beside the program (../lib), else the loader's.
 *
 * Owner:   one per process, never closed: runtimes leave threads behind.
 */
#ifndef NTK_RUNTIME_HOOKS_BENCH_NRT_LOADER_H
#define NTK_RUNTIME_HOOKS_BENCH_NRT_LOADER_H

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "shared/base/err.h"

/* name in the library, parameters; each returns NRT_STATUS */
#define NRT_LOADER_CALLS(CALL)                                                                  \
    CALL(init, (nrt_framework_type_t, const char *, const char *))                              \
    CALL(load, (const void *, size_t, int32_t, int32_t, nrt_model_t **))                        \
    CALL(unload, (nrt_model_t *))                                                               \
    CALL(get_model_tensor_info, (nrt_model_t *, nrt_tensor_info_array_t **))                    \
    CALL(free_model_tensor_info, (nrt_tensor_info_array_t *))                                   \
    CALL(tensor_allocate, (nrt_tensor_placement_t, int, size_t, const char *, nrt_tensor_t **)) \
    CALL(tensor_read, (const nrt_tensor_t *, void *, size_t, size_t))                           \
    CALL(tensor_write, (nrt_tensor_t *, const void *, size_t, size_t))                          \
    CALL(allocate_tensor_set, (nrt_tensor_set_t **))                                            \
    CALL(add_tensor_to_tensor_set, (nrt_tensor_set_t *, const char *, nrt_tensor_t *))          \
    CALL(execute, (nrt_model_t *, const nrt_tensor_set_t *, nrt_tensor_set_t *))

struct nrt_loader {
#define CALL(name, parameters) NRT_STATUS(*name) parameters;
    NRT_LOADER_CALLS(CALL)
#undef CALL
    void (*tensor_free)(nrt_tensor_t **);
    void (*destroy_tensor_set)(nrt_tensor_set_t **);
    void (*close)(void);
    const char *(*status_name)(NRT_STATUS); /* never NULL */
};

/* -ENOENT with the loader's sentence when no library opens, -ENOSYS when it lacks a call. */
int nrt_loader_open(struct nrt_loader *out_nrt, struct ntk_err *err);

#endif
