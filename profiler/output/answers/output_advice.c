/* SPDX-License-Identifier: MIT */
/* output_advice - advice.h as text and JSON. */
#include "profiler/output/answers/output_analysis.h"

void ntk_output_advice_text(const struct ntk_advice *advice, struct ntk_buf *out)
{
    if (advice->count == 0) {
        ntk_buf_add_text(out, "No findings: no figure is beyond its threshold\n");
    }
    for (size_t i = 0; i < advice->count; i++) {
        const struct ntk_advice_item *item = &advice->items[i];
        ntk_buf_add_format(out, "%2zu. %s [%s]\n    %s.\n", i + 1, item->text,
                           ntk_advice_id(item->rule), ntk_advice_what(item->rule));
        if (item->has_gain) {
            double us = advice->total_ps / 1e6;
            ntk_buf_add_format(out,
                               "    estimated gain: %.3f us (%.1f %% of the execution), at most "
                               "%.3f us (%.1f %%).\n",
                               item->gain * us, 100 * item->gain, item->gain_bound * us,
                               100 * item->gain_bound);
        }
    }
}

void ntk_output_advice_json(const struct ntk_advice *advice, struct ntk_json *json)
{
    ntk_json_array_begin(json);
    for (size_t i = 0; i < advice->count; i++) {
        const struct ntk_advice_item *item = &advice->items[i];
        ntk_json_object_begin(json);
        ntk_json_key_text(json, "id", ntk_advice_id(item->rule));
        ntk_json_key_text(json, "text", item->text);
        ntk_json_key_text(json, "what_to_do", ntk_advice_what(item->rule));
        ntk_json_key_text(json, "measured", ntk_advice_measured(item->rule));
        ntk_json_key_double(json, "value", item->value);
        ntk_json_key_double(json, "threshold", ntk_advice_threshold(item->rule));
        ntk_json_key_double(json, "share_of_execution", item->share);
        if (item->has_gain) {
            ntk_json_key_double(json, "estimated_gain_us", item->gain * advice->total_ps / 1e6);
            ntk_json_key_double(json, "estimated_gain_of_execution", item->gain);
            ntk_json_key_double(json, "largest_gain_us", item->gain_bound * advice->total_ps / 1e6);
            ntk_json_key_double(json, "largest_gain_of_execution", item->gain_bound);
        }
        ntk_json_object_end(json);
    }
    ntk_json_array_end(json);
}
