/* SPDX-License-Identifier: MIT */
/* report_jobs - job_mapping: which batch job holds which cores and devices. */
#include <stdlib.h>

#include "shared/report/report_part.h"

/* The fields before the lists of cores and devices. */
#define AT(member) .offset = offsetof(struct ntk_job, member)
const struct report_field report_fields_job[] = {
#define NTK_JOB_TEXT(name, column, label)     \
    REPORT_ROW(column, REPORT_TEXT, AT(name), \
               .sparse = offsetof(struct ntk_job, name) != offsetof(struct ntk_job, id)),
#include "shared/metrics/job.def"
    REPORT_ROW("since_ns", REPORT_U64, AT(since_ns)),
    REPORT_END,
};
#undef AT

static void write_numbers(struct report_writer *w, const char *key, const uint32_t *numbers,
                          size_t count)
{
    ntk_json_key_array_begin(&w->json, key);
    for (size_t i = 0; i < count; i++) {
        report_value_u64(w, numbers[i]);
    }
    ntk_json_array_end(&w->json);
}

void report_write_jobs(struct report_writer *w)
{
    const struct ntk_jobs *jobs = &w->snapshot->jobs;

    if (!jobs->is_asked) {
        return;
    }
    ntk_json_key_object_begin(&w->json, "job_mapping");
    ntk_json_key_array_begin(&w->json, "jobs");
    for (size_t i = 0; i < jobs->count; i++) {
        const struct ntk_job *job = &jobs->rows[i];

        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_job, job);
        write_numbers(w, "neuroncores", job->cores, job->core_count);
        write_numbers(w, "neuron_devices", job->devices, job->device_count);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
    report_key_text(w, "error", jobs->error);
    ntk_json_object_end(&w->json);
}

/* Reads ascending numbers below the limit; others are skipped. */
static uint32_t *read_numbers(struct ntk_snapshot *snapshot, const json_t *array, uint32_t limit,
                              size_t *out_count)
{
    size_t room = report_bounded(json_array_size(array), limit);
    uint32_t *numbers = ntk_snapshot_alloc(snapshot, room, sizeof *numbers);
    size_t count = 0;

    for (size_t i = 0; numbers && i < room; i++) {
        const json_t *item = json_array_get(array, i);
        json_int_t number = json_is_integer(item) ? json_integer_value(item) : -1;

        if (number >= 0 && number < (json_int_t)limit &&
            (count == 0 || (uint32_t)number > numbers[count - 1])) {
            numbers[count++] = (uint32_t)number;
        }
    }
    *out_count = count;
    return numbers;
}

void report_read_jobs(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const json_t *object = report_get_object(ext, "job_mapping");
    const json_t *array = report_get_array(object, "jobs");
    size_t room = report_bounded(json_array_size(array), NTK_SNAPSHOT_JOBS_MAX);
    struct ntk_job *rows = ntk_snapshot_alloc(snapshot, room, sizeof *rows);
    size_t count = 0;

    for (size_t i = 0; rows && i < room; i++) {
        const json_t *entry = json_array_get(array, i);
        struct ntk_job *job = &rows[count];

        for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
            job->texts[k] = "";
        }
        report_read_fields(snapshot, entry, report_fields_job, job);
        job->cores = read_numbers(snapshot, report_get_array(entry, "neuroncores"),
                                  NTK_SNAPSHOT_JOB_CORES_MAX, &job->core_count);
        job->devices = read_numbers(snapshot, report_get_array(entry, "neuron_devices"),
                                    NTK_SNAPSHOT_DEVICES_MAX, &job->device_count);
        count += job->id[0] != '\0';
    }
    snapshot->jobs = (struct ntk_jobs){ .is_asked = object != NULL,
                                        .error = report_get_text(snapshot, object, "error"),
                                        .rows = rows,
                                        .count = rows ? count : 0 };
}
