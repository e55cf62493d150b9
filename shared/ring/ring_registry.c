/* SPDX-License-Identifier: MIT */
/* ring_registry - the list of segments and their lives: alive, ended, gone. */
#include "shared/ring/ring_registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/abi/paths.h"
#include "shared/abi/raw_clock.h"
#include "shared/base/clock.h"
#include "shared/base/order.h"
#include "shared/ring/ring_prefetch.h"
#include "shared/ring/ring_registry_state.h"

#define BRACKET_TRIES 8

NTK_ORDER_POINTERS(compare_segments, struct ntk_ring_segment,
                   NTK_UP(process.pid) NTK_UP(process.start_time) NTK_TEXT(path));

static void free_segment(struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    struct ring_user *user = ntk_ring_known_user(&registry->known, segment->process.uid);

    if (user != NULL) {
        user->segments--;
    }
    (void)ntk_map_remove_number(&registry->by_file,
                                ntk_ring_file_number(segment->device, segment->inode));
    ntk_ring_segment_close(segment);
}

/* Handles a segment that no reader uses, because the process has another one. Its file is removed
 * with its writer. */
static void step_double(struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    if (ntk_ring_segment_is_damaged(segment)) {
        segment->state = NTK_SEGMENT_GONE;
    } else if (ntk_ring_liveness_has_ended(&registry->liveness, segment, registry->poll_count)) {
        segment->ended_ns = registry->poll_ns;
        ntk_ring_files_leave(registry, segment);
        segment->state = NTK_SEGMENT_GONE;
    }
}

static bool is_attached(const struct ntk_ring_segment *segment)
{
    return (segment->process.flags & NTK_PROCESS_ATTACHED) != 0;
}

/* Finds processes with two segments, which are adjacent in the list. */
static void find_doubles(struct ntk_ring_registry *registry)
{
    size_t count = registry->segments.count;

    for (size_t begin = 0, end; begin < count; begin = end) {
        const struct ntk_ring_process *process = &ntk_ring_registry_get(registry, begin)->process;
        bool tells_itself = false;

        for (end = begin; end < count; end++) {
            const struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, end);

            if (segment->process.pid != process->pid ||
                segment->process.start_time != process->start_time) {
                break;
            }
            tells_itself =
                tells_itself || (!is_attached(segment) && segment->state != NTK_SEGMENT_GONE);
        }
        for (size_t i = begin; tells_itself && i < end; i++) {
            struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

            if (is_attached(segment) && segment->state == NTK_SEGMENT_ALIVE) {
                segment->state = NTK_SEGMENT_DOUBLE;
            }
        }
    }
}

/* Renews a file. A starting process removes dead files by their age, and writes to a mapping do not
 * renew a file: the file of a process that ran for hours would be too old for this reader's next
 * run. */
static void renew(const struct ntk_ring_registry *registry, struct ntk_ring_segment *segment)
{
    if (registry->options.reap && registry->options.remembers &&
        (segment->renewed_ns == 0 ||
         registry->poll_ns - segment->renewed_ns >= RING_FOLDER_RENEW_NS)) {
        segment->renewed_ns = registry->poll_ns;
        (void)futimens(segment->fd, NULL);
    }
}

/* Moves each segment one step on: alive, ended, gone, freed. */
static void step_lives(struct ntk_ring_registry *registry)
{
    struct ntk_ring_poll *out = registry->out;
    struct ntk_segment_clock bracket[2];
    size_t i = 0;

    bracket[0] = ntk_raw_clock_bracket(NTK_CLOCK_MONOTONIC, BRACKET_TRIES);
    bracket[1] = ntk_raw_clock_bracket(registry->clock_kind, BRACKET_TRIES);
    while (i < registry->segments.count) {
        struct ntk_ring_segment *segment = ntk_ring_registry_get(registry, i);

        ntk_ring_prefetch_after(registry, i);
        if (segment->state == NTK_SEGMENT_GONE) {
            free_segment(registry, segment);
            ntk_vec_remove(&registry->segments, i);
            continue;
        }
        if (segment->state == NTK_SEGMENT_DOUBLE) {
            step_double(registry, segment);
        } else if (ntk_ring_segment_is_damaged(segment)) {
            struct ntk_err err = { 0 };

            (void)ntk_err_set(&err, -EBADMSG, NTK_ERR_NO_OFFSET, "%s is truncated", segment->path);
            ntk_ring_ignore(out, err.code, err.text);
            segment->state = NTK_SEGMENT_GONE;
        } else if (segment->state == NTK_SEGMENT_ENDED) {
            ntk_ring_files_leave(registry, segment);
            segment->state = NTK_SEGMENT_GONE;
        } else if (ntk_ring_liveness_has_ended(&registry->liveness, segment,
                                               registry->poll_count)) {
            segment->state = NTK_SEGMENT_ENDED;
            segment->ended_ns = registry->poll_ns;
            segment->ended_order = ++registry->ended_count;
            out->ended++;
        } else {
            ntk_ring_segment_refine_clock(
                segment, &bracket[segment->process.clock.kind != NTK_CLOCK_MONOTONIC]);
            renew(registry, segment);
        }
        i++;
    }
}

/* Creates the folder, as the first writer would. If the first process created it, the folder would
 * lack a mark during that process's life. */
static void make_folder(struct ntk_ring_registry *registry)
{
    char path[NTK_PATH_BYTES];

    if (registry->folder != NULL) {
        (void)ntk_paths_checked(snprintf(path, sizeof path, "%s", registry->folder), path,
                                sizeof path);
    } else if (ntk_paths_writer_hooks_dir(path, sizeof path) < 0) {
        return;
    }
    if (path[0] != '\0' && mkdir(path, 0700) == 0 && registry->made_folder == NULL) {
        registry->made_folder = strdup(path);
    }
}

int ntk_ring_registry_poll(struct ntk_ring_registry *registry, struct ntk_ring_poll *out,
                           struct ntk_err *err)
{
    struct ntk_ring_poll unwanted = { 0 };

    (void)err;
    registry->out = out != NULL ? out : &unwanted;
    memset(registry->out, 0, sizeof *registry->out);
    registry->poll_count++;
    registry->poll_ns = ntk_clock_now_ns(registry->options.clock);
    if (registry->options.reap) {
        make_folder(registry);
    }
    ntk_ring_scan_drop_moved(registry);
    ntk_ring_scan_find(registry);
    ntk_ring_scan_files(registry);
    step_lives(registry);
    ntk_vec_sort(&registry->segments, compare_segments);
    find_doubles(registry);
    ntk_ring_sort_reasons(registry->out);
    registry->out->segments = (uint32_t)registry->segments.count;
    registry->out = NULL;
    return 0;
}

uint64_t ntk_ring_registry_ended_count(const struct ntk_ring_registry *registry)
{
    return registry->ended_count;
}

void ntk_ring_registry_release(struct ntk_ring_registry *registry, uint64_t ended_count)
{
    registry->released = ended_count > registry->released ? ended_count : registry->released;
}

int ntk_ring_registry_open(const struct ntk_ring_options *options,
                           struct ntk_ring_registry **out_registry, struct ntk_err *err)
{
    struct ntk_ring_registry *registry = calloc(1, sizeof *registry);

    if (registry == NULL) {
        return ntk_err_no_memory(err);
    }
    if (options != NULL) {
        registry->options = *options;
    }
    registry->options.hold = registry->options.hold || registry->options.reap;
    registry->released = registry->options.remembers ? 0 : UINT64_MAX;
    ntk_vec_init(&registry->segments, sizeof(struct ntk_ring_segment *));
    ntk_vec_init(&registry->folders, sizeof(struct ring_folder *));
    if (registry->options.folder != NULL) {
        registry->folder = strdup(registry->options.folder);
    }
    registry->proc_root =
        strdup(registry->options.proc_root != NULL ? registry->options.proc_root : "/proc");
    if (registry->proc_root == NULL ||
        (registry->options.folder != NULL && registry->folder == NULL)) {
        ntk_ring_registry_close(registry);
        return ntk_err_no_memory(err);
    }
    ntk_ring_liveness_init(&registry->liveness, registry->proc_root);
    registry->begin_ns = ntk_clock_monotonic_ns();
    registry->clock_kind = ntk_raw_clock_kind();
    *out_registry = registry;
    return 0;
}

/* Removes files after their contents were listed and stored. */
static void leave_all(struct ntk_ring_registry *registry)
{
    for (size_t i = 0; i < registry->segments.count; i++) {
        if (ntk_ring_registry_get(registry, i)->state == NTK_SEGMENT_ENDED) {
            ntk_ring_files_leave(registry, ntk_ring_registry_get(registry, i));
        }
    }
    for (size_t i = 0; i < registry->folders.count; i++) {
        unsigned int entries = NTK_RING_ENTRIES_OF_FOLDER;

        (void)ntk_ring_folder_step(ntk_ring_registry_folder(registry, i), registry->poll_ns,
                                   &entries, ntk_ring_files_release, registry);
    }
}

void ntk_ring_registry_close(struct ntk_ring_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    if (registry->options.reap) {
        leave_all(registry);
    }
    for (size_t i = 0; i < registry->segments.count; i++) {
        ntk_ring_segment_close(ntk_ring_registry_get(registry, i));
    }
    ntk_vec_fini(&registry->segments);
    for (size_t i = 0; i < registry->folders.count; i++) {
        ntk_ring_folder_close(ntk_ring_registry_folder(registry, i));
    }
    ntk_vec_fini(&registry->folders);
    ntk_ring_folder_close(registry->parent);
    ntk_map_fini(&registry->by_file);
    ntk_ring_known_fini(&registry->known);
    ntk_ring_liveness_fini(&registry->liveness);
    if (registry->made_folder != NULL) {
        (void)rmdir(registry->made_folder); /* it stays if it is not empty */
    }
    free(registry->made_folder);
    free(registry->folder);
    free(registry->proc_root);
    free(registry);
}

size_t ntk_ring_registry_count(const struct ntk_ring_registry *registry)
{
    return registry->segments.count;
}

struct ntk_ring_segment *ntk_ring_registry_get(const struct ntk_ring_registry *registry,
                                               size_t index)
{
    return index < registry->segments.count
               ? *(struct ntk_ring_segment **)ntk_vec_at(&registry->segments, index)
               : NULL;
}
