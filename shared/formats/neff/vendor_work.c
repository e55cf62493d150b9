/* SPDX-License-Identifier: MIT */
/* vendor_work - computes the data that a slot moves, and the bytes on the chip that it touches. */
#include "shared/formats/neff/vendor_slot.h"

#include <errno.h>
#include <stddef.h>

#define PSUM_ADDRESS 0x2000000U
#define PSUM_PARTITION_BYTES 0x4000U
#define PARTITIONS 128

enum moves {
    MOVES_UNKNOWN,
    MOVES_NONE,
    MOVES_UNCOUNTED,
    MOVES_TILES,
    MOVES_PLACES,
    MOVES_TRANSFER
};

struct tiles {
    uint8_t dims, src, src_dtype, src2, src_dtype_mask, dst, dst_dtype;
    uint8_t written_bytes, read_partitions, write_partitions;
};

static const struct tiles tiles[256] = {
#define NTK_VENDOR_TILES(opcode, ...) [(opcode)] = { __VA_ARGS__ },
#include "shared/formats/neff/vendor_slot.def"
};

/* Offsets of the 32-bit addresses in all layouts. */
static const uint8_t address_places[] = { 12, 16, 32, 44, 48 };

/* Returns 0 if unknown. */
static unsigned dtype_bytes(unsigned code)
{
    static const uint8_t bytes_of[256] = {
#define NTK_VENDOR_DTYPE(code, name, bytes, quarters) [(code)] = (bytes),
#include "shared/formats/neff/vendor_slot.def"
    };

    return bytes_of[code & 0xff];
}

/* Multiplies by the number of elements of a pattern; false if the count is impossible. */
static bool multiply(const uint8_t *slot, unsigned offset, unsigned dims, uint64_t *product)
{
    for (unsigned d = 0; d < dims; d++) {
        uint64_t count = ntk_vendor_slot_u(slot, offset + 4 + 2 * dims + 2 * d, 2);
        if (__builtin_mul_overflow(*product, count, product)) {
            return false;
        }
    }
    return true;
}

static bool is_psum(const uint8_t *slot, unsigned offset)
{
    return ntk_vendor_slot_u(slot, offset, 4) >= PSUM_ADDRESS;
}

/* Computes the bytes of one tile; false if unknown. In an incorrect NEFF, they may exceed the real
 * ones. */
static bool tile_bytes(const uint8_t *slot, const struct tiles *t, unsigned offset, unsigned size,
                       unsigned partitions, uint64_t *out_bytes)
{
    *out_bytes = size;
    return size && multiply(slot, offset, t->dims, out_bytes) &&
           !__builtin_mul_overflow(*out_bytes, partitions, out_bytes);
}

static void add_read(const uint8_t *slot, unsigned offset, uint64_t bytes_count,
                     struct ntk_vendor_work *work)
{
    *(is_psum(slot, offset) ? &work->psum_read_bytes : &work->sbuf_read_bytes) += bytes_count;
}

static void move_tiles(const uint8_t *slot, enum ntk_metrics_version version,
                       struct ntk_vendor_work *work)
{
    const struct tiles *t = &tiles[slot[0]];
    bool is_one = version == NTK_METRICS_2_28;
    unsigned size = dtype_bytes(slot[t->src_dtype] & t->src_dtype_mask);
    unsigned written_size =
        t->written_bytes && !is_one ? t->written_bytes : dtype_bytes(slot[t->dst_dtype]);
    unsigned partitions = is_one ? 1 : slot[t->read_partitions];
    uint64_t read = 0, read2 = 0, written = 0;

    work->is_known = tile_bytes(slot, t, t->src, size, partitions, &read) &&
                     (!t->src2 || tile_bytes(slot, t, t->src2, dtype_bytes(slot[t->src_dtype] >> 4),
                                             partitions, &read2)) &&
                     (!t->dst || tile_bytes(slot, t, t->dst, written_size,
                                            is_one ? 1 : slot[t->write_partitions], &written));
    if (!work->is_known) {
        return;
    }
    add_read(slot, t->src, read, work);
    if (t->src2) {
        add_read(slot, t->src2, read2, work);
    }
    if (t->dst) {
        bool from_psum = is_psum(slot, t->src) || (t->src2 && is_psum(slot, t->src2));
        *(is_psum(slot, t->dst) ? &work->psum_write_bytes : &work->sbuf_write_bytes) = written;
        work->is_psum_to_sbuf = from_psum && !is_psum(slot, t->dst);
        work->psum_to_sbuf_bytes = work->is_psum_to_sbuf ? written : 0;
    }
}

static void move_transfer(const uint8_t *slot, struct ntk_vendor_work *work)
{
    uint64_t read = ntk_vendor_slot_dma_read_bytes(slot);
    uint64_t written = ntk_vendor_slot_dma_write_bytes(slot);

    work->is_known = true;
    *(ntk_vendor_slot_dma_from_hbm(slot) ? &work->hbm_read_bytes : &work->sbuf_read_bytes) = read;
    *(ntk_vendor_slot_dma_to_hbm(slot) ? &work->hbm_write_bytes : &work->sbuf_write_bytes) =
        written;
}

static const uint8_t moves[256] = {
#define NTK_VENDOR_OP(opcode, layout, moves) [(opcode)] = MOVES_##moves,
#include "shared/formats/neff/vendor_slot.def"
};

static bool may_use_psum(const uint8_t *slot)
{
    for (size_t i = 0; i < sizeof address_places; i++) {
        if (is_psum(slot, address_places[i]) &&
            ntk_vendor_slot_u(slot, address_places[i], 4) < PSUM_ADDRESS + PSUM_PARTITION_BYTES) {
            return true;
        }
    }
    return false;
}

void ntk_vendor_slot_work(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          enum ntk_metrics_version version, struct ntk_vendor_work *out_work)
{
    enum moves how = moves[slot[0]];

    *out_work = (struct ntk_vendor_work){ 0 };
    if (how == MOVES_TILES || (how == MOVES_UNCOUNTED && version != NTK_METRICS_2_28)) {
        move_tiles(slot, version, out_work);
    } else if (how == MOVES_TRANSFER) {
        move_transfer(slot, out_work);
    } else {
        out_work->is_known = how == MOVES_NONE || how == MOVES_UNCOUNTED;
    }
    out_work->may_use_psum = !out_work->is_known && may_use_psum(slot);
}

/* ---- operations ---- */

#define ROWS 128 /* rows of the tensor engine; 2.28 counts all rows, however many are used */
#define COLUMNS 128
#define FP32_DTYPE 10 /* the type of a product in parts, regardless of the types of its passes */
#define FP32_LOW 1
#define FP32_HIGH 2
#define FP32_LOW_HIGH 3 /* one of the two passes of a product, with half of its operations */

/* Adjusted operations per four operations. */
static unsigned quarters_of(const uint8_t *slot)
{
    static const uint8_t quarters[256] = {
#define NTK_VENDOR_DTYPE(code, name, bytes, quarters) [(code)] = (quarters),
#include "shared/formats/neff/vendor_slot.def"
    };

    switch (slot[33]) {
    case 0:
        return quarters[slot[32]];
    case FP32_LOW:
    case FP32_HIGH:
        return 4;
    case FP32_LOW_HIGH:
        return 16;
    default:
        return 0;
    }
}

bool ntk_vendor_slot_flops(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                           enum ntk_metrics_version version, struct ntk_vendor_flops *out_flops)
{
    uint64_t moving = ntk_vendor_slot_moving(slot); /* below 2^48 */
    uint64_t elements = moving * slot[38] * slot[39];
    uint64_t flops = slot[33] == FP32_LOW_HIGH ? elements : 2 * elements;
    unsigned quarters = quarters_of(slot);

    if (slot[0] != NTK_VENDOR_OPCODE_MATMUL) {
        return false;
    }
    *out_flops = (struct ntk_vendor_flops){
        .elements = elements,
        .flops = version == NTK_METRICS_2_28 ? 2 * ROWS * COLUMNS * moving : flops,
        .useful_flops = flops,
        .dtype = slot[33] ? FP32_DTYPE : slot[32],
        .has_adjusted = quarters != 0,
        .adjusted_flops = flops / 4 * quarters + flops % 4 * quarters / 4,
    };
    return true;
}

/* ---- places ---- */

unsigned ntk_vendor_slot_channels(const uint8_t slot[NTK_VENDOR_SLOT_BYTES])
{
    const struct tiles *t = &tiles[slot[0]];
    unsigned at = t->write_partitions ? t->write_partitions : t->read_partitions;

    return at ? slot[at] : 0;
}

/* Finds the range from the lowest byte to the highest. False if the tile has no element. */
static bool tile_range(const uint8_t *slot, unsigned offset, unsigned dims, int64_t size,
                       struct ntk_vendor_range *range)
{
    uint64_t address = ntk_vendor_slot_u(slot, offset, 4);
    bool is_full = true;

    *range = (struct ntk_vendor_range){ .is_psum = address >= PSUM_ADDRESS };
    range->low = (int64_t)(address - (range->is_psum ? PSUM_ADDRESS : 0));
    range->high = range->low + size;
    for (unsigned d = 0; d < dims; d++) {
        int64_t step = (int16_t)ntk_vendor_slot_u(slot, offset + 4 + 2 * d, 2);
        int64_t count = (int64_t)ntk_vendor_slot_u(slot, offset + 4 + 2 * dims + 2 * d, 2);
        int64_t reach = size * step * (count - 1);
        is_full = is_full && count > 0;
        *(reach < 0 ? &range->low : &range->high) += reach;
    }
    return is_full;
}

/* Returns true if a MATMUL adds to a sum. Its lowest flag says that it begins a sum (not
 * proven). */
static bool adds(const uint8_t *slot)
{
    return slot[0] == NTK_VENDOR_OPCODE_MATMUL && (slot[43] & 1) == 0;
}

/* Sets the range of one element in each partition. */
static void pointer_range(const uint8_t *slot, unsigned offset, int64_t size,
                          struct ntk_vendor_range *range)
{
    uint64_t address = ntk_vendor_slot_u(slot, offset, 4);

    *range = (struct ntk_vendor_range){ .is_psum = address >= PSUM_ADDRESS };
    range->low = (int64_t)(address - (range->is_psum ? PSUM_ADDRESS : 0));
    range->high = range->low + size;
}

/* Finds the bias of an ACTIVATE, or the immediates of a TENSOR_SCALAR that are pointers. */
static int pointer_ranges(const uint8_t *slot, struct ntk_vendor_range *ranges)
{
    int count = 0;

    if (slot[0] == NTK_VENDOR_OPCODE_ACTIVATE && dtype_bytes(slot[32] >> 4)) {
        pointer_range(slot, 40, dtype_bytes(slot[32] >> 4), &ranges[count++]);
    }
    for (unsigned k = 0; slot[0] == NTK_VENDOR_OPCODE_TENSOR_SCALAR && k < 2; k++) {
        if (slot[35] >> k & 1) {
            pointer_range(slot, 40 + 4 * k, 4, &ranges[count++]);
        }
    }
    return count;
}

static int tile_ranges(const uint8_t *slot, bool as_reported, struct ntk_vendor_range *ranges)
{
    const struct tiles *t = &tiles[slot[0]];
    int64_t read = t->src ? dtype_bytes(slot[t->src_dtype] & t->src_dtype_mask) : 0;
    int64_t read2 = t->src2 ? dtype_bytes(slot[t->src_dtype] >> 4) : 0;
    int64_t written = t->dst ? dtype_bytes(slot[t->dst_dtype]) : 0;
    int count = 0;

    if ((t->src && !read) || (t->src2 && !read2) || (t->dst && !written)) {
        return -EINVAL;
    }
    if (t->src && tile_range(slot, t->src, t->dims, read, &ranges[count])) {
        struct ntk_vendor_range *range = &ranges[count++];
        uint64_t elements = 1;
        if (as_reported && slot[0] == NTK_VENDOR_OPCODE_LDWEIGHTS &&
            multiply(slot, t->src, t->dims, &elements)) {
            range->high =
                (int64_t)ntk_vendor_slot_u(slot, t->src, 4) - (range->is_psum ? PSUM_ADDRESS : 0);
            range->low = range->high - (int64_t)elements * read;
        }
    }
    count += t->src2 && tile_range(slot, t->src2, t->dims, read2, &ranges[count]);
    count += as_reported ? 0 : pointer_ranges(slot, &ranges[count]);
    written = slot[0] == NTK_VENDOR_OPCODE_MATMUL ? 4 : written;
    if (t->dst && tile_range(slot, t->dst, t->dims, written, &ranges[count])) {
        ranges[count].adds = !as_reported && adds(slot);
        ranges[count++].is_write = true;
    }
    return count;
}

/* Finds the range of a side in the state buffer. A step of a whole partition leads to the same
 * position in another partition. */
static bool transfer_range(const uint8_t *slot, unsigned address_at, unsigned steps_at,
                           struct ntk_vendor_range *range)
{
    uint64_t address = ntk_vendor_slot_u(slot, address_at, 8);
    uint64_t size = ntk_vendor_slot_u(slot, steps_at + 12, 2);
    bool is_full = size > 0;
    bool has_partitions = true;

    if (ntk_vendor_slot_address_is_hbm(address)) {
        return false;
    }
    *range = (struct ntk_vendor_range){ .partition_count = 1 };
    range->partition = (uint32_t)(address / NTK_VENDOR_SBUF_PARTITION_STEP % PARTITIONS);
    range->low = (int64_t)(address % NTK_VENDOR_SBUF_PARTITION_STEP);
    range->high = range->low + (int64_t)size;
    for (unsigned d = 0; d < 2; d++) {
        uint64_t step = ntk_vendor_slot_u(slot, steps_at + 4 * d, 4);
        uint64_t count = ntk_vendor_slot_u(slot, steps_at + 8 + 2 * d, 2);
        is_full = is_full && count > 0;
        if (count > 1 && step < NTK_VENDOR_SBUF_PARTITION_STEP) {
            range->high += (int64_t)((count - 1) * step);
        } else if (count > 1 && range->partition_count == 1 &&
                   step % NTK_VENDOR_SBUF_PARTITION_STEP == 0) {
            range->partition_count = (uint32_t)count;
            range->partition_step = (uint32_t)(step / NTK_VENDOR_SBUF_PARTITION_STEP);
        } else if (count > 1) {
            has_partitions = false;
        }
    }
    range->partition_count = has_partitions ? range->partition_count : 0;
    return is_full;
}

int ntk_vendor_slot_ranges(const uint8_t slot[NTK_VENDOR_SLOT_BYTES], bool as_reported,
                           struct ntk_vendor_range out_ranges[NTK_VENDOR_RANGES_MAX])
{
    int count = 0;

    switch (moves[slot[0]]) {
    case MOVES_NONE:
        return 0;
    case MOVES_TILES:
        return tile_ranges(slot, as_reported, out_ranges);
    case MOVES_UNCOUNTED:
    case MOVES_PLACES:
        return as_reported ? -EINVAL : tile_ranges(slot, as_reported, out_ranges);
    case MOVES_TRANSFER:
        if (transfer_range(slot, 16, 24, &out_ranges[count])) {
            out_ranges[count++].is_write = false;
        }
        if (transfer_range(slot, 40, 48, &out_ranges[count])) {
            out_ranges[count++].is_write = true;
        }
        return count;
    default:
        return -EINVAL;
    }
}
