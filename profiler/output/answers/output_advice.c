/* SPDX-License-Identifier: MIT */
/* output_advice - writes advice.h as text and JSON. */
#include <stdio.h>

#include "profiler/output/answers/output_analysis.h"
#include "shared/base/text_wrap.h"

#define INDENT 4 /* indentation of all lines except the line with the number */

static void put_wrapped(const char *before, struct ntk_buf *text, size_t width, struct ntk_buf *out)
{
    ntk_buf_add_text(out, before);
    ntk_text_wrap(out, ntk_buf_text_get(text), INDENT, width);
    out->failed = out->failed || !ntk_buf_ok(text);
    ntk_buf_reset(text);
}

static bool has_several_gains(const struct ntk_advice *advice)
{
    size_t count = 0;

    for (size_t i = 0; i < advice->count; i++) {
        count += advice->items[i].has_gain;
    }
    return count > 1;
}

void ntk_output_advice_text(const struct ntk_advice *advice, struct ntk_buf *out)
{
    size_t width = ntk_text_width();
    struct ntk_buf text = { 0 };

    if (advice->count == 0) {
        ntk_buf_add_text(out, "No findings: all figures are within their thresholds\n");
    }
    if (has_several_gains(advice)) {
        ntk_buf_add_text(out, "Estimated gains overlap: do not add them up\n");
    }
    for (size_t i = 0; i < advice->count; i++) {
        const struct ntk_advice_item *item = &advice->items[i];
        char number[24];

        (void)snprintf(number, sizeof number, "%2zu. ", i + 1);
        ntk_buf_add_format(&text, "%s [%s]", item->text, ntk_advice_id(item->rule));
        put_wrapped(number, &text, width, out);
        ntk_buf_add_format(&text, "%s.", item->what);
        put_wrapped("    ", &text, width, out);
        if (item->has_gain) {
            double us = advice->total_ps / 1e6;
            ntk_buf_add_format(&text,
                               "estimated gain: %.3f us (%.1f%% of the execution), at most "
                               "%.3f us (%.1f%%).",
                               item->gain * us, 100 * item->gain, item->gain_bound * us,
                               100 * item->gain_bound);
            put_wrapped("    ", &text, width, out);
        }
    }
    ntk_buf_fini(&text);
}

void ntk_output_advice_json(const struct ntk_advice *advice, struct ntk_json *json)
{
    ntk_json_array_begin(json);
    for (size_t i = 0; i < advice->count; i++) {
        const struct ntk_advice_item *item = &advice->items[i];
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "id", ntk_advice_id(item->rule));
        ntk_json_key_text(json, "text", item->text);
        ntk_json_key_text(json, "what_to_do", item->what);
        ntk_json_key_text(json, "measured", ntk_advice_measured(item->rule));
        ntk_json_key_double(json, "value", item->value);
        ntk_json_key_double(json, "threshold", ntk_advice_threshold(item->rule));
        ntk_json_key_double(json, "share_of_execution", item->share);
        if (item->has_gain) {
            ntk_json_key_double(json, "estimated_gain_ns",
                                item->gain * advice->total_ps / NTK_TRACE_PS_PER_NS);
            ntk_json_key_double(json, "estimated_gain_of_execution", item->gain);
            ntk_json_key_double(json, "largest_gain_ns",
                                item->gain_bound * advice->total_ps / NTK_TRACE_PS_PER_NS);
            ntk_json_key_double(json, "largest_gain_of_execution", item->gain_bound);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}
