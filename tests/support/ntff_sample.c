/* SPDX-License-Identifier: MIT */
/* ntff_sample - hand-made bytes. */
#include "tests/support/ntff_sample.h"

#include <string.h>

#define SLOT 64
#define TENSOR_SLOTS 8
#define GPSIMD_SLOTS 3
#define TENSOR_ADDRESS UINT64_C(140762188709888)
#define GPSIMD_ADDRESS UINT64_C(140762188742656)
#define CORE 4
#define TOTAL_PS UINT64_C(100000000)
#define WINDOW_PS UINT64_C(5000000000)
#define TICK_PS 1000 /* version 4 */
#define SBUF_BIT (UINT64_C(1) << 37)

static void put_raw_varint(struct ntk_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        ntk_buf_put_u8(out, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    ntk_buf_put_u8(out, (uint8_t)value);
}

void ntff_sample_varint(struct ntk_buf *out, unsigned field, uint64_t value)
{
    put_raw_varint(out, (uint64_t)field << 3);
    put_raw_varint(out, value);
}

void ntff_sample_bytes(struct ntk_buf *out, unsigned field, const void *bytes, size_t bytes_count)
{
    put_raw_varint(out, (uint64_t)field << 3 | 2);
    put_raw_varint(out, bytes_count);
    ntk_buf_add(out, bytes, bytes_count);
}

static void put_text(struct ntk_buf *out, unsigned field, const char *text)
{
    ntff_sample_bytes(out, field, text, strlen(text));
}

/* Appends inner as a message field and empties it. */
static void put_message(struct ntk_buf *out, unsigned field, struct ntk_buf *inner)
{
    ntff_sample_bytes(out, field, ntk_buf_text_get(inner), inner->bytes_count);
    ntk_buf_fini(inner);
}

void ntff_sample_head(struct ntk_buf *out, unsigned version, uint64_t header_bytes,
                      uint8_t reserved)
{
    ntk_buf_put_u64(out, version | header_bytes << 8);
    ntk_buf_add_fill(out, (char)reserved, 120);
}

/* ---- code ---- */

static void put_u16(uint8_t *to, unsigned value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

static void put_u64(uint8_t *to, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

static void make_code(uint8_t tensor[TENSOR_SLOTS * SLOT], uint8_t gpsimd[GPSIMD_SLOTS * SLOT])
{
    static const uint8_t tensor_opcodes[TENSOR_SLOTS] = { 0xa6, 0x02, 0x02, 0xa0,
                                                          0xa6, 0xa4, 0xa4, 0xa4 };
    static const uint8_t gpsimd_opcodes[GPSIMD_SLOTS] = { 0xb8, 0xb8, 0xa4 };

    memset(tensor, 0, TENSOR_SLOTS * SLOT);
    memset(gpsimd, 0, GPSIMD_SLOTS * SLOT);
    for (size_t i = 0; i < TENSOR_SLOTS; i++) {
        tensor[i * SLOT] = tensor_opcodes[i];
        tensor[i * SLOT + 1] = 0x10;
    }
    for (size_t i = 0; i < GPSIMD_SLOTS; i++) {
        gpsimd[i * SLOT] = gpsimd_opcodes[i];
        gpsimd[i * SLOT + 1] = 0x10;
    }
    for (size_t i = 1; i <= 2; i++) { /* the moving shape; the second one transposes */
        put_u16(tensor + i * SLOT + 26, i == 1 ? 512 : 128);
        put_u16(tensor + i * SLOT + 28, 1);
        put_u16(tensor + i * SLOT + 30, 1);
        tensor[i * SLOT + 32] = 6; /* bfloat16 */
        tensor[i * SLOT + 38] = tensor[i * SLOT + 39] = 128;
        tensor[i * SLOT + 51] = 0x02; /* to the accumulation buffer */
        memcpy(tensor + i * SLOT + 58, tensor + i * SLOT + 26, 6);
    }
    for (size_t i = 0; i <= 4; i += 4) {
        tensor[i * SLOT + 2] = 9;
        tensor[i * SLOT + 39] = 1;
    }
    tensor[2 * SLOT + 34] = 1;
    for (size_t i = 0; i < 2; i++) {
        put_u64(gpsimd + i * SLOT + 16, i == 0 ? 0x1000 : SBUF_BIT);
        put_u64(gpsimd + i * SLOT + 40, i == 0 ? SBUF_BIT : 0x2000);
        put_u16(gpsimd + i * SLOT + 32, i == 0 ? 16 : 8);
        put_u16(gpsimd + i * SLOT + 34, 8);
        put_u16(gpsimd + i * SLOT + 36, 4);
        memcpy(gpsimd + i * SLOT + 56, gpsimd + i * SLOT + 32, 6); /* no cast */
    }
}

/* ---- records ---- */

enum source { TENSOR, SCALAR, GPSIMD, VECTOR, SYNC, EVENTS, THROTTLE, DMA0 };

/* In version 4 every source has its own clock. */
static uint64_t clock_origin(enum source source)
{
    return UINT64_C(1500000000000) + (uint64_t)source * 7777777;
}

static void put_record(const struct ntff_sample *sample, struct ntk_buf *out, uint32_t w0,
                       uint32_t w1, enum source source, int64_t ns)
{
    uint64_t ps = WINDOW_PS + (uint64_t)(ns * 1000);

    ntk_buf_put_u32(out, w0);
    ntk_buf_put_u32(out, w1);
    ntk_buf_put_u64(out, sample->version == 4 ? clock_origin(source) + ps / TICK_PS : ps);
}

static void put_instruction(const struct ntff_sample *sample, struct ntk_buf *out,
                            enum source engine, int64_t slot, uint32_t wait_cycles,
                            int64_t start_ns, int64_t end_ns, uint32_t stray_bit)
{
    uint64_t address = engine == TENSOR ? TENSOR_ADDRESS : GPSIMD_ADDRESS;
    uint32_t where = (uint32_t)((int64_t)(address >> 6) + slot) & 0xffffff;
    uint32_t who = 0x80000000u | ((uint32_t)engine + 1) << 26;

    put_record(sample, out, who | where, wait_cycles << 16, engine, start_ns);
    put_record(sample, out, who | 1u << 24 | (where ^ stray_bit), 0xabcd1234u, engine, end_ns);
}

static void make_instructions(const struct ntff_sample *sample, struct ntk_buf *out)
{
    put_instruction(sample, out, TENSOR, 5, 0, -5000, -4000, 0);
    if (sample->version < 6) { /* the runtime's own code, before the program's */
        put_instruction(sample, out, TENSOR, -3, 0, -3000, -2000, 0);
    }
    put_instruction(sample, out, TENSOR, 0, 0, 0, 1, 0);
    put_instruction(sample, out, GPSIMD, 0, 0, 1000, 2000, 0);
    put_instruction(sample, out, TENSOR, 1, 12, 10000, 30000, 1u << 21);
    put_instruction(sample, out, TENSOR, 2, 0, 20000, 40000, 0);
    put_instruction(sample, out, TENSOR, 3, 0, 40000, 90000, 0);
    put_instruction(sample, out, GPSIMD, 1, 0, 50000, 51000, 0);
    put_instruction(sample, out, TENSOR, 4, 0, 99999, 100000, 0);
}

static void make_events(const struct ntff_sample *sample, struct ntk_buf *out)
{
    put_record(sample, out, 0x8f000000u | 0xf3u << 16 | 0x100 | 3, 1, EVENTS, 2000);
    put_record(sample, out, 0x87000000u | 0xf1u << 16 | 9, 1, EVENTS, 90000);
    put_record(sample, out, 0xdb000000u | 0xf9u << 16 | 0x100 | 4, 7, EVENTS, 95000);
    put_record(sample, out, 0x8f000000u | 0xf3u << 16 | 0x100 | 3, 2, EVENTS, 100001);
}

static void put_packet(const struct ntff_sample *sample, struct ntk_buf *out, unsigned engine,
                       unsigned queue, unsigned bytes_count, int64_t start_ns, int64_t end_ns)
{
    enum source source = (enum source)(DMA0 + engine);

    put_record(sample, out, (0x80u | engine) << 24, 1 | queue << 4, source, start_ns);
    put_record(sample, out, (0x80u | engine) << 24 | bytes_count, 5 | queue << 4 | 0x5555u << 16,
               source, end_ns);
}

static void make_dma(const struct ntff_sample *sample, struct ntk_buf *out)
{
    put_packet(sample, out, 1, 0, 100, -1000, 1000);
    put_packet(sample, out, 1, 0, 100, 2000, 3000);
    put_packet(sample, out, 0, 0, 512, 3000, 5000);
    put_record(sample, out, 0x80000000u, 6, DMA0, 5000);
    put_packet(sample, out, 0, 0, 4, 5000, 5500);
    put_packet(sample, out, 0, 1, 256, 52000, 54000);
    put_packet(sample, out, 1, 14, 1000, 60000, 61000);
}

static void make_throttle(const struct ntff_sample *sample, struct ntk_buf *out)
{
    put_record(sample, out, 0x9e000000u, 0, THROTTLE, 0);
    put_record(sample, out, 0x9e000000u | 8u << 16, 8 | 0u << 8, THROTTLE, 10000);
    put_record(sample, out, 0x9e000000u | 8u << 16, 4 | 1u << 8, THROTTLE, 30000);
}

/* ---- the message ---- */

static void put_buffer(const struct ntff_sample *sample, struct ntk_buf *subgraph, unsigned engine,
                       uint64_t address, const uint8_t *code, size_t code_bytes, uint64_t offset)
{
    struct ntk_buf buffer = { 0 };

    ntff_sample_varint(&buffer, 1, engine);
    ntff_sample_varint(&buffer, 2, address);
    if (sample->version < 6) {
        ntff_sample_bytes(&buffer, 3, code, code_bytes);
    } else {
        ntff_sample_varint(&buffer, 7, offset);
        ntff_sample_varint(&buffer, 8, code_bytes);
    }
    put_message(subgraph, 4, &buffer);
}

/* One slot inserted at the start, three instructions removed before slot 2. */
static void put_insertions(struct ntk_buf *subgraph)
{
    struct ntk_buf all = { 0 };
    struct ntk_buf one = { 0 };

    ntff_sample_varint(&one, 2, 1);
    put_message(&all, 2, &one);
    ntff_sample_varint(&one, 1, 2 * SLOT);
    ntff_sample_varint(&one, 2, 3);
    ntff_sample_varint(&one, 3, 2);
    put_message(&all, 2, &one);
    put_message(subgraph, 5, &all);
}

static void put_queue(struct ntk_buf *subgraph, unsigned engine, unsigned queue, unsigned type,
                      const char *name)
{
    struct ntk_buf message = { 0 };

    ntff_sample_varint(&message, 1, engine);
    ntff_sample_varint(&message, 2, queue);
    ntff_sample_varint(&message, 3, type);
    put_text(&message, 4, name);
    ntff_sample_varint(&message, 5, UINT64_MAX);
    ntff_sample_varint(&message, 7, 2);
    ntff_sample_bytes(&message, 8, "\x08\x01", 2); /* something unknown */
    put_message(subgraph, 7, &message);
}

static void put_clock(struct ntk_buf *clocks, unsigned field, enum source source)
{
    struct ntk_buf clock = { 0 };

    ntff_sample_varint(&clock, 1, clock_origin(source));
    ntff_sample_varint(&clock, 2, 1024);
    ntff_sample_varint(&clock, 3, UINT64_C(1024) * TICK_PS);
    put_message(clocks, field, &clock);
}

static void put_clocks(struct ntk_buf *subgraph)
{
    static const enum source order[] = { TENSOR, SCALAR, VECTOR, GPSIMD, SYNC, EVENTS, THROTTLE };
    struct ntk_buf clocks = { 0 };

    for (unsigned i = 0; i < 7; i++) {
        put_clock(&clocks, i + 1, order[i]);
    }
    for (unsigned i = 0; i < 16; i++) {
        put_clock(&clocks, 8, (enum source)(DMA0 + i));
    }
    put_message(subgraph, 10, &clocks);
}

static void put_memory(const struct ntff_sample *sample, struct ntk_buf *subgraph,
                       unsigned old_number, const char *name, uint64_t bytes_count)
{
    struct ntk_buf memory = { 0 };

    if (sample->version == 4) {
        ntff_sample_varint(&memory, 1, old_number);
    } else {
        put_text(&memory, 3, name);
    }
    ntff_sample_varint(&memory, 2, bytes_count);
    put_message(subgraph, 11, &memory);
}

static void put_version(struct ntk_buf *header, unsigned field, uint64_t major, uint64_t minor,
                        uint64_t patch, const char *git)
{
    struct ntk_buf version = { 0 };

    ntff_sample_varint(&version, 1, major);
    ntff_sample_varint(&version, 2, minor);
    ntff_sample_varint(&version, 3, patch);
    put_text(&version, 5, git);
    put_message(header, field, &version);
}

void ntff_sample_build(struct ntff_sample *sample, struct ntk_buf *out)
{
    static const struct {
        unsigned type, block;
    } kinds[] = { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 4, 1 }, { 5, 0 } };
    static const uint8_t whole[18] = { 0, 1,  2,  3,  4,  5,  6,  7,    8,
                                       9, 10, 11, 12, 13, 14, 15, 0x24, 0x1b };
    const uint8_t *uuid = sample->uuid ? sample->uuid : whole;
    size_t uuid_bytes = sample->uuid ? strnlen((const char *)uuid, 16) : sizeof whole;
    uint8_t tensor[TENSOR_SLOTS * SLOT];
    uint8_t gpsimd[GPSIMD_SLOTS * SLOT];
    struct ntk_buf sections[5] = { 0 };
    struct ntk_buf header = { 0 };
    struct ntk_buf node = { 0 };
    struct ntk_buf graph = { 0 };
    struct ntk_buf subgraph = { 0 };
    bool is_new = sample->version >= 6;
    uint64_t code_bytes = is_new ? sizeof tensor + sizeof gpsimd : 0;
    uint64_t offset = code_bytes;

    make_code(tensor, gpsimd);
    make_instructions(sample, &sections[0]);
    make_events(sample, &sections[1]);
    make_dma(sample, &sections[3]);
    make_throttle(sample, &sections[4]);

    put_text(&subgraph, 1, "sg00");
    ntff_sample_varint(&subgraph, 3, CORE);
    put_buffer(sample, &subgraph, 0, TENSOR_ADDRESS, tensor, sizeof tensor, 0);
    put_buffer(sample, &subgraph, 2, GPSIMD_ADDRESS, gpsimd, sizeof gpsimd, sizeof tensor);
    put_insertions(&subgraph);
    for (size_t i = 0; i < 5 && !is_new; i++) {
        struct ntk_buf section = { 0 };
        ntff_sample_varint(&section, 1, kinds[i].type);
        ntff_sample_varint(&section, 3, kinds[i].block);
        ntff_sample_varint(&section, 5, offset);
        ntff_sample_varint(&section, 6, sections[i].bytes_count);
        put_message(&subgraph, 6, &section);
        offset += sections[i].bytes_count;
    }
    put_queue(&subgraph, 64, 0, 2, "qPoolDynamic");
    put_queue(&subgraph, 64, 1, 2, "qSPDynamicHW");
    put_queue(&subgraph, 65, 14, 0, "qActTable");
    if (sample->version == 4) {
        put_clocks(&subgraph);
    }
    put_memory(sample, &subgraph, 0, "generic", 1000);
    put_memory(sample, &subgraph, 13, "tensor", 4096);
    ntff_sample_varint(&subgraph, 14, TOTAL_PS);

    put_message(&graph, 1, &subgraph);
    put_message(&node, 4, &graph);
    put_text(&header, 1, "sample.neff");
    if (uuid_bytes) {
        ntff_sample_bytes(&header, 2, uuid, uuid_bytes);
    }
    ntff_sample_varint(&header, 3, 10001);
    if (sample->is_uuid_in_node) {
        ntff_sample_bytes(&node, 5, uuid, 16);
    }
    put_message(&header, 4, &node);
    ntff_sample_varint(&header, 5, 1);
    put_version(&header, 8, 2, 30, 51, "faafe0123456789");
    put_text(&header, 9, "trn2.3xlarge");
    put_version(&header, 11, 2, 26, 0, "");
    if (is_new) {
        struct ntk_buf execution = { 0 };
        if (!sample->is_uuid_once) {
            ntff_sample_bytes(&execution, 1, uuid, 16);
        }
        ntff_sample_varint(&execution, 2, WINDOW_PS);
        ntff_sample_varint(&execution, 3, WINDOW_PS + TOTAL_PS);
        put_message(&header, 15, &execution);
    }
    for (size_t i = 0; i < 5 && is_new; i++) {
        struct ntk_buf section = { 0 };
        ntff_sample_varint(&section, 1, kinds[i].type);
        ntff_sample_varint(&section, 3, kinds[i].block);
        ntff_sample_varint(&section, 5, offset);
        ntff_sample_varint(&section, 6, sections[i].bytes_count);
        ntff_sample_varint(&section, 7, CORE);
        put_message(&header, 16, &section);
        offset += sections[i].bytes_count;
    }

    sample->header_bytes = header.bytes_count;
    sample->payload_offset = out->bytes_count + 128 + header.bytes_count;
    ntff_sample_head(out, sample->version, header.bytes_count, sample->reserved);
    ntk_buf_add(out, header.bytes, header.bytes_count);
    if (is_new) {
        ntk_buf_add(out, tensor, sizeof tensor);
        ntk_buf_add(out, gpsimd, sizeof gpsimd);
    }
    for (size_t i = 0; i < 5; i++) {
        ntk_buf_add(out, ntk_buf_text_get(&sections[i]), sections[i].bytes_count);
        ntk_buf_fini(&sections[i]);
    }
    ntk_buf_fini(&header);
}
