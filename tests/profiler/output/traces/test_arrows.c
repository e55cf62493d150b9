/* SPDX-License-Identifier: MIT */
/*
 * Method: a hand-made trace with every kind of arrow on its second core: Sync starts a transfer at
 * 50 ns that ends at 500 and releases Tensor (510-700), which releases Scalar (705) and Vector
 * (710); Sync's barrier waits inside its span (80-1000) for Tensor's second, 720-950. On the first
 * core a wait ends with a change from an unknown source. Both formats must show these arrows and no
 * others; each is read by another library. With the packet of the transfer (100-490) the arrow to
 * Tensor comes from the whole transfer, and one leads from Sync to the transfer.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "profiler/output/export_to.h"
#include "profiler/output/traces/arrows.h"
#include "profiler/output/traces/perfetto.pb-c.h"
#include "shared/base/fs.h"
#include "tests/support/hand_trace.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#define NONE NTK_ISA_NO_SEMAPHORE
#define FILE_BYTES_MAX ((size_t)1 << 20)
#define ARROWS_MAX 16

struct fixture {
    struct hand_trace h;
    struct ntk_export *export;
    char *folder;
    const struct arrow *wanted;
    size_t wanted_count;
};

/* From the span that starts at one time to the one that starts at the other. */
struct arrow {
    int64_t from_ns, to_ns;
};

static const struct arrow wanted[] = { { 50, 510 }, { 510, 705 }, { 510, 710 }, { 720, 80 } };
#define WANTED_COUNT (sizeof wanted / sizeof *wanted)
static const struct arrow wanted_whole[] = {
    { 50, 100 }, { 100, 510 }, { 510, 705 }, { 510, 710 }, { 720, 80 }
};
#define LOAD_BYTES (4 * 4 * 128)
static struct ntk_ntff_queue queue = { .name = "qSPIO0", .engine = 0, .queue = 3 };

static void fill_second_core(struct hand_trace *h)
{
    static const uint8_t barrier[64] = {
        [0] = 0xa0, [1] = 0x10, [32] = 0x01, [33] = 2, [34] = 0x13, [35] = 2, [36] = 1, [40] = 1
    };
    static const uint8_t opener[64] = { 0x02, 0x10, 0, 0, 0, 0, 0x13, 2 };

    struct ntk_isa_instr copy = hand_trace_load(h, 1, 4);
    uint32_t load = hand_trace_open(h, 1, NTK_ISA_ENGINE_SP, &copy);
    uint32_t wait = hand_trace_slot(h, 1, NTK_ISA_ENGINE_SP, barrier);
    uint32_t product = hand_trace_nop(h, 1, NTK_ISA_ENGINE_PE, 20, 1, 9);
    uint32_t open = hand_trace_slot(h, 1, NTK_ISA_ENGINE_PE, opener);
    uint32_t act = hand_trace_nop(h, 1, NTK_ISA_ENGINE_ACT, 9, 1, NONE);
    uint32_t dve = hand_trace_nop(h, 1, NTK_ISA_ENGINE_DVE, 9, 1, NONE);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_SP, load, 50, 60);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_SP, wait, 80, 1000);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_PE, product, 510, 700);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_ACT, act, 705, 800);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_DVE, dve, 710, 900);
    hand_trace_run(h, 1, NTK_ISA_ENGINE_PE, open, 720, 950);
    hand_trace_change(h, 1, NTK_NTFF_ENGINE_AXI, 20, 1, 500);
    hand_trace_change(h, 1, NTK_NTFF_ENGINE_TENSOR, 9, 1, 700);
    hand_trace_change(h, 1, NTK_NTFF_ENGINE_TENSOR, 2, 1, 960);
}

static int setup_with(void **state, bool has_packet)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->wanted = has_packet ? wanted_whole : wanted;
    f->wanted_count = WANTED_COUNT + has_packet;
    f->folder = test_scratch_create();
    hand_trace_begin(&f->h, 2, "trn2.3xlarge", 1000);
    uint32_t alone = hand_trace_nop(&f->h, 0, NTK_ISA_ENGINE_ACT, 7, 1, NONE);
    hand_trace_run(&f->h, 0, NTK_ISA_ENGINE_ACT, alone, 310, 500);
    hand_trace_change(&f->h, 0, NTK_NTFF_ENGINE_AXI, 7, 1, 300);
    fill_second_core(&f->h);
    if (has_packet) {
        f->h.subgraphs[1].queues = &queue;
        f->h.subgraphs[1].queue_count = 1;
        hand_trace_packet(&f->h, 1, 0, 3, NTK_TRACE_DMA_IO, LOAD_BYTES, 100, 490);
    }
    hand_trace_end(&f->h);
    assert_int_equal(ntk_export_create(&f->h.trace, "hand", "hand.ntff", &f->export), 0);
    f->export->has_flows = true;
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false);
}

static int setup_whole(void **state)
{
    return setup_with(state, true);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    ntk_export_destroy(f->export);
    hand_trace_fini(&f->h);
    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

static void arrows_found_from_source_and_from_destination_are_equal(void **state)
{
    struct fixture *f = *state;
    struct ntk_arrows arrows;

    assert_int_equal(ntk_arrows_init(&arrows, &f->export->transfers), 0);
    assert_int_equal(ntk_arrows_turn_to(&arrows, 0), 0);
    assert_int_equal(ntk_arrow_to(&arrows, 0).from, NTK_NO_INDEX);
    assert_int_equal(ntk_arrows_first(&arrows, 0), NTK_NO_INDEX);
    assert_int_equal(ntk_arrows_turn_to(&arrows, 1), 0);
    assert_int_equal(ntk_arrows_first(&arrows, 2), 3);
    assert_int_equal(ntk_arrows_next(&arrows, 3), 4);
    assert_int_equal(ntk_arrows_next(&arrows, 4), NTK_NO_INDEX);
    assert_true(ntk_arrow_to(&arrows, 2).by_transfer);
    assert_false(ntk_arrow_to(&arrows, 3).by_transfer);
    assert_true(ntk_arrow_to(&arrows, 1).is_inside);
    assert_false(ntk_arrow_to(&arrows, 2).is_inside);
    ntk_arrows_fini(&arrows);
}

/* Borrowed until the next call: the file in this format. */
static uint8_t *file_of(const struct fixture *f, const char *format, size_t *out_count)
{
    char *path = test_scratch_path(f->folder, format);
    uint8_t *bytes = NULL;

    assert_int_equal(ntk_export_format_find(format)->write(f->export, path, NULL), 0);
    assert_int_equal(ntk_fs_read(path, FILE_BYTES_MAX, &bytes, out_count, NULL), 0);
    free(path);
    return bytes;
}

static int compare_arrows(const void *a, const void *b)
{
    const struct arrow *one = a, *other = b;

    return one->from_ns != other->from_ns
               ? (one->from_ns > other->from_ns ? 1 : -1)
               : (one->to_ns > other->to_ns) - (one->to_ns < other->to_ns);
}

static void expect_wanted(const struct fixture *f, struct arrow *found, size_t count)
{
    assert_int_equal(count, f->wanted_count);
    qsort(found, count, sizeof *found, compare_arrows);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(found[i].from_ns, f->wanted[i].from_ns);
        assert_int_equal(found[i].to_ns, f->wanted[i].to_ns);
    }
}

struct end {
    uint64_t id;
    int64_t time_ns, slice_ns; /* of the event; of the start of its slice */
};

/* A reader processes the ends of an arrow in time order, and of the file if times are equal. */
static size_t pair(const struct end *ends, size_t count, struct arrow *found)
{
    size_t pairs = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1; k < count; k++) {
            if (ends[i].id == ends[k].id) {
                bool is_turned = ends[k].time_ns < ends[i].time_ns;
                found[pairs++] = (struct arrow){ ends[is_turned ? k : i].slice_ns,
                                                 ends[is_turned ? i : k].slice_ns };
            }
        }
    }
    return pairs;
}

static void perfetto_traces_contain_the_expected_dependency_arrows(void **state)
{
    struct fixture *f = *state;
    struct end ends[2 * ARROWS_MAX];
    struct arrow found[ARROWS_MAX] = { 0 };
    int64_t starts[64] = { 0 }; /* of the running slice, by track */
    size_t count = 0;
    size_t bytes_count;
    uint8_t *bytes = file_of(f, "perfetto", &bytes_count);
    Ntk__Perfetto__Trace *trace = ntk__perfetto__trace__unpack(NULL, bytes_count, bytes);

    assert_non_null(trace);
    for (size_t p = 0; p < trace->n_packet; p++) {
        const Ntk__Perfetto__TrackEvent *event = trace->packet[p]->track_event;
        int64_t time_ns = (int64_t)trace->packet[p]->timestamp;
        if (!event) {
            continue;
        }
        assert_true(event->track_uuid < 64);
        if (event->type == NTK__PERFETTO__TRACK_EVENT__TYPE__SLICE_BEGIN) {
            starts[event->track_uuid] = time_ns;
        }
        for (size_t i = 0; i < event->n_flow_ids; i++) {
            assert_true(count < 2 * ARROWS_MAX);
            ends[count++] = (struct end){ event->flow_ids[i], time_ns, starts[event->track_uuid] };
        }
    }
    assert_int_equal(count, 2 * f->wanted_count);
    expect_wanted(f, found, pair(ends, count, found));
    ntk__perfetto__trace__free_unpacked(trace, NULL);
    free(bytes);
}

static int64_t ns_of(const json_t *event, const char *key)
{
    return (int64_t)(json_number_value(json_object_get(event, key)) * 1000 + 0.5);
}

/* The start of the complete event before `before` that covers the time of an arrow's end on its
 * thread. */
static int64_t slice_ns(const json_t *events, size_t before, const json_t *end)
{
    for (size_t i = 0; i < before; i++) {
        const json_t *event = json_array_get(events, i);
        int64_t start_ns = ns_of(event, "ts");
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0 &&
            json_equal(json_object_get(event, "pid"), json_object_get(end, "pid")) &&
            json_equal(json_object_get(event, "tid"), json_object_get(end, "tid")) &&
            ns_of(end, "ts") >= start_ns && ns_of(end, "ts") < start_ns + ns_of(event, "dur")) {
            return start_ns;
        }
    }
    fail_msg("an arrow does not end at a slice");
    return 0;
}

static void chrome_traces_contain_the_expected_dependency_arrows(void **state)
{
    struct fixture *f = *state;
    struct end ends[2 * ARROWS_MAX];
    struct arrow found[ARROWS_MAX] = { 0 };
    size_t count = 0;
    size_t transfers = 0;
    size_t bytes_count;
    uint8_t *bytes = file_of(f, "chrome", &bytes_count);
    json_t *file = json_loadb((const char *)bytes, bytes_count, 0, NULL);
    const json_t *events = json_object_get(file, "traceEvents");

    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        const char *phase = json_string_value(json_object_get(event, "ph"));
        if (strcmp(phase, "s") != 0 && strcmp(phase, "f") != 0) {
            continue;
        }
        assert_true(count < 2 * ARROWS_MAX);
        assert_string_equal(phase, count % 2 ? "f" : "s");
        assert_string_equal(json_string_value(json_object_get(event, "cat")), "wait");
        transfers += strcmp(json_string_value(json_object_get(event, "name")), "transfer") == 0;
        ends[count++] = (struct end){ (uint64_t)json_integer_value(json_object_get(event, "id")),
                                      ns_of(event, "ts"), slice_ns(events, i, event) };
    }
    assert_int_equal(count, 2 * f->wanted_count);
    assert_int_equal(transfers, 2 * (1 + f->wanted_count - WANTED_COUNT)); /* both ends of each */
    expect_wanted(f, found, pair(ends, count, found));
    json_decref(file);
    free(bytes);
}

/* Without the option, the trace has no arrows. */
static void dependency_arrows_are_absent_unless_requested(void **state)
{
    static const char *const formats[] = { "perfetto", "chrome" };
    static const char *const marks[] = { "\xf9\x02", "\"ph\":\"s\"" }; /* the tag of flow_ids */
    struct fixture *f = *state;

    for (size_t i = 0; i < 2; i++) {
        for (int wish = 0; wish < 2; wish++) {
            size_t count;
            f->export->has_flows = wish;
            uint8_t *bytes = file_of(f, formats[i], &count);
            bool has_mark = memmem(bytes, count, marks[i], strlen(marks[i])) != NULL;
            assert_int_equal(has_mark, wish);
            free(bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(arrows_found_from_source_and_from_destination_are_equal,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(perfetto_traces_contain_the_expected_dependency_arrows,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(chrome_traces_contain_the_expected_dependency_arrows, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(perfetto_traces_contain_the_expected_dependency_arrows,
                                        setup_whole, teardown),
        cmocka_unit_test_setup_teardown(chrome_traces_contain_the_expected_dependency_arrows,
                                        setup_whole, teardown),
        cmocka_unit_test_setup_teardown(dependency_arrows_are_absent_unless_requested, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
