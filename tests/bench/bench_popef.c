/* SPDX-License-Identifier: MIT */
/*
 * What PopEF files cost: walking the headers of a sparse file of 10 GiB, compared with a loop that
 * only reads them, and the memory for that; reading a tensor of 256 MiB from one file and writing
 * it into another, compared with cp, which moves the same bytes.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/formats/popef/popef.h"
#include "tests/bench/rounds.h"
#include "tests/support/process.h"
#include "tests/support/scratch.h"

#define BLOBS ROUNDS_SIZE(10240, 64)
#define BLOB_BYTES ((int64_t)1 << 20)
#define TENSOR_BYTES ((int64_t)ROUNDS_SIZE(256, 4) << 20)
#define PIECE_BYTES ((size_t)512 << 10)
#define MIB (1 << 20)

struct bench {
    char *sparse, *from, *to;
    uint8_t *piece;
    uint64_t blobs;
};

static void must(int ret, const struct popef_error *err)
{
    rounds_require(ret >= 0, err->text);
}

/* The writer makes one blob of 1 MiB; all other blobs are its header with another name. */
static void sparse_make(const struct bench *bench)
{
    struct popef_error err = { 0 };
    uint8_t head[96];
    int fd = open(bench->sparse, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    rounds_require(fd >= 0, bench->sparse);
    for (int i = 0; i < BLOBS; i++) {
        char name[16];
        struct popef_writer *writer = NULL;
        struct popef_blob_writer *blob = NULL;

        (void)snprintf(name, sizeof name, "t%06d", i);
        struct popef_tensor_data_info info = { name, { POPEF_U8, 1, { BLOB_BYTES - 80 } } };
        if (i == 0) { /* "t000000" is 7 bytes: 4 + 7 + 5 + 8 is 24 */
            must(popef_writer_open(bench->to, POPEF_WRITER_CREATE, &writer, &err), &err);
            must(popef_writer_create_tensor_data(writer, &info, &blob, &err), &err);
            for (int64_t left = BLOB_BYTES - 80; left > 0; left -= (int64_t)PIECE_BYTES) {
                size_t take = left < (int64_t)PIECE_BYTES ? (size_t)left : PIECE_BYTES;

                must(popef_blob_writer_write(blob, bench->piece, take, &err), &err);
            }
            must(popef_writer_close(writer, &err), &err);
            int one = open(bench->to, O_RDONLY | O_CLOEXEC);
            rounds_require(one >= 0 && read(one, head, sizeof head) == sizeof head &&
                               close(one) == 0,
                           bench->to);
        }
        memcpy(head + 60, name, 7);
        rounds_require(pwrite(fd, head, 80, i * BLOB_BYTES) == 80, bench->sparse);
    }
    rounds_require(ftruncate(fd, BLOBS * BLOB_BYTES) == 0 && close(fd) == 0, bench->sparse);
}

static int count(const struct popef_blob *blob, void *ctx)
{
    struct bench *bench = ctx;

    bench->blobs += blob->size == (uint64_t)BLOB_BYTES;
    return 0;
}

static double measure_walk(void *ctx)
{
    struct bench *bench = ctx;
    struct popef_error err = { 0 };
    uint64_t begin = rounds_now_ns();

    bench->blobs = 0;
    must(popef_walk_file(bench->sparse, count, bench, &err), &err);
    rounds_require(bench->blobs == BLOBS, "blobs are missing");
    return (double)(rounds_now_ns() - begin) / BLOBS;
}

/* The minimum for any reader: one read of each header, and one of the version after it. */
static double measure_headers(void *ctx)
{
    const struct bench *bench = ctx;
    uint64_t begin = rounds_now_ns();
    int fd = open(bench->sparse, O_RDONLY | O_CLOEXEC);
    uint8_t head[48];

    for (int i = 0; i < BLOBS; i++) {
        rounds_require(pread(fd, head, sizeof head, i * BLOB_BYTES) == (ssize_t)sizeof head &&
                           pread(fd, head, 8, i * BLOB_BYTES + 48) == 8,
                       bench->sparse);
    }
    (void)close(fd);
    return (double)(rounds_now_ns() - begin) / BLOBS;
}

static void tensor_make(const struct bench *bench)
{
    struct popef_tensor_data_info info = { "w", { POPEF_U8, 1, { TENSOR_BYTES } } };
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_error err = { 0 };

    for (size_t i = 0; i < PIECE_BYTES; i++) {
        bench->piece[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    must(popef_writer_open(bench->from, POPEF_WRITER_CREATE, &writer, &err), &err);
    must(popef_writer_create_tensor_data(writer, &info, &blob, &err), &err);
    for (int64_t left = TENSOR_BYTES; left > 0; left -= (int64_t)PIECE_BYTES) {
        must(popef_blob_writer_write(blob, bench->piece, PIECE_BYTES, &err), &err);
    }
    must(popef_writer_close(writer, &err), &err);
}

/* Both start without the output file, so neither pays for removing an old one. */
static double measure_tensor(void *ctx)
{
    const struct bench *bench = ctx;
    struct popef_reader *reader = NULL;
    struct popef_stream *stream = NULL;
    struct popef_writer *writer = NULL;
    struct popef_blob_writer *blob = NULL;
    struct popef_error err = { 0 };
    int64_t got;

    (void)unlink(bench->to);
    uint64_t begin = rounds_now_ns();
    must(popef_reader_open(&reader, &err), &err);
    must(popef_reader_parse_file(reader, bench->from, &err), &err);
    const struct popef_tensor *tensor = popef_reader_find_tensor(reader, "w");
    must(popef_reader_open_stream(reader, &tensor->blob, &stream, &err), &err);
    must(popef_writer_open(bench->to, POPEF_WRITER_CREATE, &writer, &err), &err);
    must(popef_writer_create_tensor_data(writer, &tensor->info, &blob, &err), &err);
    while ((got = popef_stream_read(stream, bench->piece, PIECE_BYTES, &err)) > 0) {
        must(popef_blob_writer_write(blob, bench->piece, (size_t)got, &err), &err);
    }
    must((int)got, &err);
    must(popef_writer_close(writer, &err), &err);
    popef_stream_close(stream);
    popef_reader_close(reader);
    return (double)(rounds_now_ns() - begin) / ((double)TENSOR_BYTES / MIB);
}

static double measure_cp(void *ctx)
{
    const struct bench *bench = ctx;
    const char *argv[] = { "/bin/cp", bench->from, bench->to, NULL };

    (void)unlink(bench->to);
    uint64_t begin = rounds_now_ns();
    struct test_run run = test_run_program(argv, NULL);
    uint64_t end = rounds_now_ns();
    rounds_require(run.exit_code == 0, run.err);
    test_run_fini(&run);
    return (double)(end - begin) / ((double)TENSOR_BYTES / MIB);
}

static bool is_same(const char *a, const char *b)
{
    const char *argv[] = { "/usr/bin/cmp", a, b, NULL };
    struct test_run run = test_run_program(argv, NULL);
    bool same = run.exit_code == 0;

    test_run_fini(&run);
    return same;
}

int main(int argc, char **argv)
{
    char *folder = test_scratch_create();
    struct bench bench = { .sparse = test_scratch_path(folder, "sparse.popef"),
                           .from = test_scratch_path(folder, "from.popef"),
                           .to = test_scratch_path(folder, "to.popef"),
                           .piece = malloc(PIECE_BYTES) };
    struct rounds_subject walks[] = {
        { .name = "walk by headers", .measure = measure_walk, .ctx = &bench },
        { .name = "reading headers", .measure = measure_headers, .ctx = &bench }
    };
    struct rounds_subject copies[] = {
        { .name = "tensor to tensor", .measure = measure_tensor, .ctx = &bench },
        { .name = "cp", .measure = measure_cp, .ctx = &bench }
    };
    struct rusage before;
    struct rusage after;

    rounds_options(argc, argv);
    rounds_require(bench.piece != NULL, "out of memory");
    sparse_make(&bench);
    (void)getrusage(RUSAGE_SELF, &before);
    rounds_run(walks, 2, 11);
    (void)getrusage(RUSAGE_SELF, &after);
    tensor_make(&bench);
    rounds_run(copies, 2, 7);
    (void)measure_tensor(&bench);
    rounds_require(is_same(bench.from, bench.to), "the copy differs");
    for (int i = 0; i < 2; i++) {
        rounds_print(&walks[i], "ns/blob");
    }
    rounds_print_ratio("walk of 10 GiB next to its reads", &walks[0], &walks[1], 2.0);
    rounds_print_exact("memory it takes", (double)(after.ru_maxrss - before.ru_maxrss), "KiB", 256);
    for (int i = 0; i < 2; i++) {
        rounds_print(&copies[i], "ns/MiB");
    }
    /* The target is at least 0.8 of the rate. */
    rounds_print_ratio("tensor to tensor next to cp", &copies[0], &copies[1], 1.25);
    free(bench.sparse);
    free(bench.from);
    free(bench.to);
    free(bench.piece);
    test_scratch_destroy(folder);
    return rounds_result();
}
