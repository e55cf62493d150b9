/* SPDX-License-Identifier: MIT */
/*
 * The tables of a segment: memory, names and models, and what happens when they are full. Method: a
 * forked child attaches in a private folder and calls; the parent reads its segment.
 */
#include "runtime-hooks/hooks/hooks.h"

#include "tests/runtime-hooks/hooks/hooks_fixture.h"
#include "tests/support/unit.h"

static int child_counts_memory(struct observed *child, void *ctx)
{
    struct ntk_hooks_memory weights = {
        .address = 0x1000, .bytes = 100, .core = 0, .category = NTK_MEMORY_CONSTANTS
    };
    struct ntk_hooks_memory host = { .bytes = 7, .core = 0, .category = NTK_MEMORY_HOST_TENSORS };
    struct ntk_hooks_model_ref model;
    ntk_hooks_row row;
    ntk_hooks_row host_row;

    (void)ctx;
    observed_attach(0);
    model = observed_load(10001, 0);
    weights.model = model;
    weights.name = ntk_hooks_name("layer1/w");
    CHECK(weights.name != 0 && weights.name == ntk_hooks_name("layer1/w"));
    CHECK(ntk_hooks_name("layer2/w") != weights.name);
    CHECK(ntk_hooks_name("") == 0 && ntk_hooks_name(NULL) == 0);
    row = ntk_hooks_memory_alloc(&weights);
    CHECK(ntk_hooks_memory_alloc(&weights) == row);
    host_row = ntk_hooks_memory_alloc(&host);
    ntk_hooks_memory_free(&weights, row);
    observed_send(child, 0);
    (void)observed_receive(child);
    ntk_hooks_memory_free(&weights, row);
    ntk_hooks_memory_free(&host, host_row);
    ntk_hooks_model_unloaded(model, ntk_hooks_now(), 0);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

/* The row, or NULL. */
static const struct ntk_ring_memory *find_row(const struct ntk_ring_memory *rows, size_t count,
                                              uint32_t model, uint8_t category)
{
    size_t i;

    for (i = 0; i < count; i++) {
        if (rows[i].model == model && rows[i].category == category && rows[i].core == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void memory_rows_have_current_and_peak_bytes_and_return_to_zero(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_counts_memory, NULL);
    const struct ntk_ring_memory *row;
    struct ntk_ring_segment *segment;
    struct ntk_ring_model model;
    struct seen seen = { 0 };
    char text[32];
    size_t count;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    row = find_row(rows, count, 10001, NTK_MEMORY_CONSTANTS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 100);
    assert_int_equal(row->peak_bytes, 200);
    assert_int_equal(row->alloc_count, 2);
    assert_int_equal(row->location, NTK_MEMORY_DEVICE);
    row = find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 7);
    assert_int_equal(row->location, NTK_MEMORY_HOST);

    (void)ntk_ring_segment_drain(segment, 0, seen_add, &seen);
    assert_int_equal(seen.by_kind[NTK_EVENT_MEM_ALLOC], 3);
    assert_int_equal(seen.by_kind[NTK_EVENT_MEM_FREE], 1);
    assert_int_equal(seen.last[NTK_EVENT_MEM_FREE].word[2], 0x1000);
    assert_int_equal(seen.last[NTK_EVENT_MEM_FREE].word[3], 100);
    assert_int_equal(NTK_WORD_LO(seen.last[NTK_EVENT_MEM_FREE].word[4]), NTK_MEMORY_CONSTANTS);
    assert_int_equal(ntk_ring_segment_text(segment,
                                           NTK_WORD_HI(seen.last[NTK_EVENT_MEM_FREE].word[1]), text,
                                           sizeof text),
                     8);
    assert_string_equal(text, "layer1/w");

    observed_send(&child, 0);
    (void)observed_receive(&child);
    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    assert_null(find_row(rows, count, 10001, NTK_MEMORY_CONSTANTS));
    assert_int_equal(find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS)->current_bytes, 0);
    assert_int_equal(ntk_ring_segment_models(segment, &model, 1), 1);
    assert_int_equal(model.state, NTK_MODEL_UNLOADED);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* A model with a row on each core is unloaded; the next one has its row after those. */
static int child_leaves_rows_behind(struct observed *child, void *ctx)
{
    ntk_hooks_row rows[NTK_SEGMENT_CORES];
    struct ntk_hooks_memory memory = { .bytes = 1, .category = NTK_MEMORY_TENSORS };
    struct ntk_hooks_memory later = { .bytes = 9, .core = 0, .category = NTK_MEMORY_HOST_TENSORS };
    uint16_t i;

    (void)ctx;
    observed_attach(0);
    memory.model = observed_load(10001, 0);
    for (i = 0; i < NTK_SEGMENT_CORES; i++) {
        memory.core = i;
        rows[i] = ntk_hooks_memory_alloc(&memory);
    }
    for (i = 0; i < NTK_SEGMENT_CORES; i++) {
        memory.core = i;
        ntk_hooks_memory_free(&memory, rows[i]);
    }
    ntk_hooks_model_unloaded(memory.model, ntk_hooks_now(), 0);
    (void)ntk_hooks_memory_alloc(&later);
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void memory_rows_are_found_after_the_rows_of_an_unloaded_model(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_leaves_rows_behind, NULL);
    const struct ntk_ring_memory *row;
    size_t count;

    (void)observed_receive(&child);
    count = ntk_ring_segment_memory(hooks_fixture_segment(f), rows, NTK_SEGMENT_MEMORY_ROWS);
    row = find_row(rows, count, 0, NTK_MEMORY_HOST_TENSORS);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 9);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

/* More models, names and memory rows than there is room for, then fewer, then more again. */
static int child_overflows_tables(struct observed *child, void *ctx)
{
    static ntk_hooks_row rows[5000];
    struct ntk_hooks_model_ref models[NTK_SEGMENT_MODELS + 5];
    struct ntk_hooks_memory memory = { .bytes = 1, .category = NTK_MEMORY_TENSORS };
    char name[32];
    uint32_t i;

    (void)ctx;
    observed_attach(0);
    ntk_hooks_core_claim(0, 0, 1);
    for (i = 0; i < NTK_SEGMENT_NAMES + 10; i++) {
        (void)snprintf(name, sizeof name, "name %u", i);
        CHECK((ntk_hooks_name(name) != 0) == (i < NTK_SEGMENT_NAMES - 3)); /* 0; mlp; its path */
        if (i == 0) {
            ntk_hooks_model_unloaded(observed_load(10001, 0), ntk_hooks_now(), 0);
        }
    }
    for (i = 0; i < NTK_SEGMENT_MODELS + 5; i++) {
        models[i] = observed_load(20000 + i, 0);
        CHECK((models[i].slot_plus_one != 0) == (i < NTK_SEGMENT_MODELS));
        observed_execute(models[i], 0, 0, i);
    }
    for (i = 0; i < 5000; i++) {
        memory.core = (uint16_t)(i % 128);
        memory.category = (uint8_t)(i / 128 % 14);
        memory.model = models[i / 1792]; /* 3 models x 14 categories x 128 cores */
        rows[i] = ntk_hooks_memory_alloc(&memory);
        CHECK(rows[i] != 0);
    }
    for (i = 0; i < 5000; i++) {
        ntk_hooks_memory_free(&memory, rows[i]);
    }
    for (i = 0; i < NTK_SEGMENT_MODELS + 5; i++) {
        ntk_hooks_model_unloaded(models[i], ntk_hooks_now(), 0);
    }
    for (i = 0; i < 1000; i++) { /* unload freed rows and slots */
        models[0] = observed_load(30000 + i, 0);
        CHECK(models[0].slot_plus_one != 0);
        memory.core = 0;
        memory.category = NTK_MEMORY_SCRATCHPAD;
        memory.model = models[0];
        memory.bytes = 5;
        rows[0] = ntk_hooks_memory_alloc(&memory);
        observed_execute(models[0], 0, 0, i);
        if (i < 999) {
            ntk_hooks_memory_free(&memory, rows[0]);
            ntk_hooks_model_unloaded(models[0], ntk_hooks_now(), 0);
        }
    }
    observed_send(child, 0);
    (void)observed_receive(child);
    return 0;
}

static void full_tables_count_without_model_detail_and_are_marked(void **state)
{
    static struct ntk_ring_memory rows[NTK_SEGMENT_MEMORY_ROWS];
    static struct ntk_ring_model models[NTK_SEGMENT_MODELS];
    static struct ntk_ring_histogram histogram;
    struct hooks_fixture *f = *state;
    struct observed child = observed_start(f->folder, child_overflows_tables, NULL);
    struct ntk_ring_refusals refusals;
    struct ntk_ring_segment *segment;
    struct ntk_ring_core core;
    const struct ntk_ring_memory *row;
    char name[NTK_MODEL_NAME_BYTES + 1];
    uint64_t bytes = 0;
    size_t count;
    size_t i;

    (void)observed_receive(&child);
    segment = hooks_fixture_segment(f);
    ntk_ring_segment_refusals(segment, &refusals);
    assert_int_equal(refusals.models, 5);
    assert_true(refusals.names >= 13);
    assert_true(refusals.memory_rows > 900);
    assert_int_equal(ntk_ring_segment_cores(segment, &core, 1), 1);
    assert_int_equal(core.counters.outcome[NTK_OUTCOME_COMPLETED], NTK_SEGMENT_MODELS + 5 + 1000);

    count = ntk_ring_segment_memory(segment, rows, NTK_SEGMENT_MEMORY_ROWS);
    for (i = 0; i < count; i++) {
        bytes += rows[i].current_bytes;
    }
    assert_int_equal(bytes, 5);
    row = find_row(rows, count, 30999, NTK_MEMORY_SCRATCHPAD);
    assert_non_null(row);
    assert_int_equal(row->current_bytes, 5);
    assert_int_equal(row->peak_bytes, 5);

    count = ntk_ring_segment_models(segment, models, NTK_SEGMENT_MODELS);
    assert_int_equal(count, NTK_SEGMENT_MODELS);
    ntk_ring_segment_model_name(segment, 30999, name);
    assert_string_equal(name, "mlp");
    ntk_ring_segment_model_name(segment, 20001, name); /* its slot has another model */
    assert_string_equal(name, "");
    ntk_ring_segment_model_name(segment, 0, name);
    assert_string_equal(name, "");
    for (i = 0; i < count; i++) {
        if (models[i].id == 30999) {
            assert_int_equal(ntk_ring_segment_model_histogram(segment, &models[i], &histogram), 0);
            assert_int_equal(sum(histogram.total.bucket, NTK_HISTOGRAM_BUCKETS),
                             1); /* cleared for this model */
        }
    }
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOOKS_TEST(memory_rows_have_current_and_peak_bytes_and_return_to_zero),
        HOOKS_TEST(memory_rows_are_found_after_the_rows_of_an_unloaded_model),
        HOOKS_TEST(full_tables_count_without_model_detail_and_are_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
