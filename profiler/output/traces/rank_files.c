/* SPDX-License-Identifier: MIT */
#include "profiler/output/traces/rank_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/joined.h"
#include "profiler/analysis/rank_ops.h"
#include "profiler/output/export_to.h"
#include "profiler/output/tables/folder.h"
#include "profiler/trace/long_list.h"
#include "shared/base/fs.h"
#include "shared/base/order.h"

/* Maximum number of groups, because files may be hostile; operations of further communicators have
 * none. */
#define GROUPS_MAX 4096U
#define MEMBERS_MAX 65536U
#define MEMBERS_OF_ALL_MAX (UINT64_C(1) << 22)

/* ---- selected spans ---- */

static enum ntk_rank_span_kind kind_of(const struct ntk_system_span *span)
{
    if (ntk_system_span_is_mark(span)) {
        return NTK_RANK_MARK;
    }
    if (!ntk_system_type_is_hardware(span->type)) {
        return NTK_RANK_HOST;
    }
    return strcmp(span->type, "nc_exec_running") == 0 ? NTK_RANK_RUN
           : strcmp(span->type, "cc_running") == 0 || strcmp(span->type, "cc_exec_barrier") == 0
               ? NTK_RANK_COLLECTIVE
               : NTK_RANK_OTHER;
}

static bool is_whole(const struct ntk_system_span *span)
{
    return !span->is_partial && span->start_ns <= span->end_ns &&
           span->end_ns <= NTK_SYSTEM_TIME_NS_MAX;
}

/* Returns the worker that is the rank of a core of a folder's process. */
static uint32_t lead_of(const struct ntk_rank_files *files, size_t folder, uint32_t worker)
{
    ntk_vec_each(const struct ntk_rank_alias, alias, &files->aliases) {
        if (alias->trace == folder && alias->worker == worker) {
            return alias->lead;
        }
    }
    return worker;
}

static size_t group_find(const struct ntk_rank_files *files, const struct ntk_system_span *span)
{
    struct ntk_ntrace_comm comm;
    size_t index = 0;

    if (!ntk_system_span_is_collective(span) || ntk_ntrace_comm_read(span->name, &comm) < 0) {
        return NTK_RANK_NO_GROUP;
    }
    ntk_vec_each(const struct ntk_rank_group, group, &files->groups) {
        if (group->key == comm.key && group->rank_count == comm.rank_count) {
            return index;
        }
        index++;
    }
    return NTK_RANK_NO_GROUP;
}

/* Orders spans; of spans with the same start, enclosing spans are first. */
NTK_ORDER(compare_spans, struct ntk_rank_span, NTK_UP(start_ns) NTK_DOWN(end_ns) NTK_UP(span));

int ntk_rank_files_spans(const struct ntk_rank_files *files, const struct ntk_rank *rank,
                         struct ntk_vec *out_spans)
{
    const char *known_name = NULL; /* a trace has each name once */
    size_t known_group = NTK_RANK_NO_GROUP;

    ntk_vec_init(out_spans, sizeof(struct ntk_rank_span));
    for (size_t f = 0; f < files->export->folder_count; f++) {
        const struct ntk_system_trace *trace = files->export->folders[f].trace;
        int64_t cores[2] = { -1, -1 }; /* for collectives, and for barriers */
        uint32_t known_worker = rank->worker;
        uint32_t known_lead = lead_of(files, f, known_worker);

        for (size_t i = 0; i < trace->span_count && files->hosts[f] == rank->host; i++) {
            const struct ntk_system_span *span = &trace->spans[i];
            struct ntk_rank_span one = {
                .kind = kind_of(span), .trace = trace, .span = span, .group = NTK_RANK_NO_GROUP
            };

            ntk_system_trace_passed(trace, i);
            if (span->worker != known_worker) {
                known_worker = span->worker;
                known_lead = lead_of(files, f, known_worker);
            }
            if (known_lead != rank->worker || !is_whole(span)) {
                continue;
            }
            if (one.kind == NTK_RANK_COLLECTIVE) {
                int64_t *core = &cores[strcmp(span->type, "cc_exec_barrier") == 0];

                *core = *core < 0 ? span->device_core : *core;
                if (span->device_core != *core) {
                    continue;
                }
                if (span->name != known_name) {
                    known_name = span->name;
                    known_group = group_find(files, span);
                }
                one.group = known_group;
            }
            one.start_ns = (int64_t)span->start_ns - rank->offset_ns - files->zero_ns;
            one.end_ns = (int64_t)span->end_ns - rank->offset_ns - files->zero_ns;
            if (ntk_vec_push(out_spans, &one) < 0) {
                ntk_vec_fini(out_spans);
                return -ENOMEM;
            }
        }
    }
    ntk_vec_sort(out_spans, compare_spans);
    return 0;
}

/* ---- which ranks ---- */

NTK_ORDER(compare_ranks, struct ntk_rank, NTK_UP(number));

/* Returns UINT32_MAX if no communicator of the whole world has the worker. */
static uint32_t world_rank_of(const struct ntk_rank_ops *ops, uint32_t world_count)
{
    uint32_t rank = UINT32_MAX;

    ntk_vec_each(const struct ntk_rank_life, life, &ops->lives) {
        rank = life->comm.world_count == world_count ? life->comm.world_rank : rank;
    }
    return rank;
}

static bool is_apart(const struct ntk_vec *ranks)
{
    const struct ntk_rank *all = ranks->items;

    for (size_t r = 0; r < ranks->count; r++) {
        if (all[r].number == UINT32_MAX || (r > 0 && all[r].number == all[r - 1].number)) {
            return false;
        }
    }
    return true;
}

static void world_count(const struct ntk_rank_list *list, struct ntk_rank_files *files)
{
    ntk_vec_each(const struct ntk_rank_ops, ops, &list->ranks) {
        ntk_vec_each(const struct ntk_rank_life, life, &ops->lives) {
            files->world_count = life->comm.world_count > files->world_count
                                     ? life->comm.world_count
                                     : files->world_count;
        }
    }
}

/* Orders ranks by the first number that is unique: in the world, of the worker, the index. `list`
 * must be finished. */
static void ranks_number(const struct ntk_rank_list *list, struct ntk_rank_files *files)
{
    bool is_done = false;

    for (int way = 0; way < 3 && !is_done; way++) {
        uint32_t place = 0;

        ntk_vec_clear(&files->ranks);
        ntk_vec_each(const struct ntk_rank_ops, ops, &list->ranks) {
            struct ntk_rank *rank = ntk_vec_add(&files->ranks); /* capacity was reserved */

            rank->worker = ops->worker;
            rank->host = ops->host;
            rank->number = way == 0   ? world_rank_of(ops, files->world_count)
                           : way == 1 ? ops->worker
                                      : place;
            place++;
        }
        ntk_vec_sort(&files->ranks, compare_ranks);
        is_done = is_apart(&files->ranks);
    }
    if (files->ranks.count > files->world_count) {
        files->world_count = (uint32_t)files->ranks.count;
    }
}

static int ranks_make(struct ntk_rank_list *list, struct ntk_rank_files *files, struct ntk_err *err)
{
    ntk_vec_each(const struct ntk_rank_ops, ops, &list->ranks) {
        if (ops->is_twice) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "%s: several processes were worker %u at the same time, so the rank "
                               "is ambiguous: pass the folder of one process",
                               files->export->path, ops->worker);
        }
    }
    if (list->ranks.count == 0) {
        return ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET,
                           "%s: no ranks to write: the traces contain no executions or collectives",
                           files->export->path);
    }
    if (!ntk_vec_add_many(&files->ranks, list->ranks.count)) {
        return ntk_err_no_memory(err);
    }
    world_count(list, files);
    files->aliases = list->aliases; /* folders and traces have the same order */
    ntk_vec_init(&list->aliases, sizeof(struct ntk_rank_alias));
    ranks_number(list, files);
    return 0;
}

/* ---- their clocks ---- */

static int offsets_take(struct ntk_rank_list *list, struct ntk_rank_files *files,
                        struct ntk_err *err)
{
    struct ntk_joined joined;

    int ret = ntk_analysis_joined_list(list, NULL, &joined);
    if (ret < 0) {
        return ntk_long_list_err_set(err, ret, ntk_fs_temporary_folder());
    }
    ntk_vec_each(struct ntk_rank, rank, &files->ranks) {
        rank->offset_ns = rank->host < joined.host_count ? joined.hosts[rank->host].offset_ns : 0;
    }
    ntk_joined_fini(&joined);
    return 0;
}

static struct ntk_rank *rank_find(const struct ntk_rank_files *files, size_t folder,
                                  const struct ntk_system_span *span)
{
    uint32_t worker = lead_of(files, folder, span->worker);

    ntk_vec_each(struct ntk_rank, rank, &files->ranks) {
        if (rank->worker == worker && rank->host == files->hosts[folder]) {
            return rank;
        }
    }
    return NULL;
}

/* ---- communicators ---- */

static int group_add(struct ntk_rank_files *files, const struct ntk_ntrace_comm *comm,
                     const struct ntk_rank *rank, uint64_t *member_count)
{
    struct ntk_rank_group *of = NULL;

    ntk_vec_each(struct ntk_rank_group, group, &files->groups) {
        if (group->key == comm->key && group->rank_count == comm->rank_count) {
            of = group;
        }
    }
    if (!of) {
        if (files->groups.count == GROUPS_MAX || comm->rank_count > MEMBERS_MAX ||
            *member_count + comm->rank_count > MEMBERS_OF_ALL_MAX) {
            return 0;
        }
        of = ntk_vec_add(&files->groups);
        if (!of) {
            return -ENOMEM;
        }
        of->key = comm->key;
        of->rank_count = comm->rank_count;
        of->members = malloc(comm->rank_count * sizeof *of->members);
        if (!of->members) {
            return -ENOMEM;
        }
        memset(of->members, 0xff, comm->rank_count * sizeof *of->members);
        *member_count += comm->rank_count;
    }
    of->known_count += of->members[comm->rank] == UINT32_MAX;
    of->members[comm->rank] = rank->number;
    return 0;
}

/* Finds groups, the first moment and missing data of one folder. */
static int folder_scan(struct ntk_rank_files *files, size_t folder, uint64_t *member_count)
{
    const struct ntk_system_trace *trace = files->export->folders[folder].trace;
    const struct ntk_rank *known_rank = NULL;
    const char *known_name = NULL;
    int ret = 0;

    for (size_t i = 0; i < trace->span_count && ret == 0; i++) {
        const struct ntk_system_span *span = &trace->spans[i];
        struct ntk_rank *rank = rank_find(files, folder, span);
        struct ntk_ntrace_comm comm;

        ntk_system_trace_passed(trace, i);
        if (!rank) {
            continue;
        }
        if (!is_whole(span)) {
            rank->partial_count++;
            continue;
        }
        int64_t start_ns = (int64_t)span->start_ns - rank->offset_ns;
        files->zero_ns = start_ns < files->zero_ns ? start_ns : files->zero_ns;
        if (ntk_system_span_is_collective(span) &&
            (span->name != known_name || rank != known_rank)) {
            known_name = span->name;
            known_rank = rank;
            ret = ntk_ntrace_comm_read(span->name, &comm) == 0
                      ? group_add(files, &comm, rank, member_count)
                      : 0;
        }
    }
    ntk_vec_each(struct ntk_rank, rank, &files->ranks) {
        for (size_t i = 0; i < trace->span_count && rank->host == files->hosts[folder]; i++) {
            if (lead_of(files, folder, trace->spans[i].worker) == rank->worker) {
                rank->lost_count += trace->lost;
                break;
            }
            ntk_system_trace_passed(trace, i);
        }
    }
    return ret;
}

/* ---- all of it ---- */

int ntk_rank_files_init(const struct ntk_export *export, struct ntk_rank_files *out_files,
                        struct ntk_err *err)
{
    struct ntk_rank_files files = { .export = export, .zero_ns = INT64_MAX };
    struct ntk_rank_list list;
    uint64_t member_count = 0;
    int ret = 0;

    ntk_vec_init(&files.ranks, sizeof(struct ntk_rank));
    ntk_vec_init(&files.groups, sizeof(struct ntk_rank_group));
    ntk_vec_init(&files.aliases, sizeof(struct ntk_rank_alias));
    ntk_rank_list_init(&list);
    files.hosts = calloc(export->folder_count + 1, sizeof *files.hosts);
    if (!files.hosts) {
        ret = ntk_err_no_memory(err);
    }
    for (size_t f = 0; f < export->folder_count && files.hosts && ret == 0; f++) {
        ret = ntk_rank_list_add(&list, export->folders[f].trace, err);
        files.hosts[f] = ret == 0 ? ntk_rank_list_host(&list, export->folders[f].trace->info) : 0;
    }
    if (ret == 0 && ntk_rank_list_finish(&list) < 0) {
        ret = ntk_err_no_memory(err);
    }
    ret = ret == 0 ? ranks_make(&list, &files, err) : ret;
    ret = ret == 0 ? offsets_take(&list, &files, err) : ret;
    for (size_t f = 0; f < export->folder_count && ret == 0; f++) {
        ret = folder_scan(&files, f, &member_count) < 0 ? ntk_err_no_memory(err) : 0;
    }
    files.zero_ns = files.zero_ns == INT64_MAX ? 0 : files.zero_ns;
    ntk_rank_list_fini(&list);
    if (ret < 0) {
        ntk_rank_files_fini(&files);
        return ret;
    }
    *out_files = files;
    return 0;
}

void ntk_rank_files_fini(struct ntk_rank_files *files)
{
    ntk_vec_each(struct ntk_rank_group, group, &files->groups) {
        free(group->members);
    }
    ntk_vec_fini(&files->groups);
    ntk_vec_fini(&files->aliases);
    ntk_vec_fini(&files->ranks);
    free(files->hosts);
    *files = (struct ntk_rank_files){ 0 };
}

/* ---- the folder ---- */

struct writing {
    const struct ntk_rank_format *format;
    const struct ntk_rank_files *files;
};

/* Returns true for names such as "rank_12.json", and for the extra file. */
static bool is_ours(const char *name, const void *ctx)
{
    const struct ntk_rank_format *format = ((const struct writing *)ctx)->format;
    size_t head = strlen(format->head);
    size_t digits;

    if (format->extra && strcmp(name, format->extra) == 0) {
        return true;
    }
    if (strncmp(name, format->head, head) != 0) {
        return false;
    }
    digits = strspn(name + head, "0123456789");
    return digits > 0 && strcmp(name + head + digits, format->tail) == 0;
}

static int rank_write(const struct writing *writing, const char *folder,
                      const struct ntk_rank *rank, struct ntk_err *err)
{
    const struct ntk_rank_format *format = writing->format;
    struct ntk_sink sink;
    char *path = NULL;

    if (asprintf(&path, "%s/%s%u%s", folder, format->head, rank->number, format->tail) < 0) {
        return ntk_err_no_memory(err);
    }
    int ret = ntk_sink_open(&sink, path, err);
    free(path);
    return ret < 0 ? ret : ntk_export_finish(&sink, format->put(writing->files, rank, &sink), err);
}

static int files_write(const char *folder, const void *ctx, struct ntk_err *err)
{
    const struct writing *writing = ctx;
    struct ntk_buf extra = { 0 };
    char *path = NULL;
    int ret = 0;

    ntk_vec_each(const struct ntk_rank, rank, &writing->files->ranks) {
        ret = ret == 0 ? rank_write(writing, folder, rank, err) : ret;
    }
    if (ret < 0 || !writing->format->extra) {
        return ret;
    }
    writing->format->put_extra(writing->files, &extra);
    if (!ntk_buf_ok(&extra) || asprintf(&path, "%s/%s", folder, writing->format->extra) < 0) {
        ret = ntk_err_no_memory(err);
    } else {
        ret = ntk_fs_write(path, extra.bytes, extra.bytes_count, err);
    }
    free(path);
    ntk_buf_fini(&extra);
    return ret;
}

int ntk_rank_files_write(const struct ntk_export *export, const char *path,
                         const struct ntk_rank_format *format, struct ntk_err *err)
{
    struct ntk_rank_files files = { 0 };
    struct writing writing = { .format = format, .files = &files };
    int ret = ntk_rank_files_init(export, &files, err);

    if (ret < 0) {
        return ret;
    }
    ret = ntk_folder_write(
        path, &(struct ntk_folder_files){ format->name, is_ours, files_write, &writing }, err);
    ntk_rank_files_fini(&files);
    return ret;
}
