/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_inspect_vendor.h"
#include "runtime-hooks/core/core_state.h"
#include "runtime-hooks/core/core_thread.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/fs.h"
#include "shared/base/host.h"
#include "shared/formats/ntrace/ntrace.h"

#define SAMPLES_MAX 86400U /* one day; later samples are omitted */
#define CPUS_MAX 1024U

/* --- system trace ----------------------------------------------------------------------------- */

/* Writes the names from *inout_named + 1 to the last one used in the events, before these events,
 * so that a truncated file can resolve its names. */
static int names_add(struct ntk_ntrace_writer *writer, const struct ntk_ntrace_event *events,
                     size_t count, uint32_t *inout_named, struct ntk_err *err)
{
    NtkNtracePb__Trace names = NTK_NTRACE_PB__TRACE__INIT;
    uint32_t largest = *inout_named;

    for (size_t i = 0; i < count; i++) {
        largest = events[i].name > largest ? events[i].name : largest;
    }
    if (largest == *inout_named) {
        return 0;
    }
    names.names = calloc(largest - *inout_named, sizeof(char *));
    if (!names.names) {
        return ntk_err_no_memory(err);
    }
    for (uint32_t i = *inout_named; i < largest; i++) {
        names.names[names.n_names++] = (char *)ntk_core_trace_name(i + 1);
    }
    int ret = ntk_ntrace_writer_add(writer, &names.base, err);
    free(names.names);
    *inout_named = largest;
    return ret;
}

/* Writes at least one piece per core, so that the file lists each core. */
static int core_add(struct ntk_ntrace_writer *writer, enum ntk_core_trace_sink sink,
                    const struct ntk_core *core, uint32_t nc, struct ntk_ntrace_event *events,
                    uint32_t *inout_named, struct ntk_err *err)
{
    uint64_t position = 0;
    /* bounded, so that it does not block on a core that still records */
    uint64_t room = NTK_CORE_TRACE_EVENTS_MAX;
    size_t count = CORE_INSPECT_PIECE_EVENTS;
    int ret = 0;

    while (count == CORE_INSPECT_PIECE_EVENTS && room >= CORE_INSPECT_PIECE_EVENTS && ret == 0) {
        uint64_t lost = 0;

        count = ntk_core_trace_copy(sink, nc, &position, events, CORE_INSPECT_PIECE_EVENTS, &lost);
        room -= count;
        if (count == 0 && position > 0) {
            break;
        }
        ret = names_add(writer, events, count, inout_named, err);
        if (ret == 0) {
            ret = ntk_ntrace_writer_add_events(writer, nc, ntk_core_global(core, nc), lost, events,
                                               count, err);
        }
    }
    return ret;
}

int ntk_core_trace_save(const struct ntk_core *core, enum ntk_core_trace_sink sink,
                        const char *const *kind_names, const char *path, struct ntk_err *err)
{
    NtkNtracePb__Trace head = NTK_NTRACE_PB__TRACE__INIT;
    struct ntk_ntrace_writer writer = { 0 };
    struct ntk_ntrace_event *events = calloc(CORE_INSPECT_PIECE_EVENTS, sizeof *events);
    uint32_t named = 0;

    if (!events) {
        return ntk_err_no_memory(err);
    }
    head.version = NTK_NTRACE_VERSION;
    head.event_types = (char **)kind_names;
    head.n_event_types = NTK_CORE_TRACE_KINDS;
    int ret = ntk_ntrace_writer_begin(&writer, path, err);
    if (ret < 0) {
        free(events);
        return ret;
    }
    ret = ntk_ntrace_writer_add(&writer, &head.base, err);
    uint32_t core_count = ntk_core_trace_core_count(sink);
    for (uint32_t nc = 0; nc < core_count && ret == 0; nc++) {
        ret = core_add(&writer, sink, core, nc, events, &named, err);
    }
    if (ret < 0 && writer.bytes == 0) {
        ntk_ntrace_writer_abort(&writer); /* not even the head fits: no file */
    } else if (ret == 0 || writer.full) {
        ret = ntk_ntrace_writer_commit(&writer, err);
    } else {
        ntk_ntrace_writer_abort(&writer);
    }
    free(events);
    return ret;
}

int ntk_core_inspect_info_save(const struct ntk_core *core,
                               const struct ntk_core_inspect_info *info, const char *path,
                               struct ntk_err *err)
{
    NtkNtracePb__Info message = NTK_NTRACE_PB__INFO__INIT;
    struct ntk_host host;

    ntk_host_get(&host);
    message.boot_id = host.boot_id;
    message.host_name = host.name;
    message.software_cores = true;
    message.version = NTK_NTRACE_VERSION;
    message.instance_id = (char *)info->instance_id;
    message.instance_type = (char *)ntk_core_machine_get(core)->instance;
    message.process_id = (uint64_t)getpid();
    message.core_count = ntk_core_count(core);
    message.first_core = ntk_core_global(core, 0);
    message.lnc = ntk_core_lnc(core);
    message.begin_ns = info->begin_ns;
    message.end_ns = info->end_ns;
    message.runtime_version = (char *)info->runtime_version;
    message.session_id = info->session_id;
    return ntk_ntrace_write(path, &message.base, err);
}

/* --- the host --------------------------------------------------------------------------------- */

struct cpu_times {
    uint64_t busy, total; /* in jiffies, since boot */
};

struct ntk_core_sampler {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    /* protected by lock; the other members belong to the thread until it has ended */
    bool is_stopped;
    uint32_t cpu_count;
    struct cpu_times before[CPUS_MAX];
    struct ntk_vec times;   /* elements are uint64_t */
    struct ntk_vec percent; /* elements are double, cpu_count per time */
    struct ntk_vec memory;  /* elements are uint64_t: total, used, process; per time */
};

/* Parses "cpu3 10 20 ..." lines of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
 * steal. */
static uint32_t cpus_read(struct cpu_times *cpus)
{
    FILE *file = fopen("/proc/stat", "re");
    char line[512];
    uint32_t count = 0;

    while (file && count < CPUS_MAX && fgets(line, sizeof line, file)) {
        char *at = line + 3;

        if (strncmp(line, "cpu", 3) != 0) {
            break;
        }
        if (*at < '0' || *at > '9') {
            continue; /* skip the sum over all CPUs */
        }
        (void)strtoul(at, &at, 10);
        struct cpu_times cpu = { 0 };
        for (int i = 0; i < 8; i++) {
            uint64_t ticks = strtoull(at, &at, 10);

            cpu.total += ticks;
            cpu.busy += i == 3 || i == 4 ? 0 : ticks;
        }
        cpus[count++] = cpu;
    }
    if (file) {
        (void)fclose(file);
    }
    return count;
}

/* Reads the total, the used, and this process's resident bytes. */
static void memory_read(uint64_t *out)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    uint64_t available = 0;

    out[0] = out[1] = out[2] = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "MemTotal:", 9) == 0) {
            out[0] = strtoull(line + 9, NULL, 10) * 1024;
        } else if (strncmp(line, "MemAvailable:", 13) == 0) {
            available = strtoull(line + 13, NULL, 10) * 1024;
        }
    }
    if (file) {
        (void)fclose(file);
    }
    out[1] = out[0] > available ? out[0] - available : 0;
    if (ntk_fs_read_text("/proc/self/statm", line, sizeof line) > 0) {
        char *at = line;

        (void)strtoull(at, &at, 10);
        out[2] = strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    }
}

/* Adds the share of each processor since the last sample; if out of memory, the sample is
 * skipped. */
static void sample(struct ntk_core_sampler *sampler)
{
    struct cpu_times now[CPUS_MAX] = { 0 };
    uint64_t time_ns = ntk_clock_realtime_ns();

    if (sampler->times.count >= SAMPLES_MAX) {
        return;
    }
    (void)cpus_read(now);
    double *percent = ntk_vec_add_many(&sampler->percent, sampler->cpu_count);
    uint64_t *memory = ntk_vec_add_many(&sampler->memory, 3);
    if (!percent || !memory || ntk_vec_push(&sampler->times, &time_ns) < 0) {
        return;
    }
    for (uint32_t i = 0; i < sampler->cpu_count; i++) {
        uint64_t total = now[i].total - sampler->before[i].total;
        uint64_t busy = now[i].busy - sampler->before[i].busy;

        percent[i] = total > 0 && busy <= total ? 100.0 * (double)busy / (double)total : 0.0;
        sampler->before[i] = now[i];
    }
    memory_read(memory);
}

static void *sampler_main(void *ctx)
{
    struct ntk_core_sampler *sampler = ctx;
    uint64_t until_ns = ntk_clock_monotonic_ns();

    pthread_mutex_lock(&sampler->lock);
    while (!sampler->is_stopped) {
        until_ns += NTK_NS_PER_SECOND;
        while (!sampler->is_stopped &&
               ntk_cond_wait_until(&sampler->stop, &sampler->lock, until_ns) != -ETIMEDOUT) {
        }
        if (!sampler->is_stopped) {
            sample(sampler);
        }
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

int ntk_core_sampler_create(struct ntk_core_sampler **out_sampler, struct ntk_err *err)
{
    struct ntk_core_sampler *sampler = calloc(1, sizeof *sampler);

    if (!sampler) {
        return ntk_err_no_memory(err);
    }
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_cond_init(&sampler->stop, NULL);
    ntk_vec_init(&sampler->times, sizeof(uint64_t));
    ntk_vec_init(&sampler->percent, sizeof(double));
    ntk_vec_init(&sampler->memory, sizeof(uint64_t));
    sampler->cpu_count = cpus_read(sampler->before);
    sample(sampler);
    int ret = ntk_core_thread_start(&sampler->thread, sampler_main, sampler);
    sampler->has_thread = ret == 0;
    if (ret < 0) {
        ntk_core_sampler_destroy(sampler);
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(-ret));
    }
    *out_sampler = sampler;
    return 0;
}

static void sampler_stop(struct ntk_core_sampler *sampler)
{
    if (sampler->has_thread) {
        pthread_mutex_lock(&sampler->lock);
        sampler->is_stopped = true;
        pthread_cond_signal(&sampler->stop);
        pthread_mutex_unlock(&sampler->lock);
        pthread_join(sampler->thread, NULL);
        sampler->has_thread = false;
        sample(sampler); /* also at the end, even if that is soon */
    }
}

static int cpus_fill(const struct ntk_core_sampler *sampler, NtkNtracePb__HostSamples *samples)
{
    const double *percent = sampler->percent.items;
    size_t n = sampler->times.count;

    samples->cpus = calloc((size_t)sampler->cpu_count + 1, sizeof(NtkNtracePb__Cpu *));
    if (!samples->cpus) {
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < sampler->cpu_count; c++) {
        NtkNtracePb__Cpu *cpu = calloc(1, sizeof *cpu);

        if (!cpu) {
            return -ENOMEM;
        }
        ntk_ntrace_pb__cpu__init(cpu);
        samples->cpus[samples->n_cpus++] = cpu;
        cpu->percent = calloc(n + 1, sizeof *cpu->percent);
        if (!cpu->percent || asprintf(&cpu->name, "cpu%" PRIu32, c) < 0) {
            cpu->name = (char *)protobuf_c_empty_string;
            return -ENOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            cpu->percent[i] = percent[i * sampler->cpu_count + c];
        }
        cpu->n_percent = n;
    }
    return 0;
}

static int memory_fill(const struct ntk_core_sampler *sampler, NtkNtracePb__HostSamples *samples)
{
    const uint64_t *memory = sampler->memory.items;
    size_t n = sampler->times.count;

    samples->total_bytes = calloc(n + 1, sizeof(uint64_t));
    samples->used_bytes = calloc(n + 1, sizeof(uint64_t));
    samples->process_bytes = calloc(n + 1, sizeof(uint64_t));
    if (!samples->total_bytes || !samples->used_bytes || !samples->process_bytes) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        samples->total_bytes[i] = memory[3 * i];
        samples->used_bytes[i] = memory[3 * i + 1];
        samples->process_bytes[i] = memory[3 * i + 2];
    }
    samples->n_total_bytes = samples->n_used_bytes = samples->n_process_bytes = n;
    return 0;
}

static int samples_save(const struct ntk_core_sampler *sampler, bool is_cpu, const char *path,
                        struct ntk_err *err)
{
    NtkNtracePb__HostSamples *samples = calloc(1, sizeof *samples);
    size_t n = sampler->times.count;

    if (!samples) {
        return ntk_err_no_memory(err);
    }
    ntk_ntrace_pb__host_samples__init(samples);
    samples->version = NTK_NTRACE_VERSION;
    samples->timestamp_ns = calloc(n + 1, sizeof(uint64_t));
    int ret = samples->timestamp_ns ? 0 : -ENOMEM;
    if (ret == 0) {
        memcpy(samples->timestamp_ns, sampler->times.items, n * sizeof(uint64_t));
        samples->n_timestamp_ns = n;
        ret = is_cpu ? cpus_fill(sampler, samples) : memory_fill(sampler, samples);
    }
    ret = ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory")
                  : ntk_ntrace_write(path, &samples->base, err);
    ntk_ntrace_pb__host_samples__free_unpacked(samples, NULL);
    return ret;
}

static int vendor_samples_save(const struct ntk_core_sampler *sampler, bool is_cpu,
                               const char *path, struct ntk_err *err)
{
    const uint64_t *memory = sampler->memory.items; /* total, used, process */

    return is_cpu ? ntk_core_vendor_cpu_save(sampler->times.items, sampler->times.count,
                                             sampler->percent.items, sampler->cpu_count, path, err)
                  : ntk_core_vendor_memory_save(sampler->times.items, sampler->times.count,
                                                memory + 1, 3, path, err);
}

int ntk_core_sampler_save(struct ntk_core_sampler *sampler, bool is_vendor, const char *cpu_path,
                          const char *memory_path, struct ntk_err *err)
{
    const char *const paths[] = { memory_path, cpu_path };
    int ret = 0;

    sampler_stop(sampler);
    for (int is_cpu = 1; is_cpu >= 0 && ret == 0; is_cpu--) {
        if (paths[is_cpu]) {
            ret = is_vendor ? vendor_samples_save(sampler, is_cpu, paths[is_cpu], err)
                            : samples_save(sampler, is_cpu, paths[is_cpu], err);
        }
    }
    return ret;
}

void ntk_core_sampler_destroy(struct ntk_core_sampler *sampler)
{
    if (sampler) {
        sampler_stop(sampler);
        ntk_vec_fini(&sampler->times);
        ntk_vec_fini(&sampler->percent);
        ntk_vec_fini(&sampler->memory);
        pthread_cond_destroy(&sampler->stop);
        pthread_mutex_destroy(&sampler->lock);
        free(sampler);
    }
}
