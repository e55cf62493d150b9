/* SPDX-License-Identifier: MIT */
#include "shared/formats/popef/popef.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/formats/popef/popef_layout.h"
#include "tests/shared/formats/popef/vectors.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static uint8_t all[VECTOR_COUNT * VECTOR_BYTES_MAX];

/* A blob of any type with any parts, with correct sizes. */
static void put_blob(struct ntk_buf *buf, uint32_t type, unsigned flags, const struct ntk_buf *info,
                     const void *data, uint64_t data_bytes, uint64_t full_bytes)
{
    uint64_t padded = ntk_opef_pad8(info->bytes_count);

    ntk_buf_add(buf, "OPEF\1", 6);
    ntk_buf_put_u16(buf, (uint16_t)flags);
    ntk_buf_put_u32(buf, type);
    ntk_buf_put_u32(buf, 6);
    ntk_buf_put_u64(buf, 48 + 8 + padded + data_bytes);
    ntk_buf_put_u64(buf, info->bytes_count);
    ntk_buf_put_u64(buf, data_bytes);
    ntk_buf_put_u64(buf, full_bytes);
    ntk_buf_add(buf, "ours-1\0", 8);
    ntk_buf_add(buf, info->bytes, info->bytes_count);
    ntk_buf_add_fill(buf, '\0', padded - info->bytes_count);
    ntk_buf_add(buf, data, data_bytes);
}

static void put_text(struct ntk_buf *buf, const char *text)
{
    ntk_buf_put_u32(buf, (uint32_t)strlen(text));
    ntk_buf_add_text(buf, text);
}

/* Returns 0 or the error; closes the reader. */
static int parse(const void *bytes, size_t count, struct popef_error *err)
{
    struct popef_reader *reader = NULL;

    assert_int_equal(popef_reader_open(&reader, err), 0);
    int ret = popef_reader_parse_bytes(reader, bytes, count, "x.popef", err);
    popef_reader_close(reader);
    return ret;
}

/* Touches everything that a reader returns. */
static void read_all(const struct popef_reader *reader)
{
    const struct popef_blob *blobs[4];
    uint8_t bytes[64];

    for (size_t i = 0;; i++) {
        const struct popef_executable *executable = popef_reader_executable(reader, i);
        const struct popef_tensor *tensor = popef_reader_tensor(reader, i);
        const struct popef_feed *feed = popef_reader_feed(reader, i);
        const struct popef_opaque *opaque = popef_reader_opaque(reader, i);
        size_t count = 0;

        if (executable) {
            blobs[count++] = &executable->blob;
        }
        if (tensor) {
            blobs[count++] = &tensor->blob;
            assert_true(strlen(tensor->info.name) <= POPEF_TEXT_BYTES_MAX);
        }
        if (feed) {
            blobs[count++] = &feed->blob;
        }
        if (opaque) {
            blobs[count++] = &opaque->blob;
            assert_true(strlen(opaque->executable) <= POPEF_TEXT_BYTES_MAX);
        }
        if (count == 0) {
            break;
        }
        for (size_t b = 0; b < count; b++) {
            struct popef_stream *stream = NULL;
            uint64_t given = 0;

            assert_int_equal(popef_reader_open_stream(reader, blobs[b], &stream, NULL), 0);
            for (int64_t got; (got = popef_stream_read(stream, bytes, sizeof bytes, NULL)) > 0;) {
                given += (uint64_t)got;
            }
            assert_true(given <= blobs[b]->data_size);
            popef_stream_close(stream);
        }
    }
}

static void popef_test_vectors_are_read_as_expected(void **state)
{
    size_t count = vector_all(all);
    struct popef_reader *reader = NULL;
    struct popef_stream *stream = NULL;
    float values[2];
    uint8_t bytes[8];

    (void)state;
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        uint8_t one[VECTOR_BYTES_MAX];

        assert_int_equal(vector_bytes(i, one), vectors[i].bytes_count);
    }
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_bytes(reader, all, count, "five", NULL), 0);
    assert_int_equal(popef_reader_file_count(reader), 1);
    assert_string_equal(popef_reader_file_name(reader, 0), "five");
    assert_null(popef_reader_file_name(reader, 1));

    assert_int_equal(popef_reader_executable_count(reader), 1);
    const struct popef_executable *executable = popef_reader_executable(reader, 0);
    assert_string_equal(executable->blob.name, "42");
    assert_string_equal(executable->blob.version, "ours-1");
    assert_false(executable->blob.is_compressed);
    assert_int_equal(executable->blob.available_read_size, 4);
    assert_int_equal(executable->blob.size, 68);
    assert_ptr_equal(popef_reader_find_executable(reader, "42"), executable);
    assert_null(popef_reader_find_executable(reader, "4"));

    const struct popef_tensor *tensor = popef_reader_find_tensor(reader, "input_parameter");
    assert_non_null(tensor);
    assert_int_equal(tensor->info.tensor_info.data_type, POPEF_F32);
    assert_int_equal(tensor->info.tensor_info.rank, 1);
    assert_int_equal(tensor->info.tensor_info.shape[0], 2);
    assert_int_equal(popef_reader_open_stream(reader, &tensor->blob, &stream, NULL), 0);
    assert_int_equal(popef_stream_size(stream), 8);
    assert_int_equal(popef_stream_read(stream, values, 100, NULL), 8);
    assert_true(values[0] == 1.0f && values[1] == 2.0f);
    assert_int_equal(popef_stream_read(stream, values, 8, NULL), 0);
    assert_int_equal(popef_stream_seek(stream, 4, NULL), 0);
    assert_int_equal(popef_stream_left(stream), 4);
    assert_int_equal(popef_stream_read(stream, values, 4, NULL), 4);
    assert_true(values[0] == 2.0f);
    assert_int_equal(popef_stream_seek(stream, 9, NULL), -POPEF_ERROR_ARGUMENT);
    popef_stream_close(stream);

    const struct popef_feed *feed = popef_reader_find_feed(reader, "x");
    assert_non_null(feed);
    assert_int_equal(feed->info.num_tensors, 2);
    assert_int_equal(feed->info.tensor_info.data_type, POPEF_U8);
    assert_int_equal(feed->blob.offset, 68 + 96);
    assert_null(popef_reader_find_tensor(reader, "x"));

    const struct popef_opaque *opaque = popef_reader_opaque(reader, 0);
    assert_string_equal(opaque->blob.name, "popart");
    assert_string_equal(opaque->executable, "42");
    assert_int_equal(popef_reader_open_stream(reader, &opaque->blob, &stream, NULL), 0);
    popef_reader_close(reader); /* the stream outlives the reader */
    assert_int_equal(popef_stream_read(stream, bytes, 8, NULL), 3);
    assert_memory_equal(bytes, "\1\2\3", 3);
    popef_stream_close(stream);
}

static void the_metadata_vector_has_every_field(void **state)
{
    uint8_t bytes[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(4, bytes);
    struct popef_reader *reader = NULL;

    (void)state;
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_bytes(reader, bytes, count, "m", NULL), 0);
    assert_int_equal(popef_reader_metadata_count(reader), 1);
    const struct popef_metadata *m = &popef_reader_metadata(reader, 0)->metadata;
    assert_string_equal(m->executable, "42");
    assert_int_equal(m->replication_factor, 1);
    assert_int_equal(m->num_ipus, 1);
    assert_int_equal(m->ipu_version, 2);
    assert_true(m->is_inference);
    assert_false(m->is_pod);
    assert_int_equal(m->num_processes, 1);
    assert_int_equal(m->device_iterations, 1);
    assert_string_equal(m->seed_handle, "");
    assert_int_equal(m->engine_option_count, 0);
    assert_int_equal(m->device_option_count, 0);
    assert_int_equal(m->program_flow.load.count, 1);
    assert_int_equal(m->program_flow.load.indices[0], 0);
    assert_int_equal(m->program_flow.main.count, 1);
    assert_int_equal(m->program_flow.main.indices[0], 5);
    assert_int_equal(m->program_flow.save.count, 0);
    assert_int_equal(m->programs_map_count, 1);
    assert_int_equal(m->programs_map[0].index, 5);
    assert_string_equal(m->programs_map[0].name, "Program");
    assert_int_equal(m->anchor_count, 1);
    assert_string_equal(m->anchors[0].name, "a");
    assert_string_equal(m->anchors[0].handle, "h2d_a");
    assert_int_equal(m->anchors[0].type, POPEF_TENSOR_INPUT);
    assert_int_equal(m->anchors[0].repeats, 1);
    assert_int_equal(m->anchors[0].programs.count, 1);
    assert_int_equal(m->anchors[0].programs.indices[0], 5);
    assert_null(popef_reader_metadata(reader, 1));
    popef_reader_close(reader);
}

static void a_file_truncated_at_any_byte_is_rejected_except_between_blobs(void **state)
{
    size_t count = vector_all(all);
    size_t border = 0;
    size_t next = 0; /* the vector that ends at the border */

    (void)state;
    for (size_t cut = 0; cut <= count; cut++) {
        struct popef_error err = { 0 };
        /* A separate heap copy, so that a read beyond the end is detected. */
        uint8_t *bytes = malloc(cut + 1);

        memcpy(bytes, all, cut);
        int ret = parse(bytes, cut, &err);
        free(bytes);
        if (cut == border) {
            assert_int_equal(ret, 0);
            border += next < VECTOR_COUNT ? vectors[next].bytes_count : 0;
            next++;
        } else if (cut < 4) {
            assert_int_equal(ret, -POPEF_ERROR_MAGIC);
        } else {
            char expected[64];

            (void)snprintf(expected, sizeof expected, "x.popef: truncated blob at offset %zu",
                           border - vectors[next - 1].bytes_count);
            assert_int_equal(ret, -POPEF_ERROR_TRUNCATED);
            assert_string_equal(err.text, expected);
        }
    }
    assert_int_equal(next, VECTOR_COUNT + 1);
}

static void any_changed_byte_is_read_or_rejected_with_a_message(void **state)
{
    (void)state;
    for (size_t v = 0; v < VECTOR_COUNT; v++) {
        uint8_t bytes[VECTOR_BYTES_MAX];
        size_t count = vector_bytes(v, bytes);

        for (size_t i = 0; i < count; i++) {
            uint8_t was = bytes[i];

            for (unsigned value = 0; value < 256; value++) {
                struct popef_reader *reader = NULL;
                struct popef_error err = { 0 };

                bytes[i] = (uint8_t)value;
                assert_int_equal(popef_reader_open(&reader, NULL), 0);
                int ret = popef_reader_parse_bytes(reader, bytes, count, "x", &err);
                assert_int_equal(ret, -err.code);
                if (ret == 0) {
                    read_all(reader);
                } else {
                    assert_true(err.text[0] != '\0');
                    assert_int_equal(popef_reader_file_count(reader), 0);
                }
                popef_reader_close(reader);
            }
            bytes[i] = was;
        }
    }
}

static void negative_repeats_are_rejected(void **state)
{
    static const char handle[] = "h2d_a"; /* before type, two flags and the repeats */
    uint8_t bytes[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(4, bytes);
    uint8_t *repeats = memmem(bytes, count, handle, sizeof handle - 1);

    (void)state;
    assert_non_null(repeats);
    repeats += sizeof handle - 1 + 3;
    assert_int_equal(parse(bytes, count, NULL), 0);
    repeats[7] = 0x80;
    assert_true(parse(bytes, count, NULL) < 0);
}

static void sizes_at_the_limits_of_64_bits_are_rejected(void **state)
{
    static const uint64_t values[] = { UINT64_MAX,        UINT64_MAX - 7,    UINT64_MAX - 48,
                                       INT64_MAX,         (uint64_t)1 << 63, UINT64_MAX / 2 - 8,
                                       (uint64_t)1 << 62, UINT32_MAX };

    (void)state;
    for (size_t field = 16; field < 48; field += 8) {
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            uint8_t bytes[VECTOR_BYTES_MAX];
            size_t count = vector_bytes(1, bytes);
            struct popef_error err = { 0 };

            memcpy(bytes + field, &values[i], 8);
            assert_int_equal(parse(bytes, count, &err),
                             field == 40 ? -POPEF_ERROR_DATA_SIZE : -POPEF_ERROR_TRUNCATED);
        }
    }
    /* Parts with a sum that wraps around to the size. */
    uint8_t bytes[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(1, bytes);
    uint64_t info = (uint64_t)1 << 63;
    uint64_t data = ((uint64_t)1 << 63) + 96 - 56;

    memcpy(bytes + 24, &info, 8);
    memcpy(bytes + 32, &data, 8);
    memcpy(bytes + 40, &data, 8);
    assert_int_equal(parse(bytes, count, NULL), -POPEF_ERROR_TRUNCATED);
}

static void each_error_has_its_code_and_message(void **state)
{
    static const struct {
        size_t vector, offset;
        uint8_t value;
        int code;
        const char *text;
    } cases[] = {
        { 0, 0, 'X', POPEF_ERROR_MAGIC,
          "x.popef: not an OPEF file (Graphcore's own encoding is not supported)" },
        { 0, 4, 2, POPEF_ERROR_FORMAT, "x.popef: unsupported blob format 2 at offset 0" },
        { 0, 6, 2, POPEF_ERROR_FORMAT, "x.popef: unsupported blob format 1 at offset 0" },
        { 1, 6, 1, POPEF_ERROR_FORMAT, "x.popef: unsupported blob format 1 at offset 0" },
        { 0, 16, 0x43, POPEF_ERROR_TRUNCATED, "x.popef: truncated blob at offset 0" },
        { 0, 16, 0, POPEF_ERROR_TRUNCATED, "x.popef: truncated blob at offset 0" },
        { 0, 56, 3, POPEF_ERROR_INFO, "x.popef: invalid executable info at offset 0" },
        { 0, 56, 1, POPEF_ERROR_INFO, "x.popef: invalid executable info at offset 0" },
        { 0, 40, 5, POPEF_ERROR_DATA_SIZE, "x.popef: 42: data size 5, expected 4" },
        { 1, 56 + 24, 3, POPEF_ERROR_DATA_SIZE,
          "x.popef: input_parameter: data size 8, expected 12" },
        { 1, 56 + 31, 0x80, POPEF_ERROR_INFO, "x.popef: invalid tensor info at offset 0" },
        { 1, 56 + 19, 15, POPEF_ERROR_INFO, "x.popef: invalid tensor info at offset 0" },
        { 1, 56 + 20, 17, POPEF_ERROR_INFO, "x.popef: invalid tensor info at offset 0" },
        { 2, 56 + 18, 3, POPEF_ERROR_DATA_SIZE, "x.popef: x: data size 6, expected 9" },
        { 3, 56, 7, POPEF_ERROR_INFO, "x.popef: invalid opaque info at offset 0" },
        { 4, 56 + 30, 2, POPEF_ERROR_INFO, "x.popef: invalid metadata info at offset 0" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[VECTOR_BYTES_MAX];
        size_t count = vector_bytes(cases[i].vector, bytes);
        struct popef_error err = { 0 };

        bytes[cases[i].offset] = cases[i].value;
        assert_int_equal(parse(bytes, count, &err), -cases[i].code);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(err.offset, 0);
    }
    struct popef_reader *reader = NULL;
    struct popef_error err = { 0 };
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, "/nowhere/x.popef", &err), -POPEF_ERROR_OPEN);
    assert_string_equal(err.text, "cannot open '/nowhere/x.popef': No such file or directory");
    assert_int_equal(popef_reader_parse_file(reader, "/", &err), -POPEF_ERROR_OPEN);
    popef_reader_close(reader);
}

static void an_executable_without_a_name_is_rejected(void **state)
{
    struct ntk_buf info = { 0 };
    struct ntk_buf file = { 0 };
    struct popef_error err = { 0 };

    (void)state;
    put_text(&info, "");
    put_blob(&file, 0, 0, &info, "EXEC", 4, 4);
    assert_int_equal(parse(file.bytes, file.bytes_count, &err), -POPEF_ERROR_NO_NAME);
    assert_string_equal(err.text, "x.popef: executable without a name");
    ntk_buf_fini(&info);
    ntk_buf_fini(&file);
}

static void names_may_contain_anything_except_a_nul(void **state)
{
    static const char *const names[] = { "\x1b[2J",    "a\nb", "\xff\xfe",
                                         "\"quoted\"", "日本", "\xe2\x80\xaezzz",
                                         "%s%n" };
    struct popef_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct ntk_buf info = { 0 };
        struct ntk_buf file = { 0 };
        struct popef_reader *reader = NULL;

        put_text(&info, names[i]);
        put_blob(&file, 0, 0, &info, "", 0, 0);
        assert_int_equal(popef_reader_open(&reader, NULL), 0);
        assert_int_equal(popef_reader_parse_bytes(reader, file.bytes, file.bytes_count, "x", &err),
                         0);
        assert_string_equal(popef_reader_executable(reader, 0)->blob.name, names[i]);
        /* The name is sanitized in messages. */
        assert_int_equal(popef_reader_parse_bytes(reader, file.bytes, file.bytes_count, "x", &err),
                         -POPEF_ERROR_DUPLICATE_EXECUTABLE);
        assert_null(strchr(err.text, '\n'));
        assert_null(strchr(err.text, '\x1b'));
        popef_reader_close(reader);
        ntk_buf_fini(&info);
        ntk_buf_fini(&file);
    }
    uint8_t bytes[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(0, bytes);
    bytes[61] = '\0'; /* "4" and a NUL */
    assert_int_equal(parse(bytes, count, NULL), -POPEF_ERROR_INFO);
}

static void lists_with_invalid_lengths_allocate_no_memory(void **state)
{
    uint8_t bytes[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(4, bytes);
    static const uint32_t lies[] = { UINT32_MAX, 65537, 65536, 1000 };
    /* engine options, device options, load, main, save, map, anchors, programs of the anchor */
    static const size_t lists[] = { 56 + 52, 56 + 56, 56 + 60, 56 + 68,
                                    56 + 76, 56 + 80, 56 + 99, 56 + 141 };

    (void)state;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        uint32_t was;

        memcpy(&was, bytes + lists[l], 4);
        assert_true(was <= 1);
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            memcpy(bytes + lists[l], &lies[i], 4);
            assert_int_equal(parse(bytes, count, NULL), -POPEF_ERROR_INFO);
        }
        memcpy(bytes + lists[l], &was, 4);
    }
    assert_int_equal(parse(bytes, count, NULL), 0);
}

static void a_blob_of_unknown_type_is_skipped_and_listed(void **state)
{
    struct ntk_buf info = { 0 };
    struct ntk_buf file = { 0 };
    struct popef_reader *reader = NULL;
    uint8_t vector[VECTOR_BYTES_MAX];

    (void)state;
    ntk_buf_add_text(&info, "whatever a later version puts here");
    put_blob(&file, 77, 0, &info, "data", 4, 4);
    ntk_buf_add(&file, vector, vector_bytes(0, vector));
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_bytes(reader, file.bytes, file.bytes_count, "x", NULL), 0);
    assert_int_equal(popef_reader_unknown_count(reader), 1);
    assert_int_equal(popef_reader_unknown(reader, 0)->type, 77);
    assert_int_equal(popef_reader_unknown(reader, 0)->offset, 0);
    assert_null(popef_reader_unknown(reader, 1));
    assert_int_equal(popef_reader_executable(reader, 0)->blob.offset, 48 + 8 + 40 + 4);
    popef_reader_close(reader);
    ntk_buf_fini(&info);
    ntk_buf_fini(&file);
}

static void names_are_unique_among_all_files(void **state)
{
    static const char *const sentences[] = { "duplicate executable '42'",
                                             "duplicate tensor 'input_parameter'",
                                             "duplicate feed 'x'" };
    static const int codes[] = { POPEF_ERROR_DUPLICATE_EXECUTABLE, POPEF_ERROR_DUPLICATE_TENSOR,
                                 POPEF_ERROR_DUPLICATE_TENSOR };

    (void)state;
    for (size_t v = 0; v < 3; v++) {
        uint8_t twice[2 * VECTOR_BYTES_MAX];
        size_t count = vector_bytes(v, twice);
        struct popef_reader *reader = NULL;
        struct popef_error err = { 0 };

        assert_int_equal(popef_reader_open(&reader, NULL), 0);
        assert_int_equal(popef_reader_parse_bytes(reader, twice, count, "one", &err), 0);
        assert_int_equal(popef_reader_parse_bytes(reader, twice, count, "two", &err), -codes[v]);
        assert_string_equal(err.text, sentences[v]);
        assert_int_equal(popef_reader_file_count(reader), 1);
        popef_reader_close(reader);
        /* Applies to a single file, too. */
        (void)vector_bytes(v, twice + count);
        assert_int_equal(parse(twice, 2 * count, &err), -codes[v]);
        assert_int_equal(err.offset, count);
    }
}

static void a_popef_reader_combines_blobs_of_several_files(void **state)
{
    struct popef_reader *reader = NULL;
    uint8_t bytes[VECTOR_COUNT][VECTOR_BYTES_MAX];

    (void)state;
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    for (size_t v = 0; v < VECTOR_COUNT; v++) {
        size_t count = vector_bytes(v, bytes[v]);

        assert_int_equal(popef_reader_parse_bytes(reader, bytes[v], count, vectors[v].kind, NULL),
                         0);
    }
    assert_int_equal(popef_reader_file_count(reader), VECTOR_COUNT);
    assert_int_equal(popef_reader_feed(reader, 0)->blob.file, 2);
    assert_string_equal(popef_reader_file_name(reader, 2), "feed");
    read_all(reader);
    struct popef_model *model = NULL;
    struct popef_error err = { 0 };
    assert_int_equal(popef_model_open(reader, NULL, &model, &err), 0);
    assert_int_equal(popef_model_anchor_count(model), 1);
    assert_null(popef_model_anchor(model, 0)->tensor);
    popef_model_close(model);
    popef_reader_close(reader);
}

static void an_empty_file_has_no_blobs(void **state)
{
    (void)state;
    assert_int_equal(parse("", 0, NULL), 0);
}

/* A compressed executable of text, announced with this size. */
static void put_compressed(struct ntk_buf *file, const char *text, uint64_t announced, size_t cut,
                           size_t extra)
{
    struct ntk_buf info = { 0 };
    uint8_t data[4096] = { 0 };
    uLongf bytes = sizeof data;

    assert_int_equal(compress(data, &bytes, (const Bytef *)text, strlen(text)), Z_OK);
    put_text(&info, "packed");
    put_blob(file, 0, 1, &info, data, bytes - cut + extra, announced);
    ntk_buf_fini(&info);
}

/* The result of reading it: a number of bytes, or the error. */
static int64_t inflate_file(const struct ntk_buf *file, size_t step, char *to, size_t to_bytes)
{
    struct popef_reader *reader = NULL;
    struct popef_stream *stream = NULL;
    struct popef_error err = { 0 };
    int64_t given = 0;
    int64_t got;

    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(
        popef_reader_parse_bytes(reader, file->bytes, file->bytes_count, "x.popef", NULL), 0);
    const struct popef_blob *blob = &popef_reader_executable(reader, 0)->blob;
    assert_true(blob->is_compressed);
    assert_int_equal(popef_reader_open_stream(reader, blob, &stream, NULL), 0);
    while ((got = popef_stream_read(stream, to + given, step, &err)) > 0) {
        given += got;
        assert_true((size_t)given <= to_bytes && (uint64_t)given <= blob->data_size);
    }
    if (got < 0) {
        assert_string_equal(err.text, "x.popef: packed: invalid compressed data");
        /* The error stays. */
        assert_int_equal(popef_stream_read(stream, to, 1, NULL), got);
        given = got;
    }
    assert_int_equal(popef_stream_seek(stream, 0, NULL), -POPEF_ERROR_ARGUMENT);
    popef_stream_close(stream);
    popef_reader_close(reader);
    return given;
}

static void compressed_data_yields_only_the_declared_bytes(void **state)
{
    static const size_t steps[] = { 1, 3, 4096 };
    char text[3001];
    char back[8192];

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        text[i] = (char)('a' + i * i % 23);
    }
    text[3000] = '\0';
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const struct {
            uint64_t announced;
            size_t cut, extra;
            int64_t expected;
        } cases[] = {
            { 3000, 0, 0, 3000 },
            { 2999, 0, 0, -POPEF_ERROR_COMPRESSION }, /* inflates to more bytes */
            { 3001, 0, 0, -POPEF_ERROR_COMPRESSION }, /* inflates to fewer bytes */
            { 0, 0, 0, -POPEF_ERROR_COMPRESSION },
            { INT64_MAX, 0, 0, -POPEF_ERROR_COMPRESSION },
            { 3000, 1, 0, -POPEF_ERROR_COMPRESSION }, /* half a checksum */
            { 3000, 0, 1, -POPEF_ERROR_COMPRESSION }, /* bytes after the end */
        };
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            struct ntk_buf file = { 0 };

            put_compressed(&file, text, cases[c].announced, cases[c].cut, cases[c].extra);
            assert_int_equal(inflate_file(&file, steps[s], back, sizeof back), cases[c].expected);
            if (cases[c].expected > 0) {
                assert_memory_equal(back, text, 3000);
            }
            ntk_buf_fini(&file);
        }
    }
}

/* Padding bits in the last byte of deflate's data have no meaning. */
static void damaged_compressed_data_is_an_error_or_the_same_bytes(void **state)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog";
    struct ntk_buf file = { 0 };
    char back[4096];
    size_t unseen = 0;

    (void)state;
    put_compressed(&file, text, 43, 0, 0);
    for (size_t i = 48 + 8 + 16; i < file.bytes_count; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            file.bytes[i] = (char)(file.bytes[i] ^ 1 << bit);
            int64_t got = inflate_file(&file, sizeof back, back, sizeof back);
            if (got == 43) {
                assert_memory_equal(back, text, 43);
                unseen++;
            } else {
                assert_int_equal(got, -POPEF_ERROR_COMPRESSION);
            }
            file.bytes[i] = (char)(file.bytes[i] ^ 1 << bit);
        }
    }
    assert_true(unseen < 8);
    ntk_buf_fini(&file);
}

static int count_blob(const struct popef_blob *blob, void *ctx)
{
    uint64_t *sums = ctx;

    sums[0]++;
    sums[1] += blob->size;
    return sums[0] == sums[2] ? -77 : 0;
}

/* Blobs of 1 GiB, all of them holes. */
static void only_the_headers_of_a_large_file_are_read(void **state)
{
    char *path = test_scratch_path(test_scratch_folder, "large.popef");
    uint64_t sums[3] = { 0 };
    struct ntk_buf head = { 0 };
    uint64_t each = (uint64_t)1 << 30;
    struct rusage before;
    struct rusage after;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    (void)state;
    assert_true(fd >= 0);
    for (unsigned i = 0; i < 10; i++) {
        struct ntk_buf info = { 0 };

        ntk_buf_reset(&head);
        ntk_buf_put_u32(&info, 2);
        ntk_buf_add_format(&info, "t%u", i);
        ntk_buf_put_u8(&info, POPEF_U8);
        ntk_buf_put_u32(&info, 1);
        ntk_buf_put_u64(&info, each - 48 - 8 - 24);
        put_blob(&head, POPEF_BLOB_TENSOR, 0, &info, "", 0, 0);
        memcpy(head.bytes + 16, &each, 8);
        uint64_t data = each - 48 - 8 - 24;
        memcpy(head.bytes + 32, &data, 8);
        memcpy(head.bytes + 40, &data, 8);
        assert_int_equal(ntk_fs_pwrite(fd, head.bytes, head.bytes_count, i * each), 0);
        ntk_buf_fini(&info);
    }
    ntk_buf_fini(&head);
    assert_int_equal(ftruncate(fd, (off_t)(10 * each)), 0);
    (void)close(fd);

    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    assert_int_equal(popef_walk_file(path, count_blob, sums, NULL), 0);
    assert_int_equal(sums[0], 10);
    assert_int_equal(sums[1], 10 * each);
    struct popef_reader *reader = NULL;
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(popef_reader_tensor_count(reader), 10);
    popef_reader_close(reader);
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_true(after.ru_maxrss - before.ru_maxrss < 4096); /* KiB; the files have 10 GiB */

    sums[0] = sums[1] = 0;
    sums[2] = 4; /* the visitor stops */
    assert_int_equal(popef_walk_file(path, count_blob, sums, NULL), -77);
    assert_int_equal(sums[0], 4);
    (void)unlink(path);
    free(path);
}

static void a_file_truncated_during_reading_is_an_error(void **state)
{
    char *path = test_scratch_path(test_scratch_folder, "cut.popef");
    size_t count = vector_all(all);
    struct popef_reader *reader = NULL;
    struct popef_stream *stream = NULL;
    uint8_t bytes[8];

    (void)state;
    assert_int_equal(ntk_fs_write(path, all, count, NULL), 0);
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(
        popef_reader_open_stream(reader, &popef_reader_tensor(reader, 0)->blob, &stream, NULL), 0);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(popef_stream_read(stream, bytes, 8, NULL), -POPEF_ERROR_TRUNCATED);
    popef_stream_close(stream);
    popef_reader_close(reader);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(popef_test_vectors_are_read_as_expected),
        cmocka_unit_test(the_metadata_vector_has_every_field),
        cmocka_unit_test(a_file_truncated_at_any_byte_is_rejected_except_between_blobs),
        cmocka_unit_test(any_changed_byte_is_read_or_rejected_with_a_message),
        cmocka_unit_test(negative_repeats_are_rejected),
        cmocka_unit_test(sizes_at_the_limits_of_64_bits_are_rejected),
        cmocka_unit_test(each_error_has_its_code_and_message),
        cmocka_unit_test(an_executable_without_a_name_is_rejected),
        cmocka_unit_test(names_may_contain_anything_except_a_nul),
        cmocka_unit_test(lists_with_invalid_lengths_allocate_no_memory),
        cmocka_unit_test(a_blob_of_unknown_type_is_skipped_and_listed),
        cmocka_unit_test(names_are_unique_among_all_files),
        cmocka_unit_test(a_popef_reader_combines_blobs_of_several_files),
        cmocka_unit_test(an_empty_file_has_no_blobs),
        cmocka_unit_test(compressed_data_yields_only_the_declared_bytes),
        cmocka_unit_test(damaged_compressed_data_is_an_error_or_the_same_bytes),
        cmocka_unit_test(only_the_headers_of_a_large_file_are_read),
        cmocka_unit_test(a_file_truncated_during_reading_is_an_error),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
