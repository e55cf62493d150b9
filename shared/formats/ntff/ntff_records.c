/* SPDX-License-Identifier: MIT */
/* ntff_records - decodes the 16-byte records of a capture. */
#include "shared/formats/ntff/ntff.h"

#include "shared/formats/ntff/ntff_layout.h"
#include "shared/formats/ntff/ntff_read_private.h"

static int64_t clock_ps(const struct ntk_ntff_clock *clock, uint64_t raw)
{
    if (clock->divisor == 1 && clock->multiplier == 1 && clock->origin == 0) {
        return raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
    }
    __extension__ __int128 ps = ((__int128)raw - (__int128)clock->origin);
    if (ps > INT64_MAX || ps < INT64_MIN) {
        return ps < 0 ? INT64_MIN : INT64_MAX;
    }
    if (clock->multiplier > INT64_MAX) {
        return INT64_MAX;
    }
    ps *= (__int128)clock->multiplier;
    ps = ps >= 0 ? ps / (__int128)clock->divisor
                 : -((-ps + (__int128)clock->divisor - 1) / (__int128)clock->divisor);
    return ps > INT64_MAX ? INT64_MAX : ps < INT64_MIN ? INT64_MIN : (int64_t)ps;
}

static uint32_t record_slot(const struct ntk_ntff_subgraph *subgraph, unsigned engine, uint32_t w0)
{
    const struct ntk_ntff_buffer *buffer = subgraph->engine_buffers[engine];

    if (!buffer) {
        return NTK_NTFF_SLOT_OUTSIDE;
    }
    uint32_t base = (uint32_t)(buffer->address >> 6) & NTK_NTFF_W0_ADDRESS_MASK;
    uint32_t slot = ((w0 & NTK_NTFF_W0_ADDRESS_MASK) - base) & NTK_NTFF_SLOT_MASK;
    return slot < buffer->code_bytes / NTK_NTFF_SLOT_BYTES ? slot : NTK_NTFF_SLOT_OUTSIDE;
}

static void get_instruction(const struct ntk_ntff_subgraph *subgraph,
                            const struct ntk_ntff_raw_record *raw, struct ntk_ntff_record *out)
{
    uint32_t top = raw->w0 >> 24;
    uint32_t engine = ((top >> 2) & 0x1f) - 1;
    uint32_t phase = top & 3;

    if (!(top & 0x80) || engine >= NTK_NTFF_ENGINE_COUNT || phase > NTK_NTFF_PHASE_END) {
        return;
    }
    out->engine = (uint8_t)engine;
    out->slot = record_slot(subgraph, engine, raw->w0);
    out->time_ps = clock_ps(&subgraph->engine_clocks[engine], raw->time);
    if (phase == NTK_NTFF_PHASE_START) {
        out->kind = NTK_NTFF_RECORD_INSTRUCTION_START;
        out->wait_cycles = (uint16_t)(raw->w1 >> 16);
    } else {
        out->kind = NTK_NTFF_RECORD_INSTRUCTION_END;
        out->crc_in = (uint16_t)(raw->w1 & 0xffff);
        out->crc_out = (uint16_t)(raw->w1 >> 16);
    }
}

static void get_event(const struct ntk_ntff_subgraph *subgraph,
                      const struct ntk_ntff_raw_record *raw, struct ntk_ntff_record *out)
{
    uint32_t top = (raw->w0 & ~NTK_NTFF_W0_BIT30) >> 24;
    uint32_t source = ((top >> 2) & 0x1f) - 1;

    if (!(top & 0x80) || (top & 3) != NTK_NTFF_PHASE_EVENT || source > NTK_NTFF_ENGINE_AXI) {
        return;
    }
    out->kind = NTK_NTFF_RECORD_EVENT;
    out->engine = (uint8_t)source;
    out->has_bit30 = (raw->w0 & NTK_NTFF_W0_BIT30) != 0;
    out->is_semaphore = (raw->w0 & NTK_NTFF_W0_SEMAPHORE) != 0;
    out->mode = (uint8_t)(raw->w0 >> 16);
    out->number = (uint8_t)raw->w0;
    out->value = raw->w1;
    out->time_ps = clock_ps(&subgraph->event_clock, raw->time);
}

static void get_dma(const struct ntk_ntff_subgraph *subgraph, const struct ntk_ntff_raw_record *raw,
                    struct ntk_ntff_record *out)
{
    uint32_t top = raw->w0 >> 24;

    if (!(top & 0x80)) {
        return;
    }
    switch (raw->w1 & 0xf) {
    case NTK_NTFF_DMA_START:
        out->kind = NTK_NTFF_RECORD_DMA_START;
        break;
    case NTK_NTFF_DMA_END:
        out->kind = NTK_NTFF_RECORD_DMA_END;
        out->bytes_count = raw->w0 & 0xffff;
        out->crc_in = (uint16_t)(raw->w1 >> 16);
        break;
    case NTK_NTFF_DMA_COMPLETION:
        out->kind = NTK_NTFF_RECORD_DMA_COMPLETION;
        break;
    default:
        return;
    }
    out->engine = (uint8_t)(top & 0xf);
    out->queue = (uint8_t)((raw->w1 >> 4) & 0xf);
    out->time_ps = clock_ps(&subgraph->dma_clocks[out->engine], raw->time);
}

static void get_throttle(const struct ntk_ntff_subgraph *subgraph,
                         const struct ntk_ntff_raw_record *raw, struct ntk_ntff_record *out)
{
    if (raw->w0 >> 24 != NTK_NTFF_THROTTLE_BYTE || ((raw->w0 >> 16) & 0xff) == 0) {
        return;
    }
    out->kind = NTK_NTFF_RECORD_THROTTLE;
    out->throttle_n = (uint8_t)(raw->w0 >> 16);
    out->throttle_k = (uint8_t)raw->w1;
    out->throttle_type = (uint8_t)(raw->w1 >> 8);
    out->time_ps = clock_ps(&subgraph->throttle_clock, raw->time);
}

static void get_error(const struct ntk_ntff_subgraph *subgraph,
                      const struct ntk_ntff_raw_record *raw, struct ntk_ntff_record *out)
{
    uint32_t top = raw->w0 >> 24;
    uint32_t engine = ((top >> 2) & 0x1f) - 1;
    uint32_t kind = raw->w1 & ~NTK_NTFF_W1_ERROR_MARK_MASK;

    if (!(top & 0x80) || (top & 3) != NTK_NTFF_PHASE_ERROR || engine > NTK_NTFF_ENGINE_AXI ||
        (raw->w1 & NTK_NTFF_W1_ERROR_MARK_MASK) != NTK_NTFF_W1_ERROR_MARK || kind == 0 ||
        kind >= NTK_NTFF_ERROR_COUNT) {
        return;
    }
    out->kind = NTK_NTFF_RECORD_ERROR;
    out->engine = (uint8_t)engine;
    out->error = (enum ntk_ntff_error_kind)kind;
    out->time_ps = clock_ps(&subgraph->event_clock, raw->time);
    if (engine < NTK_NTFF_ENGINE_COUNT) {
        out->slot = record_slot(subgraph, engine, raw->w0);
    }
}

void ntk_ntff_record_get(const struct ntk_ntff_subgraph *subgraph,
                         const struct ntk_ntff_section *section, uint64_t index,
                         struct ntk_ntff_record *out_record)
{
    const uint8_t *bytes = section->records + index * NTK_NTFF_RECORD_BYTES;
    struct ntk_ntff_raw_record raw = {
        .w0 = ntff_load_u32(bytes),
        .w1 = ntff_load_u32(bytes + 4),
        .time = ntff_load_u32(bytes + 8) | (uint64_t)ntff_load_u32(bytes + 12) << 32,
    };

    *out_record =
        (struct ntk_ntff_record){ .kind = NTK_NTFF_RECORD_UNKNOWN, .slot = NTK_NTFF_SLOT_OUTSIDE };
    if (section->block == NTK_NTFF_BLOCK_CORE && section->type == NTK_NTFF_SECTION_INSTRUCTION) {
        get_instruction(subgraph, &raw, out_record);
    } else if (section->block == NTK_NTFF_BLOCK_CORE && section->type == NTK_NTFF_SECTION_EVENT) {
        get_event(subgraph, &raw, out_record);
    } else if (section->block == NTK_NTFF_BLOCK_CORE && section->type == NTK_NTFF_SECTION_ERROR) {
        get_error(subgraph, &raw, out_record);
    } else if (section->type == NTK_NTFF_SECTION_DMA) {
        get_dma(subgraph, &raw, out_record);
    } else if (section->block == NTK_NTFF_BLOCK_CORE &&
               section->type == NTK_NTFF_SECTION_THROTTLE) {
        get_throttle(subgraph, &raw, out_record);
    }
}

const uint8_t *ntk_ntff_slot_get(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                                 uint32_t slot)
{
    const struct ntk_ntff_buffer *buffer =
        engine < NTK_NTFF_ENGINE_COUNT ? subgraph->engine_buffers[engine] : NULL;

    if (!buffer || slot >= buffer->code_bytes / NTK_NTFF_SLOT_BYTES) {
        return NULL;
    }
    return buffer->code + (size_t)slot * NTK_NTFF_SLOT_BYTES;
}

int64_t ntk_ntff_compiler_pc(const struct ntk_ntff_subgraph *subgraph, unsigned engine,
                             uint32_t slot)
{
    int64_t pc = slot;

    for (size_t i = 0; i < subgraph->insertion_count; i++) {
        const struct ntk_ntff_insertion *entry = &subgraph->insertions[i];
        if (entry->engine != engine || entry->slot > slot) {
            continue;
        }
        if (entry->kind == 0) {
            if (slot < (uint64_t)entry->slot + entry->count) {
                return -1;
            }
            pc -= (int64_t)entry->count;
        } else if (entry->kind == 2) {
            pc += (int64_t)entry->count;
        }
    }
    return pc < 0 ? -1 : pc;
}
