/* SPDX-License-Identifier: MIT */
/*
 * service_profile - implements openneuron.rtd.v1.profile: captures models, and sends captures as
 * bytes.
 *
 * The core writes a capture to a file in a private folder; a worker waits for the recorded
 * execution, reads the file and removes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/rtd/rtd_manager.h"
#include "shared/base/log.h"
#include "shared/rpc/proto/openneuron_rtd.pb-c.h"

#define MODULE "profile"
#define NAME_BYTES_MAX 4096
#define NTFF_BYTES_MAX (INT64_C(1) << 30) /* maximum size of a capture in one message */

struct rtd_capture {
    struct ntk_core_queue_item item;
    struct rtd_capture *next;
    struct rtd_manager *manager;
    uint32_t model_id;
    char *name; /* name given by the client */
    char *file;
    struct rtd_wait *wait; /* client that requested its end; NULL if none */
};

static void capture_free(struct rtd_capture *capture)
{
    if (capture->file) {
        (void)unlink(capture->file);
    }
    free(capture->file);
    free(capture->name);
    free(capture);
}

/* Finds a capture by name, or by model if name is NULL. */
static struct rtd_capture **capture_find(struct rtd_manager *manager, const char *name,
                                         uint32_t model_id)
{
    struct rtd_capture **at = &manager->captures;

    while (*at && (name ? strcmp((*at)->name, name) != 0 : (*at)->model_id != model_id)) {
        at = &(*at)->next;
    }
    return at;
}

static bool folder_make(struct rtd_manager *manager)
{
    const char *parent = getenv("TMPDIR");
    char *folder = NULL;

    if (manager->capture_folder) {
        return true;
    }
    if (asprintf(&folder, "%s/neuron-rtd-XXXXXX", parent && *parent ? parent : "/tmp") < 0) {
        errno = ENOMEM;
        return false;
    }
    if (!mkdtemp(folder)) {
        free(folder);
        return false;
    }
    manager->capture_folder = folder;
    return true;
}

void rtd_profile_start(struct rtd_manager *manager, struct ntk_rpc_call *call,
                       const ProtobufCMessage *message)
{
    const Openneuron__Rtd__V1__StartRequest *asked = (const void *)message;
    const struct rtd_model *model = rtd_model_find(manager, asked->h_nn);
    struct ntk_err err = { 0 };

    if (!model) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "Failed to find model: %u",
                   asked->h_nn ? asked->h_nn->id : 0);
        return;
    }
    if (!asked->path[0] || strlen(asked->path) > NAME_BYTES_MAX) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "path of %zu bytes: expected 1 to %d",
                   strlen(asked->path), NAME_BYTES_MAX);
        return;
    }
    if (*capture_find(manager, asked->path, 0)) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID, "a capture is already being written to %.500s",
                   asked->path);
        return;
    }
    const struct rtd_capture *other = *capture_find(manager, NULL, model->id);
    if (other) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID,
                   "a capture of model %u to %.500s is already running", model->id, other->name);
        return;
    }
    if (!folder_make(manager)) {
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "cannot create the folder for captures: %s",
                   strerror(errno));
        return;
    }
    struct rtd_capture *capture = calloc(1, sizeof *capture);
    if (!capture || !(capture->name = strdup(asked->path)) ||
        asprintf(&capture->file, "%s/%u-%" PRIu64 ".ntff", manager->capture_folder, model->id,
                 ++manager->last_capture) < 0) {
        if (capture) {
            capture->file = NULL;
            capture_free(capture);
        }
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE, "out of memory");
        return;
    }
    int ret = ntk_core_profile_start(model->core, capture->file, &err);
    if (ret < 0) {
        rtd_refuse(call, rtd_nerr_of_error(ret), "%s", err.text);
        capture_free(capture);
        return;
    }
    capture->manager = manager;
    capture->model_id = model->id;
    capture->next = manager->captures;
    manager->captures = capture;
    rtd_good(call);
}

/* Returns the whole file; NULL with a message. */
static uint8_t *file_read(const char *path, size_t *out_bytes, struct ntk_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    uint8_t *bytes = NULL;

    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "no capture was written: %s",
                          strerror(errno));
    } else if (status.st_size > NTFF_BYTES_MAX) {
        (void)ntk_err_set(err, -EFBIG, NTK_ERR_NO_OFFSET, "the capture has %jd bytes (at most %jd)",
                          (intmax_t)status.st_size, (intmax_t)NTFF_BYTES_MAX);
    } else if (!(bytes = malloc((size_t)status.st_size + 1))) {
        (void)ntk_err_no_memory(err);
    } else {
        ssize_t got = 1;
        for (*out_bytes = 0; got > 0 && *out_bytes < (size_t)status.st_size;) {
            got = read(fd, bytes + *out_bytes, (size_t)status.st_size - *out_bytes);
            *out_bytes += got > 0 ? (size_t)got : 0;
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return bytes;
}

static void stop_answer(struct rtd_capture *capture, uint8_t *bytes, size_t bytes_count,
                        const struct ntk_err *err)
{
    Openneuron__Rtd__V1__StopResponse reply = OPENNEURON__RTD__V1__STOP_RESPONSE__INIT;
    Nrt__Status status = NRT__STATUS__INIT;
    struct ntk_rpc_call *call;

    pthread_mutex_lock(&capture->manager->lock);
    call = rtd_wait_end(capture->wait);
    if (call && bytes) {
        status.details.data = (uint8_t *)err->text; /* a note about missing data, if any */
        status.details.len = strlen(err->text);
        reply.status = &status;
        reply.ntff.data = bytes;
        reply.ntff.len = bytes_count;
        ntk_rpc_call_finish(call, &reply.base, NTK_RPC_OK, NULL);
    } else if (call) {
        rtd_refuse(call, NRT__NERR__NERR_FAIL, "%s", err->text);
    }
    pthread_mutex_unlock(&capture->manager->lock);
}

static bool stop_run(struct ntk_core_queue_item *item, bool is_broken)
{
    struct rtd_capture *capture = (struct rtd_capture *)item;
    struct ntk_err err = { 0 };
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;

    (void)is_broken;
    int ret = ntk_core_profile_stop(capture->manager->core, capture->file, &err);
    if (ret >= 0) {
        bytes = file_read(capture->file, &bytes_count, &err);
    }
    if (ret != 0 || !bytes) {
        ntk_log_warn(MODULE, "capture %s of model %u: %s", capture->name, capture->model_id,
                     err.text);
    }
    stop_answer(capture, bytes, bytes_count, &err);
    free(bytes);
    return true;
}

static void stop_done(struct ntk_core_queue_item *item)
{
    capture_free((struct rtd_capture *)item);
}

void rtd_profile_stop(struct rtd_manager *manager, struct ntk_rpc_call *call,
                      const ProtobufCMessage *message)
{
    const Openneuron__Rtd__V1__StopRequest *asked = (const void *)message;
    struct rtd_capture **at = capture_find(manager, asked->path, 0);
    struct rtd_capture *capture = *at;

    if (!capture) {
        rtd_refuse(call, NRT__NERR__NERR_INVALID_HANDLE, "no capture is being written to %.500s",
                   asked->path);
        return;
    }
    capture->wait = rtd_wait_begin(call);
    if (!capture->wait) {
        return;
    }
    capture->item.run = stop_run;
    capture->item.destroy = stop_done;
    if (ntk_core_queue_submit(manager->capture_stops, &capture->item, NULL) < 0) {
        (void)rtd_wait_end(capture->wait);
        capture->wait = NULL;
        rtd_refuse(call, NRT__NERR__NERR_RESOURCE,
                   "too many captures are being written: try again later");
        return;
    }
    *at = capture->next;
}

void rtd_captures_forget(struct rtd_manager *manager, uint32_t model_id)
{
    struct rtd_capture **at;
    struct rtd_capture *capture;

    pthread_mutex_lock(&manager->lock);
    while ((capture = *(at = capture_find(manager, NULL, model_id)))) {
        struct ntk_err err;

        *at = capture->next;
        pthread_mutex_unlock(&manager->lock);
        (void)ntk_core_profile_stop(manager->core, capture->file, &err);
        capture_free(capture);
        pthread_mutex_lock(&manager->lock);
    }
    pthread_mutex_unlock(&manager->lock);
}

void rtd_captures_close(struct rtd_manager *manager)
{
    if (manager->capture_folder) {
        (void)rmdir(manager->capture_folder);
        free(manager->capture_folder);
    }
}
