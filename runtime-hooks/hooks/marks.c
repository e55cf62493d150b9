/* SPDX-License-Identifier: MIT */
/* marks - records marks that a program sets about its own work. */
#include <string.h>

#include "runtime-hooks/hooks/hooks_state.h"

#define NAME_BYTES 256

void ntk_hooks_mark(uint32_t name, uint64_t start_ticks, uint16_t core, uint64_t value_0,
                    uint64_t value_1)
{
    uint64_t now;

    if (hooks_unlikely((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) == 0)) {
        return;
    }
    now = hooks_now();
    if (start_ticks == 0) {
        start_ticks = now;
    }
    hooks_record(NTK_SLOT_META(NTK_EVENT_MARK, 0, core, 0), start_ticks,
                 hooks_span_ticks(start_ticks, now), name, value_0, value_1, 0);
}

uint64_t ntk_hooks_mark_begin(void)
{
    return (ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) != 0 ? hooks_now() : 0;
}

/* ---- the trace of the caller ---- */

/* Length of "00-<32 digits>-<16 digits>-<2 digits>" in lower case; a later version may append '-'
 * and text. */
#define TRACEPARENT_BYTES 55

/* Reads digits as a number; returns 0 if one is not a lower-case hexadecimal digit. */
static int read_hex(const char *text, int digits, uint64_t *out)
{
    uint64_t number = 0;

    for (; digits > 0; digits--, text++) {
        int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                    : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                                   : -1;
        if (digit < 0) {
            return 0;
        }
        number = number << 4 | (uint64_t)digit;
    }
    *out = number;
    return 1;
}

int ntk_hooks_trace_parse(const char *text, struct ntk_hooks_trace *out)
{
    uint64_t version;
    size_t bytes = strnlen(text, TRACEPARENT_BYTES + 1);

    if (bytes < TRACEPARENT_BYTES || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
        !read_hex(text, 2, &version) || !read_hex(text + 3, 16, &out->trace_high) ||
        !read_hex(text + 19, 16, &out->trace_low) || !read_hex(text + 36, 16, &out->span) ||
        !read_hex(text + 53, 2, &out->flags)) {
        return 0;
    }
    if (version == 0xff ||
        (bytes > TRACEPARENT_BYTES && (version == 0 || text[TRACEPARENT_BYTES] != '-'))) {
        return 0;
    }
    return (out->trace_high | out->trace_low) != 0 && out->span != 0;
}

int ntk_hooks_mark_trace(const char *traceparent)
{
    struct ntk_hooks_trace trace = { 0, 0, 0, 0 };
    int is_valid = traceparent == NULL || ntk_hooks_trace_parse(traceparent, &trace);

    if ((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) == 0) {
        return 0;
    }
    if (!is_valid) { /* the next marks do not belong to the previous trace either */
        memset(&trace, 0, sizeof trace);
    }
    hooks_record(NTK_SLOT_META(NTK_EVENT_TRACE_PARENT, 0, NTK_NO_CORE, 0), hooks_now(), 0,
                 trace.flags, trace.trace_high, trace.trace_low, trace.span);
    return is_valid;
}

void ntk_hooks_mark_text(const char *name, uint64_t start_ticks, uint64_t value)
{
    char cut[NAME_BYTES + 1];

    if ((ntk_abi_load(&hooks_mask) & HOOKS_EVENTS) == 0 || name == NULL) {
        return;
    }
    if (strnlen(name, sizeof cut) == sizeof cut) {
        memcpy(cut, name, NAME_BYTES);
        cut[NAME_BYTES] = '\0';
        name = cut;
    }
    ntk_hooks_mark(ntk_hooks_name(name), start_ticks, NTK_NO_CORE, value, 0);
}
