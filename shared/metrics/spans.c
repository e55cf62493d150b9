/* SPDX-License-Identifier: MIT */
/* spans - parses and applies rules for spans, and joins the spans of snapshots. */
#include "shared/metrics/spans.h"

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"

#define WORD_BYTES 32

static bool set_rule(struct ntk_span_rules *rules, const char *word)
{
    if (strcmp(word, "failed") == 0) {
        rules->failed = true;
    } else if (strcmp(word, "parent") == 0) {
        rules->parent = true;
    } else if (strncmp(word, "slow=", 5) == 0) {
        return ntk_str_parse_duration_ns(word + 5, &rules->slow_ns) == 0 && rules->slow_ns > 0;
    } else if (strncmp(word, "every=", 6) == 0) {
        return ntk_str_parse_u64(word + 6, &rules->every) == 0 && rules->every > 0;
    } else {
        return false;
    }
    return true;
}

int ntk_span_rules_parse(const char *text, struct ntk_span_rules *out, struct ntk_err *err)
{
    struct ntk_span_rules rules = { 0 };
    const char *at = text[0] ? text : NTK_SPAN_RULES_DEFAULT;

    for (;;) {
        char word[WORD_BYTES];
        size_t bytes = strcspn(at, ",");

        ntk_str_copy(word, bytes < sizeof word ? bytes + 1 : sizeof word, at);
        if (bytes >= sizeof word || !set_rule(&rules, word)) {
            return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                               "unknown rule '%.*s': expected 'failed', 'slow=TIME', 'parent' "
                               "or 'every=N', separated by commas",
                               (int)(bytes < 40 ? bytes : 40), at);
        }
        if (!at[bytes]) {
            break;
        }
        at += bytes + 1;
    }
    *out = rules;
    return 0;
}

unsigned ntk_span_rules_match(const struct ntk_span_rules *rules,
                              const struct ntk_span_facts *facts, uint64_t *seen)
{
    unsigned why = facts->is_load ? NTK_SPAN_LOAD : 0;

    if (rules->every && (*seen)++ % rules->every == 0) {
        why |= NTK_SPAN_EVERY;
    }
    if (rules->failed && facts->has_failed) {
        why |= NTK_SPAN_FAILED;
    }
    if (rules->slow_ns && facts->duration_ns >= rules->slow_ns) {
        why |= NTK_SPAN_SLOW;
    }
    if (rules->parent && facts->is_parent_sampled) {
        why |= NTK_SPAN_PARENT;
    }
    return why;
}

void ntk_snapshot_join_spans(struct ntk_snapshot *snapshot, const struct ntk_snapshot *older,
                             const struct ntk_snapshot *newer)
{
    size_t all = older->span_count + newer->span_count;
    size_t count = all < NTK_SNAPSHOT_JOINED_SPANS_MAX ? all : NTK_SNAPSHOT_JOINED_SPANS_MAX;
    struct ntk_span *spans = count > 0 ? ntk_snapshot_alloc(snapshot, count, sizeof *spans) : NULL;

    for (size_t i = 0; spans && i < count; i++) {
        spans[i] = i < older->span_count ? older->spans[i] : newer->spans[i - older->span_count];
        spans[i].model_name = ntk_snapshot_text(snapshot, spans[i].model_name);
    }
    snapshot->spans = spans;
    snapshot->span_count = spans ? count : 0;
    snapshot->spans_lost = older->spans_lost + newer->spans_lost + (all - snapshot->span_count);
}
