/* SPDX-License-Identifier: MIT */
/* rank_ops - events of a trace to lists that are sorted as they come; then the owner of each. */
#include "profiler/analysis/rank_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/analysis/capture_place.h"
#include "profiler/system/session_find.h"
#include "profiler/system/span_filter.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/str.h"
#include "shared/formats/ntff/ntff.h"

/* Later ones (2043) are not times: differences of the others, on any clock, are numbers. */
#define TIME_NS_MAX (UINT64_C(1) << 61)
#define SORTER_BYTES ((size_t)256 << 10) /* of each of the two of a rank whose trace is read */
#define SORTED_HEAP_BYTES ((size_t)1 << 20)
#define OPEN_MAX 4096U   /* spans that have begun and not ended, of one process */
#define FIRSTS_MAX 256U  /* models on cores of one process; later ones are not known */
#define COMMS_MAX 65536U /* a hostile file names no more */
#define LIVES_MAX 4096U  /* of one rank; operations of later ones have none */
#define STREAMS_MAX \
    256U /* cores of one rank that take part in collectives; with more, each is one */

/* ---- lists ---- */

void ntk_rank_list_init(struct ntk_rank_list *list)
{
    *list = (struct ntk_rank_list){ 0 };
    ntk_rank_store_init(&list->store);
    ntk_vec_init(&list->hosts, sizeof(struct ntk_rank_host));
    ntk_vec_init(&list->ranks, sizeof(struct ntk_rank_ops));
    ntk_vec_init(&list->comms, sizeof(struct ntk_ntrace_comm));
    ntk_vec_init(&list->warnings, sizeof(char *));
    ntk_vec_init(&list->captures, sizeof(struct ntk_rank_capture));
    ntk_vec_init(&list->aliases, sizeof(struct ntk_rank_alias));
}

static void rank_fini(struct ntk_rank_ops *rank)
{
    ntk_vec_fini(&rank->lives);
    ntk_vec_fini(&rank->restarts_ns);
}

void ntk_rank_list_fini(struct ntk_rank_list *list)
{
    ntk_vec_each(struct ntk_rank_ops, rank, &list->ranks) {
        rank_fini(rank);
    }
    ntk_vec_each(struct ntk_rank_host, host, &list->hosts) {
        free(host->id);
        free(host->name);
    }
    ntk_vec_each(char *, warning, &list->warnings) {
        free(*warning);
    }
    ntk_vec_each(struct ntk_rank_capture, capture, &list->captures) {
        free(capture->path);
    }
    ntk_vec_fini(&list->captures);
    ntk_vec_fini(&list->aliases);
    ntk_vec_fini(&list->ranks);
    ntk_vec_fini(&list->hosts);
    ntk_vec_fini(&list->comms);
    ntk_vec_fini(&list->warnings);
    ntk_map_fini(&list->comm_names);
    ntk_rank_store_fini(&list->store);
}

static int warn(struct ntk_rank_list *list, const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];
    char *copy = strdup(ntk_err_format(err, text, sizeof text));

    if (!copy || ntk_vec_push(&list->warnings, &copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    return 0;
}

/* What tells machines apart: the boot id, else what older traces say. */
static const char *host_id(const NtkNtracePb__Info *info)
{
    return info && info->boot_id && info->boot_id[0] ? info->boot_id
           : info && info->instance_id               ? info->instance_id
                                                     : "";
}

size_t ntk_rank_list_host(const struct ntk_rank_list *list, const NtkNtracePb__Info *info)
{
    const char *id = host_id(info);
    size_t h = 0;

    ntk_vec_each(const struct ntk_rank_host, host, &list->hosts) {
        if (strcmp(host->id, id) == 0) {
            break;
        }
        h++;
    }
    return h;
}

static int host_of(struct ntk_rank_list *list, const NtkNtracePb__Info *info, size_t *out_host)
{
    const char *id = host_id(info);
    size_t h = ntk_rank_list_host(list, info);

    if (h < list->hosts.count) {
        *out_host = h;
        return 0;
    }
    struct ntk_rank_host *host = ntk_vec_add(&list->hosts);
    if (!host) {
        return -ENOMEM;
    }
    host->id = strdup(id);
    host->name = strdup(info && info->host_name ? info->host_name : "");
    *out_host = h;
    return host->id && host->name ? 0 : -ENOMEM;
}

/* Index + 1 into comms; 0: the name is none. -ENOMEM. */
static int64_t comm_of(struct ntk_rank_list *list, const char *name)
{
    struct ntk_ntrace_comm comm;
    uint64_t known;

    if (!name[0]) {
        return 0;
    }
    known = (uint64_t)(uintptr_t)ntk_map_get(&list->comm_names, name);
    if (known > 0 || list->comms.count >= COMMS_MAX || ntk_ntrace_comm_read(name, &comm) < 0) {
        return (int64_t)known;
    }
    if (ntk_vec_push(&list->comms, &comm) < 0 ||
        ntk_map_put(&list->comm_names, name, (void *)(uintptr_t)list->comms.count) < 0) {
        return -ENOMEM;
    }
    return (int64_t)list->comms.count;
}

/* ---- one trace ---- */

/* For one worker of it. Communicators are in `life` as comm_of() has them until all is there. */
struct one {
    uint32_t worker, worker_first, worker_last;
    int64_t begin_ns, end_ns;
    uint32_t comm; /* of its operations, the first with the greatest world; 0: none is known */
    bool has_ops;
    bool is_other; /* its rank is that of another worker, which has all of it */
    struct ntk_sorter ops, runs;
};

struct begun {
    uint64_t tracking_id;
    int64_t start_ns;
    uint64_t device_ns; /* of a run: on the clock of the core */
    uint32_t comm;
};

/* The first execution of a model on a core, which is what a capture is of. */
struct first {
    uint64_t model_id;
    uint32_t nc;
    uint64_t execution_id;
    int64_t core_start_ns; /* host clock; 0: not known */
};

struct reading {
    struct ntk_rank_list *list;
    const struct ntk_system_trace *trace; /* the vendor's, as a whole; else NULL */
    struct ntk_system_tables tables;      /* of it, where captures are next to it */
    struct ntk_vec firsts;                /* of struct first */
    struct ntk_vec workers;               /* of struct one */
    struct ntk_vec begun;                 /* of struct begun, the oldest first */
    size_t capture_first;                 /* of those next to it */
    uint64_t lost, lost_now;
    uint32_t lost_of; /* the core that lost_now is of */
};

static int compare_ops(const void *a, const void *b)
{
    const struct ntk_rank_op *x = a;
    const struct ntk_rank_op *y = b;

    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int compare_runs(const void *a, const void *b)
{
    const struct ntk_rank_run *x = a;
    const struct ntk_rank_run *y = b;

    return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void one_init(struct one *one, uint32_t worker)
{
    const char *folder = ntk_fs_temporary_folder();

    *one = (struct one){ .worker = worker, .worker_first = worker, .worker_last = worker };
    one->begin_ns = INT64_MAX;
    one->end_ns = INT64_MIN;
    ntk_sorter_init(&one->ops, sizeof(struct ntk_rank_op), compare_ops, SORTER_BYTES, folder);
    ntk_sorter_init(&one->runs, sizeof(struct ntk_rank_run), compare_runs, SORTER_BYTES, folder);
}

static struct one *one_of(struct ntk_vec *workers, uint32_t worker)
{
    ntk_vec_each(struct one, one, workers) {
        if (one->worker == worker) {
            return one;
        }
    }
    struct one *one = ntk_vec_add(workers);
    if (one) {
        one_init(one, worker);
    }
    return one;
}

static bool is_run(const char *type)
{
    return strcmp(type, "nc_exec_running") == 0;
}

static bool is_barrier(const char *type)
{
    return strcmp(type, "cc_exec_barrier") == 0;
}

static bool is_collective(const char *type)
{
    return strcmp(type, "cc_running") == 0 || is_barrier(type);
}

static void bounds_grow(struct one *one, int64_t start_ns, int64_t end_ns)
{
    one->begin_ns = start_ns < one->begin_ns ? start_ns : one->begin_ns;
    one->end_ns = end_ns > one->end_ns ? end_ns : one->end_ns;
}

/* What failed in the sorter is reported when it is finished. */
static int op_add(struct one *one, const struct ntk_rank_op *op)
{
    struct ntk_rank_op *to = ntk_sorter_add(&one->ops);

    if (to) {
        *to = *op;
        bounds_grow(one, op->start_ns, op->end_ns);
    }
    return 0;
}

static int run_add(struct one *one, int64_t start_ns, int64_t end_ns)
{
    struct ntk_rank_run *to = ntk_sorter_add(&one->runs);

    if (to) {
        *to = (struct ntk_rank_run){ start_ns, end_ns };
        bounds_grow(one, start_ns, end_ns);
    }
    return 0;
}

/* ---- to the ranks ---- */

static struct ntk_rank_ops *rank_find(struct ntk_rank_list *list, size_t host, uint32_t worker)
{
    ntk_vec_each(struct ntk_rank_ops, rank, &list->ranks) {
        if (rank->host == host && rank->worker == worker) {
            return rank;
        }
    }
    return NULL;
}

/* What was passed of a long list, upwards: its memory. */
static void behind(const struct ntk_sorted *sorted, size_t item_bytes, size_t index)
{
    size_t step = (size_t)1 << 16; /* items, whole pages of either kind */

    if (index > 0 && index % step == 0) {
        ntk_long_items_give_back((const char *)sorted->items + (index - step) * item_bytes,
                                 step * item_bytes, sorted->is_mapped);
    }
}

/* Executions that overlap, as on the cores of a pair, are one. */
static void runs_store(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                       const struct ntk_sorted *sorted)
{
    const struct ntk_rank_run *all = sorted->items;
    struct ntk_rank_run run = { 0 };

    ntk_rank_store_begin(&list->store, &rank->runs);
    for (size_t i = 0; i < sorted->count; i++) {
        if (i > 0 && all[i].start_ns <= run.end_ns) {
            run.end_ns = all[i].end_ns > run.end_ns ? all[i].end_ns : run.end_ns;
        } else {
            if (i > 0) {
                ntk_rank_store_add(&list->store, &rank->runs, &run, sizeof run);
            }
            run = all[i];
        }
        behind(sorted, sizeof run, i);
    }
    if (sorted->count > 0) {
        ntk_rank_store_add(&list->store, &rank->runs, &run, sizeof run);
    }
}

/* The life that an operation belongs to; NULL: it has none, or there is no room. *out_ret. */
static struct ntk_rank_life *life_of(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                                     const struct ntk_rank_op *op, int *out_ret)
{
    struct ntk_rank_life *lives = rank->lives.items;

    for (size_t i = rank->lives.count; i-- > 0;) {
        if (lives[i].comm_number == op->life) {
            if (op->sequence > lives[i].last) {
                return &lives[i];
            }
            break; /* it counts from its begin again: it was made again */
        }
    }
    if (rank->lives.count == LIVES_MAX) {
        return NULL;
    }
    struct ntk_rank_life *life = ntk_vec_add(&rank->lives);
    if (!life) {
        *out_ret = -ENOMEM;
        return NULL;
    }
    *life = (struct ntk_rank_life){ .comm = *(struct ntk_ntrace_comm *)ntk_vec_at(&list->comms,
                                                                                  op->life - 1),
                                    .comm_number = op->life,
                                    .first = op->sequence,
                                    .start_ns = op->start_ns,
                                    .end_ns = op->end_ns };
    return life;
}

/* Both cores of a pair may report a collective: of each kind, those of the core that was first. */
static int ops_store(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                     const struct ntk_sorted *sorted)
{
    const struct ntk_rank_op *all = sorted->items;
    int32_t cores[STREAMS_MAX][2];
    int ret = 0;

    memset(cores, -1, sizeof cores);
    ntk_rank_store_begin(&list->store, &rank->ops);
    for (size_t i = 0; i < sorted->count && ret == 0; i++) {
        struct ntk_rank_op op = all[i];
        struct ntk_rank_life *life = NULL;

        behind(sorted, sizeof op, i);
        int32_t *core = &cores[op.stream][op.is_barrier];
        *core = *core < 0 ? op.device_core : *core;
        if (op.device_core != *core) {
            continue;
        }
        if (op.life > 0 && op.sequence > 0) {
            life = life_of(list, rank, &op, &ret);
        }
        op.life = NTK_RANK_NO_LIFE;
        if (life) {
            op.life = (uint32_t)(life - (struct ntk_rank_life *)rank->lives.items);
            life->last = op.sequence;
            life->count++;
            life->end_ns = op.end_ns > life->end_ns ? op.end_ns : life->end_ns;
            rank->numbered_count++;
        }
        ntk_rank_store_add(&list->store, &rank->ops, &op, sizeof op);
    }
    return ret;
}

/* What was read of it, in order, to the store. */
static int one_store(struct ntk_rank_list *list, struct one *one, struct ntk_rank_ops *rank,
                     struct ntk_err *err)
{
    struct ntk_sorted sorted = { 0 };
    int ret = ntk_sorter_finish(&one->ops, SORTED_HEAP_BYTES, &sorted, err);

    if (ret == 0) {
        ret = ops_store(list, rank, &sorted);
        ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_op));
    }
    ret = ret ? ret : ntk_sorter_finish(&one->runs, SORTED_HEAP_BYTES, &sorted, err);
    if (ret == 0) {
        runs_store(list, rank, &sorted);
        ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_run));
    }
    rank->begin_ns = one->begin_ns;
    rank->end_ns = one->end_ns;
    return ret;
}

/* All that the store has of a rank as if it were read again. */
static void one_refill(struct ntk_rank_list *list, const struct ntk_rank_ops *rank, struct one *one)
{
    struct ntk_rank_cursor cursor;

    ntk_rank_cursor_init(&cursor, &list->store, rank->ops, sizeof(struct ntk_rank_op));
    for (size_t i = 0; i < rank->ops.count; i++) {
        struct ntk_rank_op op = *(const struct ntk_rank_op *)ntk_rank_cursor_at(&cursor, i);
        const struct ntk_rank_life *life =
            op.life == NTK_RANK_NO_LIFE ? NULL : ntk_vec_at(&rank->lives, op.life);

        op.life = life ? life->comm_number : 0;
        (void)op_add(one, &op);
    }
    ntk_rank_cursor_init(&cursor, &list->store, rank->runs, sizeof(struct ntk_rank_run));
    for (size_t i = 0; i < rank->runs.count; i++) {
        const struct ntk_rank_run *run = ntk_rank_cursor_at(&cursor, i);
        (void)run_add(one, run->start_ns, run->end_ns);
    }
}

/* The second trace of a rank after the first, or before it. */
static int rank_append(struct ntk_rank_list *list, struct ntk_rank_ops *rank,
                       const struct ntk_rank_ops *more, struct ntk_err *err)
{
    int64_t restart_ns = more->begin_ns > rank->begin_ns ? more->begin_ns : rank->begin_ns;
    struct one one;

    if (more->begin_ns < rank->end_ns && rank->begin_ns < more->end_ns) {
        rank->is_twice = true;
        return 0;
    }
    one_init(&one, rank->worker);
    one_refill(list, rank, &one);
    one_refill(list, more, &one);
    ntk_vec_clear(&rank->lives);
    rank->numbered_count = 0;
    rank->has_lost = rank->has_lost || more->has_lost;
    rank->worker_first =
        more->worker_first < rank->worker_first ? more->worker_first : rank->worker_first;
    rank->worker_last =
        more->worker_last > rank->worker_last ? more->worker_last : rank->worker_last;
    int ret = one_store(list, &one, rank, err);
    ntk_sorter_fini(&one.ops);
    ntk_sorter_fini(&one.runs);
    return ret < 0 ? ret : ntk_vec_push(&rank->restarts_ns, &restart_ns);
}

static int worker_keep(struct reading *reading, struct one *one, size_t host, struct ntk_err *err)
{
    struct ntk_rank_list *list = reading->list;
    struct ntk_rank_ops *known = rank_find(list, host, one->worker);
    struct ntk_rank_ops rank = { .worker = one->worker,
                                 .worker_first = one->worker_first,
                                 .worker_last = one->worker_last,
                                 .host = host,
                                 .has_lost = reading->lost + reading->lost_now > 0 };

    ntk_vec_init(&rank.lives, sizeof(struct ntk_rank_life));
    ntk_vec_init(&rank.restarts_ns, sizeof(int64_t));
    int ret = one_store(list, one, &rank, err);
    if (ret == 0 && rank.ops.count + rank.runs.count > 0) {
        if (known) {
            ret = rank_append(list, known, &rank, err);
        } else if (ntk_vec_push(&list->ranks, &rank) == 0) {
            return 0; /* the list's now */
        } else {
            ret = -ENOMEM;
        }
    }
    rank_fini(&rank);
    return ret;
}

/* ---- captures ---- */

static int execution_note(struct reading *reading, const char *type, const struct first *seen)
{
    bool is_sync = strcmp(type, "timestamp_sync_point") == 0;

    if (!is_sync && strcmp(type, "nrt_execute") != 0 && strcmp(type, "kbl_exec_pre") != 0) {
        return 0;
    }
    ntk_vec_each(struct first, first, &reading->firsts) {
        if (is_sync && first->nc == seen->nc && first->execution_id == seen->execution_id &&
            first->core_start_ns == 0) {
            first->core_start_ns = seen->core_start_ns;
        }
        if (!is_sync && first->nc == seen->nc && first->model_id == seen->model_id) {
            return 0;
        }
    }
    if (is_sync || seen->model_id == 0 || reading->firsts.count == FIRSTS_MAX) {
        return 0;
    }
    struct first *first = ntk_vec_add(&reading->firsts);
    if (!first) {
        return -ENOMEM;
    }
    *first = *seen;
    first->core_start_ns = 0;
    return 0;
}

/* Where its execution is. */
static void capture_place(const struct reading *reading, const NtkNtracePb__Info *info,
                          struct ntk_rank_capture *capture)
{
    uint32_t nc = ntk_session_core_of(capture->path);
    struct ntk_ntff *ntff = NULL;

    if (nc == UINT32_MAX) {
        capture->omitted_reason = "its name does not contain the core";
    } else if (!info) {
        capture->omitted_reason = "no trace_info.pb next to it, so its rank is unknown";
    } else if (strstr(ntk_str_base_name(capture->path), "_session_")) {
        capture->omitted_reason = "it records the whole session of the core, not one execution";
    } else if (ntk_ntff_open(capture->path, &ntff, NULL) < 0) {
        capture->omitted_reason = "unreadable";
    } else {
        capture->worker = info->first_core + nc;
        capture->omitted_reason = "its execution is missing from the trace next to it";
        if (reading->trace) {
            capture->start_ns = (int64_t)ntk_capture_place(reading->trace, &reading->tables, ntff,
                                                           nc, &capture->omitted_reason);
        }
        ntk_vec_each(const struct first, first, &reading->firsts) {
            if (first->nc == nc && first->model_id == ntff->model_id && first->core_start_ns > 0) {
                capture->start_ns = first->core_start_ns;
                capture->omitted_reason = NULL;
            }
        }
    }
    ntk_ntff_close(ntff);
}

static int captures_add(struct reading *reading, const char *folder, const NtkNtracePb__Info *info,
                        size_t host)
{
    struct ntk_vec paths;
    int ret = folder ? ntk_session_files(folder, ".ntff", &paths) : -ENOENT;

    if (ret < 0) {
        return ret == -ENOMEM ? ret : 0;
    }
    if (paths.count > 0 && reading->trace) {
        ret = ntk_analysis_system_tables(reading->trace, &reading->tables);
    }
    ntk_vec_each(char *, path, &paths) {
        if (ret < 0) {
            break;
        }
        struct ntk_rank_capture *capture = ntk_vec_add(&reading->list->captures);

        if (!capture || !(capture->path = strdup(*path))) {
            ret = -ENOMEM;
            break;
        }
        capture->host = host;
        capture_place(reading, info, capture);
    }
    ntk_session_paths_fini(&paths);
    return ret;
}

static void reading_init(struct reading *reading, struct ntk_rank_list *list)
{
    *reading = (struct reading){ .list = list, .lost_of = UINT32_MAX };
    list->trace_count++;
    ntk_vec_init(&reading->workers, sizeof(struct one));
    ntk_vec_init(&reading->begun, sizeof(struct begun));
    ntk_vec_init(&reading->firsts, sizeof(struct first));
}

static void reading_fini(struct reading *reading)
{
    ntk_vec_each(struct one, one, &reading->workers) {
        ntk_sorter_fini(&one->ops);
        ntk_sorter_fini(&one->runs);
    }
    ntk_system_tables_fini(&reading->tables);
    ntk_vec_fini(&reading->workers);
    ntk_vec_fini(&reading->begun);
    ntk_vec_fini(&reading->firsts);
}

/* ---- workers of one process ---- */

static int compare_workers(const void *a, const void *b)
{
    const struct one *x = a;
    const struct one *y = b;

    return x->worker < y->worker ? -1 : x->worker > y->worker;
}

/* Whose communicator is the one that says most of a worker: that of the greatest world. */
static void comms_note(const struct ntk_rank_list *list, struct one *one, uint32_t comm)
{
    const struct ntk_ntrace_comm *all = list->comms.items;

    one->has_ops = true;
    if (comm > 0 &&
        (one->comm == 0 || all[comm - 1].world_count > all[one->comm - 1].world_count)) {
        one->comm = comm;
    }
}

/* Which worker is the rank of the process: who meets others, else the first; NULL: several are,
 * apart. They are sorted. */
static struct one *lead_find(const struct ntk_vec *workers)
{
    struct one *lead = NULL;
    size_t meeting_count = 0;

    ntk_vec_each(struct one, one, workers) {
        if (one->has_ops && lead && (one->comm == 0 || one->comm != lead->comm)) {
            return NULL;
        }
        meeting_count += one->has_ops;
        lead = one->has_ops && !lead ? one : lead;
    }
    if (meeting_count > STREAMS_MAX) {
        return NULL;
    }
    return lead || workers->count == 0 ? lead : ntk_vec_at(workers, 0);
}

/* What one worker did becomes the lead's. */
static int one_move(struct one *one, struct one *lead, uint8_t stream, struct ntk_err *err)
{
    struct ntk_sorted sorted = { 0 };
    int ret = ntk_sorter_finish(&one->ops, SORTED_HEAP_BYTES, &sorted, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < sorted.count; i++) {
        struct ntk_rank_op op = ((const struct ntk_rank_op *)sorted.items)[i];

        op.stream = stream;
        (void)op_add(lead, &op);
        behind(&sorted, sizeof op, i);
    }
    ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_op));
    ret = ntk_sorter_finish(&one->runs, SORTED_HEAP_BYTES, &sorted, err);
    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < sorted.count; i++) {
        const struct ntk_rank_run *run = (const struct ntk_rank_run *)sorted.items + i;

        (void)run_add(lead, run->start_ns, run->end_ns);
        behind(&sorted, sizeof *run, i);
    }
    ntk_sorted_fini(&sorted, sizeof(struct ntk_rank_run));
    one->is_other = true;
    return 0;
}

static int workers_join(struct reading *reading, const NtkNtracePb__Info *info, size_t trace,
                        struct ntk_err *err)
{
    struct ntk_vec *workers = &reading->workers;
    uint8_t stream = 0;

    ntk_vec_sort(workers, compare_workers);
    struct one *lead = lead_find(workers);
    if (!lead) {
        return 0;
    }
    lead->worker_first = ((const struct one *)ntk_vec_at(workers, 0))->worker;
    lead->worker_last = ((const struct one *)ntk_vec_at(workers, workers->count - 1))->worker;
    if (info && info->core_count > 0 && info->first_core <= lead->worker_first &&
        info->core_count - 1 <= UINT32_MAX - info->first_core &&
        info->first_core + info->core_count - 1 >= lead->worker_last) {
        lead->worker_first = info->first_core; /* those that did nothing are not other ranks */
        lead->worker_last = info->first_core + info->core_count - 1;
    }
    ntk_vec_each(struct one, one, workers) {
        const struct ntk_rank_alias alias = { trace, one->worker, lead->worker };

        if (one == lead) {
            continue;
        }
        stream += one->has_ops;
        int ret = one_move(one, lead, stream, err);
        if (ret < 0 || ntk_vec_push(&reading->list->aliases, &alias) < 0) {
            return ret < 0 ? ret : -ENOMEM;
        }
    }
    for (size_t c = reading->capture_first; c < reading->list->captures.count; c++) {
        struct ntk_rank_capture *capture = ntk_vec_at(&reading->list->captures, c);
        capture->worker = lead->worker;
    }
    return 0;
}

static int reading_keep(struct reading *reading, const char *folder, const NtkNtracePb__Info *info,
                        struct ntk_err *err)
{
    size_t trace = reading->list->trace_count - 1;
    size_t host = 0;
    int ret = host_of(reading->list, info, &host);

    reading->capture_first = reading->list->captures.count;
    ret = ret < 0 ? ret : captures_add(reading, folder, info, host);
    ret = ret < 0 ? ret : workers_join(reading, info, trace, err);
    ntk_vec_each(struct one, one, &reading->workers) {
        ret = ret < 0 || one->is_other ? ret : worker_keep(reading, one, host, err);
    }
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

/* ---- from memory ---- */

int ntk_rank_list_add(struct ntk_rank_list *list, const struct ntk_system_trace *trace,
                      struct ntk_err *err)
{
    struct reading reading;
    int64_t comm = 0;

    reading_init(&reading, list);
    reading.trace = trace->is_vendor ? trace : NULL;
    reading.lost = trace->lost;
    for (size_t i = 0; i < trace->span_count && comm >= 0; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        bool runs = is_run(span->type);

        ntk_system_trace_passed(trace, i);
        if (span->start_ns <= TIME_NS_MAX && !trace->is_vendor) {
            comm = execution_note(&reading, span->type,
                                  &(struct first){ .nc = span->nc,
                                                   .model_id = span->model_id,
                                                   .execution_id = span->exec_id,
                                                   .core_start_ns = (int64_t)span->start_ns });
        }
        if (comm < 0 || span->is_instant || span->is_partial || span->end_ns > TIME_NS_MAX ||
            span->end_ns < span->start_ns || !(runs || is_collective(span->type))) {
            continue;
        }
        struct one *one = one_of(&reading.workers, span->worker);
        comm = !one ? -ENOMEM : runs ? 0 : comm_of(list, span->name);
        if (comm < 0) {
            break;
        }
        if (runs) {
            (void)run_add(one, (int64_t)span->start_ns, (int64_t)span->end_ns);
        } else {
            comms_note(list, one, (uint32_t)comm);
            (void)op_add(one, &(struct ntk_rank_op){ .start_ns = (int64_t)span->start_ns,
                                                     .end_ns = (int64_t)span->end_ns,
                                                     .sequence = span->exec_id,
                                                     .life = (uint32_t)comm,
                                                     .device_core = (uint16_t)span->device_core,
                                                     .is_barrier = is_barrier(span->type) });
        }
    }
    int ret =
        comm < 0 ? ntk_err_no_memory(err) : reading_keep(&reading, trace->folder, trace->info, err);
    reading_fini(&reading);
    return ret;
}

/* ---- from a file ---- */

/* What began and does not end is forgotten, the oldest first. */
static int begun_add(struct reading *reading, const struct begun *begun)
{
    if (reading->begun.count == OPEN_MAX) {
        ntk_vec_remove(&reading->begun, 0);
    }
    return ntk_vec_push(&reading->begun, begun);
}

static bool begun_take(struct reading *reading, uint64_t tracking_id, struct begun *out)
{
    const struct begun *all = reading->begun.items;

    for (size_t i = reading->begun.count; i-- > 0;) {
        if (all[i].tracking_id == tracking_id) {
            *out = all[i];
            ntk_vec_remove(&reading->begun, i);
            return true;
        }
    }
    return false;
}

/* Pieces of one core count on; the last says most. */
static void lost_count(struct reading *reading, const NtkNtracePb__Core *core)
{
    if (core->nc_idx != reading->lost_of) {
        reading->lost += reading->lost_now;
        reading->lost_of = core->nc_idx;
    }
    reading->lost_now = core->lost;
}

static int event_take(struct reading *reading, const NtkNtracePb__Trace *piece, size_t i)
{
    const NtkNtracePb__Core *core = piece->cores[0];
    const char *type = piece->event_types[core->event_type[i]];
    uint64_t time_ns = core->timestamp_ns[i];
    bool runs = is_run(type);
    struct begun begun = { .tracking_id = core->tracking_id[i] };

    if (time_ns <= TIME_NS_MAX && core->phase[i] != NTK_NTRACE_STOP &&
        execution_note(reading, type,
                       &(struct first){ .nc = core->nc_idx,
                                        .model_id = core->model_id[i],
                                        .execution_id = core->exec_id[i],
                                        .core_start_ns = (int64_t)time_ns }) < 0) {
        return -ENOMEM;
    }

    if (core->phase[i] == NTK_NTRACE_INSTANT || time_ns > TIME_NS_MAX ||
        !(runs || is_collective(type))) {
        return 0;
    }
    if (core->phase[i] == NTK_NTRACE_START) {
        int64_t comm = runs || core->name[i] == 0
                           ? 0
                           : comm_of(reading->list, piece->names[core->name[i] - 1]);

        begun.start_ns = (int64_t)time_ns;
        begun.device_ns = core->nc_timestamp_ns[i];
        begun.comm = (uint32_t)comm;
        return comm < 0 ? -ENOMEM : begun_add(reading, &begun);
    }
    if (!begun_take(reading, core->tracking_id[i], &begun)) {
        return 0; /* its start was overwritten */
    }
    struct one *one = one_of(&reading->workers, core->worker_gid);
    if (!one) {
        return -ENOMEM;
    }
    /* As spans of a whole trace are joined. */
    struct ntk_system_span span = { .type = type,
                                    .start_ns = (uint64_t)begun.start_ns,
                                    .end_ns = time_ns,
                                    .device_start_ns = begun.device_ns,
                                    .device_end_ns = core->nc_timestamp_ns[i] };
    ntk_system_span_join(&span);
    if (span.end_ns > TIME_NS_MAX) {
        return 0;
    }
    int64_t end_ns = (int64_t)span.end_ns;
    if (!runs) {
        comms_note(reading->list, one, begun.comm);
    }
    return runs ? run_add(one, begun.start_ns, end_ns)
                : op_add(one, &(struct ntk_rank_op){
                                  .start_ns = begun.start_ns,
                                  .end_ns = end_ns,
                                  .sequence = core->exec_id[i],
                                  .life = begun.comm,
                                  .device_core = (uint16_t)core->device_core_idx[i],
                                  .is_barrier = is_barrier(type),
                              });
}

static int piece_take(const NtkNtracePb__Trace *piece, void *ctx)
{
    struct reading *reading = ctx;
    const NtkNtracePb__Core *core = piece->cores[0];
    int ret = 0;

    lost_count(reading, core);
    for (size_t i = 0; i < core->n_tracking_id && ret == 0; i++) {
        ret = event_take(reading, piece, i);
    }
    return ret;
}

/* The vendor's files are not in pieces of a core each. */
static bool is_vendor(const char *path)
{
    uint8_t head[16];
    int fd = ntk_fs_open_regular(path, NULL, NULL);
    ssize_t count = fd >= 0 ? read(fd, head, sizeof head) : 0;

    if (fd >= 0) {
        close(fd);
    }
    return count > 0 && ntk_vendor_trace_is_stream(head, (size_t)count);
}

/* As a whole. */
static int trace_add(struct ntk_rank_list *list, const char *folder, struct ntk_err *err)
{
    struct ntk_system_trace *trace = NULL;
    int ret = ntk_system_trace_open(folder, &trace, err);

    if (ret < 0) {
        return ret;
    }
    ntk_vec_each(char *, warning, &trace->warnings) {
        struct ntk_err read_err = { 0 };

        ntk_err_set(&read_err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s", *warning);
        ret = ret < 0 ? ret : warn(list, &read_err);
    }
    if (ret == 0 && list->filter) {
        ret = ntk_span_filter_apply(list->filter, trace);
    }
    ret = ret < 0 ? ret : ntk_rank_list_add(list, trace, err);
    ntk_system_trace_close(trace);
    return ret;
}

int ntk_rank_list_add_folder(struct ntk_rank_list *list, const char *folder, struct ntk_err *err)
{
    NtkNtracePb__Info *info = NULL;
    struct reading reading;
    struct ntk_err read_err = { 0 };
    char *info_path = NULL;
    char *path = NULL;
    int ret = 0;

    if (asprintf(&info_path, "%s/trace_info.pb", folder) < 0) {
        return ntk_err_no_memory(err);
    }
    if (asprintf(&path, "%s/ntrace.pb", folder) < 0) {
        free(info_path);
        return ntk_err_no_memory(err);
    }
    if (is_vendor(path) || list->filter) {
        free(info_path);
        free(path);
        return trace_add(list, folder, err);
    }
    reading_init(&reading, list);
    if (access(info_path, F_OK) == 0 && ntk_ntrace_read_info(info_path, &info, &read_err) != 0) {
        ret = warn(list, &read_err);
    }
    if (access(path, F_OK) == 0 && ret == 0) {
        int got = ntk_ntrace_each(path, piece_take, &reading, &read_err);

        ret = got != 0 && got != -ENOMEM ? warn(list, &read_err) : got;
        if (got >= 0 && ret == 0) {
            ret = reading_keep(&reading, folder, info, err);
        }
    }
    reading_fini(&reading);
    ntk_ntrace_pb__info__free_unpacked(info, NULL);
    free(info_path);
    free(path);
    return ret == -ENOMEM ? ntk_err_no_memory(err) : ret;
}

/* ---- all are there ---- */

static int compare_ranks(const void *a, const void *b)
{
    const struct ntk_rank_ops *x = a;
    const struct ntk_rank_ops *y = b;

    if (x->worker != y->worker) {
        return x->worker < y->worker ? -1 : 1;
    }
    return x->host < y->host ? -1 : x->host > y->host;
}

struct ntk_rank_op ntk_rank_op_at(const struct ntk_rank_ops *rank, struct ntk_rank_cursor *cursor,
                                  size_t index)
{
    struct ntk_rank_op op = *(const struct ntk_rank_op *)ntk_rank_cursor_at(cursor, index);

    if (rank->is_counted) {
        op.life = 0;
        op.sequence = rank->skipped + index + 1;
    }
    return op;
}

int ntk_rank_list_finish(struct ntk_rank_list *list)
{
    ntk_vec_sort(&list->ranks, compare_ranks);
    return list->store.failed;
}

int ntk_rank_list_failed(const struct ntk_rank_list *list)
{
    return list->store.failed;
}
