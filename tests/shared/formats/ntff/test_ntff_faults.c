/* SPDX-License-Identifier: MIT */
/* Method: every allocation and file call fails in turn while a capture is read or written. A
 * capture that is read nevertheless is complete, and the name of a written one has the earlier
 * capture or the new one. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/formats/ntff/ntff.h"
#include "tests/support/fault.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

/* More than NTK_NTFF_SPOOL_BYTES, so that they go to a file. */
#define INSTRUCTIONS (NTK_NTFF_SPOOL_BYTES / 16 * 3 / 4)
#define EARLIER 3u
#define WRITE_ROUNDS 60

struct world {
    char *path;
    uint64_t sum; /* of the contents of the file */
    uint64_t seen;
};

static uint64_t sum_of(const struct ntk_ntff *ntff)
{
    uint64_t sum = ntff->version + strlen(ntff->neff_name) + ntff->warning_count * 1000;

    for (size_t g = 0; g < ntff->subgraph_count; g++) {
        const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[g];

        sum = sum * 31 + subgraph->buffer_count;
        sum = sum * 31 + subgraph->queue_count;
        sum = sum * 31 + subgraph->memory_count;
        sum = sum * 31 + subgraph->insertion_count;
        for (size_t i = 0; i < subgraph->section_count; i++) {
            sum = sum * 31 + subgraph->sections[i].record_count;
        }
    }
    return sum;
}

static int open_and_close(void *ctx, struct ntk_err *err)
{
    struct world *world = ctx;
    struct ntk_ntff *ntff = NULL;
    int ret = ntk_ntff_open(world->path, &ntff, err);

    world->seen = ret >= 0 ? sum_of(ntff) : 0;
    ntk_ntff_close(ntff);
    return ret;
}

static const char *has_all(void *ctx, int ret)
{
    const struct world *world = ctx;

    return ret >= 0 && world->seen != world->sum ? "something of the file is missing" : NULL;
}

static void a_failure_never_leaves_a_capture_partly_open(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .run = open_and_close,
                                                      .after = has_all };
    struct world world = { .path = test_scratch_path(test_scratch_folder, "out.ntff") };

    (void)state;
    for (unsigned version = 4; version <= 6; version++) {
        struct ntff_sample sample = { .version = version };
        struct ntk_buf file = { 0 };
        struct ntk_err err = { 0 };

        ntff_sample_build(&sample, &file);
        assert_int_equal(ntk_fs_write(world.path, file.bytes, file.bytes_count, &err), 0);
        ntk_buf_fini(&file);
        assert_int_equal(open_and_close(&world, &err), 0);
        world.sum = world.seen;
        assert_true(fault_everywhere(&operation, &world) > 10);
    }
    free(world.path);
}

/* Writes a capture with count instructions. */
static int capture_write(const struct world *world, uint64_t count, struct ntk_err *err)
{
    static const uint8_t code[64];
    const struct ntk_ntff_capture_queue queue = { .name = "qSPIO0", .type = NTK_NTFF_QUEUE_IO };
    struct ntk_ntff_capture_subgraph subgraph = { .name = "sg00",
                                                  .queue_count = 1,
                                                  .queues = &queue };
    const struct ntk_ntff_capture capture = { .neff_name = "model.neff",
                                              .instance_type = "trn1.2xlarge",
                                              .base_clock_mhz = 1400,
                                              .subgraph_count = 1,
                                              .subgraphs = &subgraph };
    struct ntk_ntff_writer *writer = NULL;

    subgraph.engines[NTK_NTFF_ENGINE_TENSOR] =
        (struct ntk_ntff_capture_code){ code, sizeof code, 0x8000000000 };
    int ret = ntk_ntff_writer_create(world->path, &capture, &writer, err);

    if (ret < 0) {
        return ret;
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct ntk_ntff_instruction instruction = { .start_ps = 2000 * i,
                                                          .end_ps = 2000 * i + 1000 };
        const struct ntk_ntff_dma dma = { .bytes_count = 64,
                                          .start_ps = 2000 * i,
                                          .end_ps = 2000 * i + 1000 };

        (void)ntk_ntff_writer_add_instruction(writer, 0, &instruction);
        if (i < EARLIER) {
            (void)ntk_ntff_writer_add_dma(writer, 0, &dma);
        }
    }
    ret = ntk_ntff_writer_commit(writer, err);
    ntk_ntff_writer_destroy(writer);
    return ret;
}

static void an_earlier_capture(void *ctx)
{
    assert_int_equal(capture_write(ctx, EARLIER, NULL), 0);
}

static int write_over(void *ctx, struct ntk_err *err)
{
    return capture_write(ctx, INSTRUCTIONS, err);
}

static size_t files_count(const char *folder)
{
    DIR *list = opendir(folder);
    size_t count = 0;

    while (readdir(list)) {
        count++;
    }
    closedir(list);
    return count - 2;
}

static const char *holds_either(void *ctx, int ret)
{
    const struct world *world = ctx;
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    uint64_t records = 0;

    if (files_count(test_scratch_folder) != 1) {
        return "a temporary file is left";
    }
    if (ntk_ntff_open(world->path, &ntff, &err) < 0) {
        return "the capture cannot be read";
    }
    size_t warnings = ntff->warning_count;

    for (size_t i = 0; i < ntff->subgraphs[0].section_count; i++) {
        if (ntff->subgraphs[0].sections[i].type == NTK_NTFF_SECTION_INSTRUCTION) {
            records += ntff->subgraphs[0].sections[i].record_count;
        }
    }
    ntk_ntff_close(ntff);
    if (warnings) {
        return "the capture is damaged";
    }
    if (ret == 0 && records != 2 * INSTRUCTIONS) {
        return "records are missing without an error";
    }
    return ret < 0 && records != 2 * EARLIER ? "the earlier capture is gone" : NULL;
}

static void a_failed_write_leaves_the_old_or_a_complete_new_capture(void **state)
{
    static const struct fault_operation operation = { .kinds = FAULT_ALL,
                                                      .rounds_max = WRITE_ROUNDS,
                                                      .before = an_earlier_capture,
                                                      .run = write_over,
                                                      .after = holds_either };

    struct world world = { .path = test_scratch_path(test_scratch_folder, "out.ntff") };

    (void)state;
    assert_true(fault_everywhere(&operation, &world) > 20);
    free(world.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_never_leaves_a_capture_partly_open),
        cmocka_unit_test(a_failed_write_leaves_the_old_or_a_complete_new_capture),
    };

    return cmocka_run_group_tests(tests, test_scratch_set_up, test_scratch_tear_down);
}
