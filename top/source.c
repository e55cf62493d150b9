/* SPDX-License-Identifier: MIT */
/* source - what all sources share. */
#include "top/source.h"

int ntk_top_source_take(struct ntk_top_source *source, struct ntk_snapshot **out_snapshot,
                        struct ntk_err *err)
{
    return source->ops->take(source, out_snapshot, err);
}

const char *ntk_top_source_note(const struct ntk_top_source *source)
{
    return source->ops->note ? source->ops->note(source) : "";
}

void ntk_top_source_close(struct ntk_top_source *source)
{
    if (source) {
        source->ops->close(source);
    }
}
