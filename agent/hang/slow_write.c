/* SPDX-License-Identifier: MIT */
/* slow_write - writes paces of ranks as sentences, and as JSON for programs. */
#include <stdio.h>

#include "agent/hang/slow.h"
#include "shared/base/json.h"
#include "shared/base/units.h"

static const char *const whys[NTK_PACE_WHERE_COUNT] = {
    [NTK_PACE_UNKNOWN] = "the cause is unknown: its cores or its host",
    [NTK_PACE_CORE] = "its cores are busy longer than those of other ranks",
    [NTK_PACE_MEMORY] = "its cores are busy longer than those of other ranks; its transfers are "
                        "slow, but its engines are not: check its device memory (HBM)",
    [NTK_PACE_HOST] = "its cores are not busy longer than those of other ranks: check its host and "
                      "its input data",
    [NTK_PACE_LINK] =
        "it arrives on time but stays in the operation longer than other ranks: check its links",
};

static const char *why_of(const struct ntk_pace_verdict *verdict)
{
    if (verdict->where == NTK_PACE_CORE && !verdict->has_transfers) {
        return "its cores are busy longer than those of other ranks: check the cores and their "
               "device memory (the runtime reports no transfers)";
    }
    return whys[verdict->where];
}

static void write_verdict(const struct ntk_pace_verdict *verdict, struct ntk_buf *out)
{
    char behind[32];
    char interval[32];

    if (!verdict->slow) {
        ntk_buf_add_format(out,
                           "communicator %016llx, %u ranks: ", (unsigned long long)verdict->key,
                           verdict->rank_count);
        if (verdict->seen < 2) {
            ntk_buf_add_text(out, "not enough operations or ranks observed\n");
        } else {
            ntk_buf_add_format(
                out,
                "%u ranks observed; none is slow (the largest wait is %.1f%% of an interval)\n",
                verdict->seen, 100 * verdict->share);
        }
        return;
    }
    ntk_buf_add_format(out, "SLOW: rank %u of %u, process %u", verdict->slow->rank,
                       verdict->rank_count, verdict->slow->pid);
    if (verdict->slow->host[0]) {
        ntk_buf_add_format(out, " on %s", verdict->slow->host);
    }
    ntk_buf_add_format(
        out,
        ", communicator %016llx\n"
        "  the other ranks spend %s of every %s waiting for it (%.0f%%); %u ranks observed\n"
        "  %s\n",
        (unsigned long long)verdict->key,
        ntk_units_duration(behind, sizeof behind, verdict->behind_ns),
        ntk_units_duration(interval, sizeof interval, verdict->interval_ns), 100 * verdict->share,
        verdict->seen, why_of(verdict));
}

void ntk_slow_write_text(const struct ntk_pace *pace, const struct ntk_host *hosts, bool all,
                         struct ntk_buf *out)
{
    size_t reported = 0;
    size_t compared = 0;

    ntk_vec_each(struct ntk_pace_verdict, verdict, &pace->verdicts) {
        compared += verdict->seen >= 2;
        if (verdict->slow || all) {
            write_verdict(verdict, out);
            reported++;
        }
    }
    if (reported == 0) {
        ntk_buf_add_text(
            out, pace->verdicts.count == 0 && ntk_hang_has_unreadable(hosts)
                     ? "no readable process is a rank of a communicator\n"
                 : pace->verdicts.count == 0 ? "no process is a rank of a communicator\n"
                 : compared == 0 ? "cannot compare ranks: too few operations or too few ranks\n"
                                 : "no rank is slow\n");
    }
}

void ntk_slow_write_json(const struct ntk_pace *pace, const struct ntk_host *hosts,
                         size_t host_count, struct ntk_buf *out)
{
    struct ntk_json json;

    ntk_json_init(&json, out, true);
    ntk_json_object_begin(&json);
    ntk_json_key_array_begin(&json, "communicators");
    ntk_vec_each(struct ntk_pace_verdict, verdict, &pace->verdicts) {
        char key[17];

        snprintf(key, sizeof key, "%016llx", (unsigned long long)verdict->key);
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "communicator", key);
        ntk_json_key_u64(&json, "rank_count", verdict->rank_count);
        ntk_json_key_u64(&json, "seen_count", verdict->seen);
        ntk_json_key_u64(&json, "behind_ns", verdict->behind_ns);
        ntk_json_key_u64(&json, "interval_ns", verdict->interval_ns);
        ntk_json_key_double(&json, "share_ratio", verdict->share);
        if (verdict->slow) {
            ntk_json_key_object_begin(&json, "slow");
            ntk_json_key_u64(&json, "rank", verdict->slow->rank);
            ntk_json_key_text(&json, "host", verdict->slow->host);
            ntk_json_key_u64(&json, "pid", verdict->slow->pid);
            ntk_json_key_text(&json, "where", ntk_pace_where_names[verdict->where]);
            ntk_json_object_end(&json);
        }
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_key_array_begin(&json, "hosts");
    for (size_t i = 0; i < host_count; i++) {
        ntk_json_object_begin(&json);
        ntk_json_key_text(&json, "host", hosts[i].name);
        ntk_json_key_text(&json, "error", hosts[i].err.text);
        ntk_hang_write_source_json(&json, &hosts[i]);
        ntk_json_object_end(&json);
    }
    ntk_json_array_end(&json);
    ntk_json_object_end(&json);
    ntk_buf_add_char(out, '\n');
}
