/* SPDX-License-Identifier: MIT */
#include "shared/metrics/ranks_change.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"

const char *const ntk_change_where_names[NTK_CHANGE_WHERE_COUNT] = { "unknown", "execution",
                                                                     "collectives", "outside" };

/* Parameters for the sum of the excess over the usual value, in spreads: an excess counts from
 * SLACK up to CAP, so that a single pause is never a change; a sum of LIMIT is a change. */
#define SLACK 0.75
#define CAP 4.0
#define LIMIT 8.0
#define SPREAD_MIN 0.03 /* minimum spread, as a share of the usual value */
/* Minimum number of samples that must show a change before it is reported. */
#define SAMPLES_MIN 3u
#define SAMPLES_MAX 32u /* number of latest samples that are checked */
/* Minimum share of these samples that must be above the usual value. */
#define ABOVE_SHARE 0.75
/* A change has ended when the excess is below half of the smallest reported change. */
#define OVER_SHARE (NTK_CHANGE_SHARE_MIN / 2)
/* A part explains a change if it accounts for this share of it. */
#define PART_SHARE 0.5

/* Parts of the time per operation, in ns, over all ranks. */
enum part { INTERVAL, OWN, BUSY, LINK, OUTSIDE, PARTS };

struct sample {
    double value[PARTS];
};

struct change_rank {
    uint32_t rank, pid;
    uint64_t operations, time_ns, wait_ns, busy_ns;
};

struct change_comm {
    uint64_t key;
    uint32_t rank_count;
    uint64_t round;       /* last round in which this rank was present */
    struct ntk_vec ranks; /* elements are struct change_rank of the current sample */
    uint64_t begin_ns;    /* start of the current sample */
    uint64_t sequence;    /* operation that had ended at begin_ns; 0: unknown */
    struct sample usual[NTK_CHANGE_USUAL_MAX];
    size_t usual_count, usual_next;
    struct sample above[SAMPLES_MAX]; /* samples since the sum was last 0 */
    size_t above_count, above_next;
    uint64_t above_since_ns;
    double sum;
    bool is_slower;
    struct ntk_change_verdict verdict; /* current verdict */
};

struct row {
    uint64_t key;
    uint32_t pid;
    const struct ntk_rank_sample *sample;
};

void ntk_change_init(struct ntk_change *change)
{
    *change = (struct ntk_change){ .round = 0 };
    ntk_vec_init(&change->verdicts, sizeof(struct ntk_change_verdict));
    ntk_vec_init(&change->rows, sizeof(struct row));
}

static void comm_destroy(struct change_comm *comm)
{
    if (comm) {
        ntk_vec_fini(&comm->ranks);
        free(comm);
    }
}

void ntk_change_fini(struct ntk_change *change)
{
    ntk_map_each(entry, &change->comms) {
        comm_destroy(entry->value);
    }
    ntk_map_fini(&change->comms);
    ntk_vec_fini(&change->verdicts);
    ntk_vec_fini(&change->rows);
}

const struct ntk_change_verdict *ntk_change_find(const struct ntk_change *change, uint64_t key)
{
    ntk_vec_each(const struct ntk_change_verdict, verdict, &change->verdicts) {
        if (verdict->key == key) {
            return verdict;
        }
    }
    return NULL;
}

/* ---- numbers ---- */

NTK_ORDER_NUMBERS(compare_doubles, double);

/* Sorts the values; returns the value above this share of them. count must be above 0. */
static double quantile(double *values, size_t count, double share)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return values[(size_t)(share * (double)(count - 1) + 0.5)];
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double part_median(const struct sample *samples, size_t count, enum part part)
{
    double values[NTK_CHANGE_USUAL_MAX] = { 0 };

    for (size_t i = 0; i < count; i++) {
        values[i] = samples[i].value[part];
    }
    return median(values, count);
}

/* The usual distance of samples from their median, computed from the median of the distances and
 * from the middle four fifths, because a period contains only a few whole operations. */
static double spread_of(const struct change_comm *comm, double usual)
{
    double values[NTK_CHANGE_USUAL_MAX] = { 0 };
    double distances[NTK_CHANGE_USUAL_MAX] = { 0 };

    for (size_t i = 0; i < comm->usual_count; i++) {
        values[i] = comm->usual[i].value[INTERVAL];
        distances[i] = fabs(values[i] - usual);
    }
    double most = quantile(values, comm->usual_count, 0.9) - values[comm->usual_count / 10];

    return fmax(fmax(1.4826 * median(distances, comm->usual_count), most / 2.56),
                SPREAD_MIN * usual);
}

/* ---- samples ---- */

/* Takes a sample from ranks with enough operations, each from one operation to the next; false if a
 * value is unknown. */
static bool sample_take(const struct change_comm *comm, double interval, struct sample *sample,
                        uint32_t *out_seen)
{
    size_t count = comm->ranks.count;
    double *values = calloc(count * PARTS, sizeof *values);
    bool has_wait = false;
    size_t seen = 0;

    if (!values) {
        return false; /* too few: wait for the next period */
    }
    ntk_vec_each(const struct change_rank, rank, &comm->ranks) {
        has_wait = has_wait || rank->wait_ns > 0;
    }
    ntk_vec_each(const struct change_rank, rank, &comm->ranks) {
        double operations = (double)rank->operations;

        if (rank->operations < NTK_CHANGE_OPERATIONS) {
            continue;
        }
        double time = (double)rank->time_ns / operations;
        double busy = (double)rank->busy_ns / operations;
        /* If the waiting time is unknown, a whole operation does not count as a rank's own time. */
        double wait = has_wait ? (double)rank->wait_ns / operations : time;

        values[INTERVAL * count + seen] = interval;
        values[OWN * count + seen] = interval - wait;
        values[BUSY * count + seen] = busy;
        values[LINK * count + seen] = time - wait;
        values[OUTSIDE * count + seen] = interval - time - busy;
        seen++;
    }
    for (int part = 0; part < PARTS && seen >= 2; part++) {
        double *of = values + (size_t)part * count;

        /* The value that three quarters of the ranks reach. */
        sample->value[part] =
            part == OWN ? quantile(of, seen, seen < 4 ? 0 : 0.25) : median(of, seen);
    }
    free(values);
    *out_seen = (uint32_t)seen;
    return seen >= 2;
}

static void usual_add(struct change_comm *comm, const struct sample *sample)
{
    comm->usual[comm->usual_next] = *sample;
    comm->usual_next = (comm->usual_next + 1) % NTK_CHANGE_USUAL_MAX;
    if (comm->usual_count < NTK_CHANGE_USUAL_MAX) {
        comm->usual_count++;
    }
}

static void above_clear(struct change_comm *comm)
{
    comm->sum = 0;
    comm->above_count = comm->above_next = 0;
}

/* ---- the verdict ---- */

static enum ntk_change_where where_of(const struct change_comm *comm, double more)
{
    static const enum part parts[NTK_CHANGE_WHERE_COUNT] = { [NTK_CHANGE_EXECUTION] = BUSY,
                                                             [NTK_CHANGE_COLLECTIVES] = LINK,
                                                             [NTK_CHANGE_OUTSIDE] = OUTSIDE };
    enum ntk_change_where where = NTK_CHANGE_UNKNOWN;
    double largest = PART_SHARE * more;

    for (enum ntk_change_where w = NTK_CHANGE_EXECUTION; w < NTK_CHANGE_WHERE_COUNT; w++) {
        double part = part_median(comm->above, comm->above_count, parts[w]) -
                      part_median(comm->usual, comm->usual_count, parts[w]);

        if (part >= largest) {
            largest = part;
            where = w;
        }
    }
    return where;
}

/* Returns true if most samples since the sum began to grow exceed the usual value by enough, and
 * most ranks themselves take longer. */
static bool is_change(const struct change_comm *comm, double usual, double *out_after)
{
    double least = usual * (1 + NTK_CHANGE_SHARE_MIN);
    size_t above = 0;

    for (size_t i = 0; i < comm->above_count; i++) {
        above += comm->above[i].value[INTERVAL] >= least;
    }
    *out_after = part_median(comm->above, comm->above_count, INTERVAL);
    double own = part_median(comm->above, comm->above_count, OWN) -
                 part_median(comm->usual, comm->usual_count, OWN);

    return comm->above_count >= SAMPLES_MIN &&
           (double)above >= ABOVE_SHARE * (double)comm->above_count && *out_after >= least &&
           own >= PART_SHARE * (*out_after - usual);
}

/* Makes the new pace the usual one. */
static void settle(struct change_comm *comm)
{
    comm->usual_count = comm->usual_next = 0;
    for (size_t i = 0; i < comm->above_count; i++) {
        usual_add(comm, &comm->above[i]);
    }
    comm->is_slower = false;
    above_clear(comm);
}

static void judge(struct change_comm *comm, const struct sample *sample, uint32_t seen,
                  uint64_t begin_ns, uint64_t end_ns)
{
    if (comm->usual_count < NTK_CHANGE_USUAL_MIN) {
        usual_add(comm, sample);
        return;
    }
    double usual = part_median(comm->usual, comm->usual_count, INTERVAL);
    double spread = spread_of(comm, usual);
    double excess = spread > 0 ? (sample->value[INTERVAL] - usual) / spread : 0;
    double after;

    comm->sum = fmin(fmax(0, comm->sum + fmin(excess, CAP) - SLACK), 2 * LIMIT);
    if (comm->sum <= 0 && !comm->is_slower) {
        above_clear(comm);
        usual_add(comm, sample);
        return;
    }
    if (comm->above_count == 0) {
        comm->above_since_ns = begin_ns;
    }
    comm->above[comm->above_next] = *sample;
    comm->above_next = (comm->above_next + 1) % SAMPLES_MAX;
    comm->above_count += comm->above_count < SAMPLES_MAX;
    bool is_slow = is_change(comm, usual, &after);
    if (comm->is_slower) {
        if (comm->sum <= 0 || after < usual * (1 + OVER_SHARE)) {
            comm->is_slower = false;
            above_clear(comm);
        } else if (end_ns - comm->above_since_ns > NTK_CHANGE_HOLDS_NS) {
            settle(comm);
        } else {
            comm->verdict.after_ns = (uint64_t)after;
        }
    } else if (comm->sum >= LIMIT && is_slow) {
        comm->is_slower = true;
        comm->verdict = (struct ntk_change_verdict){ .key = comm->key,
                                                     .rank_count = comm->rank_count,
                                                     .seen = seen,
                                                     .since_ns = comm->above_since_ns,
                                                     .before_ns = (uint64_t)usual,
                                                     .after_ns = (uint64_t)after,
                                                     .where = where_of(comm, after - usual) };
    } else if (comm->above_count == SAMPLES_MAX) {
        settle(comm); /* another change: not in all ranks, or not large enough */
    }
}

/* ---- periods ---- */

static struct change_comm *comm_get(struct ntk_change *change, const struct row *row)
{
    struct change_comm *comm = ntk_map_get_number(&change->comms, row->key);

    if (comm || change->comms.count >= NTK_CHANGE_COMMS_MAX) {
        return comm;
    }
    comm = calloc(1, sizeof *comm);
    if (!comm || ntk_map_put_number(&change->comms, row->key, comm) < 0) {
        free(comm);
        return NULL;
    }
    comm->key = row->key;
    ntk_vec_init(&comm->ranks, sizeof(struct change_rank));
    return comm;
}

/* Adds a rank. Rows of a communicator are in rank order, so a rank is found quickly. */
static int rank_add(struct change_comm *comm, const struct row *row, size_t *at)
{
    const struct ntk_rank_sample *sample = row->sample;
    struct change_rank *ranks = comm->ranks.items;

    while (*at < comm->ranks.count &&
           (ranks[*at].rank < sample->rank ||
            (ranks[*at].rank == sample->rank && ranks[*at].pid < row->pid))) {
        (*at)++;
    }
    if (*at == comm->ranks.count || ranks[*at].rank != sample->rank || ranks[*at].pid != row->pid) {
        const struct change_rank added = { .rank = sample->rank, .pid = row->pid };
        size_t count = comm->ranks.count;

        if (ntk_vec_push(&comm->ranks, &added) < 0) {
            return -ENOMEM;
        }
        ranks = comm->ranks.items;
        memmove(ranks + *at + 1, ranks + *at, (count - *at) * sizeof *ranks);
        ranks[*at] = added;
    }
    for (size_t n = 0; n < NTK_COLLECTIVE_COUNT; n++) {
        ranks[*at].operations += sample->operations[n].period;
    }
    ranks[*at].time_ns += sample->in_operations_ns.period;
    ranks[*at].wait_ns += sample->wait_ns.period;
    ranks[*at].busy_ns += sample->core_busy_ns.period;
    return 0;
}

/* Returns true if half of the ranks did enough operations: ranks that are gone or hang do not block
 * a verdict. */
static bool has_enough(const struct change_comm *comm)
{
    size_t enough = 0;

    ntk_vec_each(const struct change_rank, rank, &comm->ranks) {
        enough += rank->operations >= NTK_CHANGE_OPERATIONS;
    }
    return 2 * enough > comm->ranks.count && enough >= 2;
}

/* The last ended operation and its end, from a rank between two operations; the slowest rank nearly
 * always is. Only whole operations count, because a period with few of them would be off by a
 * fifth. */
static uint64_t last_end(const struct row *rows, size_t count, const struct ntk_snapshot *snapshot,
                         uint64_t *out_ns)
{
    uint64_t sequence = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ntk_rank_sample *sample = rows[i].sample;

        if (sample->in_flight == 0 && sample->state == NTK_RANK_JOINED &&
            sample->sequence > sequence && sample->state_ns < snapshot->realtime_ns) {
            sequence = sample->sequence;
            *out_ns = snapshot->realtime_ns - sample->state_ns;
        }
    }
    return sequence;
}

static int comm_add(struct ntk_change *change, const struct row *rows, size_t count,
                    const struct ntk_snapshot *snapshot)
{
    struct change_comm *comm = comm_get(change, rows);
    struct sample sample = { { 0 } };
    uint64_t end_ns = 0;
    uint64_t sequence = last_end(rows, count, snapshot, &end_ns);
    uint32_t seen = 0;
    size_t at = 0;

    if (!comm) {
        return change->comms.count >= NTK_CHANGE_COMMS_MAX ? 0 : -ENOMEM;
    }
    comm->round = change->round;
    comm->rank_count = rows->sample->rank_count;
    for (size_t i = 0; i < count; i++) {
        if (rank_add(comm, &rows[i], &at) < 0) {
            return -ENOMEM;
        }
    }
    if (sequence > 0 && (has_enough(comm) || comm->sequence == 0)) {
        if (comm->sequence > 0 && sequence > comm->sequence && end_ns > comm->begin_ns &&
            sample_take(comm,
                        (double)(end_ns - comm->begin_ns) / (double)(sequence - comm->sequence),
                        &sample, &seen)) {
            judge(comm, &sample, seen, comm->begin_ns, end_ns);
        }
        ntk_vec_clear(&comm->ranks);
        comm->sequence = sequence;
        comm->begin_ns = end_ns;
    }
    if (comm->is_slower && ntk_vec_push(&change->verdicts, &comm->verdict) < 0) {
        return -ENOMEM;
    }
    return 0;
}

NTK_ORDER(compare_rows, struct row, NTK_UP(key) NTK_UP(sample->rank) NTK_UP(pid));

static int rows_fill(struct ntk_change *change, const struct ntk_snapshot *snapshot)
{
    ntk_vec_clear(&change->rows);
    for (size_t i = 0; i < snapshot->runtime_count; i++) {
        const struct ntk_runtime_sample *runtime = &snapshot->runtimes[i];

        for (size_t k = 0; k < runtime->rank_count; k++) {
            const struct row row = { runtime->ranks[k].key, runtime->pid, &runtime->ranks[k] };

            if (ntk_vec_push(&change->rows, &row) < 0) {
                return -ENOMEM;
            }
        }
    }
    ntk_vec_sort(&change->rows, compare_rows);
    return 0;
}

static void forget_gone(struct ntk_change *change)
{
    for (size_t i = change->comms.count; i-- > 0;) {
        struct change_comm *comm = change->comms.entries[i].value;

        if (comm->round != change->round) {
            ntk_map_remove_number(&change->comms, comm->key);
            comm_destroy(comm);
        }
    }
}

int ntk_change_add(struct ntk_change *change, const struct ntk_snapshot *snapshot)
{
    int ret = rows_fill(change, snapshot);
    const struct row *rows = change->rows.items;

    change->round++;
    ntk_vec_clear(&change->verdicts);
    for (size_t begin = 0, end; begin < change->rows.count && ret == 0; begin = end) {
        for (end = begin; end < change->rows.count && rows[end].key == rows[begin].key;) {
            end++;
        }
        ret = comm_add(change, rows + begin, end - begin, snapshot);
    }
    if (ret == 0) {
        forget_gone(change);
    }
    return ret;
}
