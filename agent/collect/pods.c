/* SPDX-License-Identifier: MIT */
/* pods - maps cores and devices to pods, and applications to their pods. */
#include "agent/collect/pods.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buf.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/map.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/collect/cgroup.h"
#include "shared/http/http_client.h"

#define MODULE "k8s"
#define METHOD_URL "http://localhost/v1.PodResourcesLister/List"
#define HTTP_OK 200
#define GRPC_UNIMPLEMENTED "12"

struct ntk_pods {
    struct ntk_pods_options options;
    char *socket_path;
    char *logs_folder;
    struct ntk_http_client *client;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* The members from here on are protected by the lock. */
    bool is_over;
    bool is_wanted; /* send a request before the period ends */
    uint64_t rounds;
    struct ntk_pod_list list;
    struct ntk_map names; /* keyed by container id; values are struct ntk_container_name */
    char error[NTK_ERR_TEXT_BYTES];
};

/* -- names of containers ----------------------------------------------------------------------- */

static bool take_piece(const char *from, size_t bytes, char *to, size_t to_bytes)
{
    if (bytes == 0 || bytes >= to_bytes) {
        return false;
    }
    ntk_str_copy_clean(to, to_bytes, from, bytes);
    return true;
}

bool ntk_container_name_parse(const char *file_name, struct ntk_container_name *out)
{
    static const char end[] = ".log";
    const size_t id_digits = NTK_CONTAINER_ID_BYTES - 1;
    size_t bytes = strlen(file_name);

    if (bytes < id_digits + sizeof end || !ntk_str_ends_with(file_name, end)) {
        return false;
    }
    const char *id = file_name + bytes - (sizeof end - 1) - id_digits;
    const char *namespace_name = strchr(file_name, '_');
    const char *container = namespace_name ? strchr(namespace_name + 1, '_') : NULL;
    if (!ntk_cgroup_is_container_id(id, id_digits) || id[-1] != '-' || !container ||
        container + 1 >= id - 1) {
        return false;
    }
    memcpy(out->id, id, id_digits);
    out->id[id_digits] = '\0';
    return take_piece(file_name, (size_t)(namespace_name - file_name), out->pod, sizeof out->pod) &&
           take_piece(namespace_name + 1, (size_t)(container - namespace_name - 1),
                      out->namespace_name, sizeof out->namespace_name) &&
           take_piece(container + 1, (size_t)(id - 1 - container - 1), out->container,
                      sizeof out->container);
}

static void names_fini(struct ntk_map *names)
{
    ntk_map_each(entry, names) {
        free(entry->value);
    }
    ntk_map_fini(names);
}

/* Reads the names of containers; a node without this folder has none. */
static void read_names(const char *path, struct ntk_map *names)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL) {
        struct ntk_container_name name;
        if (names->count >= NTK_PODS_CONTAINERS_MAX ||
            !ntk_container_name_parse(entry->d_name, &name) || ntk_map_get(names, name.id)) {
            continue;
        }
        struct ntk_container_name *kept = malloc(sizeof *kept);
        if (!kept) {
            break;
        }
        *kept = name;
        if (ntk_map_put(names, name.id, kept) < 0) {
            free(kept);
            break;
        }
    }
    if (folder) {
        closedir(folder);
    }
}

/* -- the kubelet ------------------------------------------------------------------------------- */

/* Checks the gRPC status in the trailers (or in the headers of a response without a message). */
static int check_status(const struct ntk_http_answer *answer, struct ntk_err *err)
{
    char status[16];
    char message[160];

    if (answer->status != HTTP_OK) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "the kubelet returned HTTP %ld",
                           answer->status);
    }
    if (!ntk_http_answer_header_get(answer, "grpc-status", status, sizeof status)) {
        return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "no grpc-status in the response");
    }
    if (strcmp(status, "0") == 0) {
        return 0;
    }
    if (!ntk_http_answer_header_get(answer, "grpc-message", message, sizeof message)) {
        message[0] = '\0';
    }
    return ntk_err_set(err, -EPROTO, NTK_ERR_NO_OFFSET, "the kubelet returned grpc-status %s%s%s%s",
                       status, strcmp(status, GRPC_UNIMPLEMENTED) == 0 ? " (unimplemented)" : "",
                       message[0] ? ": " : "", message);
}

static int ask(const struct ntk_pods *pods, struct ntk_pod_list *list, struct ntk_err *err)
{
    static const char empty_message[5] = { 0 };
    static const char *const headers[] = { "Content-Type: application/grpc", "TE: trailers", NULL };
    const struct ntk_http_question question = {
        .method = "POST",
        .url = METHOD_URL,
        .headers = headers,
        .body = empty_message,
        .body_bytes = sizeof empty_message,
        .timeout_ns = pods->options.timeout_ns,
        .answer_bytes_max = NTK_POD_LIST_BYTES_MAX + 1024,
        .unix_socket_path = pods->socket_path,
        .http2 = true,
    };
    struct ntk_http_answer answer = { 0 };
    struct ntk_err why = { 0 };

    int ret = ntk_http_client_ask(pods->client, &question, &answer, &why);
    if (ret == -ECONNREFUSED) {
        /* The message of libcurl would contain a host and a port. */
        int code = access(pods->socket_path, R_OK | W_OK) == 0 ? ECONNREFUSED : errno;
        ntk_err_set(&why, ret, NTK_ERR_NO_OFFSET, "%s", strerror(code));
    }
    ret = ret < 0 ? ret : check_status(&answer, &why);
    ret = ret < 0
              ? ret
              : ntk_pod_list_read(list, pods->options.resources, (const uint8_t *)answer.body.bytes,
                                  answer.body.bytes_count, &why);
    ntk_http_answer_fini(&answer);
    if (ret < 0) {
        char text[NTK_ERR_TEXT_BYTES];
        ntk_str_copy_clean(text, sizeof text, why.text, strlen(why.text));
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot get pods from the kubelet at %s: %s",
                    pods->socket_path, text);
    }
    return ret;
}

/* -- the thread -------------------------------------------------------------------------------- */

/* Waits for the next request. Returns false if stopped. */
static bool wait_for_next(struct ntk_pods *pods)
{
    const struct ntk_clock *clock = pods->options.clock;
    uint64_t now_ns = ntk_clock_now_ns(clock);
    uint64_t period_ns = pods->options.period_ns;
    uint64_t soon_ns = now_ns + (NTK_PODS_GAP_NS < period_ns ? NTK_PODS_GAP_NS : period_ns);
    uint64_t due_ns = now_ns + period_ns;

    pthread_mutex_lock(&pods->lock);
    while (!pods->is_over &&
           ntk_cond_wait_clock(clock, &pods->wake, &pods->lock, soon_ns) != -ETIMEDOUT) {
    }
    while (!pods->is_over && !pods->is_wanted &&
           ntk_cond_wait_clock(clock, &pods->wake, &pods->lock, due_ns) != -ETIMEDOUT) {
    }
    pods->is_wanted = false;
    bool may_continue = !pods->is_over;
    pthread_mutex_unlock(&pods->lock);
    return may_continue;
}

/* Logs each problem once until it is fixed. */
static void tell(const char *before, const char *now)
{
    if (now[0] && strcmp(before, now) != 0) {
        ntk_log_warn(MODULE, "%s; retrying every period", now);
    } else if (before[0] && !now[0]) {
        ntk_log_warn(MODULE, "the kubelet is responding");
    }
}

static void *watch(void *ctx)
{
    struct ntk_pods *pods = ctx;
    char said[NTK_ERR_TEXT_BYTES] = "";

    do {
        struct ntk_pod_list list = { 0 };
        struct ntk_map names = { 0 };
        struct ntk_err err = { 0 };

        int ret = ask(pods, &list, &err);
        if (ret == -ECANCELED) {
            break;
        }
        tell(said, err.text);
        ntk_str_copy(said, sizeof said, err.text);
        read_names(pods->logs_folder, &names);
        pthread_mutex_lock(&pods->lock);
        struct ntk_pod_list old_list = pods->list;
        struct ntk_map old_names = pods->names;
        pods->list = list;
        pods->names = names;
        ntk_str_copy(pods->error, sizeof pods->error, err.text);
        pods->rounds++;
        pthread_mutex_unlock(&pods->lock);
        ntk_pod_list_fini(&old_list);
        names_fini(&old_names);
    } while (wait_for_next(pods));
    return NULL;
}

/* -- into a snapshot --------------------------------------------------------------------------- */

static const char *clean_text(struct ntk_snapshot *snapshot, const char *text)
{
    char clean[254];

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    return ntk_snapshot_text(snapshot, clean);
}

static bool same_pod(const struct ntk_pod_row *a, const struct ntk_pod_row *b)
{
    return !strcmp(a->pod, b->pod) && !strcmp(a->namespace_name, b->namespace_name);
}

/* Finds the rows with the same index from `first` on and takes their first pod; *out_next is the
 * row after them. */
static void take_owner(struct ntk_snapshot *snapshot, const struct ntk_pod_row *rows, size_t first,
                       size_t count, struct ntk_k8s_owner *out, size_t *out_next)
{
    size_t end = first;
    size_t next;

    while (end < count && rows[end].kind == rows[first].kind &&
           rows[end].index == rows[first].index && same_pod(&rows[end], &rows[first])) {
        end++;
    }
    for (next = end; next < count && rows[next].kind == rows[first].kind &&
                     rows[next].index == rows[first].index;
         next++) {
    }
    const char **containers = ntk_snapshot_alloc(snapshot, end - first, sizeof *containers);
    for (size_t i = first; containers && i < end; i++) {
        containers[i - first] = clean_text(snapshot, rows[i].container);
    }
    *out = (struct ntk_k8s_owner){
        .index = rows[first].index,
        .pod_name = clean_text(snapshot, rows[first].pod),
        .namespace_name = clean_text(snapshot, rows[first].namespace_name),
        .containers = containers,
        .container_count = containers ? end - first : 0,
    };
    *out_next = next;
}

static const struct ntk_k8s_owner *find_owner(const struct ntk_k8s_owner *owners, size_t count,
                                              uint32_t index)
{
    for (size_t i = 0; i < count; i++) {
        if (owners[i].index == index) {
            return &owners[i];
        }
    }
    return NULL;
}

NTK_ORDER(compare_owners, struct ntk_k8s_owner, NTK_UP(index));

/* Adds the cores of each device that a container has. */
static void add_cores_of_devices(struct ntk_snapshot *snapshot)
{
    struct ntk_k8s *k8s = &snapshot->k8s;
    uint32_t lnc = snapshot->hardware.lnc ? snapshot->hardware.lnc : 1;
    uint32_t per_device = snapshot->hardware.cores_per_device / lnc;
    size_t room = k8s->core_count + k8s->device_count * per_device;
    struct ntk_k8s_owner *cores = ntk_snapshot_alloc(snapshot, room, sizeof *cores);
    size_t count = k8s->core_count;

    if (!cores) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        cores[i] = k8s->cores[i];
    }
    for (size_t i = 0; i < k8s->device_count; i++) {
        for (uint32_t k = 0; k < per_device; k++) {
            uint32_t index = k8s->devices[i].index * per_device + k;
            if (!find_owner(k8s->cores, k8s->core_count, index)) {
                cores[count] = k8s->devices[i];
                cores[count++].index = index;
            }
        }
    }
    qsort(cores, count, sizeof *cores, compare_owners);
    k8s->cores = cores;
    k8s->core_count = count;
}

static void fill_owners(struct ntk_snapshot *snapshot, const struct ntk_pod_list *list)
{
    struct ntk_k8s *k8s = &snapshot->k8s;
    const struct ntk_pod_row *rows = list->rows.items;
    struct ntk_k8s_owner *owners = ntk_snapshot_alloc(snapshot, list->rows.count, sizeof *owners);
    size_t used = 0;

    for (size_t i = 0; owners && i < list->rows.count;) {
        size_t *count = rows[i].kind == NTK_POD_CORE ? &k8s->core_count : &k8s->device_count;
        take_owner(snapshot, rows, i, list->rows.count, &owners[used++], &i);
        ++*count;
    }
    k8s->cores = owners; /* the first elements are for cores */
    k8s->devices = owners ? owners + k8s->core_count : NULL;
    add_cores_of_devices(snapshot);
}

static const char *join_containers(struct ntk_snapshot *snapshot, const struct ntk_k8s_owner *owner)
{
    struct ntk_buf text = { 0 };

    for (size_t i = 0; i < owner->container_count; i++) {
        ntk_buf_add_text(&text, i > 0 ? "," : "");
        ntk_buf_add_text(&text, owner->containers[i]);
    }
    const char *joined = ntk_snapshot_text(snapshot, ntk_buf_text_get(&text));
    ntk_buf_fini(&text);
    return joined;
}

/* Selects the pod that has all cores of the application. */
static void take_pod_of_cores(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime)
{
    const struct ntk_k8s *k8s = &snapshot->k8s;
    const struct ntk_k8s_owner *first = NULL;
    uint32_t lnc = runtime->lnc ? runtime->lnc : 1;

    for (size_t i = 0; i < runtime->core_count; i++) {
        const struct ntk_k8s_owner *owner =
            find_owner(k8s->cores, k8s->core_count, runtime->cores[i].core / lnc);
        if (!owner || (first && (strcmp(first->pod_name, owner->pod_name) != 0 ||
                                 strcmp(first->namespace_name, owner->namespace_name) != 0))) {
            return;
        }
        first = first ? first : owner;
    }
    if (first) {
        runtime->pod = (struct ntk_pod){ first->pod_name, first->namespace_name,
                                         join_containers(snapshot, first) };
    }
}

static void take_pod(struct ntk_snapshot *snapshot, struct ntk_runtime_sample *runtime,
                     const struct ntk_map *names)
{
    const struct ntk_container_name *name =
        runtime->container_id[0] ? ntk_map_get(names, runtime->container_id) : NULL;

    if (name) {
        runtime->pod = (struct ntk_pod){ ntk_snapshot_text(snapshot, name->pod),
                                         ntk_snapshot_text(snapshot, name->namespace_name),
                                         ntk_snapshot_text(snapshot, name->container) };
    } else {
        take_pod_of_cores(snapshot, runtime);
    }
}

void ntk_pods_get(struct ntk_snapshot *snapshot, void *ctx)
{
    struct ntk_pods *pods = ctx;
    bool is_wanted = false;

    pthread_mutex_lock(&pods->lock);
    snapshot->k8s.period_ns = pods->options.period_ns;
    snapshot->k8s.error = ntk_snapshot_text(snapshot, pods->error);
    fill_owners(snapshot, &pods->list);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];
        take_pod(snapshot, runtime, &pods->names);
        is_wanted = is_wanted || (runtime->first && !runtime->pod.name[0]);
    }
    if (is_wanted) {
        pods->is_wanted = true;
        pthread_cond_signal(&pods->wake);
    }
    pthread_mutex_unlock(&pods->lock);
}

uint64_t ntk_pods_rounds(struct ntk_pods *pods)
{
    pthread_mutex_lock(&pods->lock);
    uint64_t rounds = pods->rounds;
    pthread_mutex_unlock(&pods->lock);
    return rounds;
}

/* -- life -------------------------------------------------------------------------------------- */

static int start(struct ntk_pods *pods, struct ntk_err *err)
{
    struct ntk_pods_options *options = &pods->options;

    pods->socket_path = strdup(options->socket_path ? options->socket_path : NTK_PODS_SOCKET);
    if (asprintf(&pods->logs_folder, "%s%s", options->host_root ? options->host_root : "",
                 NTK_PODS_LOGS) < 0) {
        pods->logs_folder = NULL;
    }
    pods->client = ntk_http_client_create();
    if (!pods->socket_path || !pods->logs_folder || !pods->client) {
        return ntk_err_no_memory(err);
    }
    options->period_ns = options->period_ns ? options->period_ns : NTK_PODS_PERIOD_NS;
    options->timeout_ns = options->timeout_ns ? options->timeout_ns : NTK_PODS_TIMEOUT_NS;
    options->resources = options->resources ? options->resources : ntk_pod_resource_default_get();
    int code = pthread_create(&pods->thread, NULL, watch, pods);
    if (code != 0) {
        return ntk_err_set(err, -code, NTK_ERR_NO_OFFSET, "cannot start a thread: %s",
                           strerror(code));
    }
    pods->has_thread = true;
    return 0;
}

int ntk_pods_create(const struct ntk_pods_options *options, struct ntk_pods **out_pods,
                    struct ntk_err *err)
{
    struct ntk_pods *pods = calloc(1, sizeof *pods);

    if (!pods) {
        return ntk_err_no_memory(err);
    }
    pods->options = *options;
    pthread_mutex_init(&pods->lock, NULL);
    pthread_cond_init(&pods->wake, NULL);
    int ret = start(pods, err);
    if (ret < 0) {
        ntk_pods_destroy(pods);
        return ret;
    }
    *out_pods = pods;
    return 0;
}

void ntk_pods_destroy(struct ntk_pods *pods)
{
    if (!pods) {
        return;
    }
    if (pods->has_thread) {
        pthread_mutex_lock(&pods->lock);
        pods->is_over = true;
        pthread_cond_signal(&pods->wake);
        pthread_mutex_unlock(&pods->lock);
        ntk_http_client_cancel(pods->client);
        pthread_join(pods->thread, NULL);
    }
    ntk_http_client_destroy(pods->client);
    ntk_pod_list_fini(&pods->list);
    names_fini(&pods->names);
    free(pods->socket_path);
    free(pods->logs_folder);
    pthread_cond_destroy(&pods->wake);
    pthread_mutex_destroy(&pods->lock);
    free(pods);
}
