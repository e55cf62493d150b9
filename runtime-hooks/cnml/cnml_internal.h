/* SPDX-License-Identifier: MIT */
/*
 * cnml_internal - shared by the files of libcnml: tensors, parameters, operators, and their
 * conversions.
 *
 *   cnml_g1.c cnml_g2.c cnml_g3.c cnml_third.c  names and argument lists of the generations
 *   cnml_tensor.c cnml_host.c          descriptors, host data in any dtype and order
 *   cnml_op.c cnml_fusion.c            operators, their shapes, life from creation to forward
 *   cnml_reference*.c                  arithmetic of operators on float arrays (n, c, h, w)
 *   cnml_program.c cnml_tile_*.c       operators as programs of a software core
 *   cnml_compile.c cnml_model.c        a program as a file in memory, as a task, as a model
 *
 * Statuses are plain ints here, with the numbers of cnmlStatus_t.
 *
 * Owner:   tensors, operators and programs count references; a client's handle is one reference.
 * Threads: descriptors belong to one thread at a time, as with the vendor; forwards of one operator
 *          may run from several.
 */
#ifndef NTK_RUNTIME_HOOKS_CNML_CNML_INTERNAL_H
#define NTK_RUNTIME_HOOKS_CNML_CNML_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neuware/g2/cnml.h"

enum { CNML_N, CNML_C, CNML_H, CNML_W, CNML_DIMS };

/* Maximum number of elements in a tensor, so that indices fit the client's int. */
#define CNML_ELEMENTS_MAX INT32_MAX
#define CNML_LIST_MAX 256 /* maximum inputs or outputs of one operator or fusion */

/* Numbers that have a name in only some generations. */
enum cnml_numbers {
    CNML_INT8_OF_G1 = 5,   /* cnmlDataType_t: INT8, in addition to FIX8 */
    CNML_INT4_OF_G3 = 14,  /* named, but unsupported for computation */
    CNML_HARD_SIGMOID = 6, /* cnmlActiveFunction_t */
    CNML_POOL_SUM_OF_G3 = 3,
    CNML_POOL_BLEND_OF_G3 = 4,
};

/* --- numbers of the host -------------------------------------------------------------------------
 */

/* Quantisation of small integers: real = stored * 2^position / scale. */
struct cnml_quant {
    int position;
    float scale;
};

struct cnml_quants { /* one for all channels, or one per output channel of a filter */
    struct cnml_quant one;
    struct cnml_quant *by_channel; /* NULL: one for all channels */
    int channel_count;
};

size_t cnml_dtype_bytes(int dtype); /* 0 if unknown */
bool cnml_dtype_is_quantised(int dtype);
/* Convert elements to floats, and back: saturate, and round to nearest even. */
void cnml_to_float(int dtype, struct cnml_quant quant, const void *from, float *to, size_t count);
void cnml_from_float(int dtype, struct cnml_quant quant, const float *from, void *to, size_t count);
uint16_t cnml_float_to_half(float value);

/* Convert host data in any order to floats in the order n, c, h, w, and back. */
struct cnmlCpuTensor {
    int references;
    int type;
    int dtype;
    int order;
    int dims[CNML_DIMS];
};

/* --- tensors --------------------------------------------------------------------------------- */

struct cnmlTensor {
    int references;
    int type;
    int dtype;
    int dims[CNML_DIMS]; /* in the order n, c, h, w; for filters co, ci, kh, kw */
    bool has_shape;
    struct cnml_quants quants;
    bool has_quant;   /* a client has set it */
    bool is_compiled; /* an operator that uses it has been compiled */

    /* Bound data: its address until the first compilation, then its content. */
    struct cnmlCpuTensor *bound;
    const void *bound_host;
    void *bound_free; /* memory that we free afterwards */
    float *values;    /* in the order n, c, h, w */
};

size_t cnml_elements(const int dims[CNML_DIMS]);
bool cnml_same_dims(const int a[CNML_DIMS], const int b[CNML_DIMS]);
size_t cnml_tensor_bytes(const struct cnmlTensor *tensor);
struct cnmlTensor *cnml_tensor_hold(struct cnmlTensor *tensor); /* accepts NULL */
void cnml_tensor_drop(struct cnmlTensor *tensor);
struct cnml_quant cnml_tensor_quant(const struct cnmlTensor *tensor, int channel);
/* Reads the bound data, at most once. */
int cnml_tensor_consume(struct cnmlTensor *tensor);
int cnml_tensor_make(struct cnmlTensor **out, int type, int dtype, const int dims[CNML_DIMS]);
int cnml_tensor_set_dtype(struct cnmlTensor *tensor, int dtype);
int cnml_cpu_tensor_make(struct cnmlCpuTensor **out, int type, int dtype, int order,
                         const int dims[CNML_DIMS]);
void cnml_cpu_tensor_drop(struct cnmlCpuTensor *tensor);

/* Read data into new arrays of floats in the order n, c, h, w (NULL: out of memory), and write it
 * back. */
float *cnml_host_read(const struct cnmlCpuTensor *tensor, const void *data,
                      struct cnml_quant quant);
int cnml_host_write(const struct cnmlCpuTensor *tensor, void *data, struct cnml_quant quant,
                    const float *values);
/* Computes the strides of element (n, c, h, w) in this order. */
void cnml_order_strides(int order, const int dims[CNML_DIMS], size_t strides[CNML_DIMS]);
bool cnml_order_is_known(int order);

/* --- parameters ------------------------------------------------------------------------------ */

/* The content of any parameter; each operator uses a part of it. */
struct cnml_param {
    int stride_h, stride_w;
    int dilation_h, dilation_w;   /* at least 1 */
    int top, bottom, left, right; /* padding or cropping */
    int window_h, window_w;
    int mode;
    int strategy;
    bool real;
    float value;
    int in_count, out_count;
    int dims[CNML_DIMS];
    int order;
};

#define CNML_PARAMS(X) \
    X(Conv)            \
    X(ConvDepthwise)   \
    X(ConvFirst) X(Deconv) X(AddPad) X(Pool) X(L2_Pool) X(Concat) X(Split) X(Reshape)
#define CNML_PARAM_STRUCT(Name)  \
    struct cnml##Name##OpParam { \
        struct cnml_param is;    \
    };
CNML_PARAMS(CNML_PARAM_STRUCT)
#undef CNML_PARAM_STRUCT

/* Pads each side by half; the remainder is added at the bottom and right. */
void cnml_param_pad(struct cnml_param *param, int pad_h, int pad_w);

/* --- operators ------------------------------------------------------------------------------- */

enum cnml_op_id {
#define CNML_OP(ID, Name, Compute, operands, arity) CNML_OP_##ID,
#define CNML_PARAM(generations, kind, Name, arguments)
#define CNML_CALL(generations, kind, type, name, arguments)
#include "runtime-hooks/cnml/cnml_ops.def"
#undef CNML_OP
#undef CNML_PARAM
#undef CNML_CALL
    CNML_OP_COUNT
};

enum { CNML_ONE = 1, CNML_TWO = 2, CNML_MANY = 0 }; /* number of inputs of a forward call */

struct cnml_op_row {
    const char *name;
    int arity;
};
extern const struct cnml_op_row cnml_op_rows[CNML_OP_COUNT];

/* Indices of an operator's constants. */
enum { CNML_FILTER_OF, CNML_BIAS_OF, CNML_MEAN_OF, CNML_STD_OF, CNML_CONSTS };
enum { CNML_ALPHA_OF = CNML_FILTER_OF, CNML_BETA_OF = CNML_BIAS_OF };

/* The description of an operator without its tensors, sufficient for its arithmetic. */
struct cnml_work {
    enum cnml_op_id id;
    struct cnml_param param;
    int group;    /* for ConvGroup and ConvDepthwise, else 1 */
    int selector; /* function, kind of cast, or enum CNML_N.. of a softmax */
};

struct cnml_program;

struct cnmlBaseOp {
    int references;
    struct cnml_work work;
    bool is_quantised; /* convolutions and mlp compute with 8-bit integers */
    bool has_input_quant, has_filter_quant;
    struct cnml_quant input_quant, filter_quant; /* for integers, if the tensors have none */
    struct cnmlTensor **inputs;
    struct cnmlTensor **outputs;
    int input_count, output_count;
    struct cnmlTensor *consts[CNML_CONSTS];
    struct cnmlFusionOp *fusion;  /* the fusion that it is part of; borrowed */
    struct cnml_program *program; /* NULL until compiled */
    int core_version;
    int core_count; /* 0: not specified */
};

struct cnmlFusionOp {
    struct cnmlBaseOp **ops;
    int op_count;
    struct cnmlTensor **inputs;
    struct cnmlTensor **outputs;
    int input_count, output_count;
    struct cnml_program *program;
    int core_version;
    int core_count; /* 0: not specified */
};

/* The input of an operator's creation. The operator takes references to all of it; creation checks
 * counts, shapes and types. */
struct cnml_op_make {
    struct cnml_work work;
    struct cnmlTensor *const *inputs;
    struct cnmlTensor *const *outputs;
    int input_count, output_count;
    struct cnmlTensor *consts[CNML_CONSTS];
    bool needs[CNML_CONSTS]; /* constants that must not be NULL */
};
int cnml_op_create(cnmlBaseOp_t *out_op, const struct cnml_op_make *make);
struct cnmlBaseOp *cnml_op_hold(struct cnmlBaseOp *op);
void cnml_op_drop(struct cnmlBaseOp *op);
/* Creates an operator with the parameter and tensors that most operators have. */
int cnml_op_create_plain(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                         cnmlTensor_t a, cnmlTensor_t b, cnmlTensor_t out);
int cnml_op_create_conv(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                        cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter, cnmlTensor_t bias,
                        int group);
int cnml_op_create_list(cnmlBaseOp_t *out_op, enum cnml_op_id id, const struct cnml_param *param,
                        cnmlTensor_t *in, int in_count, cnmlTensor_t *out, int out_count);
int cnml_op_create_mlp(cnmlBaseOp_t *out_op, cnmlTensor_t in, cnmlTensor_t out, cnmlTensor_t filter,
                       cnmlTensor_t bias);
int cnml_cast_check(int type, int from, int to);
int cnml_op_create_softmax(cnmlBaseOp_t *out_op, int axis, cnmlTensor_t in, cnmlTensor_t out);

/* Checks shapes and reads constants; on success, the tensors cannot change any more. */
int cnml_op_prepare(struct cnmlBaseOp *op);
void cnml_op_mark(struct cnmlBaseOp *op);
int cnml_op_compile(struct cnmlBaseOp *op, int core_version, int parallelism);
int cnml_fusion_compile(struct cnmlFusionOp *fusion, int core_version, int parallelism);
int cnml_version_check(int core_version);

/* Computes the size of a result from the size of its input. */
void cnml_window_dims(const struct cnml_param *param, const int in[CNML_DIMS], int window_h,
                      int window_w, bool overhangs, int out[CNML_DIMS]);
/* Checks the dims of inputs, outputs and consts (NULL if absent). Returns 0, or the status for a
 * mismatch. */
int cnml_shapes_check(const struct cnml_work *work, const int (*in)[CNML_DIMS], int in_count,
                      const int (*out)[CNML_DIMS], int out_count,
                      const int *const consts[CNML_CONSTS]);
/* For a transpose, finds the input axis of each output axis; false if no order of the dimensions
 * leads to this output. */
bool cnml_transpose_axes(const int in[CNML_DIMS], const int out[CNML_DIMS], int axes[CNML_DIMS]);
int cnml_list_axis(int mode); /* axis of concat and split; -1 for an unknown mode */

/* --- arithmetic of the host ------------------------------------------------------------------ */

struct cnml_array {
    float *values; /* in the order n, c, h, w */
    int dims[CNML_DIMS];
};

/* Computes an operator; consts without values are absent. Checks shapes. Returns 0 or a status. */
int cnml_reference(const struct cnml_work *work, const struct cnml_array *in, int in_count,
                   struct cnml_array *out, int out_count,
                   const struct cnml_array consts[CNML_CONSTS]);
float cnml_active(int function, float x);

cnmlStatus_t cnml_cpu_softmax(int axis, cnmlCpuTensor_t in_tensor, void *in,
                              cnmlCpuTensor_t out_tensor, void *out);

/* The operators of each file. */
int cnml_reference_conv(const struct cnml_work *work, const struct cnml_array *in,
                        struct cnml_array *out, const struct cnml_array *consts);
int cnml_reference_pool(const struct cnml_work *work, const struct cnml_array *in,
                        struct cnml_array *out);
int cnml_reference_move(const struct cnml_work *work, const struct cnml_array *in, int in_count,
                        struct cnml_array *out, int out_count);
int cnml_reference_element(const struct cnml_work *work, const struct cnml_array *in,
                           struct cnml_array *out, const struct cnml_array *consts);

/* --- programs -------------------------------------------------------------------------------- */

/* Compiles operators that run one after the other; clients provide the memory for inputs and
 * outputs. */
int cnml_program_create(struct cnmlBaseOp *const *ops, int op_count,
                        struct cnmlTensor *const *inputs, int input_count,
                        struct cnmlTensor *const *outputs, int output_count, const char *name,
                        struct cnml_program **out_program);
struct cnml_program *cnml_program_hold(struct cnml_program *program);
void cnml_program_drop(struct cnml_program *program);
/* The program's file; borrowed. */
const void *cnml_program_file(const struct cnml_program *program, size_t *out_bytes);

/* Memory sizes that clients can query; program NULL: not compiled. */
int cnml_program_memory(const struct cnml_program *program, int64_t *total, int64_t *share,
                        int64_t *priv);

int cnml_status_of(int ret); /* converts a cnrtRet_t */

/* How to run a forward call. */
struct cnml_how {
    int data_parallelism; /* number of parts in each batch buffer; at least 1 */
    unsigned clusters;    /* bit mask of allowed clusters; 0: any */
};
int cnml_forward(struct cnml_program *program, void *const *in, int in_count, void *const *out,
                 int out_count, const struct cnml_how *how, void *queue);
int cnml_op_forward(struct cnmlBaseOp *op, int arity, void *const *in, int in_count,
                    void *const *out, int out_count, const struct cnml_how *how, void *queue);
int cnml_fusion_forward(struct cnmlFusionOp *fusion, void *const *in, int in_count,
                        void *const *out, int out_count, const struct cnml_how *how, void *queue);

#endif
