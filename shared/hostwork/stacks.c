/* SPDX-License-Identifier: MIT */
/* stacks - the tree of frames, and the texts of the records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/str.h"
#include "shared/hostwork/hostwork.h"

#define TEXT_BYTES 512

const char *ntk_host_cause_name(enum ntk_host_cause cause)
{
    static const char *const names[] = {
#define NTK_HOST_CAUSE(symbol, name, text) name,
#include "shared/hostwork/causes.def"
    };

    return cause < NTK_HOST_CAUSE_COUNT ? names[cause] : names[NTK_HOST_UNKNOWN];
}

const char *ntk_host_cause_text(enum ntk_host_cause cause)
{
    static const char *const texts[] = {
#define NTK_HOST_CAUSE(symbol, name, text) text,
#include "shared/hostwork/causes.def"
    };

    return cause < NTK_HOST_CAUSE_COUNT ? texts[cause] : texts[NTK_HOST_UNKNOWN];
}

/* ---- texts and frames ---- */

const char *ntk_host_stacks_text(struct ntk_host_stacks *stacks, const char *text)
{
    char clean[TEXT_BYTES];
    char *copy;

    ntk_str_copy_clean(clean, sizeof clean, text, strlen(text));
    copy = ntk_map_get(&stacks->texts, clean);
    if (copy) {
        return copy;
    }
    if (stacks->texts.count >= NTK_HOST_TEXTS_MAX) {
        stacks->refused++;
        return "";
    }
    copy = strdup(clean);
    if (!copy || ntk_map_put(&stacks->texts, clean, copy) < 0) {
        free(copy);
        return "";
    }
    return copy;
}

uint32_t ntk_host_stacks_push(struct ntk_host_stacks *stacks, uint32_t parent, const char *name,
                              const char *module, uint32_t line, enum ntk_host_language language)
{
    struct ntk_host_frame frame = { .parent = parent,
                                    .name = ntk_host_stacks_text(stacks, name),
                                    .module = ntk_host_stacks_text(stacks, module),
                                    .line = line,
                                    .language = language };
    char key[96];
    uint32_t stack;

    (void)snprintf(key, sizeof key, "%u/%p/%p/%u/%d", parent, (const void *)frame.name,
                   (const void *)frame.module, line, (int)language);
    stack = (uint32_t)(uintptr_t)ntk_map_get(&stacks->nodes, key);
    if (stack > 0) {
        return stack;
    }
    if (stacks->frames.count >= NTK_HOST_FRAMES_MAX || ntk_vec_push(&stacks->frames, &frame) < 0) {
        stacks->refused++;
        return parent;
    }
    stack = (uint32_t)stacks->frames.count;
    if (ntk_map_put(&stacks->nodes, key, (void *)(uintptr_t)stack) < 0) {
        stacks->frames.count--;
        stacks->refused++;
        return parent;
    }
    return stack;
}

const struct ntk_host_frame *ntk_host_stacks_at(const struct ntk_host_stacks *stacks,
                                                uint32_t stack)
{
    return stack > 0 && stack <= stacks->frames.count ? ntk_vec_at(&stacks->frames, stack - 1)
                                                      : NULL;
}

/* ---- records ---- */

void ntk_host_records_init(struct ntk_host_records *records)
{
    memset(records, 0, sizeof *records);
    ntk_vec_init(&records->gaps, sizeof(struct ntk_host_gap));
    ntk_vec_init(&records->marks, sizeof(struct ntk_host_mark));
    ntk_vec_init(&records->collectives, sizeof(struct ntk_host_collective));
    ntk_vec_init(&records->threads, sizeof(struct ntk_host_thread));
    ntk_vec_init(&records->slices, sizeof(struct ntk_host_slice));
    ntk_vec_init(&records->samples, sizeof(struct ntk_host_sample));
    ntk_vec_init(&records->stacks.frames, sizeof(struct ntk_host_frame));
    ntk_vec_init(&records->stacks.build_ids, sizeof(struct ntk_host_build_id));
}

void ntk_host_records_fini(struct ntk_host_records *records)
{
    ntk_vec_fini(&records->gaps);
    ntk_vec_fini(&records->marks);
    ntk_vec_fini(&records->collectives);
    ntk_vec_fini(&records->threads);
    ntk_map_fini(&records->thread_index);
    ntk_vec_fini(&records->slices);
    ntk_vec_fini(&records->samples);
    ntk_vec_fini(&records->stacks.frames);
    ntk_vec_fini(&records->stacks.build_ids);
    ntk_map_fini(&records->stacks.nodes);
    ntk_map_each(entry, &records->stacks.texts) {
        free(entry->value);
    }
    ntk_map_fini(&records->stacks.texts);
}

struct ntk_host_thread *ntk_host_records_thread(const struct ntk_host_records *records,
                                                uint32_t tid)
{
    size_t at = (size_t)(uintptr_t)ntk_map_get_number(&records->thread_index, tid);

    return at > 0 ? ntk_vec_at(&records->threads, at - 1) : NULL;
}

struct ntk_host_thread *ntk_host_records_thread_add(struct ntk_host_records *records, uint32_t pid,
                                                    uint32_t tid)
{
    struct ntk_host_thread *thread = ntk_host_records_thread(records, tid);

    if (thread) {
        return thread;
    }
    thread = records->threads.count < NTK_HOST_THREADS_MAX ? ntk_vec_add(&records->threads) : NULL;
    if (!thread || ntk_map_put_number(&records->thread_index, tid,
                                      (void *)(uintptr_t)records->threads.count) < 0) {
        records->threads.count -= thread != NULL;
        records->lost++;
        return NULL;
    }
    thread->tid = tid;
    thread->pid = pid;
    return thread;
}
