/* SPDX-License-Identifier: MIT */
/*
 * mlu_array - an array in host memory, like an NDArray of MXNet on the CPU.
 *
 * Owner:   the caller provides the storage; a zeroed struct is not an array; mlu_array_fini() frees
 *          the elements.
 * Threads: any; one at a time per array.
 */
#ifndef NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_ARRAY_H
#define NTK_RUNTIME_HOOKS_MLUGRAPH_MLU_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"

#define MLU_DIMS_MAX 8
#define MLU_ARRAY_BYTES_MAX (UINT64_C(4) << 30)

enum mlu_dtype {
#define MLU_DTYPE(id, number, name, bytes, descr) MLU_DTYPE_##id = number,
#include "runtime-hooks/mlugraph/mlu_dtype.def"
#undef MLU_DTYPE
    MLU_DTYPE_COUNT
};

struct mlu_shape {
    uint32_t dim_count;
    uint64_t dims[MLU_DIMS_MAX];
};

struct mlu_array {
    enum mlu_dtype dtype;
    struct mlu_shape shape;
    size_t count; /* number of elements */
    void *data;   /* in C order, little-endian; NULL: no array */
};

const char *mlu_dtype_name(enum mlu_dtype dtype);
size_t mlu_dtype_bytes(enum mlu_dtype dtype);
bool mlu_dtype_is_float(enum mlu_dtype dtype);
/* Returns the type for a name such as "float32"; false for any other text. */
bool mlu_dtype_parse(const char *name, enum mlu_dtype *out_dtype);

bool mlu_shape_equal(const struct mlu_shape *a, const struct mlu_shape *b);
/* Returns the number of elements: 1 for no dimensions; UINT64_MAX on overflow. */
uint64_t mlu_shape_count(const struct mlu_shape *shape);
#define MLU_SHAPE_TEXT_BYTES 200
/* Formats a shape such as "(1,3,224,224)". Returns `to`. */
const char *mlu_shape_text(const struct mlu_shape *shape, char to[MLU_SHAPE_TEXT_BYTES]);

/* Allocates zeroed elements. -EFBIG beyond MLU_ARRAY_BYTES_MAX. */
int mlu_array_init(struct mlu_array *array, enum mlu_dtype dtype, const struct mlu_shape *shape,
                   struct ntk_err *err);
int mlu_array_copy(struct mlu_array *to, const struct mlu_array *from, struct ntk_err *err);
void mlu_array_fini(struct mlu_array *array);

/* Converts an element of any type to double and back; integers round to nearest even and saturate,
 * float16 rounds to nearest even. */
double mlu_array_get(const struct mlu_array *array, size_t index);
void mlu_array_set(struct mlu_array *array, size_t index, double value);

/* Reads a .npy file in C or Fortran order, with element types of mlu_dtype.def. */
int mlu_array_from_npy(struct mlu_array *array, const void *bytes, size_t bytes_count,
                       struct ntk_err *err);
int mlu_array_read_npy(struct mlu_array *array, const char *path, struct ntk_err *err);
/* Writes a .npy file, which appears complete or not at all. */
int mlu_array_write_npy(const struct mlu_array *array, const char *path, struct ntk_err *err);

#endif
