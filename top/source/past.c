/* SPDX-License-Identifier: MIT */
#include "top/source/past.h"

void ntk_top_past_drop(struct ntk_top_past *past)
{
    const struct ntk_snapshot *oldest = past->items[past->first];

    past->bytes -= ntk_snapshot_bytes(oldest);
    ntk_snapshot_destroy(oldest);
    past->first = (past->first + 1) % NTK_TOP_PAST_MAX;
    past->count--;
}

void ntk_top_past_fini(struct ntk_top_past *past)
{
    while (past->count > 0) {
        ntk_top_past_drop(past);
    }
}

bool ntk_top_past_is_full(const struct ntk_top_past *past, const struct ntk_snapshot *snapshot)
{
    return past->count > 0 && (past->count == NTK_TOP_PAST_MAX ||
                               past->bytes + ntk_snapshot_bytes(snapshot) > NTK_TOP_PAST_BYTES_MAX);
}

void ntk_top_past_add(struct ntk_top_past *past, const struct ntk_snapshot *snapshot)
{
    while (ntk_top_past_is_full(past, snapshot)) {
        ntk_top_past_drop(past);
    }
    past->items[(past->first + past->count++) % NTK_TOP_PAST_MAX] = ntk_snapshot_share(snapshot);
    past->bytes += ntk_snapshot_bytes(snapshot);
}

const struct ntk_snapshot *ntk_top_past_get(const struct ntk_top_past *past, size_t index)
{
    return index < past->count ? past->items[(past->first + index) % NTK_TOP_PAST_MAX] : NULL;
}

size_t ntk_top_past_back(const struct ntk_top_past *past, uint64_t from_ns, uint64_t distance_ns)
{
    uint64_t to_ns = from_ns > distance_ns ? from_ns - distance_ns : 0;
    size_t index = past->count;

    while (index > 0) {
        uint64_t at_ns = ntk_top_past_get(past, --index)->realtime_ns;

        if (at_ns < from_ns && at_ns <= to_ns) {
            break;
        }
    }
    return index;
}

size_t ntk_top_past_forward(const struct ntk_top_past *past, uint64_t from_ns, uint64_t distance_ns)
{
    for (size_t index = 0; index < past->count; index++) {
        uint64_t at_ns = ntk_top_past_get(past, index)->realtime_ns;

        if (at_ns > from_ns && at_ns - from_ns >= distance_ns) {
            return index;
        }
    }
    return past->count > 0 ? past->count - 1 : 0;
}
