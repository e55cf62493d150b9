/* SPDX-License-Identifier: MIT */
/* rank_read - passes the events of a trace, in memory or read piece by piece, to its workers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/rank_reading.h"
#include "profiler/system/session_find.h"
#include "profiler/system/span_filter.h"
#include "shared/base/fs.h"

#define OPEN_MAX 4096U /* spans that have started but not ended, per process */

struct begun {
    uint64_t tracking_id;
    int64_t start_ns;
    uint64_t device_ns; /* start of a run, on the clock of the core */
    uint32_t comm;
};

static void reading_init(struct rank_reading *reading, struct ntk_rank_list *list)
{
    *reading = (struct rank_reading){ .list = list, .lost_of = UINT32_MAX };
    list->trace_count++;
    ntk_vec_init(&reading->workers, sizeof(struct rank_worker));
    ntk_vec_init(&reading->begun, sizeof(struct begun));
}

static void reading_fini(struct rank_reading *reading)
{
    ntk_vec_each(struct rank_worker, worker, &reading->workers) {
        ntk_rank_worker_fini(worker);
    }
    ntk_vec_fini(&reading->workers);
    ntk_vec_fini(&reading->begun);
}

/* Returns NULL if out of memory (-ENOMEM), or if the trace has too many workers (0). Events of one
 * worker are adjacent. */
static struct rank_worker *worker_of(struct rank_reading *reading, uint32_t number, int *out_ret)
{
    struct ntk_vec *workers = &reading->workers;

    *out_ret = 0;
    if (reading->last < workers->count &&
        ((struct rank_worker *)ntk_vec_at(workers, reading->last))->worker == number) {
        return ntk_vec_at(workers, reading->last);
    }
    for (size_t w = 0; w < workers->count; w++) {
        if (((struct rank_worker *)ntk_vec_at(workers, w))->worker == number) {
            reading->last = w;
            return ntk_vec_at(workers, w);
        }
    }
    if (workers->count == NTK_RANK_WORKERS_MAX) {
        reading->ignored++;
        return NULL;
    }
    struct rank_worker *worker = ntk_vec_add(workers);
    if (!worker) {
        *out_ret = -ENOMEM;
        return NULL;
    }
    ntk_rank_worker_init(worker, number);
    reading->last = workers->count - 1;
    return worker;
}

static bool is_run(const char *type)
{
    return strcmp(type, "nc_exec_running") == 0;
}

static bool is_barrier(const char *type)
{
    return strcmp(type, "cc_exec_barrier") == 0;
}

static bool is_collective(const char *type)
{
    return strcmp(type, "cc_running") == 0 || is_barrier(type);
}

/* A run or a collective, from both ends of its span. */
struct event {
    uint32_t worker, comm;
    bool is_run, is_barrier;
    int64_t start_ns, end_ns;
    uint64_t sequence;
    uint16_t device_core;
};

static int event_add(struct rank_reading *reading, const struct event *event)
{
    int ret = 0;
    struct rank_worker *worker = worker_of(reading, event->worker, &ret);

    if (!worker) {
        return ret;
    }
    if (event->is_run) {
        ntk_rank_worker_run(worker, event->start_ns, event->end_ns);
        return 0;
    }
    ntk_rank_comm_note(reading->list, worker, event->comm);
    ntk_rank_worker_op(worker, &(struct ntk_rank_op){ .start_ns = event->start_ns,
                                                      .end_ns = event->end_ns,
                                                      .sequence = event->sequence,
                                                      .life = event->comm,
                                                      .device_core = event->device_core,
                                                      .is_barrier = event->is_barrier });
    return 0;
}

static int ignored_warn(struct rank_reading *reading, const char *folder)
{
    struct ntk_err err = { 0 };

    if (reading->ignored == 0) {
        return 0;
    }
    ntk_err_set(&err, -E2BIG, NTK_ERR_NO_OFFSET,
                "%s: too many workers in one process (at most %u); ignoring %" PRIu64
                " executions and collectives of the others",
                folder ? folder : "trace", NTK_RANK_WORKERS_MAX, reading->ignored);
    return ntk_rank_warn(reading->list, &err);
}

static int reading_keep(struct rank_reading *reading, const char *folder,
                        const NtkNtracePb__Info *info, struct ntk_err *err)
{
    size_t trace = reading->list->trace_count - 1;
    bool has_lost = reading->lost + reading->lost_now > 0;
    size_t host = 0;
    int ret = ntk_rank_host_of(reading->list, info, &host);

    reading->capture_first = reading->list->captures.count;
    ret = ret < 0 ? ret : ignored_warn(reading, folder);
    ret = ret < 0 ? ret : ntk_rank_captures_add(reading, host);
    ret = ret < 0 ? ret : ntk_rank_leads_join(reading, info, trace, err);
    ntk_vec_each(struct rank_worker, worker, &reading->workers) {
        ret = ret < 0 || worker->is_other
                  ? ret
                  : ntk_rank_worker_keep(reading->list, worker, host, has_lost, err);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

/* ---- from memory ---- */

int ntk_rank_list_add(struct ntk_rank_list *list, const struct ntk_system_trace *trace,
                      struct ntk_err *err)
{
    struct rank_reading reading;
    int64_t comm = 0;

    reading_init(&reading, list);
    reading.trace = trace;
    reading.lost = trace->lost;
    for (size_t i = 0; i < trace->span_count && comm >= 0; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        bool runs = is_run(span->type);

        ntk_system_trace_passed(trace, i);
        if (span->is_instant || span->is_partial || span->end_ns > NTK_SYSTEM_TIME_NS_MAX ||
            span->end_ns < span->start_ns || !(runs || is_collective(span->type))) {
            continue;
        }
        comm = runs ? 0 : ntk_rank_comm_of(list, span->name);
        if (comm >= 0) {
            const struct event event = { .worker = span->worker,
                                         .comm = (uint32_t)comm,
                                         .is_run = runs,
                                         .is_barrier = is_barrier(span->type),
                                         .start_ns = (int64_t)span->start_ns,
                                         .end_ns = (int64_t)span->end_ns,
                                         .sequence = span->exec_id,
                                         .device_core = (uint16_t)span->device_core };
            comm = event_add(&reading, &event);
        }
    }
    int ret =
        comm < 0 ? ntk_err_no_memory(err) : reading_keep(&reading, trace->folder, trace->info, err);
    reading_fini(&reading);
    return ret;
}

/* ---- from a file ---- */

/* Adds a start; the oldest starts without an end are forgotten. */
static int begun_add(struct rank_reading *reading, const struct begun *begun)
{
    if (reading->begun.count == OPEN_MAX) {
        ntk_vec_remove(&reading->begun, 0);
    }
    return ntk_vec_push(&reading->begun, begun);
}

static bool begun_take(struct rank_reading *reading, uint64_t tracking_id, struct begun *out)
{
    const struct begun *all = reading->begun.items;

    for (size_t i = reading->begun.count; i-- > 0;) {
        if (all[i].tracking_id == tracking_id) {
            *out = all[i];
            ntk_vec_remove(&reading->begun, i);
            return true;
        }
    }
    return false;
}

/* Counts lost events. Pieces of one core have running totals, so the last one is used. */
static void lost_count(struct rank_reading *reading, const NtkNtracePb__Core *core)
{
    if (core->nc_idx != reading->lost_of) {
        reading->lost += reading->lost_now;
        reading->lost_of = core->nc_idx;
    }
    reading->lost_now = core->lost;
}

static int event_take(struct rank_reading *reading, const NtkNtracePb__Trace *piece, size_t i)
{
    const NtkNtracePb__Core *core = piece->cores[0];
    const char *type = piece->event_types[core->event_type[i]];
    uint64_t time_ns = core->timestamp_ns[i];
    bool runs = is_run(type);
    struct begun begun = { .tracking_id = core->tracking_id[i] };

    if (core->phase[i] == NTK_NTRACE_INSTANT || time_ns > NTK_SYSTEM_TIME_NS_MAX ||
        !(runs || is_collective(type))) {
        return 0;
    }
    if (core->phase[i] == NTK_NTRACE_START) {
        int64_t comm = runs || core->name[i] == 0
                           ? 0
                           : ntk_rank_comm_of(reading->list, piece->names[core->name[i] - 1]);

        begun.start_ns = (int64_t)time_ns;
        begun.device_ns = core->nc_timestamp_ns[i];
        begun.comm = (uint32_t)comm;
        return comm < 0 ? -ENOMEM : begun_add(reading, &begun);
    }
    if (!begun_take(reading, core->tracking_id[i], &begun)) {
        return 0; /* its start was overwritten */
    }
    /* Spans are joined like spans of a whole trace. */
    struct ntk_system_span span = { .type = type,
                                    .start_ns = (uint64_t)begun.start_ns,
                                    .end_ns = time_ns,
                                    .device_start_ns = begun.device_ns,
                                    .device_end_ns = core->nc_timestamp_ns[i] };
    ntk_system_span_join(&span);
    if (span.end_ns > NTK_SYSTEM_TIME_NS_MAX) {
        return 0;
    }
    const struct event event = { .worker = core->worker_gid,
                                 .comm = begun.comm,
                                 .is_run = runs,
                                 .is_barrier = is_barrier(type),
                                 .start_ns = begun.start_ns,
                                 .end_ns = (int64_t)span.end_ns,
                                 .sequence = core->exec_id[i],
                                 .device_core = (uint16_t)core->device_core_idx[i] };
    return event_add(reading, &event);
}

static int piece_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    struct rank_reading *reading = ctx;
    const NtkNtracePb__Core *core = piece->cores[0];
    int ret = 0;

    lost_count(reading, core);
    for (size_t i = 0; i < core->n_tracking_id && ret == 0; i++) {
        ret = event_take(reading, piece, i);
    }
    return ret;
}

/* Returns true for the vendor's files, which are not split by core. */
static bool is_vendor(const char *path)
{
    uint8_t head[16];
    int fd = ntk_fs_open_regular(path, NULL, NULL);
    ssize_t count = fd >= 0 ? read(fd, head, sizeof head) : 0;

    if (fd >= 0) {
        close(fd);
    }
    return count > 0 && ntk_vendor_trace_is_stream(head, (size_t)count);
}

/* Returns true if there are captures; placing them requires the whole trace. */
static bool has_captures(const char *folder)
{
    struct ntk_vec paths;

    if (ntk_session_files(folder, ".ntff", &paths) < 0) {
        return false;
    }
    bool has = paths.count > 0;
    ntk_session_paths_fini(&paths);
    return has;
}

/* Adds a trace as a whole. */
static int trace_add(struct ntk_rank_list *list, const char *folder, struct ntk_err *err)
{
    struct ntk_system_trace *trace = NULL;
    int ret = ntk_system_trace_open(folder, &trace, err);

    if (ret < 0) {
        return ret;
    }
    ntk_vec_each(char *, warning, &trace->warnings) {
        struct ntk_err read_err = { 0 };

        ntk_err_set(&read_err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s", *warning);
        ret = ret < 0 ? ret : ntk_rank_warn(list, &read_err);
    }
    if (ret == 0 && list->filter) {
        ret = ntk_span_filter_apply(list->filter, trace);
    }
    ret = ret < 0 ? ret : ntk_rank_list_add(list, trace, err);
    ntk_system_trace_close(trace);
    return ret;
}

int ntk_rank_list_add_folder(struct ntk_rank_list *list, const char *folder, struct ntk_err *err)
{
    NtkNtracePb__Info *info = NULL;
    struct rank_reading reading;
    struct ntk_err read_err = { 0 };
    char *info_path = NULL;
    char *path = NULL;
    int ret = 0;

    if (asprintf(&info_path, "%s/trace_info.pb", folder) < 0) {
        return ntk_err_no_memory(err);
    }
    if (asprintf(&path, "%s/ntrace.pb", folder) < 0) {
        free(info_path);
        return ntk_err_no_memory(err);
    }
    if (is_vendor(path) || list->filter || has_captures(folder)) {
        free(info_path);
        free(path);
        return trace_add(list, folder, err);
    }
    reading_init(&reading, list);
    if (access(info_path, F_OK) == 0 && ntk_ntrace_read_info(info_path, &info, &read_err) != 0) {
        ret = ntk_rank_warn(list, &read_err);
    }
    if (access(path, F_OK) == 0 && ret == 0) {
        int got = ntk_ntrace_each(path, piece_take, &reading, &read_err);

        ret = got != 0 && got != -ENOMEM ? ntk_rank_warn(list, &read_err) : got;
        if (got >= 0 && ret == 0) {
            ret = reading_keep(&reading, folder, info, err);
        }
    }
    reading_fini(&reading);
    ntk_ntrace_pb__info__free_unpacked(info, NULL);
    free(info_path);
    free(path);
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}
