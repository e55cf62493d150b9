/* SPDX-License-Identifier: MIT */
#include "profiler/system/live_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "profiler/system/live_host.h"
#include "profiler/system/live_records.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/host.h"

/* Interval of drains; a ring of 16,384 slots lasts at least this long at three million records per
 * second. */
#define DRAIN_NS (5 * NTK_NS_PER_MS)
#define POLL_NS (50 * NTK_NS_PER_MS)
#define FOLDERS_OF_A_SECOND 100U

struct ntk_ring_segment *ntk_live_trace_segment(struct ntk_ring_registry *registry, uint32_t pid,
                                                const uint32_t *owner)
{
    struct ntk_ring_process process;

    for (size_t i = 0; i < ntk_ring_registry_count(registry); i++) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

        ntk_ring_segment_process(segment, &process);
        if (process.pid == pid && (!owner || process.uid == *owner) &&
            ntk_ring_segment_state(segment) == NTK_SEGMENT_ALIVE) {
            return segment;
        }
    }
    return NULL;
}

/* Creates a folder with a name as for an inspection; NULL with a message. */
static char *folder_make(const char *below, uint32_t pid, struct ntk_err *err)
{
    char time_text[32];
    time_t now = time(NULL);
    struct tm utc;
    char *folder = NULL;

    gmtime_r(&now, &utc);
    (void)strftime(time_text, sizeof time_text, "%Y%m%dT%H%M%SZ", &utc);
    if (asprintf(&folder, "%s/i-local_pid_%u", below, pid) < 0) {
        ntk_err_no_memory(err);
        return NULL;
    }
    int ret = ntk_fs_make_folders(folder, 0755, err);
    free(folder);
    for (unsigned i = 0; ret == 0 && i < FOLDERS_OF_A_SECOND; i++) {
        char number[16] = "";

        if (i > 0) {
            (void)snprintf(number, sizeof number, "-%u", i);
        }
        if (asprintf(&folder, "%s/i-local_pid_%u/%s%s", below, pid, time_text, number) < 0) {
            ntk_err_no_memory(err);
            return NULL;
        }
        if (mkdir(folder, 0755) == 0) {
            return folder;
        }
        if (errno != EEXIST) {
            ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot create '%s': %s", folder,
                        strerror(errno));
            ret = -1;
        }
        free(folder);
    }
    if (ret == 0) {
        ntk_err_set(err, -EEXIST, NTK_ERR_NO_OFFSET, "%s: too many recordings in one second",
                    below);
    }
    return NULL;
}

static char *path_in(const char *folder, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static uint64_t lost_of(const struct ntk_ring_segment *segment)
{
    struct ntk_ring_refusals refusals;
    uint64_t read;
    uint64_t lost;
    uint64_t published;

    ntk_ring_segment_events(segment, &read, &lost, &published);
    ntk_ring_segment_refusals(segment, &refusals);
    return lost + refusals.events_without_ring + refusals.events_in_signals;
}

struct ntk_live_trace {
    struct ntk_live_records records;
    struct ntk_ring_registry *registry;
    const struct ntk_clock *clock;
    struct ntk_live_trace_result result;
    struct ntk_err err; /* error of the records */
    uint64_t begin_ns, realtime_ns, polled_ns;
    uint64_t lost; /* number of lost events before */
    bool from_oldest;
};

static int info_write(const struct ntk_live_records *records, const char *folder, uint64_t begin_ns,
                      uint64_t end_ns, struct ntk_err *err)
{
    NtkNtracePb__Info info = NTK_NTRACE_PB__INFO__INIT;
    char *path = path_in(folder, "trace_info.pb");
    struct ntk_host host;

    ntk_host_get(&host);
    info.boot_id = host.boot_id;
    info.host_name = host.name;
    info.software_cores = (records->process.flags & NTK_PROCESS_SOFTWARE_CORE) != 0;
    info.version = NTK_NTRACE_VERSION;
    info.instance_id = "i-local";
    info.instance_type = (char *)records->process.instance_type;
    info.process_id = records->process.pid;
    info.core_count = records->core_count;
    info.first_core = records->first_logical;
    info.lnc = records->process.lnc;
    info.begin_ns = begin_ns;
    info.end_ns = end_ns;
    info.runtime_version = (char *)records->process.runtime_version;
    int ret = path ? ntk_ntrace_write(path, &info.base, err) : ntk_err_no_memory(err);
    free(path);
    return ret;
}

int ntk_live_process_err_missing(uint64_t pid, const char *more, struct ntk_err *err)
{
    bool exists = pid <= INT32_MAX && (kill((pid_t)pid, 0) == 0 || errno == EPERM);

    return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                       exists ? "process %llu has no readable hooks: its runtime has not started, "
                                "or its hooks are disabled or not loaded%s"
                              : "process %llu does not exist%s",
                       (unsigned long long)pid, more);
}

static int registry_open(struct ntk_live_trace *trace, const struct ntk_live_trace_options *options,
                         struct ntk_err *err)
{
    const struct ntk_ring_options ring = { .from = options->from_oldest ? NTK_RING_FROM_OLDEST
                                                                        : NTK_RING_FROM_NOW };
    struct ntk_live_records *records = &trace->records;
    int ret = ntk_ring_registry_open(&ring, &trace->registry, err);

    ret = ret == 0 ? ntk_ring_registry_poll(trace->registry, NULL, err) : ret;
    if (ret < 0) {
        return ret;
    }
    records->segment = ntk_live_trace_segment(trace->registry, options->pid,
                                              options->has_owner ? &options->owner : NULL);
    if (!records->segment) {
        return ntk_live_process_err_missing(options->pid, "", err);
    }
    ntk_ring_segment_process(records->segment, &records->process);
    return records->process.mode >= 2 ? 0
                                      : ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                                                    "process %u records no events: it was started "
                                                    "with NEURON_HOOKS=counters",
                                                    options->pid);
}

int ntk_live_trace_begin(const struct ntk_live_trace_options *options,
                         struct ntk_live_trace **out_trace, struct ntk_err *err)
{
    struct ntk_live_trace *trace = calloc(1, sizeof *trace);
    struct ntk_live_records *records;
    char *path = NULL;

    if (!trace) {
        return ntk_err_no_memory(err);
    }
    records = &trace->records;
    trace->clock = options->clock;
    trace->from_oldest = options->from_oldest;
    int ret = registry_open(trace, options, err);
    if (ret == 0) {
        trace->result.folder = folder_make(options->folder, options->pid, err);
        path = trace->result.folder ? path_in(trace->result.folder, "ntrace.pb") : NULL;
        ret = !trace->result.folder ? -EIO
              : path                ? ntk_ntrace_writer_begin(&records->writer, path, err)
                                    : ntk_err_no_memory(err);
    }
    free(path);
    if (ret < 0) {
        ntk_live_trace_destroy(trace);
        return ret;
    }
    trace->realtime_ns = ntk_clock_realtime_ns();
    trace->lost = lost_of(records->segment);
    records->err = &trace->err;
    ntk_live_records_begin(records);
    records->events_max =
        options->events_per_core * (records->core_count > 0 ? records->core_count : 1);
    trace->begin_ns = trace->polled_ns = ntk_clock_now_ns(trace->clock);
    ntk_live_records_drain(records); /* rings are followed from their first drain on */
    *out_trace = trace;
    return 0;
}

bool ntk_live_trace_step(struct ntk_live_trace *trace)
{
    struct ntk_live_records *records = &trace->records;
    uint64_t now_ns = ntk_clock_now_ns(trace->clock);

    if (records->failed || trace->result.has_ended) {
        return false;
    }
    if (now_ns - trace->polled_ns >= POLL_NS) {
        trace->polled_ns = now_ns;
        records->failed = ntk_ring_registry_poll(trace->registry, NULL, records->err);
        ntk_live_records_look(records);
        trace->result.has_ended = ntk_ring_segment_state(records->segment) != NTK_SEGMENT_ALIVE;
    }
    ntk_live_records_drain(records);
    trace->result.recorded_ns = now_ns - trace->begin_ns;
    return !records->failed && !trace->result.has_ended;
}

int ntk_live_trace_end(struct ntk_live_trace *trace, const struct ntk_live_host *host,
                       struct ntk_live_trace_result *out_result, struct ntk_err *err)
{
    struct ntk_live_records *records = &trace->records;
    uint64_t lost = lost_of(records->segment) - trace->lost;

    if (host) {
        ntk_live_host_write(records, host);
    }
    ntk_live_records_end(records, lost);
    trace->result.executions = records->executions;
    trace->result.lost = lost + records->beyond;
    if (records->failed && !records->writer.full) {
        *err = trace->err;
        return records->failed;
    }
    int ret = ntk_ntrace_writer_commit(&records->writer, err);
    if (ret < 0) {
        return ret;
    }
    /* Events from before the recording are part of it: the recording starts with the first of
     * them. */
    bool begins_before =
        trace->from_oldest && records->first_ns && records->first_ns < trace->realtime_ns;
    int saved = info_write(records, trace->result.folder,
                           begins_before ? records->first_ns : trace->realtime_ns,
                           ntk_clock_realtime_ns(), err);
    if (saved < 0) {
        return saved;
    }
    *out_result = trace->result;
    trace->result.folder = NULL; /* owned by the caller now */
    return ret;
}

void ntk_live_trace_destroy(struct ntk_live_trace *trace)
{
    if (!trace) {
        return;
    }
    ntk_live_records_fini(&trace->records);
    ntk_ring_registry_close(trace->registry);
    free(trace->result.folder);
    free(trace);
}

int ntk_live_trace_record(const struct ntk_live_trace_options *options,
                          struct ntk_live_trace_result *out_result, struct ntk_err *err)
{
    struct ntk_live_trace *trace = NULL;
    int ret = ntk_live_trace_begin(options, &trace, err);
    bool continues = true;

    if (ret != 0) {
        return ret;
    }
    while (continues && trace->result.recorded_ns < options->duration_ns &&
           (!options->continues ||
            options->continues((double)trace->result.recorded_ns / (double)options->duration_ns,
                               options->ctx))) {
        ntk_cond_sleep(options->clock, ntk_clock_now_ns(options->clock) + DRAIN_NS);
        continues = ntk_live_trace_step(trace);
    }
    ret = ntk_live_trace_end(trace, NULL, out_result, err);
    ntk_live_trace_destroy(trace);
    return ret;
}
