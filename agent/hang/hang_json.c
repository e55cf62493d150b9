/* SPDX-License-Identifier: MIT */
/* hang_json - writes verdicts as JSON for programs. */
#include <stdio.h>

#include "agent/hang/hang.h"
#include "shared/base/json.h"

/* Maximum number of listed ranks without a report, because a hostile process may claim any
 * number. */
#define UNSEEN_MAX 65536u

static void write_rank(struct ntk_json *json, const struct ntk_rank_verdict *verdict)
{
    const struct ntk_rank_row *row = verdict->row;
    char waits[256] = "";

    ntk_json_object_begin(json);
    ntk_json_key_u64(json, "rank", verdict->rank);
    ntk_json_key_text(json, "where", ntk_rank_where_names[verdict->where]);
    if (row) {
        ntk_json_key_text(json, "host", row->host);
        ntk_json_key_u64(json, "pid", row->pid);
        ntk_json_key_text(json, "tag", row->tag);
        ntk_json_key_text(json, "command", row->command);
        if (row->sample->core != NTK_NO_CORE) {
            ntk_json_key_u64(json, "core", row->sample->core);
        }
        ntk_json_key_u64(json, "sequence", row->sample->sequence);
        ntk_json_key_text(json, "operation", ntk_collective_names[row->sample->operation]);
        ntk_json_key_bool(json, "in_operation", row->sample->in_flight > 0);
        ntk_json_key_u64(json, "state_ns", row->sample->state_ns);
        if (row->is_lost) {
            ntk_json_key_u64(json, "lost_for_ns", row->lost_for_ns);
        } else if (!row->host[0] && verdict->where != NTK_RANK_ARRIVED) {
            ntk_hang_process(row->pid, row->sample->in_flight > 0 ? row->sample->tid : 0, waits,
                             sizeof waits);
            ntk_json_key_text(json, "thread", waits);
        }
    }
    ntk_json_object_end(json);
}

static void write_ranks(struct ntk_json *json, const struct ntk_comm_verdict *verdict,
                        uint32_t *unseen_left)
{
    uint32_t unseen = verdict->rank_count - verdict->seen;

    if (unseen <= *unseen_left) {
        *unseen_left -= unseen;
        for (uint32_t i = 0; i < verdict->rank_count; i++) {
            struct ntk_rank_verdict rank = ntk_comm_verdict_rank(verdict, i);

            write_rank(json, &rank);
        }
        return;
    }
    for (uint32_t i = 0; i < verdict->seen; i++) {
        write_rank(json, &verdict->ranks[i]);
    }
}

static void write_verdict(struct ntk_json *json, const struct ntk_comm_verdict *verdict,
                          uint32_t *unseen_left)
{
    const struct ntk_rank_sample *sample = verdict->first->sample;
    char key[17];

    snprintf(key, sizeof key, "%016llx", (unsigned long long)sample->key);
    ntk_json_object_begin(json);
    ntk_json_key_text(json, "kind", ntk_comm_verdict_names[verdict->kind]);
    ntk_json_key_text(json, "communicator", key);
    ntk_json_key_text(json, "rendezvous", sample->rendezvous);
    ntk_json_key_text(json, "members", sample->members);
    ntk_json_key_u64(json, "rank_count", verdict->rank_count);
    ntk_json_key_u64(json, "model_id", sample->model_id);
    ntk_json_key_u64(json, "sequence", verdict->sequence);
    ntk_json_key_text(json, "operation", ntk_collective_names[verdict->operation]);
    ntk_json_key_u64(json, "age_ns", verdict->age_ns);
    ntk_json_key_u64(json, "threshold_ns", verdict->threshold_ns);
    ntk_json_key_bool(json, "threshold_is_learned", verdict->is_learned);
    ntk_json_key_u64(json, "missing_count", verdict->missing_count);
    ntk_json_key_u64(json, "unseen_count", verdict->rank_count - verdict->seen);
    ntk_json_key_array_begin(json, "ranks");
    write_ranks(json, verdict, unseen_left);
    ntk_json_array_end(json);
    ntk_json_object_end(json);
}

static void write_stuck(struct ntk_json *json, const struct ntk_stuck_row *row)
{
    char waits[256] = "";

    ntk_json_object_begin(json);
    ntk_json_key_text(json, "host", row->host);
    ntk_json_key_u64(json, "pid", row->runtime->pid);
    ntk_json_key_text(json, "tag", row->runtime->tag);
    ntk_json_key_text(json, "command", row->runtime->command);
    ntk_json_key_u64(json, "core", row->core->core);
    ntk_json_key_u64(json, "age_ns", row->core->running_ns);
    ntk_json_key_u64(json, "threshold_ns", row->threshold_ns);
    ntk_json_key_bool(json, "threshold_is_learned", row->is_learned);
    if (!row->host[0]) {
        ntk_hang_process(row->runtime->pid, 0, waits, sizeof waits);
        ntk_json_key_text(json, "thread", waits);
    }
    ntk_json_object_end(json);
}

void ntk_hang_write_json(const struct ntk_hang_view *view, struct ntk_buf *out)
{
    uint32_t unseen_left = UNSEEN_MAX;
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "communicators");
    ntk_vec_each(struct ntk_comm_verdict, verdict, &view->ranks->verdicts) {
        if (ntk_hang_is_reported(view, verdict)) {
            write_verdict(&json, verdict, &unseen_left);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "stuck");
    ntk_vec_each(struct ntk_stuck_row, row, &view->stuck->rows) {
        if (ntk_hang_stuck_is_reported(view, row)) {
            write_stuck(&json, row);
        }
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "hosts");
    for (size_t i = 0; i < view->host_count; i++) {
        const struct ntk_host *host = &view->hosts[i];

        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "host", host->name);
        ntk_json_key_text(&json, "error", host->err.text);
        ntk_hang_write_source_json(&json, host);
        if (host->name[0] && host->snapshot && host->clock.error_ns != NTK_RANKS_CLOCK_UNKNOWN) {
            ntk_json_key_i64(&json, "clock_ahead_ns", host->clock.ahead_ns);
            ntk_json_key_u64(&json, "clock_error_ns", host->clock.error_ns);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
