/* SPDX-License-Identifier: MIT */
/* Method: the writer writes records to a scratch folder, and the reader reads them back. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/formats/ntff/ntff.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

struct fixture {
    char *folder, *path;
    uint8_t code[2][8 * 64];
    struct ntk_ntff_capture_queue queues[2];
    struct ntk_ntff_capture_subgraph subgraphs[2];
    struct ntk_ntff_capture capture;
    struct ntk_ntff_writer *writer;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "out.ntff");
    for (size_t i = 0; i < sizeof f->code[0]; i++) {
        f->code[0][i] = (uint8_t)(i / 64);
        f->code[1][i] = (uint8_t)(0x80 + i / 64);
    }
    f->queues[0] = (struct ntk_ntff_capture_queue){ .name = "qSPIO0", .type = NTK_NTFF_QUEUE_IO };
    f->queues[1] = (struct ntk_ntff_capture_queue){ .name = "qPoolDynamic",
                                                    .dma_engine = 15,
                                                    .queue = 3,
                                                    .type = NTK_NTFF_QUEUE_WEIGHTS,
                                                    .dram_channel = 1 };
    for (size_t g = 0; g < 2; g++) {
        f->subgraphs[g].name = g ? "sg01" : "sg00";
        f->subgraphs[g].core = (uint32_t)(4 + g);
        f->subgraphs[g].engines[NTK_NTFF_ENGINE_TENSOR] =
            (struct ntk_ntff_capture_code){ f->code[0], sizeof f->code[0], 0x8000000000 };
        f->subgraphs[g].engines[NTK_NTFF_ENGINE_SYNC] =
            (struct ntk_ntff_capture_code){ f->code[1], sizeof f->code[1], 0x80003fffc0 };
        f->subgraphs[g].queue_count = 2;
        f->subgraphs[g].queues = f->queues;
        f->subgraphs[g].memory_bytes[NTK_NTFF_MEMORY_TENSORS] = 1000 + g;
    }
    f->capture = (struct ntk_ntff_capture){
        .neff_name = "double.neff",
        .neff_uuid = { 1, 2, 3 },
        .model_id = 10007,
        .runtime = { .present = true, .major = 2, .minor = 31, .patch = 24 },
        .instance_type = "trn2.48xlarge",
        .process_id = 4711,
        .base_clock_mhz = 1200,
        .subgraph_count = 2,
        .subgraphs = f->subgraphs,
    };
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_ntff_writer_destroy(f->writer);
    test_scratch_destroy(f->folder);
    free(f->path);
    free(f);
    return 0;
}

static void create(struct fixture *f)
{
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_writer_create(f->path, &f->capture, &f->writer, &err), 0);
}

static struct ntk_ntff *commit_and_open(struct fixture *f)
{
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntff_writer_commit(f->writer, &err), 0);
    assert_int_equal(ntk_ntff_open(f->path, &ntff, &err), 0);
    assert_int_equal(ntff->warning_count, 0);
    return ntff;
}

static size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    }
    closedir(dir);
    return count;
}

static const struct ntk_ntff_section *section_of(const struct ntk_ntff *ntff, size_t subgraph,
                                                 unsigned type)
{
    const struct ntk_ntff_subgraph *of = &ntff->subgraphs[subgraph];

    for (size_t i = 0; i < of->section_count; i++) {
        if (of->sections[i].type == type) {
            return &of->sections[i];
        }
    }
    fail_msg("no section of type %u", type);
    return NULL;
}

static void written_values_are_read_back(void **state)
{
    struct fixture *f = *state;
    struct ntk_ntff_record r;

    create(f);
    assert_int_equal(
        ntk_ntff_writer_add_instruction(
            f->writer, 1,
            &(struct ntk_ntff_instruction){ NTK_NTFF_ENGINE_SYNC, 7, 10000, 2000000, 2500001 }),
        0);
    assert_int_equal(ntk_ntff_writer_add_event(
                         f->writer, 0,
                         &(struct ntk_ntff_event){ NTK_NTFF_ENGINE_AXI, true,
                                                   NTK_NTFF_MODE_SEMAPHORE_INC, 200, 70000, 77 }),
                     0);
    assert_int_equal(ntk_ntff_writer_add_event(
                         f->writer, 0,
                         &(struct ntk_ntff_event){ NTK_NTFF_ENGINE_TENSOR, false,
                                                   NTK_NTFF_MODE_EVENT_CLEAR, 255, 0, 78 }),
                     0);
    assert_int_equal(
        ntk_ntff_writer_add_dma(f->writer, 1, &(struct ntk_ntff_dma){ 15, 3, 4096, 100, 900 }), 0);
    assert_int_equal(
        ntk_ntff_writer_add_throttle(f->writer, 0, &(struct ntk_ntff_throttle){ 14, 3, 8, 5 }), 0);
    ntk_ntff_writer_set_execution(f->writer, 50, 3000000);
    struct ntk_ntff *ntff = commit_and_open(f);

    assert_int_equal(ntff->version, 6);
    assert_string_equal(ntff->neff_name, "double.neff");
    assert_memory_equal(ntff->neff_uuid, f->capture.neff_uuid, 16);
    assert_int_equal(ntff->model_id, 10007);
    assert_int_equal(ntff->process_id, 4711);
    assert_int_equal(ntff->runtime.patch, 24);
    assert_false(ntff->driver.present);
    assert_true(ntff->has_window);
    assert_int_equal(ntff->window_start_ps, 50);
    assert_int_equal(ntff->window_end_ps, 3000000);
    assert_int_equal(ntff->subgraph_count, 2);
    for (size_t g = 0; g < 2; g++) {
        const struct ntk_ntff_subgraph *subgraph = &ntff->subgraphs[g];
        assert_int_equal(subgraph->core, 4 + g);
        assert_int_equal(subgraph->execution_ps, 2999950);
        assert_int_equal(subgraph->queue_count, 2);
        assert_int_equal(subgraph->queues[1].engine, 16 * (4 + g) + 15);
        assert_int_equal(subgraph->queues[1].event_id, -1);
        assert_int_equal(subgraph->memory_count, NTK_NTFF_MEMORY_COUNT);
        assert_string_equal(subgraph->memory[NTK_NTFF_MEMORY_TENSORS].name, "Tensors");
        assert_int_equal(subgraph->memory[NTK_NTFF_MEMORY_TENSORS].bytes_count, 1000 + g);
        assert_memory_equal(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_TENSOR, 0), f->code[0],
                            sizeof f->code[0]);
        assert_memory_equal(ntk_ntff_slot_get(subgraph, NTK_NTFF_ENGINE_SYNC, 0), f->code[1],
                            sizeof f->code[1]);
    }
    const struct ntk_ntff_section *section = section_of(ntff, 1, NTK_NTFF_SECTION_INSTRUCTION);
    assert_int_equal(section->record_count, 2);
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_START);
    assert_int_equal(r.engine, NTK_NTFF_ENGINE_SYNC);
    assert_int_equal(r.slot, 7);
    assert_int_equal(r.wait_cycles, 12); /* 10 ns at 1.2 GHz */
    assert_int_equal(r.time_ps, 2000000);
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 1, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_END);
    assert_int_equal(r.crc_in, 0xffff);
    assert_int_equal(r.time_ps, 2500001);
    section = section_of(ntff, 0, NTK_NTFF_SECTION_EVENT);
    assert_int_equal(section->record_count, 2);
    ntk_ntff_record_get(&ntff->subgraphs[0], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_EVENT);
    assert_int_equal(r.engine, NTK_NTFF_ENGINE_AXI);
    assert_true(r.is_semaphore);
    assert_int_equal(r.number, 200);
    assert_int_equal(r.value, 70000);
    assert_int_equal(r.time_ps, 77);
    ntk_ntff_record_get(&ntff->subgraphs[0], section, 1, &r);
    assert_false(r.is_semaphore);
    assert_int_equal(r.mode, NTK_NTFF_MODE_EVENT_CLEAR);
    section = section_of(ntff, 1, NTK_NTFF_SECTION_DMA);
    assert_int_equal(section->record_count, 2);
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 1, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_DMA_END);
    assert_int_equal(r.engine, 15);
    assert_int_equal(r.queue, 3);
    assert_int_equal(r.bytes_count, 4096);
    section = section_of(ntff, 0, NTK_NTFF_SECTION_THROTTLE);
    ntk_ntff_record_get(&ntff->subgraphs[0], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_THROTTLE);
    assert_int_equal(r.throttle_type, 14);
    assert_int_equal(r.throttle_k, 3);
    ntk_ntff_close(ntff);
    assert_int_equal(count_entries(f->folder), 1);
}

static void a_long_transfer_is_split_into_packets_of_the_same_total(void **state)
{
    struct fixture *f = *state;
    struct ntk_ntff_record r;
    uint64_t bytes_count = 0;
    int64_t last_end_ps = 1000;

    create(f);
    assert_int_equal(
        ntk_ntff_writer_add_dma(f->writer, 0, &(struct ntk_ntff_dma){ 2, 1, 100001, 1000, 5001 }),
        0);
    struct ntk_ntff *ntff = commit_and_open(f);
    const struct ntk_ntff_section *section = section_of(ntff, 0, NTK_NTFF_SECTION_DMA);
    assert_int_equal(section->record_count, 8);
    for (uint64_t i = 0; i < section->record_count; i += 2) {
        ntk_ntff_record_get(&ntff->subgraphs[0], section, i, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_DMA_START);
        assert_int_equal(r.time_ps, last_end_ps);
        ntk_ntff_record_get(&ntff->subgraphs[0], section, i + 1, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_DMA_END);
        assert_in_range(r.bytes_count, 1, NTK_NTFF_PACKET_BYTES_MAX);
        bytes_count += r.bytes_count;
        last_end_ps = r.time_ps;
    }
    assert_int_equal(bytes_count, 100001);
    assert_int_equal(last_end_ps, 5001);
    ntk_ntff_close(ntff);
}

static void the_capture_window_defaults_to_the_recorded_time(void **state)
{
    struct fixture *f = *state;

    create(f);
    ntk_ntff_writer_add_dma(f->writer, 0, &(struct ntk_ntff_dma){ 0, 0, 4, 300, 400 });
    ntk_ntff_writer_add_instruction(f->writer, 0,
                                    &(struct ntk_ntff_instruction){ 0, 0, 0, 200, 350 });
    struct ntk_ntff *ntff = commit_and_open(f);
    assert_int_equal(ntff->window_start_ps, 200);
    assert_int_equal(ntff->window_end_ps, 400);
    ntk_ntff_close(ntff);
}

static void no_file_remains_without_a_commit(void **state)
{
    struct fixture *f = *state;

    create(f);
    assert_int_equal(access(f->path, F_OK), -1);
    ntk_ntff_writer_destroy(f->writer);
    f->writer = NULL;
    assert_int_equal(count_entries(f->folder), 0);
}

static void capture_data_beyond_the_memory_limit_is_buffered_in_files(void **state)
{
    struct fixture *f = *state;
    const uint64_t count = 3 * NTK_NTFF_SPOOL_BYTES / 32 + 7;

    create(f);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(
            ntk_ntff_writer_add_instruction(
                f->writer, 0,
                &(struct ntk_ntff_instruction){ NTK_NTFF_ENGINE_TENSOR, (uint32_t)(i % 8), 0,
                                                1000 * i, 1000 * i + 500 }),
            0);
    }
    assert_int_equal(count_entries(f->folder), 1); /* only the temporary name: spools have none */
    struct ntk_ntff *ntff = commit_and_open(f);
    const struct ntk_ntff_section *section = section_of(ntff, 0, NTK_NTFF_SECTION_INSTRUCTION);
    assert_int_equal(section->record_count, 2 * count);
    for (uint64_t i = 0; i < count; i++) {
        struct ntk_ntff_record r;
        ntk_ntff_record_get(&ntff->subgraphs[0], section, 2 * i + 1, &r);
        assert_int_equal(r.kind, NTK_NTFF_RECORD_INSTRUCTION_END);
        assert_int_equal(r.slot, i % 8);
        assert_int_equal(r.time_ps, 1000 * i + 500);
    }
    ntk_ntff_close(ntff);
}

static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;

    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file size limit simulates a full disk: writing fails with EFBIG. */
static void a_capture_written_to_a_full_disk_is_truncated_but_readable(void **state)
{
    struct fixture *f = *state;
    const uint64_t count = 20000; /* 640 KB of records: all in memory until the commit */
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };

    signal(SIGXFSZ, SIG_IGN);
    create(f);
    for (uint64_t i = 0; i < count; i++) {
        ntk_ntff_writer_add_instruction(
            f->writer, 0, &(struct ntk_ntff_instruction){ 0, (uint32_t)(i % 8), 0, i, i + 1 });
    }
    limit_file_size(256 << 10);
    int ret = ntk_ntff_writer_commit(f->writer, &err);
    limit_file_size(RLIM_INFINITY);

    assert_int_equal(ret, 1);
    assert_non_null(strstr(err.text, "records are missing"));
    assert_true(ntk_ntff_writer_dropped(f->writer) > 0);
    assert_int_equal(ntk_ntff_open(f->path, &ntff, &err), 0);
    assert_int_equal(ntff->warning_count, 0);
    const struct ntk_ntff_section *section = section_of(ntff, 0, NTK_NTFF_SECTION_INSTRUCTION);
    assert_int_equal(section->record_count, 2 * count - ntk_ntff_writer_dropped(f->writer));
    assert_true(section->record_count > 2 * count / 8);
    assert_int_equal(section->record_count % 2, 0);
    ntk_ntff_close(ntff);
}

static void a_recording_ends_when_the_disk_becomes_full(void **state)
{
    struct fixture *f = *state;
    const uint64_t count = 200000; /* 6.4 MB */
    struct ntk_ntff *ntff = NULL;
    struct ntk_err err = { 0 };
    int ret = 0;

    signal(SIGXFSZ, SIG_IGN);
    create(f);
    limit_file_size(2 << 20);
    for (uint64_t i = 0; i < count; i++) {
        ret = ntk_ntff_writer_add_instruction(
            f->writer, 0, &(struct ntk_ntff_instruction){ 0, (uint32_t)(i % 8), 0, i, i + 1 });
    }
    int committed = ntk_ntff_writer_commit(f->writer, &err);
    limit_file_size(RLIM_INFINITY);

    assert_int_equal(ret, -EFBIG);
    assert_int_equal(committed, 1);
    assert_int_equal(ntk_ntff_open(f->path, &ntff, &err), 0);
    assert_int_equal(ntff->warning_count, 0);
    uint64_t kept = section_of(ntff, 0, NTK_NTFF_SECTION_INSTRUCTION)->record_count;
    assert_in_range(kept, 1, 2 * count - 1);
    assert_int_equal(kept + ntk_ntff_writer_dropped(f->writer), 2 * count);
    ntk_ntff_close(ntff);
}

static void a_full_disk_reports_an_error_and_leaves_no_file(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    signal(SIGXFSZ, SIG_IGN);
    create(f);
    limit_file_size(100);
    int ret = ntk_ntff_writer_commit(f->writer, &err);
    limit_file_size(RLIM_INFINITY);

    assert_int_equal(ret, -EFBIG);
    assert_non_null(strstr(err.text, f->path));
    assert_int_equal(count_entries(f->folder), 0);
}

static void a_missing_output_folder_is_reported_at_the_start(void **state)
{
    struct fixture *f = *state;
    struct ntk_err err = { 0 };

    assert_int_equal(
        ntk_ntff_writer_create("/nonexistent/folder/x.ntff", &f->capture, &f->writer, &err),
        -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/folder/x.ntff"));
    assert_null(f->writer);
}

static void numbers_beyond_the_format_limits_are_rejected(void **state)
{
    struct fixture *f = *state;

    create(f);
    assert_int_equal(ntk_ntff_writer_add_instruction(
                         f->writer, 0, &(struct ntk_ntff_instruction){ 5, 0, 0, 0, 1 }),
                     -EINVAL);
    assert_int_equal(ntk_ntff_writer_add_instruction(
                         f->writer, 0, &(struct ntk_ntff_instruction){ 0, 8, 0, 0, 1 }),
                     -EINVAL); /* beyond the code */
    assert_int_equal(ntk_ntff_writer_add_instruction(
                         f->writer, 0, &(struct ntk_ntff_instruction){ 0, 0, 0, 2, 1 }),
                     -EINVAL);
    assert_int_equal(ntk_ntff_writer_add_instruction(
                         f->writer, 2, &(struct ntk_ntff_instruction){ 0, 0, 0, 0, 1 }),
                     -EINVAL);
    assert_int_equal(
        ntk_ntff_writer_add_dma(f->writer, 0, &(struct ntk_ntff_dma){ 16, 0, 4, 0, 1 }), -EINVAL);
    assert_int_equal(
        ntk_ntff_writer_add_event(f->writer, 0, &(struct ntk_ntff_event){ .source = 6 }), -EINVAL);
    assert_int_equal(
        ntk_ntff_writer_add_throttle(f->writer, 0, &(struct ntk_ntff_throttle){ 0, 1, 0, 0 }),
        -EINVAL);
    ntk_ntff_writer_destroy(f->writer);
    f->writer = NULL;
    f->subgraphs[0].engines[0].code_bytes = 63;
    assert_int_equal(ntk_ntff_writer_create(f->path, &f->capture, &f->writer, NULL), -EINVAL);
    assert_null(f->writer);
}

static void recorded_errors_are_read_back_up_to_a_limit(void **state)
{
    struct fixture *f = *state;
    struct ntk_ntff_error error = { NTK_NTFF_ERROR_NUMERICAL, NTK_NTFF_ENGINE_TENSOR, 1, 5000 };
    struct ntk_ntff_record r;

    create(f);
    assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), 0);
    error = (struct ntk_ntff_error){ NTK_NTFF_ERROR_OUT_OF_BOUNDS, NTK_NTFF_ENGINE_AXI, 7, 6000 };
    for (size_t i = 0; i < NTK_NTFF_ERROR_RECORDS_MAX - 1; i++) {
        assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), 0);
    }
    assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), -ENOBUFS);
    assert_int_equal(ntk_ntff_writer_dropped(f->writer), 1);
    error.engine = NTK_NTFF_ENGINE_AXI + 1;
    assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), -EINVAL);
    error = (struct ntk_ntff_error){ .kind = NTK_NTFF_ERROR_COUNT };
    assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), -EINVAL);
    error.kind = 0;
    assert_int_equal(ntk_ntff_writer_add_error(f->writer, 1, &error), -EINVAL);
    struct ntk_ntff *ntff = NULL;
    assert_int_equal(ntk_ntff_writer_commit(f->writer, NULL), 1); /* one error is not in it */
    assert_int_equal(ntk_ntff_open(f->path, &ntff, NULL), 0);
    struct ntk_ntff_section *section =
        (struct ntk_ntff_section *)section_of(ntff, 1, NTK_NTFF_SECTION_ERROR);

    assert_int_equal(section->record_count, NTK_NTFF_ERROR_RECORDS_MAX);
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_ERROR);
    assert_int_equal(r.error, NTK_NTFF_ERROR_NUMERICAL);
    assert_int_equal(r.engine, NTK_NTFF_ENGINE_TENSOR);
    assert_int_equal(r.slot, 1);
    assert_int_equal(r.time_ps, 5000);
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 1, &r);
    assert_int_equal(r.error, NTK_NTFF_ERROR_OUT_OF_BOUNDS);
    assert_int_equal(r.engine, NTK_NTFF_ENGINE_AXI);
    assert_int_equal(r.slot, NTK_NTFF_SLOT_OUTSIDE);
    /* Without our mark, or with a later kind, it is not a record of ours. */
    uint8_t bytes[16];
    memcpy(bytes, section->records, sizeof bytes);
    section->records = bytes;
    bytes[6] ^= 1;
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_UNKNOWN);
    bytes[6] ^= 1;
    bytes[4] = NTK_NTFF_ERROR_COUNT;
    ntk_ntff_record_get(&ntff->subgraphs[1], section, 0, &r);
    assert_int_equal(r.kind, NTK_NTFF_RECORD_UNKNOWN);
    ntk_ntff_close(ntff);
}

static void wait_cycles_beyond_the_field_width_are_stored_as_its_maximum(void **state)
{
    struct fixture *f = *state;
    struct ntk_ntff_record r;

    create(f);
    ntk_ntff_writer_add_instruction(f->writer, 0,
                                    &(struct ntk_ntff_instruction){ 0, 0, UINT64_MAX, 0, 1 });
    struct ntk_ntff *ntff = commit_and_open(f);
    ntk_ntff_record_get(&ntff->subgraphs[0], section_of(ntff, 0, NTK_NTFF_SECTION_INSTRUCTION), 0,
                        &r);
    assert_int_equal(r.wait_cycles, 0xffff);
    ntk_ntff_close(ntff);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(written_values_are_read_back),
        TEST(a_long_transfer_is_split_into_packets_of_the_same_total),
        TEST(the_capture_window_defaults_to_the_recorded_time),
        TEST(no_file_remains_without_a_commit),
        TEST(capture_data_beyond_the_memory_limit_is_buffered_in_files),
        TEST(a_capture_written_to_a_full_disk_is_truncated_but_readable),
        TEST(a_recording_ends_when_the_disk_becomes_full),
        TEST(a_full_disk_reports_an_error_and_leaves_no_file),
        TEST(a_missing_output_folder_is_reported_at_the_start),
        TEST(numbers_beyond_the_format_limits_are_rejected),
        TEST(recorded_errors_are_read_back_up_to_a_limit),
        TEST(wait_cycles_beyond_the_field_width_are_stored_as_its_maximum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
