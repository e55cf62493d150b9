/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/host_flame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/output/export_to.h"
#include "profiler/output/traces/flame_writers.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"

#define NAME_BYTES 160

/* Builds the frames of a flame graph from the frames of all processes. */
struct builder {
    struct ntk_vec frames; /* elements are struct ntk_flame_frame */
    struct ntk_map known;  /* maps parent and name to 1 + index */
    struct ntk_vec texts;  /* elements are char *: texts of heads */
    int failed;
};

static uint32_t push(struct builder *b, uint32_t parent, const char *name, const char *file,
                     uint32_t line)
{
    struct ntk_flame_frame frame = { .parent = parent, .name = name, .file = file, .line = line };
    char key[2 * NAME_BYTES + 512];
    uint32_t at;

    (void)snprintf(key, sizeof key, "%u/%u/%s/%s", parent, line, file ? file : "", name);
    at = (uint32_t)(uintptr_t)ntk_map_get(&b->known, key);
    if (at > 0 || b->failed) {
        return at;
    }
    if (ntk_vec_push(&b->frames, &frame) < 0 ||
        ntk_map_put(&b->known, key, (void *)(uintptr_t)b->frames.count) < 0) {
        b->failed = -ENOMEM;
        return 0;
    }
    return (uint32_t)b->frames.count;
}

/* Adds a frame outside stacks, with its text stored here. */
static uint32_t push_head(struct builder *b, uint32_t parent, const char *text)
{
    char *copy = strdup(text);

    if (!copy || ntk_vec_push(&b->texts, &copy) < 0) {
        free(copy);
        b->failed = -ENOMEM;
        return 0;
    }
    return push(b, parent, copy, NULL, 0);
}

static uint32_t push_stack(struct builder *b, const struct ntk_host_stacks *stacks, uint32_t stack,
                           uint32_t parent)
{
    const struct ntk_host_frame *chain[NTK_HOST_DEPTH_MAX];
    size_t count = 0;

    for (const struct ntk_host_frame *frame = ntk_host_stacks_at(stacks, stack);
         frame && count < NTK_HOST_DEPTH_MAX; frame = ntk_host_stacks_at(stacks, frame->parent)) {
        chain[count++] = frame;
    }
    while (count-- > 0) {
        parent = push(b, parent, chain[count]->name, chain[count]->module, chain[count]->line);
    }
    return parent;
}

static int build(struct builder *b, const struct ntk_hostwork_answer *answers, size_t count,
                 struct ntk_vec *samples)
{
    char text[NAME_BYTES];

    for (size_t i = 0; i < count; i++) {
        const struct ntk_host_records *records = answers[i].records;
        (void)snprintf(text, sizeof text, "%s (%u)", answers[i].command, answers[i].pid);
        uint32_t process = push_head(b, 0, text);
        ntk_vec_each(const struct ntk_host_flame, flame, &answers[i].result->flames) {
            const struct ntk_host_thread *thread = ntk_host_records_thread(records, flame->tid);
            (void)snprintf(text, sizeof text, "%s (%u)", thread ? thread->name : "thread",
                           flame->tid);
            uint32_t frame = push_head(b, process, text);
            frame = push(b, frame, ntk_host_cause_name(flame->cause), NULL, 0);
            frame = push_stack(b, &records->stacks, flame->stack, frame);
            struct ntk_pprof_sample sample = {
                .frame = frame > 0 ? frame - 1 : 0,
                .values = { (int64_t)flame->ns },
                .labels = { { "cause", ntk_host_cause_name(flame->cause), 0 },
                            { "thread", NULL, flame->tid } },
            };
            if (b->failed || ntk_vec_push(samples, &sample) < 0) {
                return -ENOMEM;
            }
        }
    }
    return b->failed;
}

static void builder_fini(struct builder *b)
{
    ntk_vec_each(char *, text, &b->texts) {
        free(*text);
    }
    ntk_vec_fini(&b->texts);
    ntk_vec_fini(&b->frames);
    ntk_map_fini(&b->known);
}

static int put_folded(const struct builder *b, const struct ntk_vec *samples, struct ntk_sink *sink)
{
    int ret = 0;

    ntk_vec_each(const struct ntk_pprof_sample, sample, samples) {
        if (ret == 0 && sample->values[0] > 0) {
            ntk_folded_put(&b->frames, sample->frame, sample->values[0], &sink->buf);
            ret = ntk_sink_step(sink);
        }
    }
    return ret;
}

static int put_pprof(const struct builder *b, const struct ntk_vec *samples,
                     const struct ntk_hostwork_answer *first, struct ntk_sink *sink)
{
    uint64_t ns = first->records->end_ns - first->records->start_ns;
    struct ntk_pprof pprof = { .frames = &b->frames,
                               .samples = samples,
                               .values = { { "idle", "nanoseconds" } },
                               .value_count = 1,
                               .label_count = 2,
                               .file = first->command,
                               .build_id = "",
                               .time_ns = (int64_t)(ntk_clock_realtime_ns() - ns),
                               .duration_ns = (int64_t)ns };

    return ntk_pprof_put(&pprof, sink);
}

static int write_to(const struct ntk_hostwork_answer *answers, size_t count, const char *path,
                    bool is_pprof, struct ntk_err *err)
{
    struct builder b = { .frames = NTK_VEC_INIT(struct ntk_flame_frame),
                         .texts = NTK_VEC_INIT(char *) };
    struct ntk_vec samples = NTK_VEC_INIT(struct ntk_pprof_sample);
    struct ntk_sink sink = { 0 };
    int ret = ntk_sink_open(&sink, path, err);

    if (ret < 0) {
        return ret;
    }
    ret = build(&b, answers, count, &samples);
    if (ret == 0) {
        ret = is_pprof ? put_pprof(&b, &samples, &answers[0], &sink)
                       : put_folded(&b, &samples, &sink);
    }
    ret = ntk_export_finish(&sink, ret, err);
    ntk_vec_fini(&samples);
    builder_fini(&b);
    return ret;
}

int ntk_host_flame_folded(const struct ntk_hostwork_answer *answers, size_t count, const char *path,
                          struct ntk_err *err)
{
    return write_to(answers, count, path, false, err);
}

int ntk_host_flame_pprof(const struct ntk_hostwork_answer *answers, size_t count, const char *path,
                         struct ntk_err *err)
{
    return write_to(answers, count, path, true, err);
}
