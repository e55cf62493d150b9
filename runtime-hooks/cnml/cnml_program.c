/* SPDX-License-Identifier: MIT */
/* cnml_program - writes instructions in order, and manages places and blocks of values. */
#include "runtime-hooks/cnml/cnml_program.h"

#include <stdio.h>
#include <string.h>

/* --- order ----------------------------------------------------------------------------------- */

static void gather(ntk_neff_token *after, const ntk_neff_token *tokens, int self)
{
    for (int s = 0; s < CNML_SOURCES; s++) {
        if (s != self && tokens[s] > after[s]) {
            after[s] = tokens[s];
        }
    }
}

static ntk_neff_token emit(struct cnml_writer *w, enum ntk_isa_engine engine, int source,
                           const struct ntk_isa_instr *instr, const struct cnml_touch *touch)
{
    ntk_neff_token after[CNML_SOURCES] = { 0 };
    ntk_neff_token done;

    for (size_t i = 0; i < sizeof touch->reads / sizeof touch->reads[0]; i++) {
        if (touch->reads[i]) {
            gather(after, touch->reads[i]->written, source);
        }
    }
    for (size_t i = 0; i < sizeof touch->writes / sizeof touch->writes[0]; i++) {
        if (touch->writes[i]) {
            gather(after, touch->writes[i]->written, source);
            gather(after, touch->writes[i]->read, source);
        }
    }
    done = ntk_neff_kernel_emit(w->kernel, engine, instr,
                                (struct ntk_neff_after){ after, CNML_SOURCES });
    for (size_t i = 0; i < sizeof touch->reads / sizeof touch->reads[0]; i++) {
        if (touch->reads[i]) {
            touch->reads[i]->read[source] = done;
        }
    }
    for (size_t i = 0; i < sizeof touch->writes / sizeof touch->writes[0]; i++) {
        if (touch->writes[i]) {
            touch->writes[i]->written[source] = done;
        }
    }
    return done;
}

ntk_neff_token cnml_emit(struct cnml_writer *w, enum ntk_isa_engine engine,
                         const struct ntk_isa_instr *instr, const struct cnml_touch *touch)
{
    return emit(w, engine, (int)engine, instr, touch);
}

void cnml_dma(struct cnml_writer *w, enum cnml_queue queue, const struct ntk_isa_operand *to,
              const struct ntk_isa_operand *from, const struct cnml_touch *touch)
{
    static const enum ntk_isa_engine owners[CNML_QUEUES] = { [CNML_QUEUE_IN] = NTK_ISA_ENGINE_SP,
                                                             [CNML_QUEUE_CONST] = NTK_ISA_ENGINE_SP,
                                                             [CNML_QUEUE_OUT] =
                                                                 NTK_ISA_ENGINE_POOL };
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_DMA_COPY);

    instr.queue = (uint16_t)w->queue[queue];
    instr.operand[NTK_ISA_DST] = *to;
    instr.operand[NTK_ISA_SRC0] = *from;
    (void)emit(w, owners[queue], NTK_ISA_ENGINE_COUNT + (int)queue, &instr, touch);
}

/* --- instructions ---------------------------------------------------------------------------- */

void cnml_fill(struct cnml_writer *w, const struct ntk_isa_operand *to, float value,
               const struct cnml_touch *touch)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_MEMSET);

    instr.operand[NTK_ISA_DST] = *to;
    if (ntk_dtype_is_float((unsigned)to->dtype)) {
        instr.imm[0] = ntk_isa_float_bits(value);
    } else {
        int64_t integer = (int64_t)value;

        instr.imm[0] = (uint32_t)integer;
        instr.imm[1] = (uint32_t)((uint64_t)integer >> 32);
    }
    cnml_emit(w, NTK_ISA_ENGINE_DVE, &instr, touch);
}

void cnml_copy(struct cnml_writer *w, enum ntk_isa_engine engine, const struct ntk_isa_operand *to,
               const struct ntk_isa_operand *from, const struct cnml_touch *touch)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(
        to->dtype == from->dtype ? NTK_ISA_OP_TENSOR_COPY : NTK_ISA_OP_TENSOR_CAST);

    instr.operand[NTK_ISA_DST] = *to;
    instr.operand[NTK_ISA_SRC0] = *from;
    cnml_emit(w, engine, &instr, touch);
}

void cnml_act(struct cnml_writer *w, enum ntk_isa_act act, const struct ntk_isa_operand *to,
              const struct ntk_isa_operand *from, float scale, const struct ntk_isa_operand *bias,
              const struct cnml_touch *touch)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_ACTIVATION);

    instr.act = act;
    instr.imm[0] = ntk_isa_float_bits(scale);
    instr.operand[NTK_ISA_DST] = *to;
    instr.operand[NTK_ISA_SRC0] = *from;
    if (bias) {
        instr.operand[NTK_ISA_SRC1] = *bias;
    }
    cnml_emit(w, NTK_ISA_ENGINE_ACT, &instr, touch);
}

void cnml_scalars(struct cnml_writer *w, const struct ntk_isa_operand *to,
                  const struct ntk_isa_operand *from, struct cnml_scalar first,
                  struct cnml_scalar second, const struct cnml_touch *touch)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_SCALAR);

    instr.op0 = first.op;
    instr.op1 = second.op;
    instr.operand[NTK_ISA_DST] = *to;
    instr.operand[NTK_ISA_SRC0] = *from;
    if (first.column) {
        instr.operand[NTK_ISA_SRC1] = *first.column;
    } else {
        instr.imm[0] = ntk_isa_float_bits(first.number);
    }
    if (second.op != NTK_ISA_ALU_NONE && second.column) {
        instr.operand[NTK_ISA_SRC2] = *second.column;
    } else if (second.op != NTK_ISA_ALU_NONE) {
        instr.imm[1] = ntk_isa_float_bits(second.number);
    }
    cnml_emit(w, NTK_ISA_ENGINE_DVE, &instr, touch);
}

void cnml_pair(struct cnml_writer *w, enum ntk_isa_alu op, const struct ntk_isa_operand *to,
               const struct ntk_isa_operand *a, const struct ntk_isa_operand *b,
               const struct cnml_touch *touch)
{
    struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_TENSOR_TENSOR);

    instr.op0 = op;
    instr.operand[NTK_ISA_DST] = *to;
    instr.operand[NTK_ISA_SRC0] = *a;
    instr.operand[NTK_ISA_SRC1] = *b;
    cnml_emit(w, NTK_ISA_ENGINE_DVE, &instr, touch);
}

/* Computes a product. A stationary tile is at most as wide as the array, so wider ones need several
 * products. */
void cnml_product(struct cnml_writer *w, const struct ntk_isa_operand *to,
                  const struct ntk_isa_operand *stationary, const struct ntk_isa_operand *moving,
                  bool adds, const struct cnml_touch *touch)
{
    uint32_t count = to->partition_count;

    for (uint32_t first = 0; first < count; first += w->array_columns) {
        struct ntk_isa_instr instr = ntk_isa_instr_make(NTK_ISA_OP_NC_MATMUL);
        struct ntk_isa_operand *dst = &instr.operand[NTK_ISA_DST];
        struct ntk_isa_operand *weights = &instr.operand[NTK_ISA_SRC0];
        uint32_t part = count - first < w->array_columns ? count - first : w->array_columns;

        *dst = *to;
        *weights = *stationary;
        dst->partition_start = (uint16_t)(dst->partition_start + first);
        dst->partition_count = (uint16_t)part;
        weights->offset += (uint64_t)first * ntk_dtype_bytes((unsigned)weights->dtype);
        weights->dim[0].count = part;
        instr.operand[NTK_ISA_SRC1] = *moving;
        instr.op_flags = adds ? NTK_ISA_OPF_ACCUMULATE : 0;
        cnml_emit(w, NTK_ISA_ENGINE_PE, &instr, touch);
    }
}

/* --- places ---------------------------------------------------------------------------------- */

uint64_t cnml_stage_next(struct cnml_stage *stage, struct cnml_zone **out_zone)
{
    unsigned turn = stage->turn;

    stage->turn ^= 1;
    *out_zone = &stage->zone[turn];
    return stage->at[turn];
}

uint64_t cnml_bank_next(struct cnml_writer *w, struct cnml_zone **out_zone)
{
    unsigned bank = w->bank_turn++ % CNML_PSUM_BANKS;

    *out_zone = &w->bank[bank];
    return (uint64_t)bank * NTK_ISA_PSUM_BANK_BYTES;
}

uint32_t cnml_constant(struct cnml_writer *w, enum ntk_dtype dtype, uint64_t rows, uint64_t columns,
                       const void *values)
{
    char name[24];

    (void)snprintf(name, sizeof name, "constant%d", w->constant_count++);
    return ntk_neff_kernel_constant(w->kernel, name, dtype, 2, (uint64_t[]){ rows, columns },
                                    values);
}

void cnml_columns_load(struct cnml_writer *w, int slot, const float *values, int channels)
{
    int blocks = cnml_channel_blocks(channels);
    uint64_t at = w->columns_at + (uint64_t)slot * CNML_COLUMN_BYTES / 4;
    uint32_t var;

    if ((size_t)blocks * 4 > CNML_COLUMN_BYTES / 4) {
        w->status = CNML_STATUS_UNSUPPORT;
        return;
    }
    var = cnml_constant(w, NTK_DTYPE_FLOAT32, 1, (uint64_t)channels, values);
    for (int b = 0; b < blocks; b++) {
        int count = cnml_channels_of(channels, b);
        struct ntk_isa_operand from =
            ntk_isa_var(var, (uint64_t)b * 512, (uint32_t)count, 1, 1, NTK_DTYPE_FLOAT32);
        struct ntk_isa_operand to =
            ntk_isa_sbuf(at + (uint64_t)b * 4, (unsigned)count, 1, NTK_DTYPE_FLOAT32);

        cnml_dma(w, CNML_QUEUE_CONST, &to, &from,
                 &(struct cnml_touch){ .writes = { &w->columns_zone } });
    }
}

struct ntk_isa_operand cnml_column(const struct cnml_writer *w, int slot, int channel_block,
                                   int channels)
{
    return ntk_isa_sbuf(w->columns_at + (uint64_t)slot * CNML_COLUMN_BYTES / 4 +
                            (uint64_t)channel_block * 4,
                        (unsigned)channels, 1, NTK_DTYPE_FLOAT32);
}

/* --- blocks ---------------------------------------------------------------------------------- */

int cnml_channel_blocks(int channels)
{
    return (channels + NTK_ISA_PARTITIONS - 1) / NTK_ISA_PARTITIONS;
}

int cnml_channels_of(int channels, int channel_block)
{
    int left = channels - channel_block * NTK_ISA_PARTITIONS;

    return left < NTK_ISA_PARTITIONS ? left : NTK_ISA_PARTITIONS;
}

int64_t cnml_block_elements(const struct cnml_block *block)
{
    return (int64_t)block->images * block->rows * block->columns;
}

bool cnml_block_fits(const struct cnml_block *block, void *room)
{
    const struct cnml_room *bound = room;

    return cnml_block_elements(block) <= bound->elements;
}

struct cnml_block cnml_block_all(const int dims[CNML_DIMS])
{
    return (
        struct cnml_block){ .images = dims[CNML_N], .rows = dims[CNML_H], .columns = dims[CNML_W] };
}

/* Finds the largest value of *field, from 1 to most, that fits; 0 if none does. */
static int greatest(struct cnml_block *block, int *field, int most,
                    bool (*fits)(const struct cnml_block *, void *), void *ctx)
{
    int low = 0;

    while (low < most) {
        int middle = low + (most - low + 1) / 2;

        *field = middle;
        if (fits(block, ctx)) {
            low = middle;
        } else {
            most = middle - 1;
        }
    }
    *field = low;
    return low;
}

void cnml_block_plan(const int dims[CNML_DIMS], bool (*fits)(const struct cnml_block *, void *),
                     void *ctx, struct cnml_block *out_plan)
{
    struct cnml_block plan = cnml_block_all(dims);

    if (greatest(&plan, &plan.images, dims[CNML_N], fits, ctx) == 0) {
        plan.images = 1;
        if (greatest(&plan, &plan.rows, dims[CNML_H], fits, ctx) == 0) {
            plan.rows = 1;
            greatest(&plan, &plan.columns, dims[CNML_W], fits, ctx);
        }
    }
    if (plan.columns == 0) {
        plan.images = plan.rows = 0;
    }
    *out_plan = plan;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

bool cnml_block_next(const struct cnml_block *whole, const struct cnml_block *plan,
                     struct cnml_block *block)
{
    int channel_block = block->channel_block;

    if (block->images == 0) {
        *block = *whole;
    } else {
        block->column += plan->columns;
        if (block->column >= whole->column + whole->columns) {
            block->column = whole->column;
            block->row += plan->rows;
        }
        if (block->row >= whole->row + whole->rows) {
            block->row = whole->row;
            block->image += plan->images;
        }
        if (block->image >= whole->image + whole->images) {
            return false;
        }
    }
    block->channel_block = channel_block;
    block->columns = least(plan->columns, whole->column + whole->columns - block->column);
    block->rows = least(plan->rows, whole->row + whole->rows - block->row);
    block->images = least(plan->images, whole->image + whole->images - block->image);
    return true;
}

/* Adds a dimension: drops dimensions of one element and merges contiguous ones. */
static void add_dim(struct ntk_isa_operand *operand, int64_t step, int64_t count)
{
    struct ntk_isa_dim *last =
        operand->dim_count > 0 ? &operand->dim[operand->dim_count - 1] : NULL;

    if (count == 1) {
        return;
    }
    if (last && (int64_t)last->step * last->count == step) {
        last->count *= (uint32_t)count;
        return;
    }
    operand->dim[operand->dim_count++] = (struct ntk_isa_dim){ (int32_t)step, (uint32_t)count };
}

static void add_block(struct ntk_isa_operand *operand, const struct cnml_block *block,
                      struct cnml_steps steps)
{
    add_dim(operand, steps.column, block->columns);
    add_dim(operand, steps.row, block->rows);
    add_dim(operand, steps.image, block->images);
}

struct ntk_isa_operand cnml_tile(enum ntk_isa_space space, uint64_t at, int partitions,
                                 enum ntk_dtype dtype, const struct cnml_block *block,
                                 struct cnml_steps steps)
{
    struct ntk_isa_operand tile = { .space = space,
                                    .dtype = dtype,
                                    .var_id = NTK_ISA_NO_VAR,
                                    .offset = at,
                                    .partition_count = (uint16_t)partitions,
                                    .partition_step = 1 };

    add_block(&tile, block, steps);
    if (tile.dim_count == 0) {
        tile.dim[tile.dim_count++] = (struct ntk_isa_dim){ 1, 1 };
    }
    return tile;
}

static struct cnml_steps dense(const struct cnml_block *block)
{
    return (struct cnml_steps){ 1, block->columns, (int64_t)block->rows * block->columns };
}

struct ntk_isa_operand cnml_value_tile(const struct cnml_value *value,
                                       const struct cnml_block *block)
{
    int64_t channels = value->dims[CNML_C];
    int64_t width = value->dims[CNML_W];
    int64_t area = width * value->dims[CNML_H];
    int64_t size = (int64_t)ntk_dtype_bytes((unsigned)value->dtype);
    int count = cnml_channels_of((int)channels, block->channel_block);
    struct ntk_isa_operand tile;

    if (value->is_resident) {
        int64_t first =
            ((int64_t)block->channel_block * value->dims[CNML_N] + block->image) * area +
            block->row * width + block->column;

        return cnml_tile(NTK_ISA_SPACE_SBUF, value->at + (uint64_t)(first * size), count,
                         value->dtype, block, (struct cnml_steps){ 1, width, area });
    }
    tile = (struct ntk_isa_operand){
        .space = NTK_ISA_SPACE_VAR,
        .dtype = value->dtype,
        .var_id = value->var,
        .offset = (uint64_t)((((int64_t)block->image * area + block->row * width + block->column) *
                                  channels +
                              (int64_t)block->channel_block * NTK_ISA_PARTITIONS) *
                             size),
    };
    add_block(&tile, block, (struct cnml_steps){ channels, width * channels, area * channels });
    add_dim(&tile, 1, count);
    if (tile.dim_count == 0) {
        tile.dim[tile.dim_count++] = (struct ntk_isa_dim){ 1, 1 };
    }
    return tile;
}

struct ntk_isa_operand cnml_block_in(struct cnml_writer *w, struct cnml_value *value,
                                     const struct cnml_block *block, struct cnml_zone **out_zone)
{
    struct ntk_isa_operand from = cnml_value_tile(value, block);
    struct ntk_isa_operand tile;
    uint64_t at;

    if (value->is_resident) {
        *out_zone = &value->zone;
        return from;
    }
    at = cnml_stage_next(&w->in, out_zone);
    tile = cnml_tile(NTK_ISA_SPACE_SBUF, at,
                     cnml_channels_of(value->dims[CNML_C], block->channel_block), value->dtype,
                     block, dense(block));
    cnml_dma(w, CNML_QUEUE_IN, &tile, &from,
             &(struct cnml_touch){ .reads = { &value->zone }, .writes = { *out_zone } });
    return tile;
}

struct ntk_isa_operand cnml_block_out(struct cnml_writer *w, struct cnml_value *value,
                                      const struct cnml_block *block, struct cnml_zone **out_zone)
{
    uint64_t at;

    if (value->is_resident) {
        *out_zone = &value->zone;
        return cnml_value_tile(value, block);
    }
    at = cnml_stage_next(&w->out, out_zone);
    return cnml_tile(NTK_ISA_SPACE_SBUF, at,
                     cnml_channels_of(value->dims[CNML_C], block->channel_block), value->dtype,
                     block, dense(block));
}

void cnml_block_done(struct cnml_writer *w, struct cnml_value *value,
                     const struct cnml_block *block, const struct ntk_isa_operand *tile,
                     struct cnml_zone *zone)
{
    struct ntk_isa_operand to = cnml_value_tile(value, block);

    if (!value->is_resident) {
        cnml_dma(w, CNML_QUEUE_OUT, &to, tile,
                 &(struct cnml_touch){ .reads = { zone }, .writes = { &value->zone } });
    }
}

/* --- frames ---------------------------------------------------------------------------------- */

static int frame_size(int count, int stride, int kernel, int dilation)
{
    return (count - 1) * stride + (kernel - 1) * dilation + 1;
}

int64_t cnml_frame_elements(const struct cnml_frame *frame, const struct cnml_block *block)
{
    return (int64_t)block->images *
           frame_size(block->rows, frame->stride_h, frame->kernel_h, frame->dilation_h) *
           frame_size(block->columns, frame->stride_w, frame->kernel_w, frame->dilation_w);
}

/* The part of an input axis inside a frame. */
struct part {
    int first;  /* position in the frame of the input's first (spread out) element */
    int from;   /* first element of the input */
    int count;  /* number of elements; 0 or less: none */
    int to;     /* position in the frame */
    bool whole; /* whether the input fills the whole frame */
};

static struct part part_of(int start, int size, int length, int up)
{
    struct part part = { .first = start };
    int end = start + size - 1;
    int last = end < 0 ? -1 : end / up;

    part.from = start <= 0 ? 0 : (start + up - 1) / up;
    part.count = (last < length ? last : length - 1) - part.from + 1;
    part.to = part.from * up - start;
    part.whole = up == 1 && part.count == size;
    return part;
}

void cnml_frame_load(struct cnml_writer *w, struct cnml_frame *frame, struct cnml_value *value,
                     const struct cnml_block *block, int first, int count)
{
    int64_t area = (int64_t)value->dims[CNML_H] * value->dims[CNML_W];
    int64_t size = (int64_t)ntk_dtype_bytes((unsigned)value->dtype);
    struct part rows;
    struct part columns;
    int64_t plane;

    frame->height = frame_size(block->rows, frame->stride_h, frame->kernel_h, frame->dilation_h);
    frame->width = frame_size(block->columns, frame->stride_w, frame->kernel_w, frame->dilation_w);
    frame->image = block->image;
    frame->row = block->row;
    frame->column = block->column;
    frame->dtype = value->dtype;
    rows = part_of(block->row * frame->stride_h - frame->top, frame->height, value->dims[CNML_H],
                   frame->up_h);
    columns = part_of(block->column * frame->stride_w - frame->left, frame->width,
                      value->dims[CNML_W], frame->up_w);
    if (value->is_resident && rows.whole && columns.whole) {
        frame->steps = (struct cnml_steps){ 1, value->dims[CNML_W], area };
        frame->channel_block_step = area * value->dims[CNML_N];
        frame->at =
            value->at + (uint64_t)((first * frame->channel_block_step + block->image * area +
                                    (int64_t)rows.first * value->dims[CNML_W] + columns.first) *
                                   size);
        frame->zone = &value->zone;
        return;
    }
    plane = (int64_t)frame->height * frame->width;
    frame->steps = (struct cnml_steps){ 1, frame->width, plane };
    frame->channel_block_step = plane * block->images;
    frame->at = cnml_stage_next(&w->in, &frame->zone);
    if (!rows.whole || !columns.whole) {
        struct ntk_isa_operand all =
            ntk_isa_sbuf(frame->at, NTK_ISA_PARTITIONS,
                         (uint32_t)(frame->channel_block_step * count), value->dtype);

        all.partition_count = (uint16_t)cnml_channels_of(value->dims[CNML_C], first);
        cnml_fill(w, &all, frame->fill, &(struct cnml_touch){ .writes = { frame->zone } });
    }
    for (int k = 0; k < count && rows.count > 0 && columns.count > 0; k++) {
        struct cnml_block inside = { .channel_block = first + k,
                                     .image = block->image,
                                     .images = block->images,
                                     .row = rows.from,
                                     .rows = rows.count,
                                     .column = columns.from,
                                     .columns = columns.count };
        struct ntk_isa_operand from = cnml_value_tile(value, &inside);
        struct ntk_isa_operand to = cnml_tile(
            NTK_ISA_SPACE_SBUF,
            frame->at + (uint64_t)((k * frame->channel_block_step +
                                    (int64_t)rows.to * frame->width + columns.to) *
                                   size),
            cnml_channels_of(value->dims[CNML_C], first + k), value->dtype, &inside,
            (struct cnml_steps){ frame->up_w, (int64_t)frame->up_h * frame->width, plane });
        struct cnml_touch touch = { .reads = { &value->zone }, .writes = { frame->zone } };

        if (value->is_resident) {
            cnml_copy(w, NTK_ISA_ENGINE_DVE, &to, &from, &touch);
        } else {
            cnml_dma(w, CNML_QUEUE_IN, &to, &from, &touch);
        }
    }
}

struct ntk_isa_operand cnml_frame_tap(const struct cnml_frame *frame,
                                      const struct cnml_block *block, int partitions, int k, int i,
                                      int j)
{
    int64_t first =
        k * frame->channel_block_step + (block->image - frame->image) * frame->steps.image +
        ((int64_t)(block->row - frame->row) * frame->stride_h + (int64_t)i * frame->dilation_h) *
            frame->steps.row +
        (int64_t)(block->column - frame->column) * frame->stride_w + (int64_t)j * frame->dilation_w;

    return cnml_tile(NTK_ISA_SPACE_SBUF,
                     frame->at + (uint64_t)first * ntk_dtype_bytes((unsigned)frame->dtype),
                     partitions, frame->dtype, block,
                     (struct cnml_steps){ frame->stride_w, frame->stride_h * frame->steps.row,
                                          frame->steps.image });
}
