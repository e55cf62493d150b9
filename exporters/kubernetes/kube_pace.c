/* SPDX-License-Identifier: MIT */
#include "exporters/kubernetes/kube_pace.h"

#include <errno.h>

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t ntk_kube_pace_gap_ns(uint64_t heartbeat_ns)
{
    return smaller(heartbeat_ns, NTK_KUBERNETES_GAP_NS);
}

uint64_t ntk_kube_pace_due_ns(const struct ntk_kube_pace *pace, uint64_t heartbeat_ns,
                              uint64_t first_ns, bool in_haste)
{
    if (pace->retry_ns) {
        return pace->retry_ns;
    }
    if (!pace->said_ns) {
        return first_ns;
    }
    if (pace->is_wanted) {
        return in_haste ? 0 : pace->said_ns + ntk_kube_pace_gap_ns(heartbeat_ns);
    }
    return pace->said_ns + heartbeat_ns;
}

bool ntk_kube_pace_begin(struct ntk_kube_pace *pace, uint64_t due_ns, uint64_t now_ns)
{
    pace->is_sending = due_ns <= now_ns;
    pace->is_wanted = pace->is_wanted && !pace->is_sending;
    return pace->is_sending;
}

void ntk_kube_pace_end(struct ntk_kube_pace *pace, int result, uint64_t retry_ns, uint64_t now_ns)
{
    pace->is_sending = false;
    pace->said_ns = now_ns;
    if (result >= 0) {
        pace->retry_ns = 0;
        pace->pause_ns = 0;
    } else if (result != -ECANCELED) {
        pace->pause_ns = pace->pause_ns ? smaller(pace->pause_ns * 2, NTK_KUBERNETES_PAUSE_MAX_NS)
                                        : NTK_KUBERNETES_PAUSE_MIN_NS;
        pace->retry_ns = now_ns + (retry_ns > pace->pause_ns ? retry_ns : pace->pause_ns);
    }
}
