/* SPDX-License-Identifier: MIT */
/* fuzz_ntrace - any bytes as each file of an inspection; files accepted as valid are walked. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/formats/ntrace/ntrace.h"
#include "shared/formats/ntrace/ntrace_comm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink; /* so that the walks are included */

static size_t trace_walk(const NtkNtracePb__Trace *trace)
{
    size_t sum = 0;

    for (size_t c = 0; c < trace->n_cores; c++) {
        const NtkNtracePb__Core *core = trace->cores[c];

        for (size_t i = 0; i < core->n_tracking_id; i++) {
            sum += strlen(trace->event_types[core->event_type[i]]);
            if (core->name[i] > 0) {
                struct ntk_ntrace_comm comm;

                sum += ntk_ntrace_comm_read(trace->names[core->name[i] - 1], &comm) == 0 &&
                       comm.rank < comm.rank_count;
            }
            sum += core->phase[i] + core->thread_id[i] + core->hbm_idx[i];
        }
    }
    return sum;
}

static size_t host_walk(const NtkNtracePb__HostSamples *samples)
{
    size_t sum = 0;

    for (size_t i = 0; i < samples->n_timestamp_ns; i++) {
        sum += samples->n_total_bytes > 0 && samples->used_bytes[i] > samples->total_bytes[i];
        for (size_t c = 0; c < samples->n_cpus; c++) {
            sum += samples->cpus[c]->percent[i] > 100.0;
        }
    }
    return sum;
}

static int piece_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    *(size_t *)ctx += trace_walk(piece);
    return 0;
}

/* The same bytes as a file that is read piece by piece. */
static size_t each_walk(const uint8_t *data, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    size_t sum = 0;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size) {
        (void)ntk_ntrace_each(path, piece_take, &sum, NULL);
    }
    close(fd);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    NtkNtracePb__Trace *trace = NULL;
    NtkNtracePb__Info *info = NULL;
    NtkNtracePb__HostSamples *samples = NULL;
    size_t sum = 0;

    if (ntk_ntrace_read_bytes(data, size, "fuzz", &trace, NULL) >= 0) {
        sum += trace_walk(trace);
        ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
    }
    if (ntk_ntrace_read_info_bytes(data, size, "fuzz", &info, NULL) >= 0) {
        sum += strlen(info->instance_id);
        ntk_ntrace_pb__info__free_unpacked(info, NULL);
    }
    if (ntk_ntrace_read_host_bytes(data, size, "fuzz", &samples, NULL) >= 0) {
        sum += host_walk(samples);
        ntk_ntrace_pb__host_samples__free_unpacked(samples, NULL);
    }
    sink = sum + each_walk(data, size);
    return 0;
}
