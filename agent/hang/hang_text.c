/* SPDX-License-Identifier: MIT */
/* hang_text - writes verdicts as sentences. */
#include "agent/hang/hang.h"

#include <string.h>

#include "shared/base/units.h"

#define RANKS_NAMED 4u  /* maximum in one log line */
#define RANKS_SHOWN 16u /* maximum of arrived ranks, and of missing ranks */

static bool is_of_job(const struct ntk_hang_view *view, const struct ntk_comm_verdict *verdict)
{
    if (!view->job) {
        return true;
    }
    if (strcmp(verdict->first->sample->rendezvous, view->job) == 0) {
        return true;
    }
    for (uint32_t i = 0; i < verdict->seen; i++) {
        if (strcmp(verdict->ranks[i].row->tag, view->job) == 0) {
            return true;
        }
    }
    return false;
}

bool ntk_hang_is_reported(const struct ntk_hang_view *view, const struct ntk_comm_verdict *verdict)
{
    bool is_wanted =
        view->all || verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE;

    return is_wanted && is_of_job(view, verdict);
}

bool ntk_hang_stuck_is_reported(const struct ntk_hang_view *view, const struct ntk_stuck_row *row)
{
    return !view->job || strcmp(row->runtime->tag, view->job) == 0;
}

static const char *span(char *text, size_t bytes, uint64_t ns)
{
    return ntk_units_duration(text, bytes, ns);
}

const char *ntk_hang_place(const char *rendezvous)
{
    return rendezvous && rendezvous[0] ? rendezvous : "the default rendezvous";
}

static void write_what(const struct ntk_comm_verdict *verdict, struct ntk_buf *out)
{
    const struct ntk_rank_sample *sample = verdict->first->sample;

    if (sample->model_id != 0) {
        ntk_buf_add_format(out, "execution %llu of model %u on %u ranks",
                           (unsigned long long)verdict->sequence, sample->model_id,
                           verdict->rank_count);
    } else if (verdict->sequence == 0) {
        ntk_buf_add_format(out, "no operations yet on %u ranks", verdict->rank_count);
    } else {
        ntk_buf_add_format(out, "%s %llu on %u ranks", ntk_collective_names[verdict->operation],
                           (unsigned long long)verdict->sequence, verdict->rank_count);
    }
    ntk_buf_add_format(out, ", communicator %016llx at ", (unsigned long long)sample->key);
    ntk_buf_add_clean(out, ntk_hang_place(sample->rendezvous));
    if (sample->members[0]) {
        ntk_buf_add_text(out, " (ranks ");
        ntk_buf_add_clean(out, sample->members);
        ntk_buf_add_format(out, " of %u)", sample->world_count);
    }
}

static void write_head(const struct ntk_comm_verdict *verdict, bool colours, struct ntk_buf *out)
{
    static const struct {
        const char *word;
        const char *colour;
    } heads[NTK_COMM_VERDICT_COUNT] = {
        [NTK_COMM_IDLE] = { "idle", "" },
        [NTK_COMM_GOES_ON] = { "progressing", "\033[32m" },
        [NTK_COMM_HANGS] = { "HANGS", "\033[1;31m" },
        [NTK_COMM_BROKE] = { "BROKE", "\033[1;33m" },
    };
    char age[32];
    char threshold[32];

    ntk_buf_add_format(out, "%s%s%s: ", colours ? heads[verdict->kind].colour : "",
                       heads[verdict->kind].word,
                       colours && heads[verdict->kind].colour[0] ? "\033[0m" : "");
    write_what(verdict, out);
    if (verdict->age_ns > 0) {
        ntk_buf_add_format(out, "\n  the first rank arrived %s ago",
                           span(age, sizeof age, verdict->age_ns));
        if (verdict->kind == NTK_COMM_HANGS) {
            ntk_buf_add_format(
                out, ", longer than %s%s", span(threshold, sizeof threshold, verdict->threshold_ns),
                verdict->is_learned ? ", the limit derived from the longest operation so far" : "");
        }
    }
    ntk_buf_add_char(out, '\n');
}

static void write_process(const struct ntk_rank_row *row, struct ntk_buf *out)
{
    ntk_buf_add_format(out, "process %u", row->pid);
    if (row->command[0]) {
        ntk_buf_add_text(out, " (");
        ntk_buf_add_clean(out, row->command);
        ntk_buf_add_char(out, ')');
    }
    if (row->host[0]) {
        ntk_buf_add_format(out, " on %s", row->host);
    }
    if (row->sample->core != NTK_NO_CORE) {
        ntk_buf_add_format(out, ", core %u", row->sample->core);
    }
}

/* Writes the position of a local process in the kernel. */
static void write_kernel(const struct ntk_rank_row *row, uint32_t tid, struct ntk_buf *out)
{
    char text[256];

    if (row->host[0] || row->is_lost) {
        return;
    }
    ntk_hang_process(row->pid, tid, text, sizeof text);
    if (text[0]) {
        ntk_buf_add_format(out, "\n      its %s %s", tid != 0 ? "thread" : "first thread", text);
    }
}

static void write_last(const struct ntk_rank_sample *sample, struct ntk_buf *out)
{
    char age[32];

    if (sample->sequence == 0) {
        ntk_buf_add_text(out, "has not joined any operation");
    } else {
        ntk_buf_add_format(out, "left %s %llu %s ago", ntk_collective_names[sample->operation],
                           (unsigned long long)sample->sequence,
                           span(age, sizeof age, sample->state_ns));
    }
}

static void write_missing(const struct ntk_rank_verdict *verdict, bool is_broken,
                          struct ntk_buf *out)
{
    const struct ntk_rank_row *row = verdict->row;
    char age[32];

    ntk_buf_add_format(out, "    rank %u: ", verdict->rank);
    if (!row) {
        ntk_buf_add_format(out,
                           "not reported by any process: it %s, or its machine was not queried\n",
                           is_broken ? "has exited" : "never arrived");
        return;
    }
    write_process(row, out);
    ntk_buf_add_text(out, ": ");
    switch (verdict->where) {
    case NTK_RANK_BEHIND:
        ntk_buf_add_format(out, "is still in %s %llu, for %s",
                           ntk_collective_names[row->sample->operation],
                           (unsigned long long)row->sample->sequence,
                           span(age, sizeof age, row->sample->state_ns));
        write_kernel(row, row->sample->tid, out);
        break;
    case NTK_RANK_RESTARTED:
        ntk_buf_add_text(out, "restarted after other ranks had arrived: it ");
        write_last(row->sample, out);
        break;
    case NTK_RANK_GONE:
        ntk_buf_add_text(out, "left the communicator after ");
        ntk_buf_add_format(out, "%llu operations", (unsigned long long)row->sample->sequence);
        if (row->is_lost) {
            ntk_buf_add_format(out, "; its process exited %s ago",
                               span(age, sizeof age, row->lost_for_ns));
        }
        break;
    case NTK_RANK_LOST:
        ntk_buf_add_text(out, "exited without leaving");
        if (row->lost_for_ns > 0) {
            ntk_buf_add_format(out, ", noticed %s ago", span(age, sizeof age, row->lost_for_ns));
        }
        if (row->sample->in_flight > 0) {
            ntk_buf_add_format(out, ", in %s %llu", ntk_collective_names[row->sample->operation],
                               (unsigned long long)row->sample->sequence);
        } else {
            ntk_buf_add_format(out, ", after %llu operations",
                               (unsigned long long)row->sample->sequence);
        }
        break;
    default:
        write_last(row->sample, out);
        ntk_buf_add_text(out, " and has not arrived since");
        write_kernel(row, 0, out);
        break;
    }
    ntk_buf_add_char(out, '\n');
}

/* Writes the ranks that have arrived, such as "0-2,5". */
static void write_ranges(const struct ntk_comm_verdict *verdict, struct ntk_buf *out)
{
    const struct ntk_rank_verdict *ranks = verdict->ranks;
    bool is_first = true;

    for (uint32_t i = 0, end; i < verdict->seen; i = end + 1) {
        end = i;
        if (ranks[i].where != NTK_RANK_ARRIVED) {
            continue;
        }
        while (end + 1 < verdict->seen && ranks[end + 1].where == NTK_RANK_ARRIVED &&
               ranks[end + 1].rank == ranks[end].rank + 1) {
            end++;
        }
        ntk_buf_add_format(out, "%s%u", is_first ? "" : ",", ranks[i].rank);
        if (end > i) {
            ntk_buf_add_format(out, "-%u", ranks[end].rank);
        }
        is_first = false;
    }
}

static void write_ranks(const struct ntk_comm_verdict *verdict, struct ntk_buf *out)
{
    struct ntk_rank_verdict missing = { 0 };
    uint32_t shown = 0;

    if (verdict->kind == NTK_COMM_GOES_ON && verdict->age_ns == 0) {
        ntk_buf_add_text(out, "  no rank is in an operation at the moment\n");
        return;
    }
    if (verdict->missing_count == 0) {
        ntk_buf_add_text(out, verdict->kind == NTK_COMM_HANGS
                                  ? "  all ranks arrived, so the operation itself is stuck: check "
                                    "the health of devices and links\n"
                                  : "  all ranks arrived\n");
        return;
    }
    if (verdict->missing_count < verdict->rank_count && verdict->kind != NTK_COMM_BROKE) {
        ntk_buf_add_format(out, "  %u of %u ranks arrived: rank%s ",
                           verdict->rank_count - verdict->missing_count, verdict->rank_count,
                           verdict->rank_count - verdict->missing_count > 1 ? "s" : "");
        write_ranges(verdict, out);
        ntk_buf_add_char(out, '\n');
    }
    ntk_buf_add_format(out, "  %u %s\n", verdict->missing_count,
                       verdict->kind == NTK_COMM_BROKE ? "left or exited:" : "missing:");
    for (uint32_t from = 0;
         shown < RANKS_SHOWN && ntk_comm_verdict_missing(verdict, from, &missing);
         from = missing.rank + 1) {
        write_missing(&missing, verdict->kind == NTK_COMM_BROKE, out);
        shown++;
    }
    if (verdict->missing_count > shown) {
        ntk_buf_add_format(out, "    and %u more\n", verdict->missing_count - shown);
    }
}

/* State of a list of ranks: each call adds one; a call without a name ends the list. */
struct naming {
    struct ntk_buf *out;
    uint32_t named;
};

static void name_rank(struct naming *naming, uint32_t rank)
{
    ntk_buf_add_format(naming->out, naming->named > 0 ? ", %u" : "%u", rank);
    naming->named++;
}

/* Ends a list of names with " and 3 more are". */
static void end_names(struct naming *naming, uint32_t count)
{
    if (count > naming->named) {
        ntk_buf_add_format(naming->out, " and %u more", count - naming->named);
    }
    ntk_buf_add_text(naming->out, count > 1 ? " are " : " is ");
}

void ntk_hang_write_missing(const struct ntk_comm_verdict *verdict, struct ntk_buf *out)
{
    struct naming naming = { .out = out };
    struct ntk_rank_verdict rank = { 0 };
    struct ntk_rank_verdict other = { 0 };
    uint32_t lost = 0;

    for (uint32_t i = 0; i < verdict->seen; i++) {
        lost += verdict->ranks[i].where == NTK_RANK_LOST;
    }
    if (lost > 0) {
        ntk_buf_add_text(out, lost > 1 ? "ranks " : "rank ");
        for (uint32_t from = 0; naming.named < RANKS_NAMED &&
                                ntk_comm_verdict_missing_as(verdict, NTK_RANK_LOST, from, &rank);
             from = rank.rank + 1) {
            name_rank(&naming, rank.rank);
        }
        end_names(&naming, lost);
        ntk_buf_add_text(out, ntk_rank_where_names[NTK_RANK_LOST]);
    }
    if (verdict->missing_count <= lost) {
        return;
    }
    naming.named = 0;
    ntk_buf_add_text(out, lost > 0 ? "; " : "");
    ntk_buf_add_text(out, verdict->missing_count - lost > 1 ? "ranks " : "rank ");
    bool are_alike = true;
    for (uint32_t from = 0;
         naming.named < RANKS_NAMED && ntk_comm_verdict_missing(verdict, from, &rank);
         from = rank.rank + 1) {
        if (rank.where != NTK_RANK_LOST) {
            are_alike = are_alike && (naming.named == 0 || rank.where == other.where);
            other = rank;
            name_rank(&naming, rank.rank);
        }
    }
    are_alike = are_alike && naming.named == verdict->missing_count - lost;
    end_names(&naming, verdict->missing_count - lost);
    ntk_buf_add_text(out, are_alike ? ntk_rank_where_names[other.where] : "missing");
    if (are_alike && other.where == NTK_RANK_UNSEEN) {
        ntk_buf_add_text(out, " on this machine");
    }
}

void ntk_hang_write_stuck(const struct ntk_stuck_row *row, struct ntk_buf *out)
{
    char age[32];

    ntk_buf_add_format(out, "core %u of process %u", row->core->core, row->runtime->pid);
    if (row->runtime->command && row->runtime->command[0]) {
        ntk_buf_add_text(out, " (");
        ntk_buf_add_clean(out, row->runtime->command);
        ntk_buf_add_char(out, ')');
    }
    if (row->host[0]) {
        ntk_buf_add_format(out, " on %s", row->host);
    }
    ntk_buf_add_format(out, " has been in one execution for %s",
                       span(age, sizeof age, row->core->running_ns));
}

static void write_stuck(const struct ntk_stuck_row *row, bool colours, struct ntk_buf *out)
{
    char threshold[32];
    char text[256] = "";

    ntk_buf_add_format(out, "%sSTUCK%s: ", colours ? "\033[1;31m" : "", colours ? "\033[0m" : "");
    ntk_hang_write_stuck(row, out);
    ntk_buf_add_format(
        out, ", longer than %s%s\n", span(threshold, sizeof threshold, row->threshold_ns),
        row->is_learned ? ", the limit derived from the longest execution so far" : "");
    if (!row->host[0]) {
        ntk_hang_process(row->runtime->pid, 0, text, sizeof text);
    }
    if (text[0]) {
        ntk_buf_add_format(out, "      its first thread %s\n", text);
    }
}

/* Writes the longest execution relative to its limit, because a screen may call it stuck
 * earlier. */
static void write_longest(const struct ntk_stuck *stuck, struct ntk_buf *out)
{
    char age[32];
    char limit[32];

    if (stuck->running > 0) {
        ntk_buf_add_format(
            out, ", and no execution is stuck: the longest has been running for %s, limit %s",
            span(age, sizeof age, stuck->longest_ns),
            span(limit, sizeof limit, stuck->longest_threshold_ns));
    }
    ntk_buf_add_char(out, '\n');
}

static void write_clocks(const struct ntk_hang_view *view, struct ntk_buf *out)
{
    for (size_t i = 0; view->all && i < view->host_count; i++) {
        const struct ntk_host *host = &view->hosts[i];
        uint64_t size_ns = (uint64_t)host->clock.ahead_ns;
        char ahead[32];
        char error[32];

        if (host->clock.ahead_ns < 0) {
            size_ns = 0 - size_ns;
        }
        if (host->name[0] && host->snapshot && host->clock.error_ns == NTK_RANKS_CLOCK_UNKNOWN) {
            ntk_buf_add_format(out, "clock of %s: unknown (its response has no date)\n",
                               host->name);
        } else if (host->name[0] && host->snapshot) {
            ntk_buf_add_format(out, "clock of %s: %s %s, within %s\n", host->name,
                               span(ahead, sizeof ahead, size_ns),
                               host->clock.ahead_ns < 0 ? "behind" : "ahead",
                               span(error, sizeof error, host->clock.error_ns));
        }
    }
}

void ntk_hang_write_text(const struct ntk_hang_view *view, bool colours, struct ntk_buf *out)
{
    size_t reported = 0;
    size_t others = 0;

    ntk_vec_each(struct ntk_comm_verdict, verdict, &view->ranks->verdicts) {
        if (!ntk_hang_is_reported(view, verdict)) {
            others += is_of_job(view, verdict);
            continue;
        }
        reported++;
        write_head(verdict, colours, out);
        if (verdict->kind != NTK_COMM_IDLE && (verdict->kind != NTK_COMM_GOES_ON || view->all)) {
            write_ranks(verdict, out);
        }
    }
    ntk_vec_each(struct ntk_stuck_row, row, &view->stuck->rows) {
        if (ntk_hang_stuck_is_reported(view, row)) {
            reported++;
            write_stuck(row, colours, out);
        }
    }
    if (reported == 0) {
        if (others > 0) {
            ntk_buf_add_format(out, "no operation hangs in %zu communicator%s\n", others,
                               others > 1 ? "s" : "");
        } else if (view->job && view->ranks->verdicts.count > 0) {
            ntk_buf_add_text(out, "no rank belongs to the job ");
            ntk_buf_add_clean(out, view->job);
            ntk_buf_add_text(out, ": --job expects a tag, or the address where ranks meet\n");
        } else {
            ntk_buf_add_text(out, ntk_hang_has_unreadable(view->hosts)
                                      ? "no readable process is a rank of a communicator"
                                      : "no process is a rank of a communicator");
            write_longest(view->stuck, out);
        }
    }
    write_clocks(view, out);
}
