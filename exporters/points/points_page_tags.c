/* SPDX-License-Identifier: MIT */
/* points_page_tags - selects the applications on the page: with separate series, or in "other". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "exporters/exporter.h"
#include "exporters/points/points_page_parts.h"
#include "shared/base/clock.h"
#include "shared/metrics/tag.h"

/* Clears everything except counters. */
static void clear_gauges(struct ntk_points_tag *tag)
{
    ntk_vec_fini(&tag->cores);
    ntk_vec_fini(&tag->memory);
    ntk_vec_fini(&tag->models);
    ntk_vec_init(&tag->cores, sizeof(struct ntk_points_core));
    ntk_vec_init(&tag->memory, sizeof(struct ntk_points_memory));
    ntk_vec_init(&tag->models, sizeof(struct ntk_points_model));
    tag->has_cpu = tag->has_percentiles = tag->has_device_percentiles = false;
    tag->has_resident = false;
    tag->host = tag->device = (struct ntk_memory_total){ .known = false };
}

void points_tag_clear(struct ntk_points_page *page, struct ntk_points_tag *tag)
{
    ntk_vec_each(struct ntk_points_latency, latency, &tag->latencies) {
        page->fine_count -= (latency->total.fine != NULL) + (latency->device.fine != NULL);
        free(latency->total.fine);
        free(latency->device.fine);
    }
    ntk_vec_fini(&tag->latencies);
    ntk_vec_init(&tag->latencies, sizeof(struct ntk_points_latency));
    clear_gauges(tag);
}

static void tag_destroy(struct ntk_points_page *page, struct ntk_points_tag *tag)
{
    if (tag) {
        points_tag_clear(page, tag);
        free(tag);
    }
}

/* Makes space for a tag of the user: drops the tag that ended first, with its totals, preferably
 * from the same user. */
static void forget_oldest(struct ntk_points_page *page, uint32_t uid)
{
    struct ntk_points_tag *oldest = NULL;

    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        if (!tag->is_live && (!oldest || (tag->uid == uid) > (oldest->uid == uid) ||
                              ((tag->uid == uid) == (oldest->uid == uid) &&
                               tag->last_sequence < oldest->last_sequence))) {
            oldest = tag;
        }
    }
    if (oldest) {
        ntk_map_remove(&page->tags, oldest->key);
        tag_destroy(page, oldest);
    }
}

static bool is_shown(const struct ntk_points_tag *tag)
{
    return tag && (tag->is_live || tag->is_leaving);
}

static size_t shown_of_user(const struct ntk_points_page *page, uint32_t uid)
{
    return (uintptr_t)ntk_map_get_number(&page->shown_users, uid);
}

static bool has_room(const struct ntk_points_page *page, uint32_t uid)
{
    return ntk_exporter_has_room(page->application_max, page->shown_count,
                                 shown_of_user(page, uid));
}

static void count_one_shown(struct ntk_points_page *page, uint32_t uid)
{
    uintptr_t of_user = shown_of_user(page, uid) + 1;

    page->shown_count++;
    (void)ntk_map_put_number(&page->shown_users, uid, (void *)of_user); // NOLINT
}

/* Gives applications with the same name from two users separate series: the later one gets a user
 * label, so that no user changes the series of another. */
static void name_user(const struct ntk_points_page *page, const char *key, size_t key_bytes,
                      const struct ntk_runtime_sample *runtime, struct ntk_points_owner *owner)
{
    bool is_shared = false;
    char user[NTK_POINTS_LABEL_BYTES];

    points_clean(user, runtime->user);
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;

        if (strncmp(tag->key, key, key_bytes) == 0 && tag->key[key_bytes] == '\n' &&
            !strchr(tag->key + key_bytes + 1, '\n')) {
            is_shared = true;
            user[0] = strcmp(tag->owner.user, user) == 0 ? '\0' : user[0];
        }
    }
    if (is_shared && user[0]) {
        ntk_str_copy(owner->user, sizeof owner->user, user);
    } else if (is_shared) {
        snprintf(owner->user, sizeof owner->user, "%u", runtime->uid);
    }
}

struct ntk_points_tag *points_tag_find(struct ntk_points_page *page,
                                       const struct ntk_runtime_sample *runtime,
                                       const struct points_moment *moment)
{
    static char other[] = NTK_EXPORTER_OTHER; /* not NULL, because it is a value of the map */
    uint64_t group_period_ns = runtime->group_period_ns[NTK_RUNTIME_GROUP_EXECUTIONS];
    char name[NTK_POINTS_LABEL_BYTES];
    char key[NTK_POINTS_KEY_BYTES];
    struct ntk_points_owner owner = { .pid = "" };

    points_clean(name, runtime->tag);
    if (!page->is_of_period) {
        points_clean(owner.container_name, runtime->pod.container_name);
        points_clean(owner.namespace_name, runtime->pod.namespace_name);
        points_clean(owner.pod_name, runtime->pod.name);
    }
    if (page->has_pid_label) {
        snprintf(owner.pid, sizeof owner.pid, "%u", runtime->pid);
    }
    /* Clean texts have no line feed, so two owners never have the same key. */
    int labels_bytes = snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%s", name, owner.namespace_name,
                                owner.pod_name, owner.container_name, owner.pid);
    snprintf(key + labels_bytes, sizeof key - (size_t)labels_bytes, "\n%u", runtime->uid);
    struct ntk_points_tag *tag = ntk_map_get(&page->tags, key);
    /* An application with the name of the rest would duplicate its series. */
    if (page->application_max &&
        (strcmp(name, other) == 0 || (!is_shown(tag) && !has_room(page, runtime->uid)))) {
        (void)ntk_map_put(&page->others, key, other);
        page->other_count = page->others.count;
        ntk_str_copy(name, sizeof name, other);
        ntk_str_copy(key, sizeof key, other);
        owner = (struct ntk_points_owner){ .pid = "" };
        labels_bytes = 0;
        tag = ntk_map_get(&page->tags, key);
    } else if (!is_shown(tag)) {
        count_one_shown(page, runtime->uid);
    }
    if (tag) {
        return tag;
    }
    if (page->tags.count >= NTK_POINTS_TAGS_MAX) {
        forget_oldest(page, runtime->uid);
    }
    if (page->tags.count >= NTK_POINTS_TAGS_MAX) {
        return NULL;
    }
    tag = calloc(1, sizeof *tag);
    if (!tag) {
        return NULL;
    }
    memcpy(tag->tag, name, sizeof name);
    memcpy(tag->key, key, sizeof key);
    if (labels_bytes > 0) {
        name_user(page, key, (size_t)labels_bytes, runtime, &owner);
    }
    tag->owner = owner;
    tag->uid = runtime->uid;
    tag->is_of_process =
        labels_bytes > 0 && (page->has_pid_label || ntk_tag_is_pid(runtime->tag, runtime->pid));
    tag->created_seconds = (double)moment->now_ns / (double)NTK_NS_PER_SECOND;
    tag->began_ns = points_began_ns(moment, group_period_ns);
    points_tag_clear(page, tag);
    if (ntk_map_put(&page->tags, key, tag) < 0) {
        free(tag);
        return NULL;
    }
    return tag;
}

/* Forgets processes that have ended, because nothing continues their counts. So a day of jobs
 * without names needs no memory. */
bool points_tags_forget(struct ntk_points_page *page, uint64_t now_ns)
{
    bool any = false;

    for (size_t i = page->tags.count; i-- > 0;) {
        struct ntk_points_tag *tag = page->tags.entries[i].value;
        if (!tag->is_leaving || tag->last_sequence == page->sequence ||
            (page->deliveries - tag->ended_deliveries < page->last_looks &&
             now_ns - tag->ended_ns <= NTK_POINTS_LAST_NS)) {
            continue;
        }
        tag->is_leaving = false;
        any = true;
        if (tag->is_of_process && tag->has_ended) {
            ntk_map_remove(&page->tags, tag->key);
            tag_destroy(page, tag);
        } else {
            points_tag_clear(page, tag);
        }
    }
    return any;
}

/* Clears the values of a period; the application keeps its separate series. */
static void end_period(struct ntk_points_page *page, struct ntk_points_tag *tag)
{
    size_t from = offsetof(struct ntk_points_tag, has_executions);

    points_tag_clear(page, tag);
    memset((char *)tag + from, 0, offsetof(struct ntk_points_tag, cores) - from);
    tag->is_leaving = is_shown(tag);
    tag->is_live = false;
    tag->ended_deliveries = page->deliveries;
    tag->ended_ns = page->now_ns;
}

/* Counts applications with separate series; the others are selected again. */
void points_tags_begin(struct ntk_points_page *page)
{
    ntk_map_each(entry, &page->tags) {
        if (page->is_of_period) {
            end_period(page, entry->value);
        }
    }
    page->shown_count = 0;
    ntk_map_fini(&page->shown_users);
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;
        if (is_shown(tag) && strcmp(entry->key, NTK_EXPORTER_OTHER) != 0) {
            count_one_shown(page, tag->uid);
        }
    }
    ntk_map_fini(&page->others);
    page->other_count = 0;
}

/* Forgets a process from an earlier agent's time that is not in this update, because it has ended
 * since. */
static void forget_resumed(struct ntk_points_page *page)
{
    for (size_t i = page->tags.count; i-- > 0;) {
        struct ntk_points_tag *tag = page->tags.entries[i].value;
        if (tag->is_resumed && tag->is_of_process) {
            ntk_map_remove(&page->tags, tag->key);
            tag_destroy(page, tag);
        }
    }
}

void points_tags_end(struct ntk_points_page *page, uint64_t now_ns)
{
    forget_resumed(page);
    ntk_map_each(entry, &page->tags) {
        struct ntk_points_tag *tag = entry->value;
        bool is_over = tag->is_over && !page->is_of_period;
        if (tag->is_live && (is_over || tag->last_sequence != page->sequence)) {
            clear_gauges(tag); /* its last runtime has ended; the totals remain */
            tag->is_live = false;
            tag->is_leaving = true;
            tag->ended_deliveries = page->deliveries;
            tag->ended_ns = now_ns;
        }
    }
    (void)points_tags_forget(page, now_ns);
}

/* Copies a list without spare capacity. */
static int copy_list(struct ntk_vec *to, const struct ntk_vec *from)
{
    if (from->count == 0) {
        return 0;
    }
    to->items = malloc(from->count * from->item_bytes);
    if (!to->items) {
        return -ENOMEM;
    }
    memcpy(to->items, from->items, from->count * from->item_bytes);
    to->count = to->capacity = from->count;
    return 0;
}

static int copy_lists(struct ntk_points_tag *to, const struct ntk_points_tag *from)
{
    int ret = copy_list(&to->cores, &from->cores);

    ret = ret < 0 ? ret : copy_list(&to->memory, &from->memory);
    ret = ret < 0 ? ret : copy_list(&to->models, &from->models);
    ret = ret < 0 ? ret : copy_list(&to->latencies, &from->latencies);
    ntk_vec_each(struct ntk_points_latency, latency, &to->latencies) {
        latency->total.fine = latency->device.fine = NULL;
    }
    return ret;
}

int points_tags_copy(const struct ntk_points_page *page, struct ntk_points_page *out)
{
    ntk_map_each(entry, &page->tags) {
        const struct ntk_points_tag *tag = entry->value;
        struct ntk_points_tag *copy = calloc(1, sizeof *copy);
        if (!copy) {
            return -ENOMEM;
        }
        memcpy(copy, tag, offsetof(struct ntk_points_tag, cores));
        points_tag_clear(out, copy);
        if (ntk_map_put(&out->tags, entry->key, copy) < 0) {
            tag_destroy(out, copy);
            return -ENOMEM;
        }
        if (copy_lists(copy, tag) < 0) {
            return -ENOMEM;
        }
    }
    return 0;
}

void points_tags_fini(struct ntk_points_page *page)
{
    ntk_map_each(entry, &page->tags) {
        tag_destroy(page, entry->value);
    }
    ntk_map_fini(&page->tags);
    ntk_map_fini(&page->others);
    ntk_map_fini(&page->shown_users);
}
