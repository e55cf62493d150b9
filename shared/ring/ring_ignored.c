/* SPDX-License-Identifier: MIT */
/* ring_ignored - the reasons why files were ignored, by kind. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/ring/ring_registry_state.h"

void ntk_ring_ignore(struct ntk_ring_poll *poll, int code, const char *text)
{
    struct ntk_ring_reason *reason = poll->reasons;
    const struct ntk_ring_reason *last = &poll->reasons[NTK_RING_REASONS - 1];

    poll->ignored++;
    while (reason < last && reason->count > 0 && reason->code != code) {
        reason++;
    }
    /* Folders are scanned in changing order; the example stays the same. */
    if (reason->count == 0 || strcmp(text, reason->text) < 0) {
        ntk_str_copy(reason->text, sizeof reason->text, text);
    }
    reason->code = reason->count == 0 ? code : reason->code;
    reason->count++;
}

NTK_ORDER(compare, struct ntk_ring_reason, NTK_DOWN(count) NTK_DOWN(code));

void ntk_ring_sort_reasons(struct ntk_ring_poll *poll)
{
    qsort(poll->reasons, NTK_RING_REASONS, sizeof *poll->reasons, compare);
}

void ntk_ring_poll_reasons(const struct ntk_ring_poll *poll, struct ntk_buf *out)
{
    for (size_t i = 0; i < NTK_RING_REASONS && poll->reasons[i].count > 0; i++) {
        const struct ntk_ring_reason *reason = &poll->reasons[i];

        ntk_buf_add_format(out, "%s%s", out->bytes_count > 0 ? "; " : "", reason->text);
        if (reason->count > 1) {
            ntk_buf_add_format(out, " (and %" PRIu32 " more)", reason->count - 1);
        }
    }
}
