/* SPDX-License-Identifier: MIT */
#include "shared/formats/mlumodel/mlumodel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/cursor.h"
#include "shared/base/order.h"
#include "shared/formats/mlumodel/mlumodel_layout.h"

static_assert(NTK_MLUMODEL_HEAD_BYTES == sizeof(struct mlumodel_head), "the head");
static_assert(NTK_MLUMODEL_SYMBOL_BYTES == sizeof((struct mlumodel_entry){ 0 }).symbol, "symbol");

static int head_read(const void *bytes, struct mlumodel_head *out_head, struct ntk_err *err)
{
    struct ntk_cursor cursor;
    struct mlumodel_head head = { 0 };

    ntk_cursor_init(&cursor, bytes, sizeof head);
    head.magic = ntk_cursor_u64(&cursor);
    head.version = ntk_cursor_u32(&cursor);
    head.head_bytes = ntk_cursor_u32(&cursor);
    head.file_bytes = ntk_cursor_u64(&cursor);
    head.function_count = ntk_cursor_u32(&cursor);
    head.entry_bytes = ntk_cursor_u32(&cursor);
    head.table_offset = ntk_cursor_u64(&cursor);
    if (head.magic != MLUMODEL_MAGIC) {
        return ntk_err_set(err, -EBADMSG, 0, "not an offline model");
    }
    if (head.version != MLUMODEL_VERSION) {
        return ntk_err_set(err, -ENOTSUP, 8, "unsupported offline model version %u (supported: %u)",
                           head.version, MLUMODEL_VERSION);
    }
    if (head.head_bytes != sizeof head || head.entry_bytes != sizeof(struct mlumodel_entry)) {
        return ntk_err_set(
            err, -EBADMSG, 12,
            "the header of %u bytes and the entries of %u bytes do not match version %u",
            head.head_bytes, head.entry_bytes, MLUMODEL_VERSION);
    }
    if (head.file_bytes < sizeof head || head.file_bytes > NTK_MLUMODEL_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, 16, "invalid offline model size: %llu bytes",
                           (unsigned long long)head.file_bytes);
    }
    if (head.function_count == 0 || head.function_count > NTK_MLUMODEL_FUNCTIONS_MAX) {
        return ntk_err_set(err, -EBADMSG, 24, "%u functions: expected 1 to %u", head.function_count,
                           NTK_MLUMODEL_FUNCTIONS_MAX);
    }
    *out_head = head;
    return 0;
}

int ntk_mlumodel_size(const void *head_bytes, uint64_t *out_bytes, struct ntk_err *err)
{
    struct mlumodel_head head = { 0 };
    int ret = head_read(head_bytes, &head, err);

    if (ret == 0) {
        *out_bytes = head.file_bytes;
    }
    return ret;
}

/* `at` is the entry's position in the file, for the message. */
static int entry_read(struct ntk_cursor *cursor, const struct mlumodel_head *head,
                      const uint8_t *bytes, struct ntk_mlumodel_function *function,
                      struct ntk_err *err)
{
    uint64_t at = cursor->position;
    const uint8_t *symbol = ntk_cursor_take(cursor, NTK_MLUMODEL_SYMBOL_BYTES);
    uint64_t offset = ntk_cursor_u64(cursor);
    uint64_t count = ntk_cursor_u64(cursor);
    uint32_t parallelism = ntk_cursor_u32(cursor);

    (void)ntk_cursor_take(cursor, sizeof((struct mlumodel_entry){ 0 }).reserved);
    if (!ntk_cursor_ok(cursor)) {
        return ntk_err_set(err, -EBADMSG, at, "the file ends inside its function table");
    }
    if (symbol[0] == '\0' || !memchr(symbol, '\0', NTK_MLUMODEL_SYMBOL_BYTES)) {
        return ntk_err_set(err, -EBADMSG, at,
                           "a function has no symbol, or its symbol is not terminated");
    }
    if (offset < sizeof *head || offset % MLUMODEL_ALIGN != 0 || offset > head->file_bytes ||
        count == 0 || count > head->file_bytes - offset) {
        return ntk_err_set(err, -EBADMSG, at + 64,
                           "the program of %s is empty, misaligned or outside the file",
                           (const char *)symbol);
    }
    if (parallelism == 0) {
        return ntk_err_set(err, -EBADMSG, at + 80, "%s is compiled for 0 cores",
                           (const char *)symbol);
    }
    memcpy(function->symbol, symbol, NTK_MLUMODEL_SYMBOL_BYTES);
    function->program = bytes + offset;
    function->program_bytes = count;
    function->parallelism = parallelism;
    return 0;
}

NTK_ORDER_POINTERS(by_symbol, struct ntk_mlumodel_function, NTK_TEXT(symbol));

/* Rejects duplicate symbols, which would be ambiguous. */
static int symbols_check(const struct ntk_mlumodel *model, struct ntk_err *err)
{
    const struct ntk_mlumodel_function **sorted = calloc(model->function_count, sizeof *sorted);
    int ret = 0;

    if (!sorted) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = 0; i < model->function_count; i++) {
        sorted[i] = &model->functions[i];
    }
    qsort(sorted, model->function_count, sizeof(struct ntk_mlumodel_function *), by_symbol);
    for (uint32_t i = 1; ret == 0 && i < model->function_count; i++) {
        if (strcmp(sorted[i - 1]->symbol, sorted[i]->symbol) == 0) {
            ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "duplicate function '%s'",
                              sorted[i]->symbol);
        }
    }
    free(sorted);
    return ret;
}

int ntk_mlumodel_read(const void *bytes, size_t bytes_count, struct ntk_mlumodel *out_model,
                      struct ntk_err *err)
{
    struct mlumodel_head head = { 0 };
    struct ntk_mlumodel model = { 0 };
    struct ntk_cursor cursor;
    int ret = 0;

    if (bytes_count < sizeof head) {
        return ntk_err_set(err, -EBADMSG, bytes_count, "the file ends inside its header");
    }
    ret = head_read(bytes, &head, err);
    if (ret < 0) {
        return ret;
    }
    if (head.file_bytes > bytes_count) {
        return ntk_err_set(err, -EBADMSG, bytes_count,
                           "the file is shorter than the %llu bytes that its header states",
                           (unsigned long long)head.file_bytes);
    }
    if (head.table_offset > head.file_bytes) {
        return ntk_err_set(err, -EBADMSG, 32, "the function table is outside the file");
    }
    model.bytes = head.file_bytes;
    /* head_read() guarantees at least one function. */
    model.functions = calloc(head.function_count, sizeof *model.functions); /* NOLINT(*UnixAPI) */
    if (!model.functions) {
        return ntk_err_no_memory(err);
    }
    ntk_cursor_init(&cursor, bytes, (size_t)head.file_bytes);
    (void)ntk_cursor_take(&cursor, (size_t)head.table_offset);
    while (ret == 0 && model.function_count < head.function_count) {
        ret = entry_read(&cursor, &head, bytes, &model.functions[model.function_count], err);
        model.function_count += ret == 0 ? 1 : 0;
    }
    ret = ret == 0 ? symbols_check(&model, err) : ret;
    if (ret < 0) {
        ntk_mlumodel_fini(&model);
        return ret;
    }
    *out_model = model;
    return 0;
}

void ntk_mlumodel_fini(struct ntk_mlumodel *model)
{
    free(model->functions);
    *model = (struct ntk_mlumodel){ 0 };
}

const struct ntk_mlumodel_function *ntk_mlumodel_find(const struct ntk_mlumodel *model,
                                                      const char *symbol)
{
    for (uint32_t i = 0; i < model->function_count; i++) {
        if (strcmp(model->functions[i].symbol, symbol) == 0) {
            return &model->functions[i];
        }
    }
    return NULL;
}
