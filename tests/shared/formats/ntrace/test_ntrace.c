/* SPDX-License-Identifier: MIT */
/*
 * Files of an inspection: round trip in pieces, and every way in which a file can be short or
 * wrong.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "shared/base/fs.h"
#include "shared/formats/ntrace/ntrace.h"
#include "shared/formats/ntrace/ntrace_comm.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define EVENTS 100U

/* One piece: EVENTS events of core nc; names of all are "model", number 1. */
struct piece {
    NtkNtracePb__Core core;
    NtkNtracePb__Core *list[1];
    NtkNtracePb__Trace trace;
    uint64_t wide[5][EVENTS];
    uint32_t narrow[7][EVENTS];
};

static void piece_init(struct piece *piece, uint32_t nc)
{
    *piece =
        (struct piece){ .core = NTK_NTRACE_PB__CORE__INIT, .trace = NTK_NTRACE_PB__TRACE__INIT };
    piece->core.nc_idx = nc;
    uint64_t **wide[] = { &piece->core.tracking_id, &piece->core.timestamp_ns, &piece->core.exec_id,
                          &piece->core.nc_timestamp_ns, &piece->core.size };
    uint32_t **narrow[] = { &piece->core.model_id,  &piece->core.name,
                            &piece->core.thread_id, &piece->core.device_core_idx,
                            &piece->core.hbm_idx,   &piece->core.event_type,
                            &piece->core.phase };
    for (size_t c = 0; c < 5; c++) {
        for (size_t i = 0; i < EVENTS; i++) {
            piece->wide[c][i] = 1000000 * c + i;
        }
        *wide[c] = piece->wide[c];
    }
    for (size_t c = 0; c < 7; c++) {
        *narrow[c] = piece->narrow[c];
    }
    for (size_t i = 0; i < EVENTS; i++) {
        piece->narrow[1][i] = 1;
        piece->narrow[5][i] = i % 2;
        piece->narrow[6][i] = i % 3;
    }
    piece->core.n_tracking_id = piece->core.n_timestamp_ns = piece->core.n_exec_id =
        piece->core.n_nc_timestamp_ns = piece->core.n_size = piece->core.n_model_id =
            piece->core.n_name = piece->core.n_thread_id = piece->core.n_device_core_idx =
                piece->core.n_hbm_idx = piece->core.n_event_type = piece->core.n_phase = EVENTS;
    piece->list[0] = &piece->core;
    piece->trace.cores = piece->list;
    piece->trace.n_cores = 1;
}

static void head_init(NtkNtracePb__Trace *head)
{
    static char *types[] = { "nrt_execute", "nrt_load" };
    static char *names[] = { "model" };

    *head = (NtkNtracePb__Trace)NTK_NTRACE_PB__TRACE__INIT;
    head->version = NTK_NTRACE_VERSION;
    head->event_types = types;
    head->n_event_types = 2;
    head->names = names;
    head->n_names = 1;
}

struct fixture {
    char *folder, *path;
    uint8_t *bytes; /* of a file with a head and three pieces */
    size_t count;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct ntk_ntrace_writer writer;
    NtkNtracePb__Trace head;
    struct piece piece;

    f->folder = test_scratch_create();
    f->path = test_scratch_path(f->folder, "ntrace.pb");
    head_init(&head);
    assert_int_equal(ntk_ntrace_writer_begin(&writer, f->path, NULL), 0);
    assert_int_equal(ntk_ntrace_writer_add(&writer, &head.base, NULL), 0);
    for (uint32_t i = 0; i < 3; i++) {
        piece_init(&piece, i / 2); /* two of core 0, one of core 1 */
        assert_int_equal(ntk_ntrace_writer_add(&writer, &piece.trace.base, NULL), 0);
    }
    assert_int_equal(ntk_ntrace_writer_commit(&writer, NULL), 0);
    assert_int_equal(ntk_fs_read(f->path, 1 << 20, &f->bytes, &f->count, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f->path);
    free(f->bytes);
    free(f);
    return 0;
}

static void written_pieces_are_read_as_one_trace(void **state)
{
    struct fixture *f = *state;
    NtkNtracePb__Trace *trace = NULL;

    assert_int_equal(ntk_ntrace_read(f->path, &trace, NULL), 0);
    assert_int_equal(trace->n_cores, 3);
    assert_int_equal(trace->cores[1]->nc_idx, 0);
    assert_int_equal(trace->cores[2]->nc_idx, 1);
    assert_int_equal(trace->cores[2]->n_phase, EVENTS);
    assert_int_equal(trace->cores[2]->timestamp_ns[7], 1000007);
    assert_string_equal(trace->event_types[trace->cores[2]->event_type[1]], "nrt_load");
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
}

static void a_truncated_trace_yields_its_complete_pieces(void **state)
{
    struct fixture *f = *state;
    size_t before = 0;

    for (size_t count = 0; count < f->count; count++) {
        NtkNtracePb__Trace *trace = NULL;
        struct ntk_err err = { 0 };
        int ret = ntk_ntrace_read_bytes(f->bytes, count, "cut", &trace, &err);

        if (ret < 0) {
            assert_non_null(strstr(err.text, "cut is not an inspection trace"));
            assert_true(count < 2);
            continue;
        }
        if (ret == 1) {
            assert_non_null(strstr(err.text, "is truncated"));
            assert_true(err.offset < count);
        }
        assert_true(trace->n_cores >= before);
        before = trace->n_cores;
        ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    }
    assert_int_equal(before, 2);
}

/* The result for a trace that is packed unchanged. */
static int read_packed(const NtkNtracePb__Trace *trace, char *text)
{
    size_t count = protobuf_c_message_get_packed_size(&trace->base);
    uint8_t *bytes = malloc(count + 1);
    NtkNtracePb__Trace *read = NULL;
    struct ntk_err err = { 0 };

    protobuf_c_message_pack(&trace->base, bytes);
    int ret = ntk_ntrace_read_bytes(bytes, count, "lie", &read, &err);
    if (ret >= 0) {
        ntk_ntrace_pb__trace__free_unpacked(read, NULL);
    }
    memcpy(text, err.text, sizeof err.text);
    free(bytes);
    return ret;
}

static void unknown_columns_and_invalid_numbers_are_rejected(void **state)
{
    char text[NTK_ERR_TEXT_BYTES];
    NtkNtracePb__Trace head;
    struct piece piece;

    for (int spoilt = 0; spoilt < 7; spoilt++) {
        head_init(&head);
        piece_init(&piece, 0);
        head.cores = piece.list;
        head.n_cores = 1;
        switch (spoilt) {
        case 0:
            break;
        case 1:
            piece.core.n_phase--;
            break;
        case 2:
            piece.core.n_size = 0;
            break;
        case 3:
            piece.narrow[1][5] = 2; /* a name that does not exist */
            break;
        case 4:
            piece.narrow[5][5] = UINT32_MAX; /* a type */
            break;
        case 5:
            piece.narrow[6][5] = 3; /* a phase */
            break;
        case 6: { /* a column that must be absent or complete */
            static uint32_t queue[EVENTS];

            piece.core.queue = queue;
            piece.core.n_queue = EVENTS - 1;
            break;
        }
        }
        int ret = read_packed(&head, text);
        assert_int_equal(ret, spoilt == 0 ? 0 : -EBADMSG);
        if (spoilt > 0) {
            assert_string_equal(text, "lie: the columns of core 0 are inconsistent");
        }
    }
}

static void an_unsupported_version_is_reported(void **state)
{
    char text[NTK_ERR_TEXT_BYTES];
    NtkNtracePb__Trace head;

    head_init(&head);
    head.version = 7;
    assert_int_equal(read_packed(&head, text), -ENOTSUP);
    assert_string_equal(text, "lie has an unsupported version 7 (supported: 1)");
}

static void arbitrary_bytes_are_rejected_as_a_trace(void **state)
{
    static const char *const foreign[] = { "", "\177ELF\2\1\1", "{\"events\": []}",
                                           "                                    ",
                                           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" };

    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        NtkNtracePb__Trace *trace = NULL;
        struct ntk_err err = { 0 };

        assert_int_equal(
            ntk_ntrace_read_bytes(foreign[i], strlen(foreign[i]), "foreign", &trace, &err),
            -EBADMSG);
        assert_string_equal(err.text, "foreign is not an inspection trace");
        assert_int_equal(err.offset, 0);
    }
}

static void a_length_beyond_the_file_counts_as_truncated(void **state)
{
    /* version 1, then a core of 2^60 bytes. */
    static const uint8_t bytes[] = { 0x08, 0x01, 0x22, 0x80, 0x80, 0x80, 0x80,
                                     0x80, 0x80, 0x80, 0x80, 0x10, 0x00 };
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_ntrace_read_bytes(bytes, sizeof bytes, "huge", &trace, &err), 1);
    assert_int_equal(err.offset, 2);
    assert_int_equal(trace->n_cores, 0);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
}

static void messages_that_expand_beyond_the_memory_limit_are_rejected(void **state)
{
    const size_t count = 8 << 20; /* empty cores of two bytes each, about 400 in memory */
    uint8_t *bytes = malloc(count);
    NtkNtracePb__Trace *trace = NULL;
    struct ntk_err err = { 0 };

    for (size_t i = 0; i < count; i += 2) {
        bytes[i] = 0x22;
        bytes[i + 1] = 0;
    }
    bytes[0] = 0x08;
    bytes[1] = 0x01;
    assert_int_equal(ntk_ntrace_read_bytes(bytes, count, "swell", &trace, &err), -EBADMSG);
    free(bytes);
}

static void pieces_written_before_the_disk_was_full_are_readable(void **state)
{
    struct fixture *f = *state;
    struct rlimit limit, small;
    struct ntk_ntrace_writer writer;
    NtkNtracePb__Trace head;
    NtkNtracePb__Trace *trace = NULL;
    struct piece piece;
    struct ntk_err err = { 0 };
    int ret = 0;

    head_init(&head);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    small = limit;
    small.rlim_cur = f->count - 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(ntk_ntrace_writer_begin(&writer, f->path, NULL), 0);
    assert_int_equal(ntk_ntrace_writer_add(&writer, &head.base, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) {
        piece_init(&piece, 0);
        ret = ntk_ntrace_writer_add(&writer, &piece.trace.base, &err);
    }
    assert_int_equal(ret, -EFBIG);
    err = (struct ntk_err){ 0 };
    ret = ntk_ntrace_writer_commit(&writer, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(ret, 1);
    assert_non_null(strstr(err.text, "the last 2 pieces are missing"));
    assert_int_equal(ntk_ntrace_read(f->path, &trace, NULL), 0); /* complete, not truncated */
    assert_int_equal(trace->n_cores, 2);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
}

static void host_samples_with_different_columns_are_rejected(void **state)
{
    NtkNtracePb__HostSamples samples = NTK_NTRACE_PB__HOST_SAMPLES__INIT;
    NtkNtracePb__HostSamples *read = NULL;
    uint64_t values[3] = { 1, 2, 3 };
    uint8_t bytes[200];

    samples.version = NTK_NTRACE_VERSION;
    samples.timestamp_ns = samples.total_bytes = samples.used_bytes = samples.process_bytes =
        values;
    samples.n_timestamp_ns = samples.n_total_bytes = samples.n_used_bytes = 3;
    samples.n_process_bytes = 3;
    size_t count = protobuf_c_message_pack(&samples.base, bytes);
    assert_int_equal(ntk_ntrace_read_host_bytes(bytes, count, "host", &read, NULL), 0);
    ntk_ntrace_pb__host_samples__free_unpacked(read, NULL);
    samples.n_process_bytes = 2;
    count = protobuf_c_message_pack(&samples.base, bytes);
    assert_int_equal(ntk_ntrace_read_host_bytes(bytes, count, "host", &read, NULL), -EBADMSG);
}

struct seen {
    size_t cores, events, names;
    int answer;
};

static int seen_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    struct seen *seen = ctx;

    seen->cores += piece->n_cores;
    seen->events += piece->cores[0]->n_tracking_id;
    seen->names = piece->n_names;
    return seen->answer;
}

/* Yields the same number of pieces at every truncation as reading the whole file. */
static void trace_pieces_are_read_one_at_a_time(void **state)
{
    struct fixture *f = *state;
    char *path = test_scratch_path(f->folder, "cut.pb");

    for (size_t count = 0; count <= f->count; count += count < 200 ? 1 : 37) {
        size_t whole_count = count + 37 > f->count && count >= 200 ? f->count : count;
        struct seen seen = { 0 };
        NtkNtracePb__Trace *trace = NULL;

        assert_int_equal(ntk_fs_write(path, f->bytes, whole_count, NULL), 0);
        int ret = ntk_ntrace_each(path, seen_take, &seen, NULL);
        assert_int_equal(ret, ntk_ntrace_read_bytes(f->bytes, whole_count, "cut", &trace, NULL));
        if (ret >= 0) {
            assert_int_equal(seen.cores, trace->n_cores);
            assert_int_equal(seen.events, EVENTS * trace->n_cores);
            ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
        }
    }
    struct seen seen = { .answer = -EDOM };
    assert_int_equal(ntk_ntrace_each(f->path, seen_take, &seen, NULL), -EDOM);
    assert_int_equal(seen.cores, 1);
    assert_int_equal(seen.names, 1);
    free(path);
}

static void communicator_names_are_read_back_and_invalid_names_are_rejected(void **state)
{
    static const char *const wrong[] = {
        "",
        "comm",
        "comm 12",
        "comm 0000000000000000 rank 0 of 1, 0 of 1 in all",
        "comm 00f1d2c3b4a59687 rank 2 of 2, 3 of 8 in all",
        "comm 00f1d2c3b4a59687 rank 1 of 2, 8 of 8 in all",
        "comm 00F1d2c3b4a59687 rank 1 of 2, 3 of 8 in all",
        "comm 00f1d2c3b4a59687 rank 1 of 2, 3 of 8 in all ",
        "comm 00f1d2c3b4a59687 rank  of 2, 3 of 8 in all",
        "comm 00f1d2c3b4a59687 rank 1 of 4294967296, 3 of 8 in all",
    };
    const struct ntk_ntrace_comm most = { UINT64_MAX, UINT32_MAX - 1, UINT32_MAX, UINT32_MAX - 1,
                                          UINT32_MAX };
    struct ntk_ntrace_comm comm = { 0 };
    char text[NTK_NTRACE_COMM_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ntk_ntrace_comm_read(wrong[i], &comm), -EINVAL);
        assert_int_equal(comm.key, 0);
    }
    ntk_ntrace_comm_write(&most, text);
    assert_int_equal(ntk_ntrace_comm_read(text, &comm), 0);
    assert_memory_equal(&comm, &most, sizeof most);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(written_pieces_are_read_as_one_trace, setup, teardown),
        cmocka_unit_test_setup_teardown(a_truncated_trace_yields_its_complete_pieces, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(trace_pieces_are_read_one_at_a_time, setup, teardown),
        cmocka_unit_test(communicator_names_are_read_back_and_invalid_names_are_rejected),
        cmocka_unit_test(unknown_columns_and_invalid_numbers_are_rejected),
        cmocka_unit_test(an_unsupported_version_is_reported),
        cmocka_unit_test(arbitrary_bytes_are_rejected_as_a_trace),
        cmocka_unit_test(a_length_beyond_the_file_counts_as_truncated),
        cmocka_unit_test(messages_that_expand_beyond_the_memory_limit_are_rejected),
        cmocka_unit_test_setup_teardown(pieces_written_before_the_disk_was_full_are_readable, setup,
                                        teardown),
        cmocka_unit_test(host_samples_with_different_columns_are_rejected),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
