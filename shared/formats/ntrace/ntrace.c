/* SPDX-License-Identifier: MIT */
#include "shared/formats/ntrace/ntrace.h"

#include <errno.h>
#include <stdlib.h>

#include "shared/base/fs.h"

int ntk_ntrace_write(const char *path, const ProtobufCMessage *message, struct ntk_err *err)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(size + 1);

    if (!bytes) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    int ret = ntk_fs_write(path, bytes, protobuf_c_message_pack(message, bytes), err);
    free(bytes);
    return ret;
}

/* NULL and *out_ret on failure. */
static void *message_read(const char *path, const ProtobufCMessageDescriptor *descriptor,
                          int *out_ret, struct ntk_err *err)
{
    uint8_t *bytes = NULL;
    size_t count = 0;

    *out_ret = ntk_fs_read(path, (size_t)NTK_NTRACE_FILE_BYTES_MAX, &bytes, &count, err);
    if (*out_ret < 0) {
        return NULL;
    }
    void *message = protobuf_c_message_unpack(descriptor, NULL, count, bytes);
    free(bytes);
    if (!message) {
        *out_ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s holds no such message", path);
    }
    return message;
}

static int version_check(const char *path, uint32_t version, struct ntk_err *err)
{
    return version == NTK_NTRACE_VERSION
               ? 0
               : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s has version %u, not %u", path,
                             version, NTK_NTRACE_VERSION);
}

static int core_check(const char *path, const NtkNtracePb__Trace *trace,
                      const NtkNtracePb__Core *core, struct ntk_err *err)
{
    size_t n = core->n_tracking_id;
    int is_sound = core->n_timestamp_ns == n && core->n_exec_id == n &&
                   core->n_nc_timestamp_ns == n && core->n_size == n && core->n_model_id == n &&
                   core->n_name == n && core->n_thread_id == n && core->n_device_core_idx == n &&
                   core->n_hbm_idx == n && core->n_event_type == n && core->n_phase == n;

    for (size_t i = 0; i < n && is_sound; i++) {
        is_sound = core->event_type[i] < trace->n_event_types && core->name[i] <= trace->n_names &&
                   core->phase[i] <= 2;
    }
    return is_sound ? 0
                    : ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET,
                                  "%s: the columns of core %u do not fit", path, core->nc_idx);
}

int ntk_ntrace_read(const char *path, NtkNtracePb__Trace **out_trace, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Trace *trace = message_read(path, &ntk_ntrace_pb__trace__descriptor, &ret, err);

    if (!trace) {
        return ret;
    }
    ret = version_check(path, trace->version, err);
    for (size_t i = 0; i < trace->n_cores && ret == 0; i++) {
        ret = core_check(path, trace, trace->cores[i], err);
    }
    if (ret < 0) {
        ntk_ntrace_pb__trace__free_unpacked(trace, NULL);
        return ret;
    }
    *out_trace = trace;
    return 0;
}

int ntk_ntrace_read_info(const char *path, NtkNtracePb__Info **out_info, struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__Info *info = message_read(path, &ntk_ntrace_pb__info__descriptor, &ret, err);

    if (!info) {
        return ret;
    }
    ret = version_check(path, info->version, err);
    if (ret < 0) {
        ntk_ntrace_pb__info__free_unpacked(info, NULL);
        return ret;
    }
    *out_info = info;
    return 0;
}

int ntk_ntrace_read_host(const char *path, NtkNtracePb__HostSamples **out_samples,
                         struct ntk_err *err)
{
    int ret = 0;
    NtkNtracePb__HostSamples *samples =
        message_read(path, &ntk_ntrace_pb__host_samples__descriptor, &ret, err);

    if (!samples) {
        return ret;
    }
    size_t n = samples->n_timestamp_ns;
    ret = version_check(path, samples->version, err);
    for (size_t i = 0; i < samples->n_cpus && ret == 0; i++) {
        if (samples->cpus[i]->n_percent != n) {
            ret = ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s: the columns do not fit", path);
        }
    }
    if (ret < 0) {
        ntk_ntrace_pb__host_samples__free_unpacked(samples, NULL);
        return ret;
    }
    *out_samples = samples;
    return 0;
}
