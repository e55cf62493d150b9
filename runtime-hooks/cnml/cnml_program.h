/* SPDX-License-Identifier: MIT */
/*
 * cnml_program - writes the program of a software core, operator by operator.
 *
 * A value is a tensor while the program runs. It is in device memory (an input, an output, or an
 * intermediate value) with channels innermost, or in the state buffer: channel c in partition c mod
 * 128, there by c div 128, image, row, column. Operators on windows or channels process a value in
 * blocks; its place only determines whether a block is moved first, so results do not depend on the
 * place.
 *
 * A writer of a place waits for all earlier readers and writers; a reader waits for all earlier
 * writers. This is tracked per zone: a staging buffer, a value, or a bank of PSUM.
 *
 * Owner: struct cnml_writer owns everything. Threads: one.
 */
#ifndef NTK_RUNTIME_HOOKS_CNML_CNML_PROGRAM_H
#define NTK_RUNTIME_HOOKS_CNML_CNML_PROGRAM_H

#include "runtime-hooks/cnml/cnml_internal.h"
#include "shared/kernels/kit.h"

/* Queue sets used in addition to the engines: each completes in order and is one source of
 * tokens. */
enum cnml_queue { CNML_QUEUE_IN, CNML_QUEUE_CONST, CNML_QUEUE_OUT, CNML_QUEUES };
enum { CNML_SOURCES = NTK_ISA_ENGINE_COUNT + CNML_QUEUES };

struct cnml_zone {
    ntk_neff_token written[CNML_SOURCES]; /* latest token of each source; 0: none */
    ntk_neff_token read[CNML_SOURCES];
};

struct cnml_value {
    int dims[CNML_DIMS];
    enum ntk_dtype dtype;
    bool is_resident;
    uint64_t at;  /* if resident: address in every partition */
    uint32_t var; /* otherwise: the variable */
    struct cnml_zone zone;
    /* operators that use it first and last, if it is in the state buffer */
    int first_use, last_use;
};

/* Memory in each partition of the state buffer. The size for staging does not depend on resident
 * values. */
enum {
    CNML_STAGE_IN_BYTES = 20480, /* for each of two buffers */
    CNML_STAGE_OUT_BYTES = 12288,
    CNML_STAGE_SUM_BYTES = 12288, /* for intermediate float32 sums */
    CNML_WEIGHT_BYTES = 36864,    /* for a whole layer, or two pieces of one */
    CNML_COLUMN_BYTES = 2048,     /* for constants per channel */
    CNML_PSUM_BANKS = 8,
};

struct cnml_stage {
    uint64_t at[2];
    struct cnml_zone zone[2];
    unsigned turn;
};

struct cnml_writer {
    struct ntk_neff_build *build;
    struct ntk_neff_kernel *kernel;
    uint32_t queue[CNML_QUEUES];
    struct cnml_stage in, out, sum, weight;
    uint64_t columns_at;
    struct cnml_zone columns_zone;
    uint64_t resident_at, resident_end; /* part that is used; the rest is for values */
    struct cnml_zone bank[CNML_PSUM_BANKS];
    unsigned bank_turn;
    struct cnml_value *values;
    int value_count;
    int constant_count;
    int tmp_count;
    unsigned array_columns; /* columns of the tensor engine */
    int status;             /* the first status that is not SUCCESS */
};

/* --- order ----------------------------------------------------------------------------------- */

/* The zones that an added instruction or transfer reads and writes (NULL: none). */
struct cnml_touch {
    struct cnml_zone *reads[4];
    struct cnml_zone *writes[4];
};
ntk_neff_token cnml_emit(struct cnml_writer *w, enum ntk_isa_engine engine,
                         const struct ntk_isa_instr *instr, const struct cnml_touch *touch);
/* Adds a transfer element by element, which converts between dtypes. */
void cnml_dma(struct cnml_writer *w, enum cnml_queue queue, const struct ntk_isa_operand *to,
              const struct ntk_isa_operand *from, const struct cnml_touch *touch);

/* --- instructions ---------------------------------------------------------------------------- */

void cnml_fill(struct cnml_writer *w, const struct ntk_isa_operand *to, float value,
               const struct cnml_touch *touch);
void cnml_copy(struct cnml_writer *w, enum ntk_isa_engine engine, const struct ntk_isa_operand *to,
               const struct ntk_isa_operand *from, const struct cnml_touch *touch);
void cnml_act(struct cnml_writer *w, enum ntk_isa_act act, const struct ntk_isa_operand *to,
              const struct ntk_isa_operand *from, float scale, const struct ntk_isa_operand *bias,
              const struct cnml_touch *touch);
/* Computes (from op0 x) op1 y, where x and y are columns, or numbers if the column is NULL. op1
 * NONE: only op0. */
struct cnml_scalar {
    enum ntk_isa_alu op;
    const struct ntk_isa_operand *column;
    float number;
};
void cnml_scalars(struct cnml_writer *w, const struct ntk_isa_operand *to,
                  const struct ntk_isa_operand *from, struct cnml_scalar first,
                  struct cnml_scalar second, const struct cnml_touch *touch);
void cnml_pair(struct cnml_writer *w, enum ntk_isa_alu op, const struct ntk_isa_operand *to,
               const struct ntk_isa_operand *a, const struct ntk_isa_operand *b,
               const struct cnml_touch *touch);
void cnml_product(struct cnml_writer *w, const struct ntk_isa_operand *to,
                  const struct ntk_isa_operand *stationary, const struct ntk_isa_operand *moving,
                  bool adds, const struct cnml_touch *touch);

/* --- places ---------------------------------------------------------------------------------- */

/* Switches to the stage's other buffer. */
uint64_t cnml_stage_next(struct cnml_stage *stage, struct cnml_zone **out_zone);
/* Reserves a tile of this many elements in the next PSUM bank. */
uint64_t cnml_bank_next(struct cnml_writer *w, struct cnml_zone **out_zone);

/* Adds a constant with the dtype of values; returns its variable for cnml_dma. */
uint32_t cnml_constant(struct cnml_writer *w, enum ntk_dtype dtype, uint64_t rows, uint64_t columns,
                       const void *values);
/* Loads float32 columns for the channels of a value, one column per 128 channels, into the state
 * buffer. slot is 0 to 3, each for at most CNML_COLUMN_BYTES / 16 columns. */
void cnml_columns_load(struct cnml_writer *w, int slot, const float *values, int channels);
struct ntk_isa_operand cnml_column(const struct cnml_writer *w, int slot, int channel_block,
                                   int channels);

/* A part of a value: channels of one block of 128, images, rows, columns. */
struct cnml_block {
    int channel_block;
    int image, images;
    int row, rows;
    int column, columns;
};
int cnml_channel_blocks(int channels);
int cnml_channels_of(int channels, int channel_block);

/* Steps of a tile of partitions with up to three dimensions: columns, rows, images; in elements. */
struct cnml_steps {
    int64_t column, row, image;
};
struct ntk_isa_operand cnml_tile(enum ntk_isa_space space, uint64_t at, int partitions,
                                 enum ntk_dtype dtype, const struct cnml_block *block,
                                 struct cnml_steps steps);
/* The operand for a part of a value at its place; in device memory only for cnml_dma. */
struct ntk_isa_operand cnml_value_tile(const struct cnml_value *value,
                                       const struct cnml_block *block);
/* Same, for an engine to read: loads the part first if necessary. */
struct ntk_isa_operand cnml_block_in(struct cnml_writer *w, struct cnml_value *value,
                                     const struct cnml_block *block, struct cnml_zone **out_zone);
/* The operand into which an engine may write a part of a value, and the transfer to its place
 * afterwards. */
struct ntk_isa_operand cnml_block_out(struct cnml_writer *w, struct cnml_value *value,
                                      const struct cnml_block *block, struct cnml_zone **out_zone);
void cnml_block_done(struct cnml_writer *w, struct cnml_value *value,
                     const struct cnml_block *block, const struct ntk_isa_operand *tile,
                     struct cnml_zone *zone);

/* Chooses the size of blocks: as many whole images as fit, or else rows of one image, or else
 * columns of a row. All 0 if not even one element fits. */
void cnml_block_plan(const int dims[CNML_DIMS], bool (*fits)(const struct cnml_block *, void *),
                     void *ctx, struct cnml_block *out_plan);
/* Iterates over the images, rows and columns of whole in steps of plan; initially images must be
 * 0. */
bool cnml_block_next(const struct cnml_block *whole, const struct cnml_block *plan,
                     struct cnml_block *block);
struct cnml_block cnml_block_all(const int dims[CNML_DIMS]);
int64_t cnml_block_elements(const struct cnml_block *block);
/* Limits for blocks, so that their tiles fit a buffer. */
struct cnml_room {
    int64_t elements;
};
bool cnml_block_fits(const struct cnml_block *block, void *room);

/* --- frames ---------------------------------------------------------------------------------- */

/* The input of a block of windows, with the area beyond the edges filled in. */
struct cnml_frame {
    /* The windows: size, stride, dilation and padding. */
    int kernel_h, kernel_w;
    int stride_h, stride_w;
    int dilation_h, dilation_w;
    int top, left;
    int up_h, up_w; /* distance between two input elements in the frame; 1: adjacent */
    float fill;
    /* Set by cnml_frame_load(). */
    int height, width; /* size of the frame */
    uint64_t at;
    enum ntk_dtype dtype;
    /* Distances between elements, images, and channel blocks. */
    struct cnml_steps steps;
    int64_t channel_block_step;
    struct cnml_zone *zone;
    int image, row, column; /* position of the block in the output */
};
/* The number of elements per partition and channel block that a frame for this block needs. */
int64_t cnml_frame_elements(const struct cnml_frame *frame, const struct cnml_block *block);
/* Loads the input of output block `block` (its channel_block is ignored): `count` channel blocks of
 * the value from `first` on are loaded, copied, or used in place. */
void cnml_frame_load(struct cnml_writer *w, struct cnml_frame *frame, struct cnml_value *value,
                     const struct cnml_block *block, int first, int count);
/* The input of tap (i, j) of the block's windows, for channel block k of the loaded ones. */
struct ntk_isa_operand cnml_frame_tap(const struct cnml_frame *frame,
                                      const struct cnml_block *block, int partitions, int k, int i,
                                      int j);

/* --- operators ------------------------------------------------------------------------------- */

struct cnml_values {
    struct cnml_value *in[CNML_LIST_MAX];
    struct cnml_value *out[CNML_LIST_MAX];
};
void cnml_write_conv(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values);
void cnml_write_pool(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values);
void cnml_write_element(struct cnml_writer *w, const struct cnmlBaseOp *op,
                        const struct cnml_values *values);
void cnml_write_softmax(struct cnml_writer *w, const struct cnmlBaseOp *op,
                        const struct cnml_values *values);
void cnml_write_move(struct cnml_writer *w, const struct cnmlBaseOp *op,
                     const struct cnml_values *values);

enum ntk_dtype cnml_device_dtype(int dtype); /* NONE: unsupported on the device */

#endif
