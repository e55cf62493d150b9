/* SPDX-License-Identifier: MIT */
/* session - the calls of libnrt that a capture needs, found with dlsym. */
#include "profiler/capture/session.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nrt/nrt.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrt_profile.h"
#include "nrt/nrt_sys_trace.h"
#include "shared/base/buf.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/neff/neff.h"

#define NEFF_BYTES_MAX ((size_t)64 << 30)
#define INPUT_BYTES_MAX ((size_t)64 << 30)
#define ASYNC_DEPTH "8"
#define LIBRARY_NAME "libnrt.so.1"

/* One row per call: the table is the struct and the list of symbols. */
#define CALLS(X)                    \
    X(nrt_init)                     \
    X(nrt_close)                    \
    X(nrt_load)                     \
    X(nrt_unload)                   \
    X(nrt_get_model_tensor_info)    \
    X(nrt_free_model_tensor_info)   \
    X(nrt_allocate_tensor_set)      \
    X(nrt_destroy_tensor_set)       \
    X(nrt_add_tensor_to_tensor_set) \
    X(nrt_tensor_allocate)          \
    X(nrt_tensor_free)              \
    X(nrt_tensor_write)             \
    X(nrt_tensor_read)              \
    X(nrt_execute)                  \
    X(nrt_profile_start)            \
    X(nrt_profile_stop)             \
    X(nrt_get_status_as_str)

/* Not in every release; asked for when needed. */
#define OPTIONAL_CALLS(X)                                      \
    X(nrt_load_collectives)                                    \
    X(nrt_barrier)                                             \
    X(nrt_register_async_exec_callback)                        \
    X(nrt_tensor_allocate_slice)                               \
    X(nrt_sys_trace_config_allocate)                           \
    X(nrt_sys_trace_config_free)                               \
    X(nrt_sys_trace_config_set_capture_enabled_for_event_type) \
    X(nrt_sys_trace_get_event_types)                           \
    X(nrt_sys_trace_free_event_types)                          \
    X(nrt_sys_trace_start)                                     \
    X(nrt_sys_trace_stop)                                      \
    X(nrt_sys_trace_fetch_events)                              \
    X(nrt_sys_trace_buffer_free)

struct tensor {
    nrt_tensor_t *tensor;
    const nrt_tensor_info_t *info;
};

struct ntk_session {
    void *library;
#define MEMBER(name) __typeof__(name) *name;
    CALLS(MEMBER)
    OPTIONAL_CALLS(MEMBER)
#undef MEMBER
    struct ntk_session_options options;
    nrt_tensor_t *shared; /* what all large tensors are slices of */
    bool is_initialised;
    nrt_model_t *model;
    nrt_tensor_info_array_t *infos;
    struct tensor *tensors;
    size_t tensor_count;
    nrt_tensor_set_t *inputs, *outputs;
    char *recording; /* the file, while recording */
};

/* What the callback of the one session of the process counts. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t submitted; /* by the session's thread alone */
    uint64_t done;
    NRT_STATUS first_failure;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void execution_done(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
                           NRT_STATUS status)
{
    (void)params;
    (void)model_id;
    (void)vnc;
    (void)job_id;
    pthread_mutex_lock(&queue.lock);
    queue.done++;
    if (queue.first_failure == NRT_SUCCESS) {
        queue.first_failure = status;
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static int fail(struct ntk_session *s, struct ntk_err *err, NRT_STATUS status, const char *what)
{
    return ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "%s failed: %s (%d)", what,
                       s->nrt_get_status_as_str ? s->nrt_get_status_as_str(status) : "?",
                       (int)status);
}

/* ---- the library ---- */

static void *open_library(struct ntk_err *err)
{
    const char *named = getenv("NEURON_LIBNRT");
    char path[4096];
    void *library = NULL;

    if (named && named[0]) {
        library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET, "cannot load NEURON_LIBNRT: %s",
                        dlerror());
        }
        return library;
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    if (n > 0) {
        path[n] = 0;
        char *slash = strrchr(path, '/');
        ntk_str_copy(slash ? slash : path, 64, "/../lib/" LIBRARY_NAME);
        if (access(path, F_OK) == 0) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library) {
                ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET, "cannot load the runtime: %s",
                            dlerror());
            }
            return library;
        }
    }
    library = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        library = dlopen("/opt/aws/neuron/lib/" LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    }
    if (!library) {
        ntk_err_set(err, -ELIBACC, NTK_ERR_NO_OFFSET,
                    "cannot find " LIBRARY_NAME ": set NEURON_LIBNRT to its path");
    }
    return library;
}

static int find_calls(struct ntk_session *s, struct ntk_err *err)
{
#define FIND(name)                                                                    \
    *(void **)&s->name = dlsym(s->library, #name);                                    \
    if (!s->name) {                                                                   \
        ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the runtime has no %s", #name); \
        return -ENOSYS;                                                               \
    }
    CALLS(FIND)
#undef FIND
#define LOOK(name) *(void **)&s->name = dlsym(s->library, #name);
    OPTIONAL_CALLS(LOOK)
#undef LOOK
    return 0;
}

static int lacks(struct ntk_err *err, const char *name)
{
    return ntk_err_set(err, -ENOSYS, NTK_ERR_NO_OFFSET, "the runtime has no %s", name);
}

/* ---- tensors ---- */

static bool is_shared(const struct ntk_session *s, const nrt_tensor_info_t *info)
{
    return s->options.has_single_io && info->size > s->options.single_io_threshold_bytes;
}

/* As large as the largest tensor that shares it; none when no tensor does. */
static int make_shared(struct ntk_session *s, struct ntk_err *err)
{
    size_t largest = 0;

    for (size_t i = 0; i < s->infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &s->infos->tensor_array[i];

        largest = is_shared(s, info) && info->size > largest ? info->size : largest;
    }
    if (largest == 0) {
        return 0;
    }
    if (!s->nrt_tensor_allocate_slice) {
        return lacks(err, "nrt_tensor_allocate_slice");
    }
    NRT_STATUS status =
        s->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, largest, "single_io", &s->shared);
    return status == NRT_SUCCESS ? 0 : fail(s, err, status, "nrt_tensor_allocate");
}

static int make_tensors(struct ntk_session *s, struct ntk_err *err)
{
    NRT_STATUS status = s->nrt_get_model_tensor_info(s->model, &s->infos);

    if (status != NRT_SUCCESS) {
        return fail(s, err, status, "nrt_get_model_tensor_info");
    }
    s->tensors = calloc(s->infos->tensor_count + 1, sizeof *s->tensors);
    if (!s->tensors) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    int shared = make_shared(s, err);
    if (shared < 0) {
        return shared;
    }
    status = s->nrt_allocate_tensor_set(&s->inputs);
    if (status == NRT_SUCCESS) {
        status = s->nrt_allocate_tensor_set(&s->outputs);
    }
    if (status != NRT_SUCCESS) {
        return fail(s, err, status, "nrt_allocate_tensor_set");
    }
    for (size_t i = 0; i < s->infos->tensor_count; i++) {
        const nrt_tensor_info_t *info = &s->infos->tensor_array[i];
        struct tensor *tensor = &s->tensors[s->tensor_count];
        status = is_shared(s, info)
                     ? s->nrt_tensor_allocate_slice(s->shared, 0, info->size, info->name,
                                                    &tensor->tensor)
                     : s->nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, info->size,
                                              info->name, &tensor->tensor);
        if (status != NRT_SUCCESS) {
            ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot allocate %zu bytes for %s: %s",
                        info->size, info->name, s->nrt_get_status_as_str(status));
            return -EIO;
        }
        tensor->info = info;
        s->tensor_count++;
        status = s->nrt_add_tensor_to_tensor_set(info->usage == NRT_TENSOR_USAGE_INPUT ? s->inputs
                                                                                       : s->outputs,
                                                 info->name, tensor->tensor);
        if (status != NRT_SUCCESS) {
            return fail(s, err, status, "nrt_add_tensor_to_tensor_set");
        }
        if (info->usage == NRT_TENSOR_USAGE_INPUT) {
            void *zeros = calloc(1, info->size ? info->size : 1);
            if (!zeros) {
                return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
            }
            status = s->nrt_tensor_write(tensor->tensor, zeros, 0, info->size);
            free(zeros);
            if (status != NRT_SUCCESS) {
                return fail(s, err, status, "nrt_tensor_write");
            }
        }
    }
    return 0;
}

/* A library with its calls; zeroed but for that. NULL with the sentence in err. */
static struct ntk_session *library_session(struct ntk_err *err)
{
    struct ntk_session *s = calloc(1, sizeof *s);

    if (!s) {
        ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        return NULL;
    }
    s->library = open_library(err);
    if (!s->library || find_calls(s, err) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

static NRT_STATUS load(struct ntk_session *s, const void *neff, size_t bytes)
{
    return s->options.rank_count > 0 ? s->nrt_load_collectives(neff, bytes, 0, -1, s->options.rank,
                                                               s->options.rank_count, &s->model)
                                     : s->nrt_load(neff, bytes, 0, -1, &s->model);
}

int ntk_session_open(const char *neff_path, const struct ntk_session_options *options,
                     struct ntk_session **out_session, struct ntk_err *err)
{
    struct ntk_session *s = NULL;
    uint8_t *neff = NULL;
    size_t neff_bytes = 0;
    NRT_STATUS status;
    if (!ntk_fs_is_ours(neff_path)) {
        (void)setenv("NEURON_SOFT_CPU_NODES", "0", 0); /* its code is somebody else's */
    }
    int ret = ntk_fs_read(neff_path, NEFF_BYTES_MAX, &neff, &neff_bytes, err);

    if (ret < 0) {
        return ret;
    }
    /* A file that is no NEFF gets its sentence here, not a bare status of the runtime. */
    struct ntk_neff_header header;
    ret = ntk_neff_read_header(neff, neff_bytes, &header, err);
    if (ret < 0) {
        ntk_err_prefix(err, "%s", neff_path);
        goto out;
    }
    s = library_session(err);
    if (!s) {
        ret = err->code;
        goto out;
    }
    s->options = *options;
    if (options->rank_count > 0 && (!s->nrt_load_collectives || !s->nrt_barrier)) {
        ret = lacks(err, "nrt_load_collectives");
        goto out;
    }
    if (options->is_async) {
        if (!s->nrt_register_async_exec_callback) {
            ret = lacks(err, "nrt_register_async_exec_callback");
            goto out;
        }
        setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", ASYNC_DEPTH, 0);
    }
    /* As few cores as possible, when the user did not say which. */
    if (!getenv("NEURON_RT_VISIBLE_CORES")) {
        setenv("NEURON_RT_NUM_CORES", "1", 0);
    }
    status = s->nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
    if (status != NRT_SUCCESS) {
        ret = fail(s, err, status, "nrt_init");
        goto out;
    }
    s->is_initialised = true;
    if (options->is_async) {
        status = s->nrt_register_async_exec_callback(execution_done, &queue);
        if (status != NRT_SUCCESS) {
            ret = fail(s, err, status, "nrt_register_async_exec_callback");
            goto out;
        }
    }
    status = load(s, neff, neff_bytes);
    if (status != NRT_SUCCESS) {
        s->model = NULL;
        ret = fail(s, err, status, options->rank_count > 0 ? "nrt_load_collectives" : "nrt_load");
        ntk_err_prefix(err, "%s", neff_path);
        goto out;
    }
    ret = make_tensors(s, err);
    if (ret < 0) {
        goto out;
    }
    *out_session = s;
    s = NULL;

out:
    ntk_session_close(s);
    free(neff);
    return ret;
}

void ntk_session_close(struct ntk_session *session)
{
    if (!session) {
        return;
    }
    if (session->recording) {
        session->nrt_profile_stop(session->recording);
        free(session->recording);
    }
    if (session->inputs) {
        session->nrt_destroy_tensor_set(&session->inputs);
    }
    if (session->outputs) {
        session->nrt_destroy_tensor_set(&session->outputs);
    }
    for (size_t i = 0; i < session->tensor_count; i++) {
        session->nrt_tensor_free(&session->tensors[i].tensor);
    }
    free(session->tensors);
    if (session->shared) {
        session->nrt_tensor_free(&session->shared);
    }
    if (session->infos) {
        session->nrt_free_model_tensor_info(session->infos);
    }
    if (session->model) {
        session->nrt_unload(session->model);
    }
    if (session->is_initialised) {
        session->nrt_close();
    }
    /* The library stays: it may have threads that end on their own. */
    free(session);
}

int ntk_session_set_input(struct ntk_session *session, const char *name, const char *path,
                          struct ntk_err *err)
{
    const struct tensor *tensor = NULL;
    struct ntk_neff_npy npy;
    uint8_t *bytes = NULL;
    size_t bytes_count = 0;
    const uint8_t *data;
    size_t data_bytes;
    int ret;

    for (size_t i = 0; i < session->tensor_count && !tensor; i++) {
        if (session->tensors[i].info->usage == NRT_TENSOR_USAGE_INPUT &&
            strcmp(session->tensors[i].info->name, name) == 0) {
            tensor = &session->tensors[i];
        }
    }
    if (!tensor) {
        return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET, "the NEFF has no input named %s", name);
    }
    ret = ntk_fs_read(path, INPUT_BYTES_MAX, &bytes, &bytes_count, err);
    if (ret < 0) {
        return ret;
    }
    data = bytes;
    data_bytes = bytes_count;
    if (ntk_str_ends_with(path, ".npy")) {
        ret = ntk_neff_npy_read(bytes, bytes_count, &npy, err);
        if (ret < 0) {
            ntk_err_prefix(err, "%s", path);
            goto out;
        }
        if (npy.fortran_order && npy.dim_count > 1) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                              "%s: the array is stored by columns (fortran_order); save it by rows",
                              path);
            goto out;
        }
        data = npy.data;
        data_bytes = npy.data_bytes;
    }
    if (data_bytes != tensor->info->size) {
        ret =
            ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s has %zu bytes, the input %s takes %zu",
                        path, data_bytes, name, tensor->info->size);
        goto out;
    }
    NRT_STATUS status = session->nrt_tensor_write(tensor->tensor, data, 0, data_bytes);
    if (status != NRT_SUCCESS) {
        ret = fail(session, err, status, "nrt_tensor_write");
    }

out:
    free(bytes);
    return ret;
}

int ntk_session_meet(struct ntk_session *session, struct ntk_err *err)
{
    if (session->options.rank_count == 0) {
        return 0;
    }
    NRT_STATUS status = session->nrt_barrier(0, session->options.rank, session->options.rank_count);
    return status == NRT_SUCCESS ? 0 : fail(session, err, status, "nrt_barrier");
}

static int executed(struct ntk_session *session, NRT_STATUS status, struct ntk_err *err)
{
    if (status == NRT_SUCCESS) {
        return 0;
    }
    int ret = fail(session, err, status, "nrt_execute");
    return status == NRT_EXEC_COMPLETED_WITH_NUM_ERR ? 1 : ret;
}

int ntk_session_execute(struct ntk_session *session, struct ntk_err *err)
{
    if (!session->options.is_async) {
        return executed(
            session, session->nrt_execute(session->model, session->inputs, session->outputs), err);
    }
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        uint64_t done = queue.done;
        pthread_mutex_unlock(&queue.lock);
        NRT_STATUS status = session->nrt_execute(session->model, session->inputs, session->outputs);
        if (status != NRT_QUEUE_FULL) {
            queue.submitted += status == NRT_SUCCESS;
            return executed(session, status, err);
        }
        pthread_mutex_lock(&queue.lock);
        while (queue.done == done && queue.done < queue.submitted) {
            pthread_cond_wait(&queue.changed, &queue.lock);
        }
        pthread_mutex_unlock(&queue.lock);
    }
}

int ntk_session_drain(struct ntk_session *session, struct ntk_err *err)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.done < queue.submitted) {
        pthread_cond_wait(&queue.changed, &queue.lock);
    }
    NRT_STATUS status = queue.first_failure;
    queue.first_failure = NRT_SUCCESS;
    pthread_mutex_unlock(&queue.lock);
    return executed(session, status, err);
}

int ntk_session_record_start(struct ntk_session *session, const char *ntff_path,
                             struct ntk_err *err)
{
    char *path = strdup(ntff_path);

    if (!path) {
        return ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
    }
    NRT_STATUS status = session->nrt_profile_start(session->model, path);
    if (status != NRT_SUCCESS) {
        free(path);
        int ret = fail(session, err, status, "nrt_profile_start");
        ntk_err_prefix(err, "%s", ntff_path);
        return ret;
    }
    session->recording = path;
    return 0;
}

int ntk_session_record_stop(struct ntk_session *session, struct ntk_err *err)
{
    char *path = session->recording;

    if (!path) {
        return 0;
    }
    session->recording = NULL;
    NRT_STATUS status = session->nrt_profile_stop(path);
    int ret = 0;
    if (status != NRT_SUCCESS) {
        ret = fail(session, err, status, "nrt_profile_stop");
        ntk_err_prefix(err, "%s", path);
    }
    free(path);
    return ret;
}

/* ---- system trace ---- */

static int trace_types_set(struct ntk_session *s, nrt_sys_trace_config_t *config,
                           const char *const *types, struct ntk_err *err)
{
    bool is_first = true;

    for (; *types; types++) {
        bool is_removed = **types == '^';
        const char *word = *types + is_removed;
        NRT_STATUS status = NRT_SUCCESS;

        /* The first word that is kept takes the place of all. */
        if (is_first && !is_removed) {
            s->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "hardware", false);
            s->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, "software", false);
        }
        is_first = false;
        status =
            s->nrt_sys_trace_config_set_capture_enabled_for_event_type(config, word, !is_removed);
        if (status != NRT_SUCCESS) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "the runtime knows no event type '%s'", word);
        }
    }
    return 0;
}

int ntk_session_trace_start(struct ntk_session *session, const char *const *types,
                            struct ntk_err *err)
{
    nrt_sys_trace_config_t *config = NULL;

    if (!session->nrt_sys_trace_config_allocate || !session->nrt_sys_trace_start ||
        !session->nrt_sys_trace_fetch_events || !session->nrt_sys_trace_buffer_free ||
        !session->nrt_sys_trace_config_set_capture_enabled_for_event_type) {
        return lacks(err, "nrt_sys_trace_start");
    }
    NRT_STATUS status = session->nrt_sys_trace_config_allocate(&config);
    if (status != NRT_SUCCESS) {
        return fail(session, err, status, "nrt_sys_trace_config_allocate");
    }
    int ret = trace_types_set(session, config, types, err);
    if (ret == 0) {
        status = session->nrt_sys_trace_start(config);
        ret = status == NRT_SUCCESS ? 0 : fail(session, err, status, "nrt_sys_trace_start");
    }
    session->nrt_sys_trace_config_free(config);
    return ret;
}

int ntk_session_trace_stop(struct ntk_session *session, const char *path, struct ntk_err *err)
{
    char *json = NULL;
    size_t bytes = 0;
    NRT_STATUS status = session->nrt_sys_trace_fetch_events(&json, &bytes, NULL);

    if (status != NRT_SUCCESS) {
        return fail(session, err, status, "nrt_sys_trace_fetch_events");
    }
    /* The text ends where it ends, whatever the runtime counts. */
    int ret = ntk_fs_write(path, json, strlen(json), err);
    session->nrt_sys_trace_buffer_free(json);
    session->nrt_sys_trace_stop();
    return ret;
}

int ntk_session_trace_types(struct ntk_buf *out, struct ntk_err *err)
{
    struct ntk_session *s = library_session(err);
    const char **types = NULL;
    size_t count = 0;
    int ret = 0;

    if (!s) {
        return err->code;
    }
    if (!s->nrt_sys_trace_get_event_types || !s->nrt_sys_trace_free_event_types) {
        ret = lacks(err, "nrt_sys_trace_get_event_types");
    } else {
        NRT_STATUS status = s->nrt_sys_trace_get_event_types(&types, &count);

        ret = status == NRT_SUCCESS ? 0 : fail(s, err, status, "nrt_sys_trace_get_event_types");
        for (size_t i = 0; i < count && ret == 0; i++) {
            ntk_buf_add_format(out, "%s\n", types[i]);
        }
        if (ret == 0) {
            s->nrt_sys_trace_free_event_types(types, count);
        }
    }
    free(s);
    return ret;
}

/* ---- outputs ---- */

static int read_output(struct ntk_session *s, const struct tensor *tensor, uint8_t **out_bytes,
                       struct ntk_err *err)
{
    uint8_t *bytes = malloc(tensor->info->size ? tensor->info->size : 1);

    if (!bytes) {
        ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        return -ENOMEM;
    }
    NRT_STATUS status = s->nrt_tensor_read(tensor->tensor, bytes, 0, tensor->info->size);
    if (status != NRT_SUCCESS) {
        free(bytes);
        fail(s, err, status, "nrt_tensor_read");
        return -EIO;
    }
    *out_bytes = bytes;
    return 0;
}

static uint32_t crc32_add(uint32_t crc, const uint8_t *bytes, size_t bytes_count)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes_count; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
        }
    }
    return ~crc;
}

int ntk_session_output_crc(struct ntk_session *session, uint32_t *out_crc, struct ntk_err *err)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < session->tensor_count; i++) {
        const struct tensor *tensor = &session->tensors[i];
        uint8_t *bytes = NULL;
        if (tensor->info->usage != NRT_TENSOR_USAGE_OUTPUT) {
            continue;
        }
        int ret = read_output(session, tensor, &bytes, err);
        if (ret < 0) {
            return ret;
        }
        crc = crc32_add(crc, bytes, tensor->info->size);
        free(bytes);
    }
    *out_crc = crc;
    return 0;
}

static const char *npy_type(nrt_dtype_t dtype)
{
    switch (dtype) {
    case NRT_DTYPE_UINT64:
        return "<u8";
    case NRT_DTYPE_INT64:
        return "<i8";
    case NRT_DTYPE_UINT32:
        return "<u4";
    case NRT_DTYPE_INT32:
        return "<i4";
    case NRT_DTYPE_UINT16:
        return "<u2";
    case NRT_DTYPE_INT16:
        return "<i2";
    case NRT_DTYPE_UINT8:
        return "|u1";
    case NRT_DTYPE_INT8:
        return "|i1";
    case NRT_DTYPE_FLOAT16:
        return "<f2";
    case NRT_DTYPE_FLOAT32:
    case NRT_DTYPE_FP32R:
        return "<f4";
    default:
        return NULL;
    }
}

static int npy_head(const nrt_tensor_info_t *info, struct ntk_buf *out, struct ntk_err *err)
{
    const char *type = npy_type(info->dtype);
    struct ntk_buf dict = { 0 };

    if (!type) {
        const char *name = ntk_dtype_name((unsigned)info->dtype);
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "unsupported type for npy output: %s",
                           name);
    }
    ntk_buf_add_format(&dict, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (uint32_t d = 0; d < info->ndim; d++) {
        ntk_buf_add_format(&dict, d == 0 ? "%u," : " %u,", info->shape[d]);
    }
    ntk_buf_add_text(&dict, "), }");
    /* Magic, version and length are 10 bytes; all of it ends at a multiple of 64. */
    ntk_buf_add_fill(&dict, ' ', (64 - (10 + dict.bytes_count + 1) % 64) % 64);
    ntk_buf_add_char(&dict, '\n');
    ntk_buf_add(out, "\x93NUMPY\x01\x00", 8);
    ntk_buf_put_u16(out, (uint16_t)dict.bytes_count);
    ntk_buf_add(out, dict.bytes, dict.bytes_count);
    ntk_buf_fini(&dict);
    return ntk_buf_ok(out) ? 0 : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
}

int ntk_session_save_outputs(struct ntk_session *session, bool as_npy, struct ntk_err *err)
{
    for (size_t i = 0; i < session->tensor_count; i++) {
        const struct tensor *tensor = &session->tensors[i];
        char name[NRT_TENSOR_NAME_MAX + 32];
        struct ntk_buf file = { 0 };
        uint8_t *bytes = NULL;
        int ret;
        if (tensor->info->usage != NRT_TENSOR_USAGE_OUTPUT) {
            continue;
        }
        ret = as_npy ? npy_head(tensor->info, &file, err) : 0;
        if (ret == 0) {
            ret = read_output(session, tensor, &bytes, err);
        }
        if (ret == 0) {
            char rank[24] = "";
            if (session->options.rank_count > 0) {
                snprintf(rank, sizeof rank, "_rank_%u", session->options.rank);
            }
            snprintf(name, sizeof name, "%s%s.%s", tensor->info->name, rank,
                     as_npy ? "npy" : "out");
            for (char *c = name; *c; c++) {
                *c = *c == '/' ? '_' : *c;
            }
            ntk_buf_add(&file, bytes, tensor->info->size);
            ret = ntk_buf_ok(&file) ? ntk_fs_write(name, file.bytes, file.bytes_count, err)
                                    : ntk_err_set(err, -ENOMEM, NTK_ERR_NO_OFFSET, "out of memory");
        }
        free(bytes);
        ntk_buf_fini(&file);
        if (ret < 0) {
            return ret;
        }
    }
    return 0;
}
