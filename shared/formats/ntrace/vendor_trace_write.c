/* SPDX-License-Identifier: MIT */
/* vendor_trace_write - appends the vendor's messages to a buffer. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/formats/common/protobuf_write.h"
#include "shared/formats/ntrace/vendor_trace.h"

#define LENGTH_BYTES 4U

size_t ntk_vendor_trace_put_begin(struct ntk_buf *buf)
{
    size_t begin = buf->bytes_count;

    ntk_buf_put_u32(buf, 0);
    return begin;
}

void ntk_vendor_trace_put_end(struct ntk_buf *buf, size_t begin)
{
    if (!ntk_buf_ok(buf)) {
        return;
    }
    uint32_t length = (uint32_t)(buf->bytes_count - begin - LENGTH_BYTES);
    for (unsigned i = 0; i < LENGTH_BYTES; i++) {
        ((uint8_t *)buf->bytes)[begin + i] = (uint8_t)(length >> (8 * i));
    }
}

static size_t text_bytes(size_t length)
{
    return length ? 1 + ntk_protobuf_varint_bytes(length) + length : 0;
}

void ntk_vendor_trace_put_pair(struct ntk_buf *buf, const char *key, const char *value)
{
    ntk_protobuf_put_head(buf, 12, text_bytes(strlen(key)) + text_bytes(strlen(value)));
    ntk_protobuf_put_text(buf, 1, key);
    ntk_protobuf_put_text(buf, 2, value);
}

void ntk_vendor_trace_put_pair_number(struct ntk_buf *buf, const char *key, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    ntk_vendor_trace_put_pair(buf, key, text);
}

void ntk_vendor_trace_put_record(struct ntk_buf *buf, const struct ntk_vendor_trace_record *record)
{
    ntk_protobuf_put_number(buf, 2, record->time_ns);
    ntk_protobuf_put_number(buf, 7, record->type);
    ntk_protobuf_put_number(buf, 9, record->thread_id);
    ntk_protobuf_put_number(buf, 10, record->number);
    ntk_protobuf_put_number(buf, 14, record->phase);
    ntk_protobuf_put_number(buf, 15, record->tracking_id);
    ntk_protobuf_put_number(buf, 16, record->sequence);
}

/* ---- trace_info.pb ---- */

static void put_file(struct ntk_buf *buf, unsigned field, const char *path, uint64_t kind,
                     uint64_t count)
{
    struct ntk_buf file = { 0 };

    ntk_protobuf_put_text(&file, 1, path);
    ntk_protobuf_put_number(&file, 2, kind);
    ntk_protobuf_put_number(&file, 3, count);
    ntk_protobuf_put_message(buf, field, &file);
    ntk_buf_fini(&file);
}

static void put_table(struct ntk_buf *buf, const char *name, const struct ntk_vec *names)
{
    struct ntk_buf table = { 0 };
    struct ntk_buf entry = { 0 };

    ntk_protobuf_put_text(&table, 1, name);
    ntk_vec_each(const struct ntk_vendor_trace_name, one, names) {
        ntk_protobuf_put_number(&entry, 1, one->id);
        ntk_protobuf_put_text(&entry, 2, one->text);
        ntk_protobuf_put_message(&table, 2, &entry);
    }
    ntk_protobuf_put_message(buf, 10, &table);
    ntk_buf_fini(&entry);
    ntk_buf_fini(&table);
}

void ntk_vendor_trace_put_info(struct ntk_buf *buf, const struct ntk_vendor_trace_info *info)
{
    static const char *const tables[NTK_VENDOR_TRACE_TABLES] = {
        "ntrace_inspect_type", "system_trace", "nrt_inspect_mem_usage_type",
        "nrt_inspect_mem_alloc_errno_type"
    };
    struct ntk_buf part = { 0 };

    ntk_protobuf_put_number(buf, 1, info->version);
    ntk_protobuf_put_number(buf, 2, info->process_id);
    ntk_protobuf_put_text(buf, 4, info->instance_id);
    ntk_protobuf_put_number(buf, 5, info->session_id);
    put_file(buf, 6, "ntrace.pb", 1, info->record_count);
    ntk_protobuf_put_number(&part, 1, info->processor_count);
    ntk_protobuf_put_text(&part, 2, info->processor_name);
    ntk_protobuf_put_number(&part, 3, info->memory_bytes);
    put_file(&part, 6, "cpu_util.pb", 2, 0);
    put_file(&part, 7, "host_mem.pb", 3, 0);
    ntk_protobuf_put_message(buf, 7, &part);
    ntk_protobuf_put_number(buf, 9, 2);
    for (size_t t = 0; t < NTK_VENDOR_TRACE_TABLES; t++) {
        put_table(buf, tables[t], &info->tables[t]);
    }
    ntk_protobuf_put_number(buf, 11, info->begin_ns);
    ntk_protobuf_put_number(buf, 12, info->end_ns);
    ntk_protobuf_put_text(buf, 13, info->ip_address);
    ntk_protobuf_put_number(buf, 14, info->record_count);
    ntk_protobuf_put_text(buf, 15, info->instance_type);
    ntk_protobuf_put_number(buf, 16, info->lnc);
    ntk_protobuf_put_text(buf, 17, info->host_name);
    ntk_protobuf_put_text(&part, 1, info->ultraserver_id);
    ntk_protobuf_put_number(&part, 2, info->ultraserver_size ? NTK_VENDOR_TRACE_SWITCH : 0);
    ntk_protobuf_put_number(&part, 3, info->ultraserver_size);
    ntk_protobuf_put_number(&part, 4, info->ultraserver_index);
    ntk_protobuf_put_message(buf, 18, &part);
    ntk_buf_fini(&part);
}
