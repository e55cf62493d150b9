/* SPDX-License-Identifier: MIT */
/*
 * neff_cpu - the interface of functions for nodes that run on the CPU.
 *
 * A NEFF may contain shared objects. A graph node with a func_name other than "__kelf" runs on the
 * host: the core writes the member in the node's attribute "library" (without it, the archive's
 * only member ending in ".so") to a private file, opens it with dlopen, looks the symbol func_name
 * up and calls it once per execution. The function has this type:
 *
 *   int fused_add(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
 *                 const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count);
 *
 * It returns 0, or a positive number on failure (the execution then fails). Inputs must not be
 * written; outputs contain arbitrary bytes on entry and must be filled completely. Several threads
 * may be inside the same function at once. Tensors are in the order of the node's inputs and output
 * names.
 *
 * This header needs only the C library, so that such objects can be built separately.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_NEFF_CPU_H
#define NTK_SHARED_FORMATS_NEFF_NEFF_CPU_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NEFF_CPU_DIMS_MAX 8

struct ntk_neff_cpu_tensor {
    void *data; /* in C order, dense, aligned to 64 bytes */
    uint64_t bytes_count;
    uint32_t dtype; /* number from dtype.def, the vendor's nrt_dtype_t */
    uint32_t dim_count;
    uint64_t dims[NTK_NEFF_CPU_DIMS_MAX];
};

typedef int ntk_neff_cpu_function(const struct ntk_neff_cpu_tensor *inputs, uint32_t input_count,
                                  const struct ntk_neff_cpu_tensor *outputs, uint32_t output_count);

#ifdef __cplusplus
}
#endif
#endif
