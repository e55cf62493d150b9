/* SPDX-License-Identifier: MIT */
/* points_walk_jobs - visits the batch jobs of cores and devices. */
#include <stdlib.h>
#include <string.h>

#include "exporters/points/points_visit.h"

/* Distinct texts of one kind of all jobs that share a core or device, comma-separated, as many as
 * fit. */
struct job_text {
    char text[NTK_POINTS_LABEL_BYTES];
    size_t used;
};

static void add_job_text(struct job_text *to, const char *text)
{
    size_t bytes = strlen(text);
    size_t at = 0;

    while (at < to->used) { /* two jobs may belong to one user */
        size_t length = strcspn(to->text + at, ",");
        if (length == bytes && memcmp(to->text + at, text, bytes) == 0) {
            return;
        }
        at += length + 1;
    }
    if (bytes == 0 || to->used + bytes + 2 > sizeof to->text) {
        return;
    }
    if (to->used > 0) {
        to->text[to->used++] = ',';
    }
    memcpy(to->text + to->used, text, bytes + 1);
    to->used += bytes;
}

/* Visits one series, even if several jobs share the core, so that a join finds one match and does
 * not multiply other series. */
static void job_point(const struct points_visit *v, uint32_t index, bool is_core)
{
    struct job_text texts[NTK_JOB_TEXTS] = { 0 };
    uint32_t per_device = v->page->cores_per_device;
    uint32_t device = !is_core ? index : per_device > 0 ? index / per_device : 0;
    struct ntk_points_label labels[NTK_JOB_TEXTS + 3];
    size_t used = 0;

    for (size_t i = 0; i < v->page->job_count; i++) {
        const struct ntk_points_job *job = &v->page->jobs[i];
        bool has = is_core ? ntk_bits_has(job->cores, index) : job->devices >> index & 1;
        for (size_t k = 0; k < NTK_JOB_TEXTS && has; k++) {
            add_job_text(&texts[k], job->texts[k]);
        }
    }
    if (texts[0].used == 0) { /* without ids */
        return;
    }
    struct points_number device_number = points_number_text(device);
    struct points_number core_number = points_number_text(index);
    for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
        labels[used] = (struct ntk_points_label){ ntk_job_texts[k].label, texts[k].text };
        used += texts[k].used > 0;
    }
    labels[used] = (struct ntk_points_label){ "neuron_device_index", device_number.text };
    used += !is_core || per_device > 0;
    labels[used] = (struct ntk_points_label){ "neuroncore", core_number.text };
    used += is_core;
    qsort(labels, used, sizeof *labels, points_label_compare);
    labels[used] = (struct ntk_points_label){ NULL, NULL };
    points_put_u64(v, labels, 1);
}

static void job_info(const struct points_visit *v)
{
    uint64_t any[NTK_BITS_WORDS(NTK_POINTS_CORES_MAX)] = { 0 };

    for (size_t i = 0; i < v->page->job_count; i++) {
        for (size_t k = 0; k < sizeof any / sizeof *any; k++) {
            any[k] |= v->page->jobs[i].cores[k];
        }
    }
    for (uint32_t core = 0; core < NTK_POINTS_CORES_MAX; core++) {
        if (ntk_bits_has(any, core)) {
            job_point(v, core, true);
        }
    }
}

static void device_job_info(const struct points_visit *v)
{
    for (uint32_t device = 0; v->page->job_count > 0 && device < NTK_SNAPSHOT_DEVICES_MAX;
         device++) {
        job_point(v, device, false);
    }
}

void points_jobs_walk(const struct points_visit *v, size_t family)
{
    if (family == NTK_METRIC_JOB_INFO) {
        job_info(v);
    } else if (family == NTK_METRIC_DEVICE_JOB_INFO) {
        device_job_info(v);
    }
}
