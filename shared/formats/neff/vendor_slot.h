/* SPDX-License-Identifier: MIT */
/*
 * vendor_slot - prints instruction slots of Trainium1 and 2 as text, and computes the data that
 * they move: for reading programs and captures of real hardware. It is not used to execute or write
 * programs.
 *
 * Any 64 bytes are a slot: unknown codes are printed as numbers, unknown instructions as bytes.
 * docs/formats/vendor-slots.md has the layouts and how certain each one is.
 *
 * Owner: plain data; the caller owns the buffer. Threads: any.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_VENDOR_SLOT_H
#define NTK_SHARED_FORMATS_NEFF_VENDOR_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/formats/neff/metrics_version.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ntk_buf;
struct ntk_vendor_names;

#define NTK_VENDOR_SLOT_BYTES 64
#define NTK_VENDOR_OPCODE_LDWEIGHTS 0x01
#define NTK_VENDOR_OPCODE_MATMUL 0x02
#define NTK_VENDOR_OPCODE_ACTIVATE 0x21
#define NTK_VENDOR_OPCODE_TENSOR_TENSOR 0x41
#define NTK_VENDOR_OPCODE_TENSOR_SCALAR 0x43
#define NTK_VENDOR_OPCODE_PSEUDO_LOAD 0xce     /* in a NEFF; becomes TENSOR_LOAD when loaded */
#define NTK_VENDOR_OPCODE_PSEUDO_TRANSFER 0xd4 /* in a NEFF; becomes DMA_DIRECT2D when loaded */

/* Core generations with these layouts, NC-v2 to NC-v4. For NC-v2, in the only available capture
 * every wait ends with a change of the named semaphore by the queue or engine that the NEFF assigns
 * to it; for NC-v4, the summaries of the original tool are reproduced. */
static inline bool ntk_vendor_slot_has_layout(unsigned generation)
{
    return generation >= 2 && generation <= 4;
}

static inline uint64_t ntk_vendor_slot_u(const uint8_t *slot, unsigned offset, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)slot[offset + i] << (8 * i);
    }
    return value;
}

/* Offsets in all instructions of a program: the wait before the start (u8 kind, u8 number, u32
 * value) and the change after the end (u8 kind, u8 number). The runtime's EVENT_SEMAPHORE has zeros
 * there and the same fields from byte 32 on, without the gap before the value; it waits while it
 * runs. */
#define NTK_VENDOR_SLOT_WAIT 4
#define NTK_VENDOR_SLOT_SIGNAL 6
#define NTK_VENDOR_SLOT_WAIT_VALUE 8
#define NTK_VENDOR_SLOT_BODY 32
#define NTK_VENDOR_WAIT_EQUAL 0x01    /* semaphore == value */
#define NTK_VENDOR_WAIT_AT_LEAST 0x05 /* semaphore >= value */
#define NTK_VENDOR_WAIT_EVENT 0x07    /* event is set; the wait clears it */
#define NTK_VENDOR_SIGNAL_SET 0x11    /* sets an event */
#define NTK_VENDOR_SIGNAL_INC 0x13    /* increments a semaphore */
#define NTK_VENDOR_SIGNAL_DEC 0x14
#define NTK_VENDOR_SIGNAL_ADD 0x15
#define NTK_VENDOR_SIGNAL_WRITE 0x19
/* DMA_DIRECT2D: semaphore that is incremented when the data has arrived */
#define NTK_VENDOR_SLOT_DMA_SEMAPHORE 13

/* A compiler's form of the WRITE that starts prepared transfers in the loaded program: the name of
 * a queue of def.json and the id of a descriptor group of its engine. */
#define NTK_VENDOR_OPCODE_TRIGGER 0xc1
#define NTK_VENDOR_TRIGGER_NAME 12
#define NTK_VENDOR_TRIGGER_NAME_BYTES 36
#define NTK_VENDOR_TRIGGER_GROUP 48

/* MATMUL: number of columns of the moving tile; LDWEIGHTS: number of columns of the moved data. */
static inline uint64_t ntk_vendor_slot_moving(const uint8_t *slot)
{
    return ntk_vendor_slot_u(slot, 26, 2) * ntk_vendor_slot_u(slot, 28, 2) *
           ntk_vendor_slot_u(slot, 30, 2);
}

static inline bool ntk_vendor_slot_is_transpose(const uint8_t *slot)
{
    return slot[34] == 1;
}

/* Bytes that a DMA_DIRECT2D reads or writes; the two differ if it casts. */
static inline uint64_t ntk_vendor_slot_dma_read_bytes(const uint8_t *slot)
{
    return ntk_vendor_slot_u(slot, 36, 2) * ntk_vendor_slot_u(slot, 32, 2) *
           ntk_vendor_slot_u(slot, 34, 2);
}

static inline uint64_t ntk_vendor_slot_dma_write_bytes(const uint8_t *slot)
{
    return ntk_vendor_slot_u(slot, 60, 2) * ntk_vendor_slot_u(slot, 56, 2) *
           ntk_vendor_slot_u(slot, 58, 2);
}

/* Top bytes of addresses in transfers: a variable (in a NEFF), an entry of the descriptor table
 * plus an offset, and the same with the offset in a register (not proven). */
#define NTK_VENDOR_ADDRESS_VAR 0x10
#define NTK_VENDOR_ADDRESS_TABLE 0x20
#define NTK_VENDOR_ADDRESS_TABLE_REGISTER 0x28

static inline bool ntk_vendor_slot_address_is_hbm(uint64_t address)
{
    return address >> 56 == NTK_VENDOR_ADDRESS_TABLE ||
           address >> 56 == NTK_VENDOR_ADDRESS_TABLE_REGISTER || !((address >> 37) & 1);
}

static inline bool ntk_vendor_slot_dma_from_hbm(const uint8_t *slot)
{
    return ntk_vendor_slot_address_is_hbm(ntk_vendor_slot_u(slot, 16, 8));
}

static inline bool ntk_vendor_slot_dma_to_hbm(const uint8_t *slot)
{
    return ntk_vendor_slot_address_is_hbm(ntk_vendor_slot_u(slot, 40, 8));
}

/* WRITE: up to two words. The address of a register that increments a semaphore, of any core of the
 * device, ends with the number; the tail of a ring of descriptors has one fixed end. Both follow
 * from the captures of cores that signal one another (docs/formats/vendor-slots.md). */
#define NTK_VENDOR_SLOT_WRITE_WORDS 2

static inline bool ntk_vendor_slot_write(const uint8_t *slot, unsigned word, uint64_t *out_address,
                                         uint64_t *out_data)
{
    *out_address = ntk_vendor_slot_u(slot, 16 + 8 * word, 8);
    *out_data = ntk_vendor_slot_u(slot, 32 + 8 * word, 8);
    return slot[12 + word] != 0;
}

static inline bool ntk_vendor_address_is_increment(uint64_t address, uint16_t *out_semaphore)
{
    *out_semaphore = (uint16_t)(address >> 2 & 0xff);
    return (address & 0x7fffc03) == 0x2701800;
}

static inline bool ntk_vendor_address_is_ring_tail(uint64_t address)
{
    return (address & 0xfff) == 0x038;
}

struct ntk_neff_subgraph;
struct ntk_neff_var;

/* The variable that an address in a NEFF's opcode 0xd4 names; NULL if unknown. */
const struct ntk_neff_var *ntk_vendor_slot_var(const struct ntk_neff_subgraph *subgraph,
                                               uint64_t address);

/* ---- text ---- */

/* Appends operands in their displayed form: first waits and changes of semaphores, then the
 * operation's operands. names may be NULL. */
void ntk_vendor_slot_print(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                           const struct ntk_vendor_names *names, struct ntk_buf *out);
/* Appends the function of an ACTIVATE, such as "EXP"; nothing for other opcodes. */
void ntk_vendor_slot_print_function(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                                    const struct ntk_vendor_names *names, struct ntk_buf *out);
/* The name of an opcode that only compiler output has, such as "PSEUDO_DMA_DIRECT2D"; NULL for all
 * others. */
const char *ntk_vendor_slot_pseudo_name(uint8_t opcode);

/* ---- work ---- */

/* The data that one run of a slot moves and computes. Engine bytes cover all partitions, or one
 * partition by the rules of version 2.28; transfer bytes always cover all. */
struct ntk_vendor_work {
    bool is_known; /* the byte counts are known */
    /* the range is unknown, but an address field contains an address of the accumulation buffer */
    bool may_use_psum;
    uint64_t sbuf_read_bytes, sbuf_write_bytes;
    uint64_t psum_read_bytes, psum_write_bytes;
    uint64_t hbm_read_bytes, hbm_write_bytes;
    bool is_psum_to_sbuf;
    uint64_t psum_to_sbuf_bytes; /* bytes written */
};

void ntk_vendor_slot_work(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                          enum ntk_metrics_version version, struct ntk_vendor_work *out_work);

/* The operations of one run of a MATMUL. */
struct ntk_vendor_flops {
    uint64_t elements; /* rows x columns x moving columns */
    uint64_t flops;
    /* counted by no version of the tool: only used rows and columns, and a 32-bit product once */
    uint64_t useful_flops;
    uint8_t dtype;           /* enum ntk_dtype, or another number for an unknown type */
    bool has_adjusted;       /* whether the multiplier of its type is known */
    uint64_t adjusted_flops; /* counted only in 2.32, by its rules */
};

/* Returns false unless the slot is a MATMUL. */
bool ntk_vendor_slot_flops(const uint8_t slot[NTK_VENDOR_SLOT_BYTES],
                           enum ntk_metrics_version version, struct ntk_vendor_flops *out_flops);

/* ---- places ---- */

/* The range that a slot reads or writes in each partition, from the lowest to the highest byte. */
struct ntk_vendor_range {
    bool is_psum, is_write;
    int64_t low, high; /* relative to the start of the partition, [low, high); may be negative */
    bool adds;         /* whether it adds to an existing sum */
    /* For transfers: the first partition, how many, and their distance. 0: unknown. */
    uint32_t partition, partition_count, partition_step;
};

/* Number of partitions that a slot writes, or reads if it writes none; 0 if unknown. */
unsigned ntk_vendor_slot_channels(const uint8_t slot[NTK_VENDOR_SLOT_BYTES]);

#define NTK_VENDOR_RANGES_MAX 4 /* sources first */
/* distance of partitions in transfer addresses */
#define NTK_VENDOR_SBUF_PARTITION_STEP ((uint64_t)1 << 18)

/* Returns the number of ranges, or -EINVAL if they are unknown. as_reported counts them like the
 * original tool. It lets LDWEIGHTS with negative steps read only up to its address, never lets
 * MATMUL add, ignores bias and pointers to immediates, and does not count TENSOR_TENSOR and
 * MEMSET. */
int ntk_vendor_slot_ranges(const uint8_t slot[NTK_VENDOR_SLOT_BYTES], bool as_reported,
                           struct ntk_vendor_range out_ranges[NTK_VENDOR_RANGES_MAX]);

#ifdef __cplusplus
}
#endif
#endif
