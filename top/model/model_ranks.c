/* SPDX-License-Identifier: MIT */
/* model_ranks - lists the verdicts of shared/metrics/ranks as rows. */
#include "top/model/model_ranks.h"

#include <errno.h>

#include "shared/base/clock.h"
#include "shared/metrics/ranks.h"
#include "top/model/model_pace.h"
#include "top/source/hosts.h"

#define ROWS_MAX \
    4096u /* maximum per communicator; the worst verdicts are first, so the rest matters less */

/* Same words as in `neuron-monitor hang`. */
static const char *const state_words[NTK_COMM_VERDICT_COUNT] = {
    [NTK_COMM_IDLE] = "idle",
    [NTK_COMM_GOES_ON] = "progressing",
    [NTK_COMM_HANGS] = "hangs",
    [NTK_COMM_BROKE] = "broke",
};

/* Returns true if an agent found the rank slow. */
static bool has_trouble(const struct ntk_snapshot *snapshot, uint64_t key, uint32_t rank)
{
    for (size_t i = 0; snapshot && i < snapshot->trouble_count; i++) {
        const struct ntk_rank_trouble *trouble = &snapshot->troubles[i];

        if (trouble->kind == NTK_TROUBLE_SLOW && trouble->has_rank && trouble->key == key &&
            trouble->rank == rank) {
            return true;
        }
    }
    return false;
}

/* Returns true if the others wait for this rank of a communicator that progresses. */
static bool is_slow(const struct ntk_top_model *model, const struct ntk_comm_verdict *verdict,
                    const struct ntk_rank_verdict *rank)
{
    uint64_t key = verdict->first->sample->key;

    if (verdict->kind != NTK_COMM_GOES_ON || !rank->row) {
        return false;
    }
    for (size_t i = 0; model->hosts && i < model->hosts->count; i++) {
        if (has_trouble(model->hosts->items[i].state.snapshot, key, rank->rank)) {
            return true;
        }
    }
    return has_trouble(model->snapshot, key, rank->rank) ||
           ntk_top_model_pace_is_slow(model, key, rank->rank);
}

/* Returns the position; a rank that has left the operation has passed it. */
static const char *where_of(const struct ntk_comm_verdict *verdict,
                            const struct ntk_rank_verdict *rank)
{
    bool is_outside = rank->row && rank->row->sample->in_flight == 0;

    return verdict->kind == NTK_COMM_IDLE && rank->row     ? "idle"
           : rank->where == NTK_RANK_ARRIVED && is_outside ? "passed"
                                                           : ntk_rank_where_names[rank->where];
}

/* Returns the sort value: the worst is first; ranks for which others wait are before waiting
 * ranks. */
static double order_of(const struct ntk_comm_verdict *verdict, size_t at,
                       const struct ntk_rank_verdict *rank, bool is_slow)
{
    static const double kinds[NTK_COMM_VERDICT_COUNT] = {
        [NTK_COMM_HANGS] = 0, [NTK_COMM_BROKE] = 1, [NTK_COMM_GOES_ON] = 2, [NTK_COMM_IDLE] = 3
    };
    bool is_trouble = verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE;
    bool has_come = rank->where == NTK_RANK_ARRIVED;

    return (kinds[verdict->kind] - 0.5 * is_slow) * 1e12 + (double)at * 1e6 +
           (is_trouble && has_come ? 5e5 : 0) + rank->rank;
}

/* Returns the period of the rank's report, which its counts cover. */
static double period_ns_of(const struct ntk_top_model *model, const struct ntk_rank_row *row)
{
    for (size_t i = 0; model->hosts && i < model->hosts->count; i++) {
        const struct ntk_top_host *host = &model->hosts->items[i];

        if (host->name == row->host && host->state.snapshot) {
            return (double)host->state.snapshot->period_ns;
        }
    }
    return model->hosts ? 0 : (double)model->snapshot->period_ns;
}

static void fill(struct ntk_top_model *model, struct ntk_top_table *table,
                 const struct ntk_rank_row *row, struct ntk_top_cell *cells)
{
    const struct ntk_rank_sample *sample = row->sample;
    uint64_t operations = 0;
    double period_ns = period_ns_of(model, row);

    for (int i = 0; i < NTK_COLLECTIVE_COUNT; i++) {
        operations += sample->operations[i].period;
    }
    cells[NTK_TOP_RANKS_HOST] = ntk_top_cell_text(ntk_top_table_text(table, "%s", row->host));
    cells[NTK_TOP_RANKS_PID] = ntk_top_cell_number(row->pid);
    cells[NTK_TOP_RANKS_CORE] =
        ntk_top_cell_if(sample->core != NTK_NO_CORE, (double)sample->core / model->lnc);
    cells[NTK_TOP_RANKS_STEP] = ntk_top_cell_number((double)sample->sequence);
    cells[NTK_TOP_RANKS_OPERATION] = ntk_top_cell_text(ntk_top_table_text(
        table, "%s %s", sample->in_flight > 0 ? "in" : "left",
        sample->operation < NTK_COLLECTIVE_COUNT ? ntk_collective_names[sample->operation] : "?"));
    /* The operation of a lost rank never ends. */
    cells[NTK_TOP_RANKS_SINCE] =
        ntk_top_cell_if(sample->sequence > 0,
                        (double)sample->state_ns + (row->is_lost ? (double)row->lost_for_ns : 0));
    if (!row->is_lost && period_ns > 0 && operations > 0) {
        double share = 100 * (double)sample->wait_ns.period / period_ns;

        cells[NTK_TOP_RANKS_WAIT] = ntk_top_cell_number(share < 100 ? share : 100);
    }
    cells[NTK_TOP_RANKS_RATE] = ntk_top_cell_if(!row->is_lost && period_ns > 0,
                                                (double)operations * (double)NTK_NS_PER_SECOND /
                                                    (period_ns + (period_ns <= 0)));
    cells[NTK_TOP_RANKS_APP] = ntk_top_cell_text(ntk_top_table_text(table, "%s", row->tag));
    cells[NTK_TOP_RANKS_COMMAND] = ntk_top_cell_text(ntk_top_table_text(table, "%s", row->command));
}

static int add_rank(struct ntk_top_model *model, struct ntk_top_table *table,
                    const struct ntk_comm_verdict *verdict, size_t at,
                    const struct ntk_rank_verdict *rank)
{
    bool is_trouble = verdict->kind == NTK_COMM_HANGS || verdict->kind == NTK_COMM_BROKE;
    bool has_come = rank->where == NTK_RANK_ARRIVED;
    bool is_waited_for = is_slow(model, verdict, rank);
    const struct ntk_rank_sample *first = verdict->first->sample;
    struct ntk_top_cell *cells =
        ntk_top_table_add(table, first->key * UINT64_C(0x9e3779b97f4a7c15) + rank->rank + 1,
                          is_trouble && !has_come       ? NTK_TOP_ROW_ERROR
                          : is_trouble || is_waited_for ? NTK_TOP_ROW_WARNING
                          : !rank->row                  ? NTK_TOP_ROW_DIM
                                                        : NTK_TOP_ROW_NORMAL);

    if (!cells) {
        return -ENOMEM;
    }
    cells[NTK_TOP_RANKS_RANK] =
        ntk_top_cell_text(ntk_top_table_text(table, "%u/%u", rank->rank, verdict->rank_count));
    cells[NTK_TOP_RANKS_RANK].value = rank->rank;
    cells[NTK_TOP_RANKS_STATE] =
        ntk_top_cell_text(is_waited_for ? "slow" : state_words[verdict->kind]);
    cells[NTK_TOP_RANKS_STATE].value = order_of(verdict, at, rank, is_waited_for);
    cells[NTK_TOP_RANKS_WHERE] = ntk_top_cell_text(where_of(verdict, rank));
    cells[NTK_TOP_RANKS_PLACE] =
        ntk_top_cell_text(ntk_top_table_text(table, "%s", first->rendezvous));
    cells[NTK_TOP_RANKS_GROUP] = ntk_top_cell_text(ntk_top_table_text(table, "%s", first->members));
    if (rank->row) {
        fill(model, table, rank->row, cells);
    }
    return 0;
}

static int add_all(struct ntk_top_model *model, struct ntk_top_table *table,
                   const struct ntk_ranks *ranks)
{
    size_t at = 0;

    ntk_vec_each(const struct ntk_comm_verdict, verdict, &ranks->verdicts) {
        uint32_t count = verdict->rank_count < ROWS_MAX ? verdict->rank_count : ROWS_MAX;

        for (uint32_t r = 0; r < count; r++) {
            struct ntk_rank_verdict rank = ntk_comm_verdict_rank(verdict, r);

            if (add_rank(model, table, verdict, at, &rank) < 0) {
                return -ENOMEM;
            }
        }
        at++;
    }
    return 0;
}

int ntk_top_model_ranks(struct ntk_top_model *model, struct ntk_top_table *table)
{
    const struct ntk_ranks_clock ours = { 0 };
    struct ntk_ranks ranks;

    if (model->hosts) {
        return add_all(model, table, &model->hosts->ranks);
    }
    ntk_ranks_init(&ranks);
    int ret = ntk_ranks_add(&ranks, model->snapshot, "", ours);
    if (ret == 0) {
        ret = ntk_ranks_judge(&ranks, 0);
    }
    if (ret == 0) {
        ret = add_all(model, table, &ranks);
    }
    ntk_ranks_fini(&ranks);
    return ret;
}
