/* SPDX-License-Identifier: MIT */
/* rank_leads - decides which workers of a process are one rank. */
#include <errno.h>
#include <stdlib.h>

#include "profiler/analysis/rank_reading.h"
#include "shared/base/order.h"

NTK_ORDER(compare_workers, struct rank_worker, NTK_UP(worker));

void ntk_rank_comm_note(const struct ntk_rank_list *list, struct rank_worker *one, uint32_t comm)
{
    const struct ntk_ntrace_comm *all = list->comms.items;

    one->has_ops = true;
    if (comm > 0 &&
        (one->comm == 0 || all[comm - 1].world_count > all[one->comm - 1].world_count)) {
        one->comm = comm;
    }
}

/* Returns the worker that is the rank of the process: the one that communicates with others, else
 * the first; NULL if there are several separate ranks. Workers are sorted. */
static struct rank_worker *lead_find(const struct ntk_vec *workers)
{
    struct rank_worker *lead = NULL;
    size_t meeting_count = 0;

    ntk_vec_each(struct rank_worker, one, workers) {
        if (one->has_ops && lead && (one->comm == 0 || one->comm != lead->comm)) {
            return NULL;
        }
        meeting_count += one->has_ops;
        lead = one->has_ops && !lead ? one : lead;
    }
    if (meeting_count > NTK_RANK_STREAMS_MAX) {
        return NULL;
    }
    return lead || workers->count == 0 ? lead : ntk_vec_at(workers, 0);
}

int ntk_rank_leads_join(struct rank_reading *reading, const NtkNtracePb__Info *info, size_t trace,
                        struct ntk_err *err)
{
    struct ntk_vec *workers = &reading->workers;
    uint8_t stream = 0;

    ntk_vec_sort(workers, compare_workers);
    struct rank_worker *lead = lead_find(workers);
    if (!lead) {
        return 0;
    }
    lead->worker_first = ((const struct rank_worker *)ntk_vec_at(workers, 0))->worker;
    lead->worker_last =
        ((const struct rank_worker *)ntk_vec_at(workers, workers->count - 1))->worker;
    if (info && info->core_count > 0 && info->first_core <= lead->worker_first &&
        info->core_count - 1 <= UINT32_MAX - info->first_core &&
        info->first_core + info->core_count - 1 >= lead->worker_last) {
        lead->worker_first = info->first_core; /* idle workers are not other ranks */
        lead->worker_last = info->first_core + info->core_count - 1;
    }
    ntk_vec_each(struct rank_worker, one, workers) {
        const struct ntk_rank_alias alias = { trace, one->worker, lead->worker };

        if (one == lead) {
            continue;
        }
        stream += one->has_ops;
        int ret = ntk_rank_worker_move(one, lead, stream, err);
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
