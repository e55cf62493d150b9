/* SPDX-License-Identifier: MIT */
/*
 * kubernetes - sends reports to the API server: immediately after a change, else with each
 * heartbeat, and again after a failure. put() notes the wanted state; a thread sends it.
 */
#include "exporters/kubernetes/kubernetes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/kubernetes/device_taint.h"
#include "exporters/kubernetes/kube_api.h"
#include "exporters/kubernetes/kube_pace.h"
#include "exporters/kubernetes/node_condition.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/clock.h"
#include "shared/base/cond.h"
#include "shared/base/log.h"
#include "shared/base/str.h"

#define MODULE "kubernetes"
#define PATH_BYTES 1024
#define STRATEGIC_MERGE "application/strategic-merge-patch+json"
#define MERGE "application/merge-patch+json"
#define JSON_TYPE "application/json"

static bool arg_condition;
static const char *arg_effect; /* NULL: no taints */
static const char *arg_key;    /* NULL: the default */
static const char *arg_node;
static struct ntk_kube_api_options arg_api;
static uint64_t arg_heartbeat_ns; /* 0: the default */

static const struct ntk_opt option_rows[] = {
    { 0, "k8s-node-condition", 0, NTK_OPT_FLAG, &arg_condition,
      "report the health of this machine to Kubernetes, as the condition " NTK_NODE_CONDITION_TYPE
      " of its node and as events" },
    { 0, "k8s-device-taints", "EFFECT", NTK_OPT_TEXT, &arg_effect,
      "taint unhealthy devices that DRA allocates, with this effect: None, NoSchedule or NoExecute",
      "None NoSchedule NoExecute" },
    { 0, "k8s-taint-key", "KEY", NTK_OPT_TEXT, &arg_key,
      "set the key of these taints (default " NTK_DEVICE_TAINT_KEY "); the value is the reason" },
    { 0, "k8s-node", "NAME", NTK_OPT_TEXT, &arg_node,
      "report for this node (default: the environment variable NODE_NAME)" },
    { 0, "k8s-heartbeat", "TIME", NTK_OPT_DURATION, &arg_heartbeat_ns,
      "repeat an unchanged report every TIME (default 5m)", .is_above_zero = true },
    { 0, "k8s-api", "URL", NTK_OPT_TEXT, &arg_api.url,
      "use this API server (default: that of the pod's cluster)" },
    { 0, "k8s-api-token-file", "FILE", NTK_OPT_TEXT, &arg_api.token_file,
      "read the bearer token from this file (default without --k8s-api: the pod's service "
      "account)" },
    { 0, "k8s-api-ca-file", "FILE", NTK_OPT_TEXT, &arg_api.ca_file,
      "trust the certificate authorities in this PEM file (default without --k8s-api: the pod's "
      "service account)" },
    { 0 },
};

struct kubernetes {
    struct ntk_kube_api *api;
    char node[NTK_KUBE_NAME_BYTES];
    struct ntk_output_source source;

    /* The members below are only used by the thread. */
    /* status on the server; NULL if it has no condition of this agent yet */
    const char *server_status;
    bool is_server_known;
    const char *version; /* version of resource.k8s.io with rules; NULL if unknown */
    const char *slices_version;
    bool is_unrecognised; /* true after logging that no device of the driver has a number */

    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    struct ntk_kube_pace condition;
    struct ntk_kube_pace taints;
    uint64_t began_ns;
    bool has_wanted;
    struct ntk_node_condition wanted;
    struct ntk_device_verdicts verdicts;
    bool in_haste; /* true before the exit: skip the gap */
    bool stopping;
    uint64_t sent_count;
    uint64_t retry_count;

    pthread_t thread;
    bool has_thread;
};

static const char *node_get(void)
{
    return arg_node ? arg_node : getenv("NODE_NAME");
}

static uint64_t heartbeat_ns(void)
{
    return arg_heartbeat_ns > 0 ? arg_heartbeat_ns : NTK_KUBERNETES_HEARTBEAT_NS;
}

static int is_asked(struct ntk_err *err)
{
    const struct {
        const char *name;
        bool is_given;
    } rows[] = {
        { "--k8s-node", arg_node },
        { "--k8s-heartbeat", arg_heartbeat_ns > 0 },
        { "--k8s-taint-key", arg_key },
        { "--k8s-api", arg_api.url },
        { "--k8s-api-token-file", arg_api.token_file },
        { "--k8s-api-ca-file", arg_api.ca_file },
    };
    const char *node = node_get();

    if (arg_effect && strcmp(arg_effect, "None") != 0 && strcmp(arg_effect, "NoSchedule") != 0 &&
        strcmp(arg_effect, "NoExecute") != 0) {
        return ntk_err_set(
            err, -EINVAL, NTK_ERR_NO_OFFSET,
            "--k8s-device-taints: unknown effect '%s': expected None, NoSchedule or NoExecute",
            arg_effect);
    }
    for (size_t i = 0; !arg_condition && !arg_effect && i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_given) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s requires --k8s-node-condition or --k8s-device-taints",
                               rows[i].name);
        }
    }
    if (arg_key && !arg_effect) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--k8s-taint-key requires --k8s-device-taints");
    }
    if ((arg_condition || arg_effect) && !node) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "unknown node name: use --k8s-node or set NODE_NAME");
    }
    if ((arg_condition || arg_effect) && !ntk_kube_is_name(node)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "invalid node name '%.253s'", node);
    }
    return arg_condition || arg_effect;
}

/* -- the condition, on the thread -------------------------------------------------------------- */

static int ask(struct kubernetes *state, const char *method, const char *path, const char *type,
               const struct ntk_buf *body, json_t **out, uint64_t *retry_ns, struct ntk_err *err)
{
    const struct ntk_kube_question question = {
        .method = method, .path = path, .content_type = type, .body = body
    };

    if (body && !ntk_buf_ok(body)) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_kube_api_ask(state->api, &question, out, retry_ns, err);
    if (ret >= 0 && strcmp(method, "GET") != 0) {
        pthread_mutex_lock(&state->lock);
        state->sent_count++;
        pthread_mutex_unlock(&state->lock);
    }
    return ret;
}

/* Sends an event. A lost event is not a failure, because the condition has the same information. */
static void tell_event(struct kubernetes *state, const struct ntk_node_condition *wanted)
{
    struct ntk_buf body = { 0 };
    struct ntk_err err = { 0 };
    uint64_t retry_ns;

    ntk_node_condition_write_event(wanted, state->node, ntk_clock_realtime_ns(), &body);
    if (ask(state, "POST", "/api/v1/namespaces/default/events", JSON_TYPE, &body, NULL, &retry_ns,
            &err) < 0) {
        ntk_log_info(MODULE, "one event was lost: %s", err.text);
    }
    ntk_buf_fini(&body);
}

static int tell_condition(struct kubernetes *state, const struct ntk_node_condition *wanted,
                          uint64_t *retry_ns, struct ntk_err *err)
{
    struct ntk_buf body = { 0 };
    char path[PATH_BYTES];
    json_t *node = NULL;
    int ret = 0;

    if (!state->is_server_known) {
        (void)snprintf(path, sizeof path, "/api/v1/nodes/%s", state->node);
        ret = ask(state, "GET", path, NULL, NULL, &node, retry_ns, err);
        if (ret < 0) {
            return ret;
        }
        state->server_status = ntk_node_condition_read_status(node);
        state->is_server_known = true;
        json_decref(node);
    }
    bool is_transition = wanted->status != state->server_status;
    ntk_node_condition_write_patch(wanted, ntk_clock_realtime_ns(), is_transition, &body);
    (void)snprintf(path, sizeof path, "/api/v1/nodes/%s/status", state->node);
    ret = ask(state, "PATCH", path, STRATEGIC_MERGE, &body, NULL, retry_ns, err);
    ntk_buf_fini(&body);
    if (ret < 0) {
        state->is_server_known = false; /* the request may have arrived nevertheless */
        return ret;
    }
    /* A node that was healthy from the start has no transition. */
    if (is_transition && (state->server_status || strcmp(wanted->status, "True") == 0)) {
        ntk_log_info(MODULE, "node %s: " NTK_NODE_CONDITION_TYPE " is %s: %s", state->node,
                     wanted->status, wanted->message);
        tell_event(state, wanted);
    }
    state->server_status = wanted->status;
    return 0;
}

/* -- taints, on the thread --------------------------------------------------------------------- */

/* Versions of the API, newest first. */
static const char *const versions[] = { "v1", "v1beta2", "v1beta1", "v1alpha3" };

/* Finds the versions on the server with the required resources. */
static int find_versions(struct kubernetes *state, uint64_t *retry_ns, struct ntk_err *err)
{
    char path[PATH_BYTES];

    state->version = NULL;
    state->slices_version = NULL;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        json_t *resources = NULL;

        (void)snprintf(path, sizeof path, "/apis/resource.k8s.io/%s", versions[i]);
        int ret = ask(state, "GET", path, NULL, NULL, &resources, retry_ns, err);
        if (ret == -ENOENT) {
            continue;
        }
        if (ret < 0) {
            return ret;
        }
        if (!state->version && ntk_taint_has_resource(resources, "devicetaintrules")) {
            state->version = versions[i];
        }
        if (!state->slices_version && ntk_taint_has_resource(resources, "resourceslices")) {
            state->slices_version = versions[i];
        }
        json_decref(resources);
    }
    if (state->version && state->slices_version) {
        return 0;
    }
    state->version = NULL;
    *retry_ns = NTK_KUBERNETES_UPGRADE_NS;
    return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                       "the API server does not support DeviceTaintRule (feature gate "
                       "DRADeviceTaints): devices are not tainted");
}

static int do_step(struct kubernetes *state, const struct ntk_taint_rule *rule,
                   const struct ntk_taint_options *options, uint64_t *retry_ns, struct ntk_err *err)
{
    struct ntk_buf body = { 0 };
    char path[PATH_BYTES];
    int ret = 0;

    int folder =
        snprintf(path, sizeof path, "/apis/resource.k8s.io/%s/devicetaintrules", state->version);
    if (rule->step == NTK_TAINT_CREATE) {
        ntk_taint_rule_write(rule, state->version, options, &body);
        ret = ask(state, "POST", path, JSON_TYPE, &body, NULL, retry_ns, err);
    } else {
        (void)snprintf(path + folder, sizeof path - (size_t)folder, "/%s", rule->name);
        if (rule->step == NTK_TAINT_CHANGE) {
            ntk_taint_rule_write_patch(rule, options, &body);
            ret = ask(state, "PATCH", path, MERGE, &body, NULL, retry_ns, err);
        } else {
            ret = ask(state, "DELETE", path, NULL, NULL, NULL, retry_ns, err);
            ret = ret == -ENOENT ? 0 : ret; /* another program has already done it */
        }
    }
    ntk_buf_fini(&body);
    if (ret >= 0) {
        ntk_log_info(MODULE, "device %s of pool %s: %s %s=%s:%s", rule->device, rule->pool,
                     rule->step == NTK_TAINT_DELETE ? "untainted" : "tainted", options->key,
                     rule->value, rule->effect);
    }
    return ret;
}

static int tell_taints(struct kubernetes *state, const struct ntk_device_verdicts *verdicts,
                       uint64_t *retry_ns, struct ntk_err *err)
{
    const struct ntk_taint_options options = { .node = state->node,
                                               .key = arg_key ? arg_key : NTK_DEVICE_TAINT_KEY,
                                               .effect = arg_effect };
    struct ntk_taint_plan plan = { 0 };
    json_t *rules = NULL;
    json_t *slices = NULL;
    char path[PATH_BYTES];
    int ret = 0;

    if (!state->version) {
        ret = find_versions(state, retry_ns, err);
    }
    if (ret >= 0) {
        (void)snprintf(path, sizeof path,
                       "/apis/resource.k8s.io/%s/devicetaintrules?labelSelector=app.kubernetes.io%%"
                       "2Fmanaged-by%%3D" NTK_DEVICE_TAINT_OWNER,
                       state->version);
        ret = ask(state, "GET", path, NULL, NULL, &rules, retry_ns, err);
    }
    if (ret >= 0) {
        (void)snprintf(path, sizeof path,
                       "/apis/resource.k8s.io/%s/resourceslices?fieldSelector=spec.nodeName%%3D%s",
                       state->slices_version, state->node);
        ret = ask(state, "GET", path, NULL, NULL, &slices, retry_ns, err);
    }
    if (ret == -ENOENT) {
        state->version = NULL; /* the server may have changed */
    }
    if (ret >= 0) {
        ret = ntk_taint_plan_init(&plan, err);
    }
    if (ret >= 0) {
        bool is_unrecognised = ntk_taint_plan_make(&plan, rules, slices, verdicts, &options) == 0;

        if (is_unrecognised && !state->is_unrecognised) {
            ntk_log_warn(MODULE,
                         "no ResourceSlice of " NTK_DEVICE_TAINT_DRIVER " on node %s has a "
                         "device with the attribute deviceId: devices are not tainted",
                         state->node);
        }
        state->is_unrecognised = is_unrecognised;
    }
    for (size_t i = 0; i < plan.count && ret >= 0; i++) {
        if (plan.rules[i].step != NTK_TAINT_KEEP) {
            ret = do_step(state, &plan.rules[i], &options, retry_ns, err);
        }
    }
    ntk_taint_plan_fini(&plan);
    json_decref(rules);
    json_decref(slices);
    return ret;
}

/* -- timing ------------------------------------------------------------------------------------ */

/* Returns the time of the next request. The caller holds the lock. */
static uint64_t due_ns(const struct kubernetes *state, const struct ntk_kube_pace *pace)
{
    /* A new agent has no record of the last report of the previous agent. */
    bool is_early = strcmp(state->wanted.status, "Unknown") == 0 && !state->in_haste;

    return ntk_kube_pace_due_ns(
        pace, heartbeat_ns(), is_early ? state->began_ns + ntk_kube_pace_gap_ns(heartbeat_ns()) : 0,
        state->in_haste);
}

/* Updates the state after a request. The caller holds the lock. */
static void note(struct kubernetes *state, struct ntk_kube_pace *pace, int ret, uint64_t retry_ns,
                 const struct ntk_err *err)
{
    bool was_failing = pace->retry_ns != 0;

    ntk_kube_pace_end(pace, ret, retry_ns, ntk_clock_monotonic_ns());
    if (ret >= 0 && was_failing) {
        ntk_log_info(MODULE, "the API server is accepting requests again");
    }
    if (ret < 0 && ret != -ECANCELED) {
        if (!was_failing) {
            ntk_log_warn(MODULE, "%s; retrying", err->text);
        }
        state->retry_count++;
    }
}

static void *run(void *ctx)
{
    struct kubernetes *state = ctx;
    struct ntk_node_condition wanted;
    struct ntk_device_verdicts verdicts;

    pthread_mutex_lock(&state->lock);
    while (!state->stopping) {
        uint64_t now_ns = ntk_clock_monotonic_ns();

        if (!state->has_wanted) {
            (void)ntk_cond_wait_until(&state->changed, &state->lock, NTK_COND_FOREVER);
            continue;
        }
        uint64_t condition_ns = arg_condition ? due_ns(state, &state->condition) : UINT64_MAX;
        uint64_t taints_ns = arg_effect ? due_ns(state, &state->taints) : UINT64_MAX;
        uint64_t next_ns = condition_ns < taints_ns ? condition_ns : taints_ns;

        if (next_ns > now_ns) {
            (void)ntk_cond_wait_until(&state->changed, &state->lock, next_ns);
            continue;
        }
        struct ntk_err condition_err = { 0 };
        struct ntk_err taints_err = { 0 };
        uint64_t condition_retry_ns = 0;
        uint64_t taints_retry_ns = 0;
        int condition_ret = 0;
        int taints_ret = 0;
        bool tells_condition = ntk_kube_pace_begin(&state->condition, condition_ns, now_ns);
        bool tells_taints = ntk_kube_pace_begin(&state->taints, taints_ns, now_ns);
        wanted = state->wanted;
        verdicts = state->verdicts;
        pthread_mutex_unlock(&state->lock);

        if (tells_condition) {
            condition_ret = tell_condition(state, &wanted, &condition_retry_ns, &condition_err);
        }
        if (tells_taints) {
            taints_ret = tell_taints(state, &verdicts, &taints_retry_ns, &taints_err);
        }
        pthread_mutex_lock(&state->lock);
        if (tells_condition) {
            note(state, &state->condition, condition_ret, condition_retry_ns, &condition_err);
        }
        if (tells_taints) {
            note(state, &state->taints, taints_ret, taints_retry_ns, &taints_err);
        }
    }
    pthread_mutex_unlock(&state->lock);
    return NULL;
}

/* -- the exporter ------------------------------------------------------------------------------ */

static bool is_waiting(const struct ntk_kube_pace *pace)
{
    return pace->is_wanted || pace->is_sending || pace->retry_ns;
}

static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    struct kubernetes *state = ctx;

    pthread_mutex_lock(&state->lock);
    counts->sent_items += state->sent_count;
    counts->retry_count += state->retry_count;
    counts->memory_items += is_waiting(&state->condition) + is_waiting(&state->taints);
    pthread_mutex_unlock(&state->lock);
}

static void destroy(void *ctx)
{
    struct kubernetes *state = ctx;

    if (!state) {
        return;
    }
    ntk_output_source_remove(&state->source);
    if (state->has_thread) {
        pthread_mutex_lock(&state->lock);
        state->stopping = true;
        pthread_cond_signal(&state->changed);
        pthread_mutex_unlock(&state->lock);
        ntk_kube_api_cancel(state->api);
        pthread_join(state->thread, NULL);
    }
    ntk_kube_api_destroy(state->api);
    pthread_cond_destroy(&state->changed);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct kubernetes *state = calloc(1, sizeof *state);

    (void)options; /* unused, because this exporter has no series */
    if (!state) {
        return ntk_err_no_memory(err);
    }
    state->began_ns = ntk_clock_monotonic_ns();
    pthread_mutex_init(&state->lock, NULL);
    pthread_cond_init(&state->changed, NULL);
    state->source = (struct ntk_output_source){ MODULE, read_counts, state, NULL };
    (void)ntk_str_copy(state->node, sizeof state->node, node_get());
    int ret = ntk_kube_api_create(&arg_api, getenv, &state->api, err);
    if (ret >= 0 && (ret = -pthread_create(&state->thread, NULL, run, state)) < 0) {
        ret = ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot start the Kubernetes thread: %s",
                          strerror(-ret));
    }
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    state->has_thread = true;
    ntk_output_source_add(&state->source);
    *out_state = state;
    return 0;
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct kubernetes *state = ctx;
    struct ntk_node_condition wanted;
    struct ntk_device_verdicts verdicts;

    (void)err;
    ntk_node_condition_make(snapshot, &wanted);
    ntk_device_verdicts_make(snapshot, &verdicts);
    pthread_mutex_lock(&state->lock);
    bool is_first = !state->has_wanted;
    bool has_condition = is_first || !ntk_node_condition_is_same(&wanted, &state->wanted);
    bool has_verdicts = is_first || !ntk_device_verdicts_are_same(&verdicts, &state->verdicts);
    if (has_condition || has_verdicts) {
        state->condition.is_wanted |= has_condition && arg_condition;
        state->taints.is_wanted |= has_verdicts && arg_effect;
        state->wanted = wanted;
        state->verdicts = verdicts;
        state->has_wanted = true;
        pthread_cond_signal(&state->changed);
    }
    pthread_mutex_unlock(&state->lock);
    return 0;
}

/* Drains: returns 1 after the last state was sent, or tried once. */
static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct kubernetes *state = ctx;

    (void)err;
    pthread_mutex_lock(&state->lock);
    bool is_done = in_haste || ((state->condition.retry_ns || !is_waiting(&state->condition)) &&
                                (state->taints.retry_ns || !is_waiting(&state->taints)));
    state->in_haste = true;
    pthread_cond_signal(&state->changed);
    pthread_mutex_unlock(&state->lock);
    return is_done;
}

const struct ntk_exporter ntk_exporter_kubernetes = {
    .name = "kubernetes",
    .options = option_rows,
    .is_asked = is_asked,
    .has_secrets = true,
    .create = create,
    .put = put,
    .drain = drain,
    .destroy = destroy,
};
