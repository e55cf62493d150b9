/* SPDX-License-Identifier: MIT */
/* Method: tiles and answers of a small capture and of a generated trace with known times. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "profiler/timeline/timeline.h"
#include "profiler/timeline/timeline_answer.h"
#include "profiler/timeline/timeline_pyramid.h"
#include "profiler/timeline/timeline_tile.h"
#include "tests/support/ntff_sample.h"
#include "tests/support/trace_sample.h"
#include "tests/support/unit.h"

#define NS 1000
#define TENSOR 0 /* tracks of trace_sample */
#define VECTOR 1
#define QUEUE 2
#define RATE 3
#define SEMAPHORE 4
#define TRACKS 5
#define REGION_TRACKS 2 /* after those: slots of both engines run repeatedly */

static struct ntk_timeline *timeline_of(const struct ntk_trace *trace, int64_t offset_ps)
{
    struct ntk_timeline_source source = { .trace = trace, .name = "one", .offset_ps = offset_ps };
    struct ntk_timeline *timeline = NULL;

    assert_int_equal(
        ntk_timeline_create(&(struct ntk_timeline_options){ .sources = &source, .source_count = 1 },
                            &timeline, NULL),
        0);
    return timeline;
}

static const struct ntk_timeline_track *track_by_name(const struct ntk_timeline *timeline,
                                                      const char *name, uint32_t *out_index)
{
    for (uint32_t t = 0; t < timeline->tracks.count; t++) {
        const struct ntk_timeline_track *track = ntk_timeline_track_get(timeline, t);
        if (strcmp(track->name, name) == 0) {
            *out_index = t;
            return track;
        }
    }
    fail_msg("unknown track %s", name);
    return NULL;
}

/* A generated tile, and its sections in order. */
struct parsed {
    struct ntk_buf buf;
    struct ntk_timeline_tile_head head;
    struct ntk_timeline_tile_section sections[TRACKS + REGION_TRACKS];
    const struct ntk_timeline_tile_bucket *buckets[TRACKS + REGION_TRACKS];
    const struct ntk_timeline_tile_slice *slices[TRACKS + REGION_TRACKS];
};

static void parse(struct parsed *parsed)
{
    const char *at = parsed->buf.bytes + sizeof parsed->head;

    assert_true(ntk_buf_ok(&parsed->buf));
    memcpy(&parsed->head, parsed->buf.bytes, sizeof parsed->head);
    assert_int_equal(parsed->head.magic, NTK_TIMELINE_TILE_MAGIC);
    assert_int_equal(parsed->head.version, 1);
    assert_true(parsed->head.track_count <= TRACKS + REGION_TRACKS);
    for (uint32_t i = 0; i < parsed->head.track_count; i++) {
        struct ntk_timeline_tile_section *section = &parsed->sections[i];
        memcpy(section, at, sizeof *section);
        at += sizeof *section;
        if (section->form == NTK_TIMELINE_FORM_SLICES) {
            parsed->slices[i] = (const void *)at;
            at += section->entry_count * sizeof(struct ntk_timeline_tile_slice);
        } else {
            assert_int_equal(section->form, NTK_TIMELINE_FORM_BUCKETS);
            parsed->buckets[i] = (const void *)at;
            at += section->entry_count * sizeof(struct ntk_timeline_tile_bucket);
        }
    }
    assert_ptr_equal(at, parsed->buf.bytes + parsed->buf.bytes_count);
}

static void put(const struct ntk_timeline *timeline, unsigned level, uint64_t tile,
                const uint32_t *tracks, size_t count, struct parsed *out)
{
    memset(out, 0, sizeof *out);
    assert_int_equal(ntk_timeline_tile_put(timeline, level, tile, tracks, count, &out->buf, NULL),
                     0);
    parse(out);
    assert_int_equal(out->head.level, level);
    assert_int_equal(out->head.tile, tile);
}

static unsigned top_of(const struct ntk_timeline *timeline)
{
    return ntk_timeline_level_top(timeline->end_ps - timeline->begin_ps);
}

/* ---- tracks ---- */

static void a_capture_becomes_a_row_per_engine_queue_and_semaphore(void **state)
{
    static const char *const names[] = { "Tensor",       "GpSimd",         "qGpSimdDynamic",
                                         "qScalarTable", "qSyncDynamicHW", "DMA throughput",
                                         "Semaphore 3",  "Semaphore 4",    "Event 9",
                                         "SBUF live",    "PSUM live",      "PSUM bank 0 live",
                                         "MFU" };
    struct ntff_sample sample = { .version = 6 };
    struct ntk_buf file = { 0 };
    struct ntk_ntff *ntff = NULL;
    struct ntk_trace *trace = NULL;

    ntff_sample_build(&sample, &file);
    assert_int_equal(ntk_ntff_open_bytes(file.bytes, file.bytes_count, &ntff, NULL), 0);
    assert_int_equal(ntk_trace_create_from_ntff(ntff, NULL, NULL, NULL, &trace, NULL), 0);
    struct ntk_timeline *timeline = timeline_of(trace, 0);

    assert_int_equal(timeline->begin_ps, 0);
    assert_int_equal(timeline->end_ps, 100000 * NS);
    assert_int_equal(timeline->tracks.count, sizeof names / sizeof *names);
    for (size_t t = 0; t < timeline->tracks.count; t++) {
        assert_string_equal(ntk_timeline_track_get(timeline, t)->name, names[t]);
    }
    /* The two MATMULs overlap, so the second is in a second lane. */
    const struct ntk_timeline_track *tensor = ntk_timeline_track_get(timeline, 0);
    assert_int_equal(tensor->lane_count, 2);
    assert_int_equal(tensor->slice_count, 5);
    assert_int_equal(tensor->slices[1].lane, 0);
    assert_int_equal(tensor->slices[2].lane, 1);
    assert_int_equal(tensor->slices[3].lane, 0);
    assert_true(tensor->slices[3].is_wait);
    /* A value holds until the next change, the last one until the end. */
    const struct ntk_timeline_track *semaphore = ntk_timeline_track_get(timeline, 6);
    assert_int_equal(semaphore->slice_count, 1);
    assert_int_equal(semaphore->slices[0].start_ps, 2000 * NS);
    assert_int_equal(semaphore->slices[0].end_ps, 100000 * NS);
    ntk_timeline_destroy(timeline);
    ntk_trace_destroy(trace);
    ntk_ntff_close(ntff);
    ntk_buf_fini(&file);
}

static void an_offset_shifts_every_row_of_a_capture(void **state)
{
    struct trace_sample *sample = trace_sample_create(3);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, -500 * NS);

    assert_int_equal(timeline->begin_ps, -500 * NS);
    assert_int_equal(ntk_timeline_track_get(timeline, TENSOR)->slices[1].start_ps, 500 * NS);
    assert_int_equal(ntk_timeline_track_get(timeline, SEMAPHORE)->slices[1].start_ps, 500 * NS);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void an_empty_trace_is_a_timeline_without_rows(void **state)
{
    struct trace_sample *sample = trace_sample_create(0);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct parsed parsed;
    struct ntk_buf out = { 0 };

    assert_int_equal(timeline->tracks.count, 0);
    put(timeline, 0, 0, NULL, 0, &parsed);
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_put_meta(timeline, "empty", &out);
    assert_true(ntk_buf_ok(&out));
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

/* ---- tiles ---- */

static void a_small_number_of_timeline_slices_is_sent_individually(void **state)
{
    static const uint32_t tracks[] = { TENSOR, SEMAPHORE, 99 };
    struct trace_sample *sample = trace_sample_create(20);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct parsed parsed;

    put(timeline, top_of(timeline), 0, tracks, 3, &parsed);
    assert_int_equal(parsed.head.track_count, 2); /* 99 does not exist */
    assert_int_equal(parsed.sections[0].form, NTK_TIMELINE_FORM_SLICES);
    assert_int_equal(parsed.sections[0].entry_count, 20);
    const struct ntk_timeline_tile_slice *slice = &parsed.slices[0][9];
    assert_true(slice->start_ps == 9000.0 * NS && slice->end_ps == 9800.0 * NS);
    assert_int_equal(slice->slice, 9);
    assert_int_equal(slice->is_wait, 1);
    assert_int_equal(parsed.slices[0][8].is_wait, 0);
    assert_int_equal(parsed.slices[1][2].value, 3);
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void a_tile_contains_slices_that_began_before_it(void **state)
{
    static const uint32_t tracks[] = { QUEUE };
    struct trace_sample *sample = trace_sample_create(100);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct parsed parsed;

    /* A tile of 2^20 ps; the second one starts at 1048.576 ns. */
    put(timeline, 10, 1, tracks, 1, &parsed);
    assert_int_equal(parsed.sections[0].entry_count, 3);
    assert_int_equal(parsed.slices[0][0].slice, 0); /* 0 to 2000 */
    assert_int_equal(parsed.slices[0][1].slice, 1);
    assert_int_equal(parsed.slices[0][2].slice, 2); /* from 2000, the tile ends at 2097.152 */
    assert_int_equal(parsed.slices[0][1].value, 2048);
    assert_int_equal(parsed.slices[0][1].lane, 1);
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

/* At every level, stored or made from slices, buckets add up to the row. */
static void buckets_of_each_level_sum_to_the_row(void **state)
{
    static const uint32_t tracks[] = { TENSOR, VECTOR, QUEUE, RATE, SEMAPHORE };
    const size_t count = 100000;
    struct trace_sample *sample = trace_sample_create(count);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    unsigned top = top_of(timeline);
    /* Busy ps, with overlaps counted once; semaphore: value * ps; without waiting. */
    const double busy[] = { 0.9 * 800e3 * (double)count, 250e3 * (double)count, 1e6 * (double)count,
                            0.0, 2.5 * 1e6 * (double)count };

    for (unsigned level = top + 1; level-- > top - 5;) {
        double sums[TRACKS] = { 0 };
        uint64_t counts[TRACKS] = { 0 };
        double bytes[2] = { 0 };
        for (uint64_t tile = 0;
             tile <= (uint64_t)timeline->end_ps >> (level + NTK_TIMELINE_TILE_SHIFT); tile++) {
            struct parsed parsed;
            put(timeline, level, tile, tracks, TRACKS, &parsed);
            for (size_t t = 0; t < TRACKS; t++) {
                assert_int_equal(parsed.sections[t].form, NTK_TIMELINE_FORM_BUCKETS);
                for (uint32_t i = 0; i < parsed.sections[t].entry_count; i++) {
                    const struct ntk_timeline_tile_bucket *bucket = &parsed.buckets[t][i];
                    assert_true(t == SEMAPHORE || t == RATE ||
                                (bucket->mean >= 0.0F && bucket->mean <= 1.0001F));
                    sums[t] += bucket->mean * (double)(UINT64_C(1) << level);
                    counts[t] += bucket->count;
                    bytes[0] += t == QUEUE ? bucket->extra : 0.0;
                    bytes[1] +=
                        t == RATE ? bucket->mean * 1e-12 * (double)(UINT64_C(1) << level) : 0.0;
                }
            }
            ntk_buf_fini(&parsed.buf);
        }
        for (size_t t = 0; t < TRACKS; t++) {
            assert_int_equal(counts[t], t == RATE ? 0 : count);
            if (t != RATE) {
                assert_true(fabs(sums[t] / busy[t] - 1.0) < 1e-3);
            }
        }
        assert_true(fabs(bytes[0] / (2048.0 * (double)count) - 1.0) < 1e-3);
        assert_true(fabs(bytes[1] / (2048.0 * (double)count) - 1.0) < 1e-3);
    }
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

/* Ten engines move one packet each at the same time, with slightly different ends: the throughput
 * never exceeds that of the ten, for any width of a bucket. */
static void bytes_of_concurrent_packets_are_spread_over_their_durations(void **state)
{
    static const uint32_t tracks[] = { RATE };
    const size_t together = 10;
    struct trace_sample *sample = trace_sample_create(100);

    for (size_t p = 0; p < sample->core.packet_count; p++) {
        struct ntk_trace_packet *packet = &sample->core.packets[p];
        packet->engine = (uint16_t)(32 + p % together);
        packet->start_ps = (int64_t)(p / together) * 10000 * NS;
        packet->end_ps = packet->start_ps + (8000 + (int64_t)(p % together) * 10) * NS;
    }
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    for (unsigned level = top_of(timeline) + 1; level-- > top_of(timeline) - 5;) {
        double most = 0.0;
        double sum = 0.0;
        for (uint64_t tile = 0;
             tile <= (uint64_t)timeline->end_ps >> (level + NTK_TIMELINE_TILE_SHIFT); tile++) {
            struct parsed parsed;
            put(timeline, level, tile, tracks, 1, &parsed);
            for (uint32_t i = 0; i < parsed.sections[0].entry_count; i++) {
                most = fmax(most, parsed.buckets[0][i].mean);
                sum += parsed.buckets[0][i].mean * 1e-12 * (double)(UINT64_C(1) << level);
            }
            ntk_buf_fini(&parsed.buf);
        }
        assert_true(most <= (double)together * 2048 / 8000e-9 * 1.001);
        assert_true(fabs(sum / (2048.0 * 100) - 1.0) < 1e-3);
    }
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void a_bucket_is_named_by_its_longest_activity(void **state)
{
    static const uint32_t tracks[] = { TENSOR };
    struct trace_sample *sample = trace_sample_create(100000);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct parsed parsed;

    put(timeline, top_of(timeline), 0, tracks, 1, &parsed);
    for (uint32_t i = 0; i < parsed.sections[0].entry_count; i++) {
        const struct ntk_timeline_what *what =
            ntk_vec_at(&timeline->whats, parsed.buckets[0][i].what);
        assert_string_equal(what->name, "MATMUL");
    }
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void overlapping_slices_are_counted_once(void **state)
{
    static const uint32_t tracks[] = { TENSOR };
    struct trace_sample *sample = trace_sample_create(100000);
    struct parsed parsed;
    double sum = 0.0;

    sample->core.instructions[0].end_ps = sample->trace.total_ps;
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    unsigned level = top_of(timeline) - 8; /* below the stored levels */
    assert_true(level < ntk_timeline_track_get(timeline, TENSOR)->pyramid.first);
    uint64_t last = (uint64_t)timeline->end_ps >> (level + NTK_TIMELINE_TILE_SHIFT);
    for (uint64_t tile = 0; tile <= last; tile += last) {
        put(timeline, level, tile, tracks, 1, &parsed);
        if (parsed.sections[0].form == NTK_TIMELINE_FORM_SLICES) {
            assert_int_equal(parsed.slices[0][0].slice, 0); /* reaches into every tile */
        }
        ntk_buf_fini(&parsed.buf);
    }
    put(timeline, top_of(timeline), 0, tracks, 1, &parsed);
    for (uint32_t i = 0; i < parsed.sections[0].entry_count; i++) {
        assert_true(parsed.buckets[0][i].mean <= 1.0001F);
        sum += parsed.buckets[0][i].mean * (double)(UINT64_C(1) << top_of(timeline));
    }
    assert_true(fabs(sum / (double)sample->trace.total_ps - 1.0) < 1e-3);
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void an_out_of_range_level_or_tile_is_rejected(void **state)
{
    struct trace_sample *sample = trace_sample_create(10);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_timeline_tile_put(timeline, top_of(timeline) + 1, 0, NULL, 0, &out, &err),
                     -EINVAL);
    assert_non_null(strstr(err.text, "the coarsest is"));
    assert_int_equal(ntk_timeline_tile_put(timeline, 0, UINT64_MAX, NULL, 0, &out, &err), -EINVAL);
    assert_non_null(strstr(err.text, "the last is"));
    assert_int_equal(out.bytes_count, 0);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void all_timeline_slices_can_be_written_in_one_response(void **state)
{
    struct trace_sample *sample = trace_sample_create(2000);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct parsed parsed = { 0 };

    ntk_timeline_tile_put_all(timeline, &parsed.buf);
    parse(&parsed);
    assert_int_equal(parsed.head.track_count, 4 + REGION_TRACKS); /* everything but the rate */
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(parsed.sections[i].form, NTK_TIMELINE_FORM_SLICES);
        assert_int_equal(parsed.sections[i].entry_count, 2000);
    }
    ntk_buf_fini(&parsed.buf);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

/* ---- answers ---- */

static json_t *json_of(struct ntk_buf *buf)
{
    json_t *json = json_loadb(buf->bytes, buf->bytes_count, 0, NULL);

    assert_non_null(json);
    ntk_buf_fini(buf);
    return json;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void statistics_are_clipped_to_the_range(void **state)
{
    struct trace_sample *sample = trace_sample_create(100);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct ntk_buf out = { 0 };
    uint32_t vector = 0;

    (void)track_by_name(timeline, "Vector", &vector);
    /* 2400 ns to 4100 ns: of Vector, 3000-3250 and 4000-4100. */
    assert_int_equal(ntk_timeline_put_stats(timeline, 2400 * NS, 4100 * NS, &out), 0);
    json_t *json = json_of(&out);
    const json_t *track = json_array_get(json_object_get(json, "tracks"), 1);
    assert_int_equal((int)number(track, "track"), (int)vector);
    assert_int_equal((int)number(track, "count"), 2);
    assert_true(fabs(number(track, "busy") - 350.0 / 1700.0) < 1e-9);
    const json_t *what = json_array_get(json_object_get(track, "whats"), 0);
    assert_int_equal((int)number(what, "sum"), 350 * NS);
    assert_int_equal((int)number(what, "longest"), 250 * NS);
    /* Packets 1 (from 1000) to 4 overlap; cut bytes: 600, 1600, 1100 and 100 of 2000 ns each. */
    track = json_array_get(json_object_get(json, "tracks"), 2);
    assert_int_equal((int)number(track, "count"), 4);
    assert_true(fabs(number(track, "bytes") - 2048.0 * (600 + 1600 + 1100 + 100) / 2000.0) < 1e-6);
    json_decref(json);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void search_hits_are_counted_and_listed_in_time_order(void **state)
{
    struct trace_sample *sample = trace_sample_create(3000);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct ntk_buf out = { 0 };
    bool is_wanted[16] = { false };
    double before = -1.0;
    size_t i;
    const json_t *hit;

    for (size_t w = 0; w < timeline->whats.count; w++) {
        const struct ntk_timeline_what *what = ntk_vec_at(&timeline->whats, w);
        is_wanted[w] =
            strcmp(what->name, "MATMUL") == 0 || strcmp(what->name, "TENSOR_REDUCE") == 0;
    }
    assert_int_equal(ntk_timeline_put_hits(timeline,
                                           &(struct ntk_timeline_wanted){ .whats = is_wanted },
                                           1000 * 1000 * NS, false, &out),
                     0);
    json_t *json = json_of(&out);
    assert_int_equal((int)number(json, "total"), 2700 + 3000);
    const json_t *hits = json_object_get(json, "hits");
    assert_int_equal(json_array_size(hits), NTK_TIMELINE_HITS_MAX);
    json_array_foreach((json_t *)hits, i, hit)
    {
        assert_true(number(hit, "start") >= before);
        before = number(hit, "start");
    }
    assert_true(number(json_array_get(hits, 0), "start") == 1000.0 * 1000.0 * NS);
    json_decref(json);
    /* Hits in reverse; at 999 us the tensor engine waits, so the last hit is the other engine's. */
    assert_int_equal(ntk_timeline_put_hits(timeline,
                                           &(struct ntk_timeline_wanted){ .whats = is_wanted },
                                           1000 * 1000 * NS, true, &out),
                     0);
    json = json_of(&out);
    hits = json_object_get(json, "hits");
    assert_int_equal(json_array_size(hits), NTK_TIMELINE_HITS_MAX);
    hit = json_array_get(hits, NTK_TIMELINE_HITS_MAX - 1);
    assert_true(number(hit, "start") == 999.0 * 1000.0 * NS);
    assert_int_equal((int)number(hit, "track"), VECTOR);
    json_decref(json);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void a_timeline_slice_is_reported_with_all_fields(void **state)
{
    struct trace_sample *sample = trace_sample_create(10);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct ntk_buf out = { 0 };
    struct ntk_err err = { 0 };

    assert_int_equal(ntk_timeline_put_slice(timeline, VECTOR, 3, &out, &err), 0);
    const char *text = ntk_buf_text_get(&out);
    assert_non_null(strstr(text, "\"name\":\"TENSOR_REDUCE\""));
    assert_non_null(strstr(text, "\"start\":3000000,\"end\":3250000"));
    /* 12 cycles of 1.2 GHz */
    assert_non_null(strstr(text, "{\"name\":\"Waited before\",\"unit\":\"ps\",\"value\":10000}"));
    ntk_buf_reset(&out);
    assert_int_equal(ntk_timeline_put_slice(timeline, QUEUE, 3, &out, &err), 0);
    assert_non_null(
        strstr(ntk_buf_text_get(&out), "{\"name\":\"Bytes\",\"unit\":\"bytes\",\"value\":2048}"));
    ntk_buf_reset(&out);
    assert_int_equal(ntk_timeline_put_slice(timeline, QUEUE, 10, &out, &err), -ENOENT);
    assert_string_equal(err.text, "track 2 has no slice 10");
    assert_int_equal(ntk_timeline_put_slice(timeline, 7, 0, &out, &err), -ENOENT);
    assert_string_equal(err.text, "unknown track 7");
    ntk_buf_fini(&out);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

static void timeline_metadata_has_groups_tracks_and_kinds(void **state)
{
    struct trace_sample *sample = trace_sample_create(10);
    struct ntk_timeline *timeline = timeline_of(&sample->trace, 0);
    struct ntk_buf out = { 0 };

    ntk_timeline_put_meta(timeline, "ten", &out);
    json_t *json = json_of(&out);
    assert_string_equal(json_string_value(json_object_get(json, "title")), "ten");
    assert_int_equal((int)number(json, "span"), 11 * 1000 * NS); /* end of the last packet */
    assert_int_equal((int)number(json, "slices"), 40);
    assert_int_equal(json_array_size(json_object_get(json, "tracks")), TRACKS + REGION_TRACKS);
    const json_t *groups = json_object_get(json, "groups");
    assert_int_equal(json_array_size(groups), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(groups, 0), "name")),
                        "NeuronCore 2");
    assert_true(json_is_true(json_object_get(json_array_get(groups, 2), "folded")));
    json_decref(json);
    ntk_timeline_destroy(timeline);
    trace_sample_destroy(sample);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_capture_becomes_a_row_per_engine_queue_and_semaphore),
        cmocka_unit_test(an_offset_shifts_every_row_of_a_capture),
        cmocka_unit_test(an_empty_trace_is_a_timeline_without_rows),
        cmocka_unit_test(a_small_number_of_timeline_slices_is_sent_individually),
        cmocka_unit_test(a_tile_contains_slices_that_began_before_it),
        cmocka_unit_test(buckets_of_each_level_sum_to_the_row),
        cmocka_unit_test(bytes_of_concurrent_packets_are_spread_over_their_durations),
        cmocka_unit_test(a_bucket_is_named_by_its_longest_activity),
        cmocka_unit_test(overlapping_slices_are_counted_once),
        cmocka_unit_test(an_out_of_range_level_or_tile_is_rejected),
        cmocka_unit_test(all_timeline_slices_can_be_written_in_one_response),
        cmocka_unit_test(statistics_are_clipped_to_the_range),
        cmocka_unit_test(search_hits_are_counted_and_listed_in_time_order),
        cmocka_unit_test(a_timeline_slice_is_reported_with_all_fields),
        cmocka_unit_test(timeline_metadata_has_groups_tracks_and_kinds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
