/* SPDX-License-Identifier: MIT */
/* rank_ops - manages the list of ranks: machines, communicators, warnings, order. */
#include "profiler/analysis/rank_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/rank_reading.h"
#include "shared/base/order.h"

#define COMMS_MAX 65536U /* maximum, because files may be hostile */

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

void ntk_rank_list_fini(struct ntk_rank_list *list)
{
    ntk_vec_each(struct ntk_rank_ops, rank, &list->ranks) {
        ntk_vec_fini(&rank->lives);
        ntk_vec_fini(&rank->restarts_ns);
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

int ntk_rank_warn(struct ntk_rank_list *list, const struct ntk_err *err)
{
    char text[NTK_ERR_TEXT_BYTES + 64];
    char *copy = strdup(ntk_err_format(err, text, sizeof text));

    if (!copy || ntk_vec_push(&list->warnings, &copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    return 0;
}

/* Returns the id that distinguishes machines: the boot id, or its substitute in older traces. */
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

int ntk_rank_host_of(struct ntk_rank_list *list, const NtkNtracePb__Info *info, size_t *out_host)
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

int64_t ntk_rank_comm_of(struct ntk_rank_list *list, const char *name)
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

/* ---- after the last arrival ---- */

NTK_ORDER(compare_ranks, struct ntk_rank_ops, NTK_UP(worker) NTK_UP(host));

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
