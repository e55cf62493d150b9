/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_inspect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime-hooks/core/core_state.h"
#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/formats/ntrace/ntrace.h"

#define SAVE_BATCH 4096U
#define SAMPLES_MAX 86400U /* a day; later ones are left out */
#define CPUS_MAX 1024U

/* --- system trace --------------------------------------------------------------------------------- */

/* Every event of one core. */
static int events_take(enum ntk_core_trace_sink sink, uint32_t nc, struct ntk_vec *events,
                       uint64_t *out_lost)
{
    size_t taken = SAVE_BATCH;

    while (taken == SAVE_BATCH && events->count < NTK_CORE_TRACE_EVENTS_MAX) {
        struct ntk_core_trace_event *to = ntk_vec_add_many(events, SAVE_BATCH);

        if (!to) {
            return -ENOMEM;
        }
        taken = ntk_core_trace_take(sink, nc, to, SAVE_BATCH, out_lost);
        events->count -= SAVE_BATCH - taken;
    }
    return 0;
}

/* The columns; *core owns them even on failure. */
static int columns_fill(NtkNtracePb__Core *core, const struct ntk_vec *events)
{
    size_t n = events->count;
    const struct ntk_core_trace_event *event = events->items;

#define COLUMN(name, type, member)                 \
    do {                                           \
        core->name = calloc(n + 1, sizeof(type));  \
        if (!core->name) {                         \
            return -ENOMEM;                        \
        }                                          \
        core->n_##name = n;                        \
        for (size_t i = 0; i < n; i++) {           \
            core->name[i] = (type)event[i].member; \
        }                                          \
    } while (0)
    COLUMN(tracking_id, uint64_t, tracking_id);
    COLUMN(timestamp_ns, uint64_t, time_ns);
    COLUMN(exec_id, uint64_t, execution_id);
    COLUMN(nc_timestamp_ns, uint64_t, device_ns);
    COLUMN(size, uint64_t, bytes);
    COLUMN(model_id, uint32_t, model_id);
    COLUMN(name, uint32_t, name);
    COLUMN(thread_id, uint32_t, thread_id);
    COLUMN(device_core_idx, uint32_t, device_core);
    COLUMN(hbm_idx, uint32_t, stack);
    COLUMN(event_type, uint32_t, kind);
    COLUMN(phase, uint32_t, phase);
#undef COLUMN
    return 0;
}

/* The texts of the names that events have; the array's size is what they need. */
static int names_fill(NtkNtracePb__Trace *trace)
{
    uint32_t largest = 0;

    for (size_t c = 0; c < trace->n_cores; c++) {
        for (size_t i = 0; i < trace->cores[c]->n_name; i++) {
            largest = trace->cores[c]->name[i] > largest ? trace->cores[c]->name[i] : largest;
        }
    }
    trace->names = calloc((size_t)largest + 1, sizeof(char *));
    if (!trace->names) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < largest; i++) {
        trace->names[i] = strdup(ntk_core_trace_name(i + 1));
        if (!trace->names[i]) {
            return -ENOMEM;
        }
        trace->n_names++;
    }
    return 0;
}

static int trace_fill(NtkNtracePb__Trace *trace, const struct ntk_core *core,
                      enum ntk_core_trace_sink sink, const char *const *kind_names)
{
    uint32_t core_count = ntk_core_trace_core_count(sink);

    trace->version = NTK_NTRACE_VERSION;
    trace->event_types = calloc(NTK_CORE_TRACE_KINDS, sizeof(char *));
    trace->cores = calloc((size_t)core_count + 1, sizeof(NtkNtracePb__Core *));
    if (!trace->event_types || !trace->cores) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < NTK_CORE_TRACE_KINDS; i++) {
        trace->event_types[i] = strdup(kind_names[i]);
        if (!trace->event_types[i]) {
            return -ENOMEM;
        }
        trace->n_event_types++;
    }
    for (uint32_t nc = 0; nc < core_count; nc++) {
        struct ntk_vec events = NTK_VEC_INIT(struct ntk_core_trace_event);
        NtkNtracePb__Core *to = calloc(1, sizeof *to);

        if (!to) {
            return -ENOMEM;
        }
        ntk_ntrace_pb__core__init(to);
        trace->cores[trace->n_cores++] = to;
        to->nc_idx = nc;
        to->worker_gid = ntk_core_global(core, nc);
        int ret = events_take(sink, nc, &events, &to->lost);
        if (ret == 0) {
            ret = columns_fill(to, &events);
        }
        ntk_vec_fini(&events);
        if (ret < 0) {
            return ret;
        }
    }
    return names_fill(trace);
}

int ntk_core_trace_save(const struct ntk_core *core, enum ntk_core_trace_sink sink,
                        const char *const *kind_names, const char *path, struct ntk_err *err)
{
    NtkNtracePb__Trace *trace = calloc(1, sizeof *trace);

    if (!trace) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    ntk_ntrace_pb__trace__init(trace);
    int ret = trace_fill(trace, core, sink, kind_names);
    ret = ret < 0 ? ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "out of memory")
                  : ntk_ntrace_write(path, &trace->base, err);
    ntk_ntrace_pb__trace__free_unpacked(trace, NULL); /* every part of it is malloc'ed */
    return ret;
}

int ntk_core_inspect_info_save(const struct ntk_core *core,
                               const struct ntk_core_inspect_info *info, const char *path,
                               struct ntk_err *err)
{
    NtkNtracePb__Info message = NTK_NTRACE_PB__INFO__INIT;

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

/* --- the host ------------------------------------------------------------------------------------- */

struct cpu_times {
    uint64_t busy, total; /* jiffies since boot */
};

struct ntk_core_sampler {
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool is_stopped; /* under lock; the rest is the thread's until it has ended */
    uint32_t cpu_count;
    struct cpu_times before[CPUS_MAX];
    struct ntk_vec times;   /* of uint64_t */
    struct ntk_vec percent; /* of double, cpu_count per time */
    struct ntk_vec memory;  /* of uint64_t: total, used, process; per time */
};

/* "cpu3 10 20 ..." of /proc/stat; user, nice, system, idle, iowait, irq, softirq, steal. */
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
            continue; /* the sum */
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

/* Total, used and this process's resident bytes. */
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

/* The share of a processor is that since the last look; without memory the sample is left out. */
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
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->is_stopped) {
        until.tv_sec++;
        while (!sampler->is_stopped &&
               pthread_cond_timedwait(&sampler->stop, &sampler->lock, &until) != ETIMEDOUT) {
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
    pthread_condattr_t monotonic;

    if (!sampler) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->stop, &monotonic);
    pthread_condattr_destroy(&monotonic);
    ntk_vec_init(&sampler->times, sizeof(uint64_t));
    ntk_vec_init(&sampler->percent, sizeof(double));
    ntk_vec_init(&sampler->memory, sizeof(uint64_t));
    sampler->cpu_count = cpus_read(sampler->before);
    sample(sampler);
    int ret = pthread_create(&sampler->thread, NULL, sampler_main, sampler);
    sampler->has_thread = ret == 0;
    if (ret != 0) {
        ntk_core_sampler_destroy(sampler);
        return ntk_err_set(err, -ret, NTK_ERR_NO_OFFSET, "no thread: %s", strerror(ret));
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
        sample(sampler); /* the end, however soon it comes */
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
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
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

int ntk_core_sampler_save(struct ntk_core_sampler *sampler, const char *cpu_path,
                          const char *memory_path, struct ntk_err *err)
{
    int ret = 0;

    sampler_stop(sampler);
    if (cpu_path) {
        ret = samples_save(sampler, true, cpu_path, err);
    }
    if (memory_path && ret == 0) {
        ret = samples_save(sampler, false, memory_path, err);
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
