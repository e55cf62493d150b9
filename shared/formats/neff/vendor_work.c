/* SPDX-License-Identifier: MIT */
/* vendor_work - what a slot moves. */
#include "shared/formats/neff/vendor_slot.h"

#define PSUM_ADDRESS 0x2000000U

enum moves { MOVES_UNKNOWN, MOVES_NONE, MOVES_TILES, MOVES_TRANSFER };

struct tiles {
    uint8_t dims, src, src_dtype, src_dtype_mask, dst, dst_dtype;
};

static const struct tiles tiles[256] = {
#define NTK_VENDOR_TILES(opcode, dims, src, src_dtype, src_dtype_mask, dst, dst_dtype) \
    [(opcode)] = { (dims), (src), (src_dtype), (src_dtype_mask), (dst), (dst_dtype) },
#include "shared/formats/neff/vendor_slot.def"
};

/* 0: not known. */
static unsigned dtype_bytes(unsigned code)
{
    static const uint8_t bytes_of[256] = {
#define NTK_VENDOR_DTYPE(code, name, bytes) [(code)] = (bytes),
#include "shared/formats/neff/vendor_slot.def"
    };

    return bytes_of[code & 0xff];
}

/* Times the elements of a pattern; false when nobody can have so many. */
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

static void move_tiles(const uint8_t *slot, struct ntk_vendor_work *work)
{
    const struct tiles *t = &tiles[slot[0]];
    uint64_t read = dtype_bytes(slot[t->src_dtype] & t->src_dtype_mask);
    uint64_t written = t->dst ? dtype_bytes(slot[t->dst_dtype]) : 0;

    work->is_known = read && (written || !t->dst) && multiply(slot, t->src, t->dims, &read) &&
                     (!t->dst || multiply(slot, t->dst, t->dims, &written));
    if (!work->is_known) {
        return;
    }
    *(is_psum(slot, t->src) ? &work->psum_read_bytes : &work->sbuf_read_bytes) = read;
    if (t->dst) {
        *(is_psum(slot, t->dst) ? &work->psum_write_bytes : &work->sbuf_write_bytes) = written;
        work->is_psum_to_sbuf = is_psum(slot, t->src) && !is_psum(slot, t->dst);
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

void ntk_vendor_slot_work(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          struct ntk_vendor_work *out_work)
{
    static const uint8_t moves[256] = {
#define NTK_VENDOR_OP(opcode, layout, moves) [(opcode)] = MOVES_##moves,
#include "shared/formats/neff/vendor_slot.def"
    };

    *out_work = (struct ntk_vendor_work){ .is_known = moves[slot[0]] == MOVES_NONE };
    if (moves[slot[0]] == MOVES_TILES) {
        move_tiles(slot, out_work);
    } else if (moves[slot[0]] == MOVES_TRANSFER) {
        move_transfer(slot, out_work);
    }
}
