/* SPDX-License-Identifier: MIT */
/* source - implements code that all sources share. */
#include "top/source/source.h"

int ntk_top_source_take(struct ntk_top_source *source, struct ntk_snapshot **out_snapshot,
                        struct ntk_err *err)
{
    return source->ops->take(source, out_snapshot, err);
}

const char *ntk_top_source_note(const struct ntk_top_source *source)
{
    return source->ops->note ? source->ops->note(source) : "";
}

bool ntk_top_source_control(struct ntk_top_source *source, enum ntk_top_control control)
{
    if (source->ops->control) {
        source->ops->control(source, control);
    }
    return source->ops->control != NULL;
}

void ntk_top_source_read_events(struct ntk_top_source *source)
{
    if (source->ops->read_events) {
        source->ops->read_events(source);
    }
}

void ntk_top_source_read_latency(struct ntk_top_source *source, bool of_models)
{
    if (source->ops->read_latency) {
        source->ops->read_latency(source, of_models);
    }
}

void ntk_top_source_read_usage(struct ntk_top_source *source)
{
    if (source->ops->read_usage) {
        source->ops->read_usage(source);
    }
}

bool ntk_top_source_has_news(struct ntk_top_source *source)
{
    return source->ops->has_news && source->ops->has_news(source);
}

int ntk_top_source_before_shown(struct ntk_top_source *source, uint64_t since_ns,
                                struct ntk_snapshot **out_snapshot)
{
    return source->ops->before_shown ? source->ops->before_shown(source, since_ns, out_snapshot)
                                     : 0;
}

void ntk_top_source_close(struct ntk_top_source *source)
{
    if (source) {
        source->ops->close(source);
    }
}
