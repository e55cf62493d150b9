/* SPDX-License-Identifier: MIT */
/* vendor_host - converts trace_info.pb and the host samples of the vendor's folder to this
 * project's format. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"

#define PROCESSORS_MAX 4096U
#define SAMPLES_MAX 4000000U
/* Maximum number of cells in the table of processors and rounds: this many per record, plus a
 * constant. */
#define CELLS_PER_RECORD 4U
#define CELLS_MIN 65536U
#define FIRST_VERSION 2U
#define LAST_VERSION 3U

/* ---- trace_info.pb ---- */

/* Returns a string that is freed with the message. */
static char *message_text(const char *text)
{
    char *copy = strdup(text);

    return copy ? copy : (char *)protobuf_c_empty_string;
}

int ntk_vendor_session_info(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    int ret = ntk_vendor_trace_info_read(path, &trace->vendor, err);
    const struct ntk_vendor_trace_info *vendor = trace->vendor;

    if (ret < 0) {
        return ret;
    }
    NtkNtracePb__Info *info = calloc(1, sizeof *info);
    if (!info) {
        return ntk_err_no_memory(err);
    }
    ntk_ntrace_pb__info__init(info);
    info->version = vendor->version < UINT32_MAX ? (uint32_t)vendor->version : UINT32_MAX;
    info->instance_id = message_text(vendor->instance_id);
    info->instance_type = message_text(vendor->instance_type);
    info->process_id = vendor->process_id;
    info->lnc = vendor->lnc < UINT32_MAX ? (uint32_t)vendor->lnc : 0;
    info->begin_ns = vendor->begin_ns;
    info->end_ns = vendor->end_ns;
    info->session_id = vendor->session_id;
    trace->info = info;
    if (vendor->version < FIRST_VERSION || vendor->version > LAST_VERSION) {
        ntk_vendor_session_note(trace, "Version",
                                "%s has version %" PRIu64 "; fields may be missing "
                                "(known versions: 2 and 3)",
                                path, vendor->version);
    }
    return ret;
}

/* ---- samples ---- */

struct cell {
    uint32_t round, processor;
    double percent;
};

struct samples {
    struct ntk_vec times; /* elements are uint64_t: rounds */
    struct ntk_vec cells; /* elements are struct cell */
    struct ntk_vec used;  /* elements are uint64_t */
    uint32_t processors;
    bool has_round, has_value; /* true in a round; true if the round has a value */
    bool has_rounds;           /* true if a round has ended */
    uint64_t damaged;
};

static int memory_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    struct samples *samples = ctx;
    struct ntk_vendor_trace_sample sample;

    (void)offset;
    if (!ntk_vendor_trace_memory_read(bytes, count, &sample) || sample.time_ns == 0) {
        samples->damaged++;
        return 0;
    }
    if (samples->times.count >= SAMPLES_MAX) {
        return 0;
    }
    return ntk_vec_push(&samples->times, &sample.time_ns) < 0 ||
                   ntk_vec_push(&samples->used, &sample.used_bytes) < 0
               ? -ENOMEM
               : 0;
}

/* Ends a round. The first round has no values, because it has no earlier sample. Later rounds
 * without values belong to idle processors. */
static void round_end(struct samples *samples)
{
    if (samples->has_round && !samples->has_value && !samples->has_rounds) {
        samples->times.count--;
        samples->cells.count = 0;
    }
    samples->has_rounds = samples->has_rounds || samples->has_round;
    samples->has_round = false;
}

static int cpu_take(const uint8_t *bytes, size_t count, uint64_t offset, void *ctx)
{
    struct samples *samples = ctx;
    struct ntk_vendor_trace_sample sample;

    (void)offset;
    if (!ntk_vendor_trace_cpu_read(bytes, count, &sample) || sample.time_ns == 0 ||
        sample.processor >= PROCESSORS_MAX) {
        samples->damaged++;
        return 0;
    }
    if (samples->cells.count >= SAMPLES_MAX) {
        return 0;
    }
    const uint64_t *last =
        samples->has_round ? ntk_vec_at(&samples->times, samples->times.count - 1) : NULL;
    if (!last || *last != sample.time_ns) {
        round_end(samples);
        if (ntk_vec_push(&samples->times, &sample.time_ns) < 0) {
            return -ENOMEM;
        }
        samples->has_round = true;
        samples->has_value = false;
    }
    samples->has_value = samples->has_value || sample.has_percent;
    samples->processors = sample.processor >= samples->processors ? (uint32_t)sample.processor + 1
                                                                  : samples->processors;
    struct cell cell = { (uint32_t)samples->times.count - 1, (uint32_t)sample.processor,
                         sample.percent };
    return ntk_vec_push(&samples->cells, &cell);
}

static int read_samples(const char *path, ntk_vendor_trace_take *take, struct samples *samples,
                        struct ntk_system_trace *trace, struct ntk_err *err)
{
    ntk_vec_init(&samples->times, sizeof(uint64_t));
    ntk_vec_init(&samples->cells, sizeof(struct cell));
    ntk_vec_init(&samples->used, sizeof(uint64_t));
    int ret = ntk_vendor_trace_each(path, take, samples, err);
    if (ret == -ENOMEM) {
        ntk_err_no_memory(err);
    }
    if (samples->damaged > 0) {
        ntk_vendor_session_note(trace, "Damage", "%s: %" PRIu64 " records were dropped", path,
                                samples->damaged);
    }
    return ret;
}

static void samples_fini(struct samples *samples)
{
    ntk_vec_fini(&samples->times);
    ntk_vec_fini(&samples->cells);
    ntk_vec_fini(&samples->used);
}

/* Creates a message with the times; NULL if out of memory. */
static NtkNtracePb__HostSamples *message_create(const struct samples *samples)
{
    NtkNtracePb__HostSamples *message = calloc(1, sizeof *message);
    size_t n = samples->times.count;

    if (!message) {
        return NULL;
    }
    ntk_ntrace_pb__host_samples__init(message);
    message->version = NTK_NTRACE_VERSION;
    message->timestamp_ns = calloc(n + 1, sizeof(uint64_t));
    if (!message->timestamp_ns) {
        free(message);
        return NULL;
    }
    if (n > 0) {
        memcpy(message->timestamp_ns, samples->times.items, n * sizeof(uint64_t));
    }
    message->n_timestamp_ns = n;
    return message;
}

static int cpus_fill(const struct samples *samples, NtkNtracePb__HostSamples *message)
{
    size_t n = samples->times.count;

    message->cpus = calloc((size_t)samples->processors + 1, sizeof(NtkNtracePb__Cpu *));
    if (!message->cpus) {
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < samples->processors; c++) {
        NtkNtracePb__Cpu *cpu = calloc(1, sizeof *cpu);

        if (!cpu) {
            return -ENOMEM;
        }
        ntk_ntrace_pb__cpu__init(cpu);
        message->cpus[message->n_cpus++] = cpu;
        cpu->percent = calloc(n + 1, sizeof *cpu->percent);
        if (!cpu->percent) {
            return -ENOMEM;
        }
        cpu->n_percent = n;
    }
    ntk_vec_each(const struct cell, cell, &samples->cells) {
        message->cpus[cell->processor]->percent[cell->round] = cell->percent;
    }
    return 0;
}

int ntk_vendor_session_cpu(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    struct samples samples = { 0 };
    int ret = read_samples(path, cpu_take, &samples, trace, err);

    round_end(&samples);
    if (ret >= 0 && samples.times.count > 0 &&
        samples.times.count * (uint64_t)samples.processors >
            CELLS_PER_RECORD * (uint64_t)samples.cells.count + CELLS_MIN) {
        ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                          "%s: some sampling rounds do not include all processors", path);
    } else if (ret >= 0 && samples.times.count > 0) {
        NtkNtracePb__HostSamples *message = message_create(&samples);

        if (!message || cpus_fill(&samples, message) < 0) {
            ret = ntk_err_no_memory(err);
        }
        trace->cpu = message;
    }
    samples_fini(&samples);
    return ret;
}

int ntk_vendor_session_memory(const char *path, struct ntk_system_trace *trace, struct ntk_err *err)
{
    struct samples samples = { 0 };
    int ret = read_samples(path, memory_take, &samples, trace, err);
    size_t n = samples.times.count;

    if (ret >= 0 && n > 0) {
        NtkNtracePb__HostSamples *message = message_create(&samples);

        if (message) {
            message->used_bytes = calloc(n, sizeof(uint64_t));
            message->total_bytes = calloc(n, sizeof(uint64_t));
        }
        if (message && message->used_bytes && message->total_bytes) {
            memcpy(message->used_bytes, samples.used.items, n * sizeof(uint64_t));
            for (size_t i = 0; i < n; i++) {
                message->total_bytes[i] = trace->vendor ? trace->vendor->memory_bytes : 0;
            }
            message->n_used_bytes = message->n_total_bytes = n; /* none for the process */
        } else {
            ret = ntk_err_no_memory(err);
        }
        trace->memory = message;
    }
    samples_fini(&samples);
    return ret;
}
