/* SPDX-License-Identifier: MIT */
/* report_ranks - the communicators of a process, in our part of the line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/report/report_part.h"

#define AT(member) .offset = offsetof(struct ntk_rank_sample, member)
/* The fields after the communicator. */
const struct report_field report_fields_rank[] = {
    REPORT_ROW("state", REPORT_WORD, AT(state), .names = ntk_rank_state_names,
               .count = NTK_RANK_STATE_COUNT),
    REPORT_ROW("operation", REPORT_WORD, AT(operation), .names = ntk_collective_names,
               .count = NTK_COLLECTIVE_COUNT),
    REPORT_ROW("rendezvous", REPORT_TEXT, AT(rendezvous)),
    REPORT_ROW("members", REPORT_TEXT, AT(members), .sparse = true),
    REPORT_ROW("rank", REPORT_U32, AT(rank)),
    REPORT_ROW("rank_count", REPORT_U32, AT(rank_count)),
    REPORT_ROW("world_rank", REPORT_U32, AT(world_rank)),
    REPORT_ROW("world_count", REPORT_U32, AT(world_count)),
    REPORT_ROW("core", REPORT_U32, AT(core)),
    REPORT_ROW("model_id", REPORT_U32, AT(model_id), .sparse = true),
    REPORT_ROW("join_timestamp_ns", REPORT_U64, AT(join_timestamp_ns)),
    REPORT_ROW("sequence", REPORT_U64, AT(sequence)),
    REPORT_ROW("in_flight", REPORT_U64, AT(in_flight)),
    REPORT_ROW("state_ns", REPORT_U64, AT(state_ns)),
    REPORT_ROW("bytes", REPORT_U64, AT(bytes)),
    REPORT_ROW("dtype", REPORT_U32, AT(dtype)),
    REPORT_ROW("nrt_status", REPORT_U32, AT(status)),
    REPORT_ROW("tid", REPORT_U32, AT(tid)),
    REPORT_ROW("longest_ns", REPORT_U64, AT(longest_ns)),
#define NTK_COLLECTIVE(id, symbol, name) \
    REPORT_ROW(name, REPORT_COUNT, AT(operations[id]), .sparse = true),
#include "shared/abi/collective.def"
#define ALWAYS false
#define WHERE_ANY true
#define NTK_RANK_COUNT(name, of, reported, ...) \
    REPORT_ROW(#name, REPORT_COUNT, AT(name), .sparse = (reported)),
#include "shared/metrics/rank.def"
    REPORT_END,
};
#undef AT

void report_write_rank(struct report_writer *w, const struct ntk_rank_sample *rank)
{
    char key[17];

    snprintf(key, sizeof key, "%016llx", (unsigned long long)rank->key);
    report_key_text(w, "communicator", key);
    report_write_fields(w, report_fields_rank, rank);
}

void report_write_ranks(struct report_writer *w, const struct ntk_runtime_sample *runtime)
{
    ntk_json_key_array_begin(&w->json, "ranks");
    for (size_t i = 0; i < runtime->rank_count; i++) {
        ntk_json_object_begin(&w->json);
        report_write_rank(w, &runtime->ranks[i]);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

#define AT(member) .offset = offsetof(struct ntk_lost_rank, member)
/* The fields before those of the rank. */
const struct report_field report_fields_lost_rank[] = {
    REPORT_ROW("pid", REPORT_U32, AT(pid)),
    REPORT_ROW("neuron_runtime_tag", REPORT_TEXT, AT(tag)),
    REPORT_ROW("command", REPORT_TEXT, AT(command)),
    REPORT_ROW("lost_for_ns", REPORT_U64, AT(lost_for_ns)),
    REPORT_END,
};
#undef AT

void report_write_lost_ranks(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    if (snapshot->lost_rank_count == 0) {
        return;
    }
    ntk_json_key_array_begin(&w->json, "lost_ranks");
    for (size_t i = 0; i < snapshot->lost_rank_count; i++) {
        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_lost_rank, &snapshot->lost_ranks[i]);
        report_write_rank(w, &snapshot->lost_ranks[i].rank);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

/* Reads a rank; returns whether it is valid. */
static bool read_rank(struct ntk_snapshot *snapshot, struct ntk_rank_sample *rank,
                      const json_t *entry)
{
    const char *key = json_string_value(json_object_get(entry, "communicator"));

    report_read_fields(snapshot, entry, report_fields_rank, rank);
    rank->key = key ? strtoull(key, NULL, 16) : 0;
    if (rank->core >= REPORT_CORES_MAX) {
        rank->core = NTK_NO_CORE;
    }
    return rank->key != 0 && rank->rank < rank->rank_count;
}

void report_read_ranks(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                       const json_t *ext)
{
    const json_t *array = report_get_array(ext, "ranks");
    struct ntk_rank_sample *ranks;
    size_t count = 0;

    if (!array) {
        return;
    }
    ranks = ntk_snapshot_alloc_ranks(snapshot, runtime,
                                     report_bounded(json_array_size(array), NTK_SEGMENT_COMMS));
    for (size_t i = 0; ranks && i < runtime->rank_count; i++) {
        count += read_rank(snapshot, &ranks[count], json_array_get(array, i));
    }
    runtime->rank_count = ranks ? count : 0;
}

void report_read_lost_ranks(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const json_t *array = report_get_array(ext, "lost_ranks");
    struct ntk_lost_rank *lost;
    size_t count = 0;

    if (!array) {
        return;
    }
    lost = ntk_snapshot_alloc_lost_ranks(
        snapshot, report_bounded(json_array_size(array), REPORT_LOST_RANKS_MAX));
    for (size_t i = 0; lost && i < snapshot->lost_rank_count; i++) {
        const json_t *entry = json_array_get(array, i);

        report_read_fields(snapshot, entry, report_fields_lost_rank, &lost[count]);
        count += read_rank(snapshot, &lost[count].rank, entry);
    }
    snapshot->lost_rank_count = lost ? count : 0;
}

#define AT(member) .offset = offsetof(struct ntk_rank_trouble, member)
/* The fields after communicator and rank. */
const struct report_field report_fields_trouble[] = {
    REPORT_ROW("kind", REPORT_WORD, AT(kind), .names = ntk_trouble_kind_names,
               .count = NTK_TROUBLE_KIND_COUNT),
    REPORT_ROW("rank_count", REPORT_U32, AT(rank_count)),
    REPORT_ROW("pid", REPORT_U32, AT(pid), .sparse = true),
    REPORT_ROW("neuron_runtime_tag", REPORT_TEXT, AT(tag), .sparse = true),
    REPORT_ROW("job_id", REPORT_TEXT, AT(job_id), .sparse = true),
    REPORT_ROW("rendezvous", REPORT_TEXT, AT(rendezvous)),
    REPORT_ROW("cause", REPORT_TEXT, AT(cause)),
    REPORT_ROW("sequence", REPORT_U64, AT(sequence), .sparse = true),
    REPORT_ROW("since_ns", REPORT_U64, AT(since_ns)),
    REPORT_ROW("missing_count", REPORT_U32, AT(missing_count), .sparse = true),
    REPORT_ROW("behind_ns", REPORT_U64, AT(behind_ns), .sparse = true),
    REPORT_ROW("interval_ns", REPORT_U64, AT(interval_ns), .sparse = true),
    REPORT_END,
};
static const struct report_field report_fields_trouble_operation[] = {
    REPORT_ROW("operation", REPORT_WORD, AT(operation), .names = ntk_collective_names,
               .count = NTK_COLLECTIVE_COUNT),
    REPORT_END,
};
#undef AT

void report_write_troubles(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    if (snapshot->trouble_count == 0) {
        return;
    }
    ntk_json_key_array_begin(&w->json, "rank_troubles");
    for (size_t i = 0; i < snapshot->trouble_count; i++) {
        const struct ntk_rank_trouble *trouble = &snapshot->troubles[i];
        char key[17];

        snprintf(key, sizeof key, "%016llx", (unsigned long long)trouble->key);
        ntk_json_object_begin(&w->json);
        report_key_text(w, "communicator", key);
        if (trouble->has_rank) {
            ntk_json_key_u64(&w->json, "rank", trouble->rank);
        }
        report_write_fields(w, report_fields_trouble, trouble);
        if (trouble->sequence > 0) {
            report_write_fields(w, report_fields_trouble_operation, trouble);
        }
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

void report_read_troubles(struct ntk_snapshot *snapshot, const json_t *ext)
{
    struct ntk_rank_trouble troubles[NTK_SNAPSHOT_TROUBLES_MAX];
    const json_t *array = report_get_array(ext, "rank_troubles");
    size_t bound = array ? report_bounded(json_array_size(array), NTK_SNAPSHOT_TROUBLES_MAX) : 0;
    size_t count = 0;

    for (size_t i = 0; i < bound; i++) {
        const json_t *entry = json_array_get(array, i);
        const json_t *rank = json_object_get(entry, "rank");
        const char *key = json_string_value(json_object_get(entry, "communicator"));
        struct ntk_rank_trouble *trouble = &troubles[count];

        *trouble =
            (struct ntk_rank_trouble){ .rendezvous = "", .tag = "", .job_id = "", .cause = "" };
        report_read_fields(snapshot, entry, report_fields_trouble, trouble);
        trouble->key = key ? strtoull(key, NULL, 16) : 0;
        report_read_fields(snapshot, entry, report_fields_trouble_operation, trouble);
        trouble->has_rank = json_is_integer(rank) && json_integer_value(rank) >= 0 &&
                            json_integer_value(rank) < (json_int_t)trouble->rank_count;
        trouble->rank = trouble->has_rank ? (uint32_t)json_integer_value(rank) : 0;
        count += trouble->key != 0 && trouble->rank_count > 0;
    }
    ntk_snapshot_set_troubles(snapshot, troubles, count);
}
