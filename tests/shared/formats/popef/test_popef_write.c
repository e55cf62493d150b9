/* SPDX-License-Identifier: MIT */
#include "shared/formats/popef/popef.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "tests/shared/formats/popef/vectors.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

static char *path_of(const char *name)
{
    return test_scratch_path(test_scratch_folder, name);
}

static void blob_write(struct popef_blob_writer *blob, const void *bytes, size_t count)
{
    assert_int_equal(popef_blob_writer_write(blob, bytes, count, NULL), 0);
    assert_int_equal(popef_blob_writer_close(blob, NULL), 0);
}

static void executable_write(struct popef_writer *writer)
{
    struct popef_blob_writer *blob = NULL;

    assert_int_equal(popef_writer_create_executable(writer, "42", false, &blob, NULL), 0);
    blob_write(blob, "EXEC", 4);
}

static void tensor_write(struct popef_writer *writer)
{
    struct popef_tensor_data_info info = { "input_parameter", { POPEF_F32, 1, { 2 } } };
    struct popef_blob_writer *blob = NULL;
    float values[] = { 1.0f, 2.0f };

    assert_int_equal(popef_writer_create_tensor_data(writer, &info, &blob, NULL), 0);
    blob_write(blob, values, sizeof values);
}

static void feed_write(struct popef_writer *writer)
{
    struct popef_feed_data_info info = { "x", { POPEF_U8, 1, { 3 } }, 2 };
    struct popef_blob_writer *blob = NULL;

    assert_int_equal(popef_writer_create_feed_data(writer, &info, &blob, NULL), 0);
    assert_int_equal(popef_blob_writer_write(blob, "\1\2\3\4", 4, NULL), 0);
    blob_write(blob, "\5\6", 2);
}

static void opaque_write(struct popef_writer *writer)
{
    struct popef_blob_writer *blob = NULL;

    assert_int_equal(popef_writer_create_opaque_blob(writer, "popart", "42", &blob, NULL), 0);
    blob_write(blob, "\1\2\3", 3);
}

static void metadata_write(struct popef_writer *writer)
{
    uint32_t load[] = { 0 };
    uint32_t main_programs[] = { 5 };
    struct popef_program_name map[] = { { 5, "Program" } };
    struct popef_anchor anchors[] = { { .name = "a",
                                        .handle = "h2d_a",
                                        .tensor_info = { POPEF_F32, 1, { 2 } },
                                        .type = POPEF_TENSOR_INPUT,
                                        .programs = { main_programs, 1 },
                                        .repeats = 1 } };
    struct popef_metadata metadata = {
        .executable = "42",
        .replication_factor = 1,
        .num_ipus = 1,
        .ipu_version = 2,
        .num_processes = 1,
        .device_iterations = 1,
        .is_inference = true,
        .program_flow = { { load, 1 }, { main_programs, 1 }, { NULL, 0 } },
        .programs_map = map,
        .programs_map_count = 1,
        .anchors = anchors,
        .anchor_count = 1,
    };

    assert_int_equal(popef_writer_write_metadata(writer, &metadata, NULL), 0);
}

static void (*const writes[VECTOR_COUNT])(struct popef_writer *) = {
    executable_write, tensor_write, feed_write, opaque_write, metadata_write,
};

static void file_is(const char *path, const uint8_t *bytes, size_t count)
{
    uint8_t *got = NULL;
    size_t got_count = 0;

    assert_int_equal(ntk_fs_read(path, 1 << 20, &got, &got_count, NULL), 0);
    assert_int_equal(got_count, count);
    assert_memory_equal(got, bytes, count);
    free(got);
}

static void written_popef_bytes_equal_the_test_vectors(void **state)
{
    char *path = path_of("vector.popef");
    uint8_t all[VECTOR_COUNT * VECTOR_BYTES_MAX];
    size_t count = vector_all(all);
    struct popef_writer *writer = NULL;

    (void)state;
    for (size_t v = 0; v < VECTOR_COUNT; v++) {
        uint8_t one[VECTOR_BYTES_MAX];
        size_t one_count = vector_bytes(v, one);

        assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
        writes[v](writer);
        assert_int_equal(popef_writer_close(writer, NULL), 0);
        file_is(path, one, one_count);
    }
    /* Writes all blobs to one file, then appends each to the earlier ones. */
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    for (size_t v = 0; v < VECTOR_COUNT; v++) {
        writes[v](writer);
    }
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    file_is(path, all, count);
    assert_int_equal(unlink(path), 0);
    for (size_t v = 0; v < VECTOR_COUNT; v++) {
        assert_int_equal(popef_writer_open(path, POPEF_WRITER_APPEND, &writer, NULL), 0);
        writes[v](writer);
        assert_int_equal(popef_writer_close(writer, NULL), 0);
    }
    file_is(path, all, count);
    free(path);
}

static void a_large_executable_comes_back(bool compress)
{
    char *path = path_of(compress ? "packed.popef" : "plain.popef");
    size_t count = 3000001;
    uint8_t *bytes = malloc(count);
    uint8_t *back = malloc(count + 1);
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_reader *reader = NULL;
    struct popef_stream *stream = NULL;
    static const size_t pieces[] = { 1, 100, 300000, 262144, 7, 1000000 };

    assert_non_null(bytes);
    assert_non_null(back);
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(i * i >> 7);
    }
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    tensor_write(writer);
    assert_int_equal(popef_writer_create_executable(writer, "big", compress, &blob, NULL), 0);
    for (size_t at = 0, i = 0; at < count; i++) {
        size_t piece = pieces[i % 6] < count - at ? pieces[i % 6] : count - at;

        assert_int_equal(popef_blob_writer_write(blob, bytes + at, piece, NULL), 0);
        at += piece;
    }
    opaque_write(writer);
    assert_int_equal(popef_writer_close(writer, NULL), 0);

    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    const struct popef_blob *big = &popef_reader_executable(reader, 0)->blob;
    assert_int_equal(big->is_compressed, compress);
    assert_int_equal(big->data_size, count);
    assert_int_equal(big->available_read_size < count, compress);
    assert_int_equal(popef_reader_open_stream(reader, big, &stream, NULL), 0);
    assert_int_equal(popef_stream_read(stream, back, count + 1, NULL), count);
    assert_memory_equal(back, bytes, count);
    popef_stream_close(stream);
    popef_reader_close(reader);
    free(back);
    free(bytes);
    free(path);
}

static void plain_and_compressed_executables_are_read_back_unchanged(void **state)
{
    (void)state;
    a_large_executable_comes_back(false);
    a_large_executable_comes_back(true);
}

static void appending_to_a_popef_file_keeps_its_existing_contents(void **state)
{
    char *path = path_of("append.popef");
    uint8_t all[VECTOR_COUNT * VECTOR_BYTES_MAX];
    size_t count = vector_all(all);
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_reader *reader = NULL;

    (void)state;
    assert_int_equal(ntk_fs_write(path, all, count, NULL), 0);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_APPEND, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_opaque_blob(writer, "poptorch", "42", &blob, NULL), 0);
    blob_write(blob, "torch", 5);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(popef_reader_opaque_count(reader), 2);
    assert_string_equal(popef_reader_opaque(reader, 1)->blob.name, "poptorch");
    assert_int_equal(popef_reader_opaque(reader, 1)->blob.offset, count);
    assert_int_equal(popef_reader_metadata(reader, 0)->blob.offset, count - 208);
    popef_reader_close(reader);

    /* If writing is aborted or rejected, the file is unchanged. */
    uint8_t *before = NULL;
    size_t before_count = 0;
    assert_int_equal(ntk_fs_read(path, 1 << 20, &before, &before_count, NULL), 0);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_APPEND, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "other", false, &blob, NULL), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(popef_blob_writer_write(blob, all, count, NULL), 0);
    }
    popef_writer_abort(writer);
    file_is(path, before, before_count);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_APPEND, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "42", false, &blob, NULL),
                     -POPEF_ERROR_DUPLICATE_EXECUTABLE);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    file_is(path, before, before_count);
    free(before);

    /* A foreign file is not appended to. */
    assert_int_equal(ntk_fs_write(path, "something else", 14, NULL), 0);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_APPEND, &writer, NULL),
                     -POPEF_ERROR_MAGIC);
    file_is(path, (const uint8_t *)"something else", 14);
    free(path);
}

static void creating_a_blob_writer_closes_the_previous_one(void **state)
{
    char *path = path_of("active.popef");
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *first = NULL;
    struct popef_blob_writer *second = NULL;
    struct popef_error err = { 0 };
    struct popef_reader *reader = NULL;

    (void)state;
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "one", false, &first, NULL), 0);
    assert_int_equal(popef_blob_writer_write(first, "1", 1, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "two", true, &second, NULL), 0);
    assert_int_equal(popef_blob_writer_write(first, "1", 1, &err), -POPEF_ERROR_INACTIVE);
    assert_string_equal(err.text, "blob writer is no longer active");
    assert_int_equal(popef_blob_writer_write(second, "22", 2, &err), 0);
    assert_int_equal(popef_blob_writer_close(first, NULL), 0);
    metadata_write(writer); /* a whole blob, too */
    assert_int_equal(popef_blob_writer_write(second, "2", 1, NULL), -POPEF_ERROR_INACTIVE);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(popef_reader_find_executable(reader, "one")->blob.data_size, 1);
    assert_int_equal(popef_reader_find_executable(reader, "two")->blob.data_size, 2);
    popef_reader_close(reader);
    free(path);
}

static void a_blob_with_data_of_the_wrong_size_is_removed(void **state)
{
    char *path = path_of("sizes.popef");
    struct popef_tensor_data_info info = { "w", { POPEF_F32, 1, { 100000 } } };
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_error err = { 0 };
    uint8_t *bytes = calloc(1, 400001);
    uint8_t vector[VECTOR_BYTES_MAX];
    size_t vector_count = vector_bytes(0, vector);
    char expected[4200];

    (void)state;
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    executable_write(writer);
    /* Too little, in the buffer and in the file. */
    for (size_t count = 10; count < 400000; count += 399989) {
        assert_int_equal(popef_writer_create_tensor_data(writer, &info, &blob, NULL), 0);
        assert_int_equal(popef_blob_writer_write(blob, bytes, count, NULL), 0);
        assert_int_equal(popef_blob_writer_close(blob, &err), -POPEF_ERROR_DATA_SIZE);
        (void)snprintf(expected, sizeof expected, "%s: w: data size %zu, expected 400000", path,
                       count);
        assert_string_equal(err.text, expected);
    }
    /* Too much. */
    assert_int_equal(popef_writer_create_tensor_data(writer, &info, &blob, NULL), 0);
    assert_int_equal(popef_blob_writer_write(blob, bytes, 400000, NULL), 0);
    assert_int_equal(popef_blob_writer_write(blob, bytes, 1, &err), -POPEF_ERROR_DATA_SIZE);
    assert_int_equal(popef_blob_writer_write(blob, bytes, 1, &err), -POPEF_ERROR_INACTIVE);
    /* Incomplete data when the next blob starts. */
    assert_int_equal(popef_writer_create_tensor_data(writer, &info, &blob, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "n", false, &blob, NULL),
                     -POPEF_ERROR_DATA_SIZE);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    file_is(path, vector, vector_count);
    free(bytes);
    free(path);
}

static void writers_reject_missing_and_duplicate_names(void **state)
{
    char *path = path_of("names.popef");
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_error err = { 0 };
    struct popef_tensor_data_info tensor = { "x", { POPEF_F64, 0, { 0 } } };
    struct popef_feed_data_info feed = { "x", { POPEF_U8, 1, { 0 } }, 1000 };
    double value = 1.0;

    (void)state;
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "", false, &blob, &err),
                     -POPEF_ERROR_NO_NAME);
    assert_int_equal(popef_writer_create_executable(writer, NULL, false, &blob, &err),
                     -POPEF_ERROR_NO_NAME);
    executable_write(writer);
    assert_int_equal(popef_writer_create_executable(writer, "42", false, &blob, &err),
                     -POPEF_ERROR_DUPLICATE_EXECUTABLE);
    assert_string_equal(err.text, "duplicate executable '42'");
    /* A scalar, and an empty feed of the same name. */
    assert_int_equal(popef_writer_create_tensor_data(writer, &tensor, &blob, NULL), 0);
    blob_write(blob, &value, 8);
    assert_int_equal(popef_writer_create_feed_data(writer, &feed, &blob, NULL), 0);
    assert_int_equal(popef_blob_writer_close(blob, NULL), 0);
    assert_int_equal(popef_writer_create_tensor_data(writer, &tensor, &blob, &err),
                     -POPEF_ERROR_DUPLICATE_TENSOR);
    assert_string_equal(err.text, "duplicate tensor 'x'");
    assert_int_equal(popef_writer_create_feed_data(writer, &feed, &blob, &err),
                     -POPEF_ERROR_DUPLICATE_TENSOR);
    assert_string_equal(err.text, "duplicate feed 'x'");
    tensor.name = "negative";
    tensor.tensor_info.rank = 1;
    tensor.tensor_info.shape[0] = -1;
    assert_int_equal(popef_writer_create_tensor_data(writer, &tensor, &blob, NULL),
                     -POPEF_ERROR_ARGUMENT);
    feed.name = "more";
    feed.tensor_info.shape[0] = INT64_MAX;
    assert_int_equal(popef_writer_create_feed_data(writer, &feed, &blob, NULL),
                     -POPEF_ERROR_ARGUMENT);
    assert_int_equal(popef_writer_close(writer, NULL), 0);

    struct popef_reader *reader = NULL;
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(popef_reader_find_tensor(reader, "x")->blob.data_size, 8);
    assert_int_equal(popef_reader_find_feed(reader, "x")->blob.data_size, 0);
    popef_reader_close(reader);
    free(path);
}

static void programs_are_written_in_index_order(void **state)
{
    char *path = path_of("map.popef");
    struct popef_program_name map[] = { { 7, "c" }, { 0, "a" }, { 5, "b" } };
    struct popef_metadata metadata = { .executable = "e",
                                       .programs_map = map,
                                       .programs_map_count = 3 };
    struct popef_writer *writer = NULL;
    struct popef_reader *reader = NULL;

    (void)state;
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    assert_int_equal(popef_writer_write_metadata(writer, &metadata, NULL), 0);
    map[0].index = 5;
    assert_int_equal(popef_writer_write_metadata(writer, &metadata, NULL), -POPEF_ERROR_ARGUMENT);
    map[0].index = 7;
    struct popef_anchor anchor = { .tensor_info = { POPEF_F32, 0, { 0 } }, .repeats = -1 };
    metadata.anchors = &anchor;
    metadata.anchor_count = 1;
    assert_int_equal(popef_writer_write_metadata(writer, &metadata, NULL), -POPEF_ERROR_ARGUMENT);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_file(reader, path, NULL), 0);
    assert_int_equal(popef_reader_metadata_count(reader), 1);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = { "a", "b", "c" };

        assert_string_equal(popef_reader_metadata(reader, 0)->metadata.programs_map[i].name,
                            names[i]);
    }
    popef_reader_close(reader);
    free(path);
}

static void a_popef_file_is_written_completely_or_not_at_all(void **state)
{
    char *path = path_of("whole.popef");
    struct popef_writer *writer = NULL;
    struct popef_error err = { 0 };
    uint8_t vector[VECTOR_BYTES_MAX];
    size_t count = vector_bytes(0, vector);

    (void)state;
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    executable_write(writer);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(popef_writer_close(writer, NULL), 0);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    tensor_write(writer);
    popef_writer_abort(writer);
    file_is(path, vector, count);
    popef_writer_abort(NULL);
    assert_int_equal(popef_writer_open("/nowhere/x", POPEF_WRITER_CREATE, &writer, &err),
                     -POPEF_ERROR_OPEN);
    assert_int_equal(popef_writer_open("/nowhere/x", POPEF_WRITER_APPEND, &writer, &err),
                     -POPEF_ERROR_OPEN);
    free(path);
}

static void a_full_disk_is_an_error_and_leaves_no_file(void **state)
{
    char *path = path_of("full.popef");
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_error err = { 0 };
    struct rlimit old;
    struct rlimit small;
    uint8_t *bytes = calloc(1, 1 << 20);

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 700000;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
    assert_int_equal(popef_writer_create_executable(writer, "e", false, &blob, NULL), 0);
    assert_int_equal(popef_blob_writer_write(blob, bytes, 1 << 20, &err), -POPEF_ERROR_IO);
    assert_int_equal(popef_writer_create_executable(writer, "f", false, &blob, &err),
                     -POPEF_ERROR_IO);
    assert_int_equal(popef_writer_close(writer, &err), -POPEF_ERROR_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(access(path, F_OK), -1);
    free(bytes);
    free(path);
}

/* ---- models ---- */

static void model_is(const uint8_t *bytes, size_t count, const char *executable, int code,
                     const char *text)
{
    struct popef_reader *reader = NULL;
    struct popef_model *model = NULL;
    struct popef_error err = { 0 };

    assert_int_equal(popef_reader_open(&reader, NULL), 0);
    assert_int_equal(popef_reader_parse_bytes(reader, bytes, count, "m", NULL), 0);
    assert_int_equal(popef_model_open(reader, executable, &model, &err), -code);
    if (code) {
        assert_string_equal(err.text, text);
    }
    popef_model_close(model);
    popef_reader_close(reader);
}

static void a_model_consists_of_an_executable_and_one_metadata_blob(void **state)
{
    uint8_t bytes[VECTOR_COUNT * VECTOR_BYTES_MAX];
    size_t executable = vector_bytes(0, bytes);
    size_t metadata = vector_bytes(4, bytes + executable);

    (void)state;
    model_is(bytes, executable + metadata, NULL, 0, "");
    model_is(bytes, executable + metadata, "42", 0, "");
    model_is(bytes, executable + metadata, "43", POPEF_ERROR_MODEL,
             "no executable '43'; available: '42'");
    model_is(bytes, executable, NULL, POPEF_ERROR_MODEL, "executable '42' has no metadata");
    model_is(bytes + executable, metadata, NULL, POPEF_ERROR_ABSENT_EXECUTABLE,
             "m: metadata refers to a missing executable '42'");
    (void)vector_bytes(4, bytes + executable + metadata);
    model_is(bytes, executable + 2 * metadata, NULL, POPEF_ERROR_MODEL,
             "executable '42' has several metadata blobs");
    size_t opaque = vector_bytes(3, bytes);
    model_is(bytes, opaque, NULL, POPEF_ERROR_ABSENT_EXECUTABLE,
             "m: opaque blob refers to a missing executable '42'");
    model_is(bytes, 0, NULL, POPEF_ERROR_MODEL, "0 executables: select one");
}

/* Method: the anchor "a" of the metadata vector, F32 [2], and data with that name. */
static void data_that_does_not_match_its_anchor_is_rejected(void **state)
{
    static const struct {
        struct popef_tensor_info info;
        int code;
    } cases[] = {
        { { POPEF_F32, 1, { 2 } }, 0 },
        { { POPEF_F32, 1, { 3 } }, POPEF_ERROR_ANCHOR },
        { { POPEF_S32, 1, { 2 } }, POPEF_ERROR_ANCHOR },
        { { POPEF_F32, 2, { 1, 2 } }, POPEF_ERROR_ANCHOR },
    };
    char *path = path_of("anchor.popef");

    (void)state;
    for (int is_feed = 0; is_feed < 2; is_feed++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct popef_tensor_data_info tensor = { "a", cases[i].info };
            struct popef_feed_data_info feed = { "a", cases[i].info, 0 };
            struct popef_writer *writer = NULL;
            struct popef_blob_writer *blob = NULL;
            uint8_t zeros[16] = { 0 };
            uint8_t *bytes = NULL;
            size_t count = 0;

            assert_int_equal(popef_writer_open(path, POPEF_WRITER_CREATE, &writer, NULL), 0);
            executable_write(writer);
            metadata_write(writer);
            if (is_feed) {
                assert_int_equal(popef_writer_create_feed_data(writer, &feed, &blob, NULL), 0);
            } else {
                assert_int_equal(popef_writer_create_tensor_data(writer, &tensor, &blob, NULL), 0);
                blob_write(blob, zeros, (size_t)popef_tensor_info_size_in_bytes(&cases[i].info));
            }
            assert_int_equal(popef_writer_close(writer, NULL), 0);
            assert_int_equal(ntk_fs_read(path, 1 << 20, &bytes, &count, NULL), 0);
            model_is(bytes, count, NULL, cases[i].code, "a: shape or type differs from its anchor");
            free(bytes);
        }
    }
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_popef_bytes_equal_the_test_vectors),
        cmocka_unit_test(plain_and_compressed_executables_are_read_back_unchanged),
        cmocka_unit_test(appending_to_a_popef_file_keeps_its_existing_contents),
        cmocka_unit_test(creating_a_blob_writer_closes_the_previous_one),
        cmocka_unit_test(a_blob_with_data_of_the_wrong_size_is_removed),
        cmocka_unit_test(writers_reject_missing_and_duplicate_names),
        cmocka_unit_test(programs_are_written_in_index_order),
        cmocka_unit_test(a_popef_file_is_written_completely_or_not_at_all),
        cmocka_unit_test(a_full_disk_is_an_error_and_leaves_no_file),
        cmocka_unit_test(a_model_consists_of_an_executable_and_one_metadata_blob),
        cmocka_unit_test(data_that_does_not_match_its_anchor_is_rejected),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
