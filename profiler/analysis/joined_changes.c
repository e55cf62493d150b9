/* SPDX-License-Identifier: MIT */
/* joined_changes - parses changes to the graph of ranks, such as "link=2,rank3.host=0". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/analysis/joined.h"
#include "profiler/analysis/what_if.h"

static int change_parse(const char *word, size_t length, struct ntk_joined_change *out)
{
    static const enum ntk_joined_part parts[] = { NTK_JOINED_RUN, NTK_JOINED_HOST,
                                                  NTK_JOINED_LINK };
    char text[64];
    char *at = text;
    char *end = NULL;

    if (length == 0 || length >= sizeof text) {
        return -EINVAL;
    }
    memcpy(text, word, length);
    text[length] = '\0';
    *out = (struct ntk_joined_change){ 0 };
    if (strncmp(at, "rank", 4) == 0) {
        if (at[4] < '0' || at[4] > '9') {
            return -EINVAL;
        }
        unsigned long long worker = strtoull(at + 4, &end, 10);
        if (worker > UINT32_MAX || *end != '.') {
            return -EINVAL;
        }
        out->is_of_rank = true;
        out->worker = (uint32_t)worker;
        at = end + 1;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *name = ntk_joined_part_name(parts[i]);
        size_t name_length = strlen(name);

        if (strncmp(at, name, name_length) == 0 && at[name_length] == '=') {
            at += name_length + 1;
            out->part = parts[i];
            if ((*at < '0' || *at > '9') && *at != '.') {
                return -EINVAL;
            }
            out->speed = strtod(at, &end);
            return end == at || *end || out->speed > NTK_WHAT_IF_SPEED_MAX ||
                           (out->speed != 0 && !(out->speed >= NTK_WHAT_IF_SPEED_MIN))
                       ? -EINVAL
                       : 0;
        }
    }
    return -EINVAL;
}

int ntk_joined_changes_add(struct ntk_joined_options *options, const char *text,
                           struct ntk_err *err)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        struct ntk_joined_change change;

        if (change_parse(at, length, &change) < 0) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "expected run, host or link, optionally after a rank prefix such as "
                               "rank3., and the speed-up factor, such as link=2 or rank3.host=0 "
                               "(0: takes no time; otherwise 0.001 to 1000000)");
        }
        if (options->change_count == NTK_JOINED_CHANGES_MAX) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many changes (at most %u)",
                               NTK_JOINED_CHANGES_MAX);
        }
        options->changes[options->change_count++] = change;
        at += length;
        if (!*at) {
            return 0;
        }
    }
}

static bool has_rank(const struct ntk_joined *joined, uint32_t number)
{
    for (size_t i = 0; i < joined->rank_count; i++) {
        if (joined->ranks[i].number == number) {
            return true;
        }
    }
    return false;
}

int ntk_joined_changes_check(const struct ntk_joined_options *options,
                             const struct ntk_joined *joined, struct ntk_err *err)
{
    for (size_t i = 0; options && joined->rank_count > 0 && i < options->change_count; i++) {
        const struct ntk_joined_change *change = &options->changes[i];

        if (change->is_of_rank && !has_rank(joined, change->worker)) {
            return ntk_err_set(err, -ENOENT, NTK_ERR_NO_OFFSET,
                               "--what-if: unknown rank %u: the trace has %zu ranks from %u to %u",
                               change->worker, joined->rank_count, joined->ranks[0].number,
                               joined->ranks[joined->rank_count - 1].number);
        }
    }
    return 0;
}
