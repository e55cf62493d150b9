/* SPDX-License-Identifier: MIT */
/*
 * otlp - converts snapshots to requests of OTLP over HTTP or gRPC and pushes them in order to a
 * collector: pages of metrics (each report, or one per interval and the last), and if requested
 * changes of health as log records and spans as traces. Each signal has a separate address and
 * queue.
 */
#include "exporters/otlp/otlp.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporters/otlp/otlp_encode.h"
#include "exporters/otlp/otlp_health.h"
#include "exporters/otlp/otlp_peer.h"
#include "exporters/otlp/otlp_spans.h"
#include "exporters/push/push.h"
#include "exporters/transport/output_counts.h"
#include "shared/base/str.h"
#include "shared/metrics/snapshot.h"

struct ntk_otlp_target ntk_otlp_target;
static struct ntk_span_rules span_rules;

static const struct ntk_opt option_rows[] = {
    { 0, "otlp", "[=URL]", NTK_OPT_TEXT, &ntk_otlp_target.url,
      "push metrics to an OpenTelemetry collector using OTLP over HTTP or gRPC; /v1/metrics is "
      "appended "
      "for HTTP (default URL: OTEL_EXPORTER_OTLP_ENDPOINT)" },
    { 0, "otlp-logs", 0, NTK_OPT_FLAG, &ntk_otlp_target.has_logs,
      "push device health changes to the collector as log records (/v1/logs)" },
    { 0, "otlp-traces", "[=RULES]", NTK_OPT_TEXT, &ntk_otlp_target.traces,
      "push individual executions, loads and collectives to the collector as spans (/v1/traces): "
      "failed, "
      "slow=TIME, parent, every=N, separated by commas (default " NTK_SPAN_RULES_DEFAULT ")",
      "failed slow= parent every=" },
    { 0, "otlp-spool", "FOLDER", NTK_OPT_TEXT, &ntk_otlp_target.spool_folder,
      "keep undelivered data in this folder (default: in memory)" },
    { 0 },
};

static int is_asked(struct ntk_err *err)
{
    const struct ntk_otlp_target *target = &ntk_otlp_target;
    const char *lonely = target->url            ? NULL
                         : target->spool_folder ? "--otlp-spool"
                         : target->has_logs     ? "--otlp-logs"
                         : target->traces       ? "--otlp-traces"
                                                : NULL;

    if (lonely) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%s requires --otlp", lonely);
    }
    struct ntk_err cause = { 0 };
    if (target->traces && ntk_span_rules_parse(target->traces, &span_rules, &cause) < 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "--otlp-traces: %s", cause.text);
    }
    if (target->url && target->url[0] && !ntk_push_is_url(target->url)) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "--otlp requires a URL with http:// or https://");
    }
    return target->url != NULL;
}

static const struct ntk_span_rules *span_rules_get(void)
{
    return ntk_otlp_target.url && ntk_otlp_target.traces ? &span_rules : NULL;
}

/* -- metrics ----------------------------------------------------------------------------------- */

struct metrics {
    struct ntk_otlp_peer peer;
    struct ntk_otlp *encoder;
    char host_name[NTK_PUSH_HOST_BYTES];
};

static void see(void *ctx, const struct ntk_snapshot *snapshot)
{
    struct metrics *metrics = ctx;

    if (snapshot->host_name[0]) {
        ntk_str_copy_clean(metrics->host_name, sizeof metrics->host_name, snapshot->host_name,
                           strlen(snapshot->host_name));
    }
}

static int encode(void *ctx, const struct ntk_points_page *page, uint64_t time_ns,
                  ntk_push_emit *emit, void *emit_ctx, struct ntk_err *err)
{
    const struct metrics *metrics = ctx;

    return ntk_otlp_encode(metrics->encoder, page, metrics->host_name, time_ns, emit, emit_ctx,
                           err);
}

static void destroy_metrics(void *ctx)
{
    struct metrics *metrics = ctx;

    ntk_otlp_destroy(metrics->encoder);
    ntk_otlp_peer_fini(&metrics->peer);
    free(metrics);
}

static int create_metrics(const struct ntk_exporter_options *options, void **out_push,
                          struct ntk_err *err)
{
    struct metrics *metrics = calloc(1, sizeof *metrics);

    if (!metrics) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_otlp_peer_init(&metrics->peer, NTK_OTLP_METRICS, ntk_otlp_target.url, err);
    const struct ntk_otlp_config *config = &metrics->peer.config;
    const struct ntk_otlp_options encoder = { .vendor_only = options->vendor_only,
                                              .has_exponential = config->has_exponential,
                                              .attributes = &config->attributes };

    if (ret >= 0) {
        ntk_push_host_name(metrics->host_name);
        metrics->encoder = ntk_otlp_create(&encoder);
        ret = metrics->encoder ? 0 : ntk_err_no_memory(err);
    }
    if (ret < 0) {
        destroy_metrics(metrics);
        return ret;
    }
    const struct ntk_push_peer peer = { .receiver = ntk_otlp_peer_receiver(
                                            &metrics->peer, "otlp", "data points",
                                            ntk_otlp_target.spool_folder),
                                        .is_disabled = config->is_disabled,
                                        .keeps_fine_latencies = config->has_exponential,
                                        .interval_ns = config->interval_ns,
                                        .see = see,
                                        .encode = encode,
                                        .destroy = destroy_metrics,
                                        .ctx = metrics };
    return ntk_push_create(options, &peer, out_push, err);
}

/* -- other signals ----------------------------------------------------------------------------- */

struct channel {
    struct ntk_otlp_peer peer;
    struct ntk_push_sender *sender; /* NULL if not requested, or disabled */
    char *spool_folder;
    /* Number of items in no request, in addition to items that the outbox counts as lost. */
    _Atomic uint64_t lost_items;
    struct ntk_output_source source;
};

static void read_counts(void *ctx, struct ntk_output_counts *counts)
{
    const struct channel *channel = ctx;

    counts->lost_items += atomic_load(&channel->lost_items);
}

static void close_channel(struct channel *channel)
{
    ntk_output_source_remove(&channel->source);
    ntk_push_sender_destroy(channel->sender);
    ntk_otlp_peer_fini(&channel->peer);
    free(channel->spool_folder);
}

static int open_channel(struct channel *channel, enum ntk_otlp_signal signal, const char *name,
                        const char *items, bool puts_again, const struct ntk_clock *clock,
                        struct ntk_err *err)
{
    const char *spool = ntk_otlp_target.spool_folder;
    int ret = ntk_otlp_peer_init(&channel->peer, signal, ntk_otlp_target.url, err);

    if (ret < 0 || channel->peer.config.is_disabled) {
        return ret;
    }
    /* Log records use the folder "logs" in the folder of metrics. */
    if (spool && asprintf(&channel->spool_folder, "%s%s", spool,
                          strrchr(ntk_otlp_signals[signal].path, '/')) < 0) {
        channel->spool_folder = NULL;
        return ntk_err_no_memory(err);
    }
    struct ntk_push_receiver receiver =
        ntk_otlp_peer_receiver(&channel->peer, name, items, channel->spool_folder);
    receiver.puts_again = puts_again;
    receiver.clock = clock;
    ret = ntk_push_sender_create(&receiver, &channel->sender, err);
    if (ret >= 0) {
        channel->source =
            (struct ntk_output_source){ .name = name, .read = read_counts, .ctx = channel };
        ntk_output_source_add(&channel->source);
    }
    return ret;
}

/* Drains a channel; returns 1 if there is nothing to wait for. */
static int drain_channel(struct channel *channel, bool in_haste, struct ntk_err *err)
{
    return channel->sender ? ntk_push_sender_drain(channel->sender, in_haste, err) : 1;
}

/* -- the exporter ------------------------------------------------------------------------------ */

#define MACHINE_TEXTS 4

struct otlp {
    void *metrics; /* from ntk_push_create() */
    struct channel logs;
    struct ntk_otlp_health health; /* state that log records have */
    struct ntk_otlp_health seen;   /* state in the last snapshot, if records could not be put */
    uint64_t records_delayed;      /* number of changes between the two */
    struct channel traces;
    /* Facts about the machine in snapshots so far. */
    char host_name[NTK_PUSH_HOST_BYTES];
    char instance[MACHINE_TEXTS][NTK_PUSH_HOST_BYTES];
    struct ntk_err failure; /* first failure of drain(); code 0 if none */
};

static void destroy(void *ctx)
{
    struct otlp *state = ctx;

    if (!state) {
        return;
    }
    if (state->metrics) {
        ntk_push_destroy(state->metrics);
    }
    close_channel(&state->logs);
    close_channel(&state->traces);
    free(state);
}

static int create(const struct ntk_exporter_options *options, void **out_state, struct ntk_err *err)
{
    struct otlp *state = calloc(1, sizeof *state);

    if (!state) {
        return ntk_err_no_memory(err);
    }
    ntk_push_host_name(state->host_name);
    int ret = create_metrics(options, &state->metrics, err);
    if (ret >= 0 && ntk_otlp_target.has_logs) {
        ret = open_channel(&state->logs, NTK_OTLP_LOGS, "otlp logs", "log records", true,
                           options->clock, err);
    }
    if (ret >= 0 && ntk_otlp_target.traces) {
        ret = open_channel(&state->traces, NTK_OTLP_TRACES, "otlp traces", "spans", false,
                           options->clock, err);
    }
    if (ret < 0) {
        destroy(state);
        return ret;
    }
    *out_state = state;
    return 0;
}

/* Notes facts about the machine, which may arrive later than the first snapshot. */
static struct ntk_otlp_machine see_machine(struct otlp *state, const struct ntk_snapshot *snapshot)
{
    const char *const texts[MACHINE_TEXTS] = { snapshot->instance.id, snapshot->instance.type,
                                               snapshot->instance.region,
                                               snapshot->instance.availability_zone };

    if (snapshot->host_name[0]) {
        ntk_str_copy_clean(state->host_name, sizeof state->host_name, snapshot->host_name,
                           strlen(snapshot->host_name));
    }
    for (size_t i = 0; i < MACHINE_TEXTS; i++) {
        if (texts[i] && texts[i][0]) {
            ntk_str_copy_clean(state->instance[i], sizeof state->instance[i], texts[i],
                               strlen(texts[i]));
        }
    }
    return (struct ntk_otlp_machine){ .host_name = state->host_name,
                                      .instance_id = state->instance[0],
                                      .instance_type = state->instance[1],
                                      .region = state->instance[2],
                                      .availability_zone = state->instance[3] };
}

/* Counts changes since the last snapshot while earlier changes are delayed: some of them may end
 * without a record. Negative if out of memory. */
static int count_delayed(struct otlp *state, const struct ntk_snapshot *snapshot,
                         const struct ntk_otlp_machine *machine, uint64_t now_ns)
{
    struct ntk_buf request = { 0 };
    int count = ntk_otlp_health_encode(&state->seen, snapshot, machine, NULL, now_ns, &request);

    ntk_buf_fini(&request);
    state->records_delayed += count > 0 ? (uint64_t)count : 0;
    return count;
}

/* Puts log records. Changes that could not be put are put with the next snapshot. Changes that were
 * undone meanwhile, such as a reason that has ended, are lost. */
static int put_logs(struct otlp *state, const struct ntk_snapshot *snapshot,
                    const struct ntk_otlp_machine *machine, struct ntk_err *err)
{
    uint64_t now_ns = ntk_snapshot_time_ns(snapshot);
    struct ntk_otlp_health after = state->health;
    struct ntk_buf request = { 0 };

    if (state->records_delayed > 0 && count_delayed(state, snapshot, machine, now_ns) < 0) {
        return ntk_err_no_memory(err);
    }
    int count = ntk_otlp_health_encode(&after, snapshot, machine,
                                       &state->logs.peer.config.attributes, now_ns, &request);
    int ret = count < 0   ? ntk_err_no_memory(err)
              : count > 0 ? ntk_push_sender_put(state->logs.sender, &request, (uint64_t)count, err)
                          : 0;

    ntk_buf_fini(&request);
    if (ret < 0) {
        if (count > 0 && state->records_delayed == 0) {
            state->records_delayed = (uint64_t)count;
            state->seen = after;
        }
        return ret;
    }
    state->health = after;
    if (state->records_delayed > 0) {
        atomic_fetch_add(&state->logs.lost_items, state->records_delayed - (uint64_t)count);
        state->records_delayed = 0;
    }
    return 0;
}

static int emit_spans(struct ntk_buf *request, uint64_t span_count, void *ctx, struct ntk_err *err)
{
    struct otlp *state = ctx;

    return ntk_push_sender_put(state->traces.sender, request, span_count, err);
}

static int put_traces(struct otlp *state, const struct ntk_snapshot *snapshot,
                      const struct ntk_otlp_machine *machine, struct ntk_err *err)
{
    uint64_t lost = 0;
    int ret = ntk_otlp_spans_encode(snapshot, machine, &state->traces.peer.config.attributes,
                                    emit_spans, state, &lost, err);

    atomic_fetch_add(&state->traces.lost_items, lost + snapshot->spans_lost);
    return ret;
}

static int put(void *ctx, const struct ntk_snapshot *snapshot, struct ntk_err *err)
{
    struct otlp *state = ctx;
    const struct ntk_otlp_machine machine = see_machine(state, snapshot);
    int ret = ntk_push_put(state->metrics, snapshot, err);

    if (state->logs.sender) {
        int logs = put_logs(state, snapshot, &machine, ret < 0 ? NULL : err);
        ret = ret < 0 ? ret : logs;
    }
    if (state->traces.sender) {
        int traces = put_traces(state, snapshot, &machine, ret < 0 ? NULL : err);
        ret = ret < 0 ? ret : traces;
    }
    return ret;
}

static int resume(void *ctx, const struct ntk_snapshot *totals, struct ntk_err *err)
{
    struct otlp *state = ctx;

    return ntk_push_resume(state->metrics, totals, err);
}

/* Keeps the first failure; a signal reports its failure once, perhaps while another signal still
 * waits. */
static int keep_failure(struct otlp *state, int ret, const struct ntk_err *err)
{
    if (ret < 0 && state->failure.code == 0) {
        state->failure = *err;
        state->failure.code = ret;
    }
    return ret;
}

/* Gives up delayed records, because no more snapshots come, with which they could be sent. */
static void give_up_delayed(struct otlp *state)
{
    struct ntk_err err = { 0 };

    if (state->records_delayed > 0) {
        atomic_fetch_add(&state->logs.lost_items, state->records_delayed);
        (void)keep_failure(state,
                           ntk_err_set(&err, -EIO, NTK_ERR_NO_OFFSET,
                                       "otlp logs: %llu delayed log records lost",
                                       (unsigned long long)state->records_delayed),
                           &err);
        state->records_delayed = 0;
    }
}

/* Returns negative once all signals are done and one of them lost data. */
static int drain(void *ctx, bool in_haste, struct ntk_err *err)
{
    struct otlp *state = ctx;
    struct ntk_err cause = { 0 };
    bool is_waiting =
        keep_failure(state, ntk_push_drain(state->metrics, in_haste, &cause), &cause) == 0;
    struct channel *const channels[] = { &state->logs, &state->traces };

    give_up_delayed(state);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        int ret = keep_failure(state, drain_channel(channels[i], in_haste, &cause), &cause);
        is_waiting = is_waiting || ret == 0;
    }
    if (is_waiting) {
        return 0;
    }
    return state->failure.code
               ? ntk_err_set(err, state->failure.code, NTK_ERR_NO_OFFSET, "%s", state->failure.text)
               : 1;
}

const struct ntk_exporter ntk_exporter_otlp = {
    .name = "otlp",
    .options = option_rows,
    .is_asked = is_asked,
    .span_rules = span_rules_get,
    .has_secrets = true,
    .create = create,
    .put = put,
    .resume = resume,
    .drain = drain,
    .destroy = destroy,
};
