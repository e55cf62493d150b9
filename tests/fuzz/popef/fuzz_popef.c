/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of blobs: rejected with a message, or every result is in bounds, and no
 * stream yields more bytes than announced. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/formats/popef/popef.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* of one stream: a small compressed stream may unpack to many bytes */
#define READ_BYTES_MAX (1u << 20)

static void check(int is_so)
{
    if (!is_so) {
        abort();
    }
}

static void stream_read(const struct popef_reader *reader, const struct popef_blob *blob,
                        size_t size)
{
    static uint8_t bytes[4096];
    struct popef_stream *stream = NULL;
    uint64_t given = 0;
    int64_t got;

    check(blob->offset <= size && blob->size <= size - blob->offset);
    check(blob->available_read_size <= blob->size);
    check(popef_reader_open_stream(reader, blob, &stream, NULL) == 0);
    while ((got = popef_stream_read(stream, bytes, sizeof bytes, NULL)) > 0 &&
           given < READ_BYTES_MAX) {
        given += (uint64_t)got;
    }
    check(given <= blob->data_size);
    check(got < 0 || given >= READ_BYTES_MAX || given == blob->data_size);
    popef_stream_close(stream);
}

static void metadata_check(const struct popef_metadata *metadata, size_t size)
{
    check(strlen(metadata->executable) <= size && strlen(metadata->seed_handle) <= size);
    for (size_t i = 0; i < metadata->anchor_count; i++) {
        const struct popef_anchor *anchor = &metadata->anchors[i];
        struct popef_tensor_info plain;

        check(popef_tensor_info_size_in_bytes(&anchor->tensor_info) >= 0);
        check(popef_anchor_elements_per_call(anchor, metadata, 3) >= -1);
        if (popef_anchor_unextended(anchor, metadata->replication_factor, &plain) == 0) {
            check(plain.rank <= anchor->tensor_info.rank);
        }
    }
    for (size_t i = 1; i < metadata->programs_map_count; i++) {
        check(metadata->programs_map[i].index > metadata->programs_map[i - 1].index);
    }
}

static void reader_check(const struct popef_reader *reader, size_t size)
{
    struct popef_model *model = NULL;

    for (size_t i = 0; i < popef_reader_executable_count(reader); i++) {
        stream_read(reader, &popef_reader_executable(reader, i)->blob, size);
    }
    for (size_t i = 0; i < popef_reader_tensor_count(reader); i++) {
        stream_read(reader, &popef_reader_tensor(reader, i)->blob, size);
    }
    for (size_t i = 0; i < popef_reader_feed_count(reader); i++) {
        stream_read(reader, &popef_reader_feed(reader, i)->blob, size);
    }
    for (size_t i = 0; i < popef_reader_opaque_count(reader); i++) {
        stream_read(reader, &popef_reader_opaque(reader, i)->blob, size);
    }
    for (size_t i = 0; i < popef_reader_metadata_count(reader); i++) {
        metadata_check(&popef_reader_metadata(reader, i)->metadata, size);
    }
    if (popef_model_open(reader, NULL, &model, NULL) == 0) {
        check(popef_model_executable(model) != NULL);
        popef_model_close(model);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct popef_reader *reader = NULL;
    struct popef_error err = { 0 };

    check(popef_reader_open(&reader, NULL) == 0);
    int ret = popef_reader_parse_bytes(reader, data, size, "fuzz", &err);
    check(ret == -err.code && (ret == 0 || err.text[0] != '\0'));
    check(popef_reader_file_count(reader) == (ret == 0 ? 1 : 0));
    if (ret == 0) {
        reader_check(reader, size);
    }
    popef_reader_close(reader);
    return 0;
}
