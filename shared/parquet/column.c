/* SPDX-License-Identifier: MIT */
/* column - collects and encodes the data of one column in a row group. */
#include "shared/parquet/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/parquet/thrift.h"

/* Minimum number of equal numbers that are written as a run; a pack has this number, too. */
#define RUN_MIN 8
#define SLOTS_MIN 1024

static bool is_bytes(const struct ntk_parquet_column *column)
{
    return column->kind == NTK_PARQUET_TEXT || column->kind == NTK_PARQUET_BYTES;
}

void ntk_parquet_chunk_init(struct ntk_parquet_chunk *chunk,
                            const struct ntk_parquet_column *column)
{
    chunk->column = column;
    chunk->is_dictionary = column->has_dictionary && is_bytes(column);
}

void ntk_parquet_chunk_fini(struct ntk_parquet_chunk *chunk)
{
    ntk_buf_fini(&chunk->values);
    ntk_buf_fini(&chunk->levels);
    ntk_buf_fini(&chunk->numbers);
    ntk_buf_fini(&chunk->places);
    ntk_buf_fini(&chunk->min_bytes);
    ntk_buf_fini(&chunk->max_bytes);
    free(chunk->slots);
    chunk->slots = NULL;
}

bool ntk_parquet_chunk_ok(const struct ntk_parquet_chunk *chunk)
{
    return ntk_buf_ok(&chunk->values) && ntk_buf_ok(&chunk->levels) &&
           ntk_buf_ok(&chunk->numbers) && ntk_buf_ok(&chunk->places) &&
           ntk_buf_ok(&chunk->min_bytes) && ntk_buf_ok(&chunk->max_bytes);
}

void ntk_parquet_chunk_reset(struct ntk_parquet_chunk *chunk)
{
    ntk_buf_reset(&chunk->values);
    ntk_buf_reset(&chunk->levels);
    ntk_buf_reset(&chunk->numbers);
    ntk_buf_reset(&chunk->places);
    if (chunk->slots) {
        memset(chunk->slots, 0, chunk->slot_count * sizeof *chunk->slots);
    }
    chunk->entry_count = 0;
    chunk->bit_count = 0;
    chunk->value_count = 0;
    chunk->null_count = 0;
    chunk->has_range = false;
    chunk->no_range = false;
    chunk->is_dictionary = chunk->column->has_dictionary && is_bytes(chunk->column);
}

/* ---- absent values ---- */

static void close_run(struct ntk_parquet_chunk *chunk)
{
    if (chunk->run_length) {
        ntk_thrift_varint(&chunk->levels, chunk->run_length << 1);
        ntk_buf_put_u8(&chunk->levels, chunk->run_level);
        chunk->run_length = 0;
    }
}

static void put_level(struct ntk_parquet_chunk *chunk, bool level)
{
    if (chunk->run_level != level) {
        close_run(chunk);
        chunk->run_level = level;
    }
    chunk->run_length++;
}

/* ---- statistics ---- */

static void widen_i64(struct ntk_parquet_chunk *chunk, int64_t value)
{
    if (!chunk->has_range || value < chunk->min_i64) {
        chunk->min_i64 = value;
    }
    if (!chunk->has_range || value > chunk->max_i64) {
        chunk->max_i64 = value;
    }
    chunk->has_range = true;
}

static void widen_f64(struct ntk_parquet_chunk *chunk, double value)
{
    if (isnan(value)) {
        chunk->no_range = true;
        return;
    }
    if (!chunk->has_range || value < chunk->min_f64) {
        chunk->min_f64 = value;
    }
    if (!chunk->has_range || value > chunk->max_f64) {
        chunk->max_f64 = value;
    }
    chunk->has_range = true;
}

static int compare(const void *bytes, size_t count, const struct ntk_buf *with)
{
    size_t common = count < with->bytes_count ? count : with->bytes_count;
    int order = common ? memcmp(bytes, with->bytes, common) : 0;

    return order ? order : (count > with->bytes_count) - (count < with->bytes_count);
}

static void hold(struct ntk_buf *buf, const void *bytes, size_t count)
{
    ntk_buf_reset(buf);
    ntk_buf_add(buf, bytes, count);
}

static void widen_bytes(struct ntk_parquet_chunk *chunk, const void *bytes, size_t count)
{
    if (chunk->column->kind == NTK_PARQUET_BYTES || count > NTK_PARQUET_STATISTIC_BYTES_MAX) {
        chunk->no_range = true;
    }
    if (chunk->no_range) {
        return;
    }
    if (!chunk->has_range || compare(bytes, count, &chunk->min_bytes) < 0) {
        hold(&chunk->min_bytes, bytes, count);
    }
    if (!chunk->has_range || compare(bytes, count, &chunk->max_bytes) > 0) {
        hold(&chunk->max_bytes, bytes, count);
    }
    chunk->has_range = true;
}

static void put_f64(struct ntk_buf *buf, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    ntk_buf_put_u64(buf, bits);
}

static void put_i64(struct ntk_buf *buf, enum ntk_parquet_kind kind, int64_t value)
{
    if (kind == NTK_PARQUET_I32) {
        ntk_buf_put_u32(buf, (uint32_t)value);
    } else if (kind == NTK_PARQUET_BOOL) {
        ntk_buf_put_u8(buf, value != 0);
    } else {
        ntk_buf_put_u64(buf, (uint64_t)value);
    }
}

bool ntk_parquet_chunk_range(const struct ntk_parquet_chunk *chunk, struct ntk_buf *min,
                             struct ntk_buf *max)
{
    if (!chunk->has_range || chunk->no_range) {
        return false;
    }
    ntk_buf_reset(min);
    ntk_buf_reset(max);
    if (is_bytes(chunk->column)) {
        ntk_buf_add(min, ntk_buf_text_get(&chunk->min_bytes), chunk->min_bytes.bytes_count);
        ntk_buf_add(max, ntk_buf_text_get(&chunk->max_bytes), chunk->max_bytes.bytes_count);
    } else if (chunk->column->kind == NTK_PARQUET_F64) {
        /* Zero has two signs and readers compare bits, so use -0 as minimum. */
        put_f64(min, chunk->min_f64 == 0 ? -0.0 : chunk->min_f64);
        put_f64(max, chunk->max_f64 == 0 ? 0.0 : chunk->max_f64);
    } else {
        put_i64(min, chunk->column->kind, chunk->min_i64);
        put_i64(max, chunk->column->kind, chunk->max_i64);
    }
    return true;
}

/* ---- the dictionary ---- */

static uint32_t load_u32(const struct ntk_buf *buf, size_t index)
{
    const unsigned char *at = (const unsigned char *)buf->bytes + 4 * index;

    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_plain(struct ntk_buf *values, const void *bytes, uint32_t count)
{
    ntk_buf_put_u32(values, count);
    ntk_buf_add(values, bytes, count);
}

static size_t entry_bytes(const struct ntk_parquet_chunk *chunk, uint32_t number,
                          const char **out_bytes)
{
    uint32_t at = load_u32(&chunk->places, number);
    const struct ntk_buf from = { .bytes = chunk->values.bytes + at };

    *out_bytes = chunk->values.bytes + at;
    return 4 + (size_t)load_u32(&from, 0);
}

static uint64_t hash(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++) {
        value = (value ^ at[i]) * UINT64_C(0x100000001b3);
    }
    return value ^ value >> 32;
}

/* Finds the slot of the bytes, or a free slot for them. */
static uint32_t *find_slot(struct ntk_parquet_chunk *chunk, const void *bytes, uint32_t count)
{
    for (size_t i = hash(bytes, count);; i++) {
        uint32_t *slot = &chunk->slots[i & (chunk->slot_count - 1)];
        const char *entry;
        if (!*slot || (entry_bytes(chunk, *slot - 1, &entry) == 4 + (size_t)count &&
                       (!count || memcmp(entry + 4, bytes, count) == 0))) {
            return slot;
        }
    }
}

/* Grows the table, so that at most half of the slots are in use. */
static bool grow_slots(struct ntk_parquet_chunk *chunk)
{
    size_t count = chunk->slot_count ? 2 * chunk->slot_count : SLOTS_MIN;
    uint32_t *slots;

    if (chunk->slots && 2 * ((size_t)chunk->entry_count + 1) <= chunk->slot_count) {
        return true;
    }
    slots = calloc(count, sizeof *slots);
    if (!slots) {
        chunk->values.failed = true;
        return false;
    }
    free(chunk->slots);
    chunk->slots = slots;
    chunk->slot_count = count;
    for (uint32_t i = 0; i < chunk->entry_count; i++) {
        const char *entry;
        size_t bytes_count = entry_bytes(chunk, i, &entry);
        *find_slot(chunk, entry + 4, (uint32_t)(bytes_count - 4)) = i + 1;
    }
    return true;
}

/* Replaces the dictionary by plain values. */
static void give_up_dictionary(struct ntk_parquet_chunk *chunk)
{
    struct ntk_buf plain = { 0 };

    for (size_t i = 0; i < chunk->numbers.bytes_count / 4; i++) {
        const char *entry;
        size_t count = entry_bytes(chunk, load_u32(&chunk->numbers, i), &entry);
        ntk_buf_add(&plain, entry, count);
    }
    ntk_buf_fini(&chunk->values);
    chunk->values = plain;
    ntk_buf_reset(&chunk->numbers);
    chunk->is_dictionary = false;
}

static void put_entry(struct ntk_parquet_chunk *chunk, const void *bytes, uint32_t count)
{
    if (!grow_slots(chunk)) {
        return;
    }
    uint32_t *slot = find_slot(chunk, bytes, count);
    if (!*slot) {
        ntk_buf_put_u32(&chunk->places, (uint32_t)chunk->values.bytes_count);
        put_plain(&chunk->values, bytes, count);
        widen_bytes(chunk, bytes, count);
        if (!ntk_parquet_chunk_ok(chunk)) {
            return;
        }
        *slot = ++chunk->entry_count;
    }
    ntk_buf_put_u32(&chunk->numbers, *slot - 1);
    if (chunk->entry_count > NTK_PARQUET_DICTIONARY_ENTRIES_MAX ||
        chunk->values.bytes_count > NTK_PARQUET_DICTIONARY_BYTES_MAX) {
        give_up_dictionary(chunk);
    }
}

/* ---- values ---- */

static int64_t clamped(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
}

static void put_bit(struct ntk_parquet_chunk *chunk, bool is_set)
{
    if (chunk->bit_count % 8 == 0) {
        ntk_buf_put_u8(&chunk->values, 0);
    }
    if (is_set && ntk_buf_ok(&chunk->values)) {
        char *last = &chunk->values.bytes[chunk->values.bytes_count - 1];
        *last = (char)((unsigned char)*last | 1u << chunk->bit_count % 8);
    }
    chunk->bit_count++;
}

static void put_present(struct ntk_parquet_chunk *chunk, const struct ntk_parquet_value *value)
{
    switch (chunk->column->kind) {
    case NTK_PARQUET_BOOL:
        put_bit(chunk, value->i64 != 0);
        widen_i64(chunk, value->i64 != 0);
        break;
    case NTK_PARQUET_I32:
        ntk_buf_put_u32(&chunk->values, (uint32_t)clamped(value->i64));
        widen_i64(chunk, clamped(value->i64));
        break;
    case NTK_PARQUET_F64:
        put_f64(&chunk->values, value->f64);
        widen_f64(chunk, value->f64);
        break;
    case NTK_PARQUET_TEXT:
    case NTK_PARQUET_BYTES:
        if (chunk->is_dictionary) {
            put_entry(chunk, value->bytes, value->bytes_count);
        } else {
            put_plain(&chunk->values, value->bytes, value->bytes_count);
            widen_bytes(chunk, value->bytes, value->bytes_count);
        }
        break;
    case NTK_PARQUET_I64:
    case NTK_PARQUET_TIME_US:
        ntk_buf_put_u64(&chunk->values, (uint64_t)value->i64);
        widen_i64(chunk, value->i64);
        break;
    }
}

size_t ntk_parquet_chunk_put(struct ntk_parquet_chunk *chunk, const struct ntk_parquet_value *value)
{
    size_t before = chunk->values.bytes_count + chunk->numbers.bytes_count;

    if (chunk->column->is_optional) {
        put_level(chunk, value->is_present);
    }
    if (!value->is_present) {
        chunk->null_count++;
        return 0;
    }
    chunk->value_count++;
    put_present(chunk, value);
    size_t after = chunk->values.bytes_count + chunk->numbers.bytes_count;
    return after > before ? after - before : 0;
}

void ntk_parquet_chunk_close(struct ntk_parquet_chunk *chunk)
{
    close_run(chunk);
    if (chunk->is_dictionary &&
        (!chunk->entry_count || 2 * (uint64_t)chunk->entry_count > chunk->value_count)) {
        give_up_dictionary(chunk); /* hardly any value repeats, or the chunk is empty */
    }
}

/* ---- pages ---- */

static size_t run_at(const struct ntk_buf *numbers, size_t at, size_t count, size_t most)
{
    uint32_t value = load_u32(numbers, at);
    size_t length = 1;

    while (length < most && at + length < count && load_u32(numbers, at + length) == value) {
        length++;
    }
    return length;
}

/* Writes eight numbers of `bits` bits each, in `bits` bytes; numbers beyond the end are 0. */
static void put_pack(struct ntk_buf *page, const struct ntk_buf *numbers, size_t at, size_t count,
                     unsigned bits)
{
    uint64_t held = 0;
    unsigned held_bits = 0;

    for (size_t i = 0; i < RUN_MIN; i++) {
        held |= (uint64_t)(at + i < count ? load_u32(numbers, at + i) : 0) << held_bits;
        for (held_bits += bits; held_bits >= 8; held_bits -= 8, held >>= 8) {
            ntk_buf_put_u8(page, (uint8_t)held);
        }
    }
}

/* Writes numbers as runs (varint 2 * length, the number) and packs (varint 2 * packs + 1, the
 * packs). */
static void put_numbers(struct ntk_buf *page, const struct ntk_buf *numbers, uint32_t entry_count)
{
    size_t count = numbers->bytes_count / 4;
    unsigned bits = 1;

    while (entry_count > UINT32_C(1) << bits) {
        bits++;
    }
    ntk_buf_put_u8(page, (uint8_t)bits);
    for (size_t at = 0; at < count;) {
        size_t run = run_at(numbers, at, count, SIZE_MAX);
        if (run >= RUN_MIN) {
            ntk_thrift_varint(page, (uint64_t)run << 1);
            for (unsigned shift = 0; shift < bits; shift += 8) {
                ntk_buf_put_u8(page, (uint8_t)(load_u32(numbers, at) >> shift));
            }
            at += run;
            continue;
        }
        size_t packs = 0;
        size_t end = at;
        do {
            packs++;
            end += RUN_MIN;
        } while (end < count && run_at(numbers, end, count, RUN_MIN) < RUN_MIN);
        ntk_thrift_varint(page, (uint64_t)packs << 1 | 1);
        for (; packs > 0; packs--, at += RUN_MIN) {
            put_pack(page, numbers, at, count, bits);
        }
    }
}

void ntk_parquet_chunk_page(struct ntk_parquet_chunk *chunk, struct ntk_buf *page)
{
    ntk_buf_reset(page);
    if (chunk->column->is_optional) {
        ntk_buf_put_u32(page, (uint32_t)chunk->levels.bytes_count);
        ntk_buf_add(page, ntk_buf_text_get(&chunk->levels), chunk->levels.bytes_count);
    }
    if (chunk->is_dictionary) {
        put_numbers(page, &chunk->numbers, chunk->entry_count);
    } else {
        ntk_buf_add(page, ntk_buf_text_get(&chunk->values), chunk->values.bytes_count);
    }
}
