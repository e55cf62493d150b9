/* SPDX-License-Identifier: MIT */
/* vendor_texts - stores shared texts of spans in the vendor's traces, and messages for users. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/system/vendor_session.h"
#include "shared/base/str.h"

#define TEXTS_MAX 65536U

const char *ntk_vendor_session_text(struct ntk_system_trace *trace, const char *text, size_t bytes)
{
    char buffer[1024];

    bytes = bytes < sizeof buffer ? bytes : sizeof buffer - 1;
    ntk_str_copy_clean(buffer, sizeof buffer, text, bytes);
    char *known = ntk_map_get(&trace->text_indices, buffer);
    if (known || trace->texts.count >= TEXTS_MAX) {
        return known ? known : "";
    }
    char *copy = strdup(buffer);
    if (!copy || ntk_map_put(&trace->text_indices, copy, copy) < 0) {
        free(copy);
        return "";
    }
    if (ntk_vec_push(&trace->texts, &copy) < 0) {
        (void)ntk_map_remove(&trace->text_indices, copy);
        free(copy);
        return "";
    }
    return copy;
}

void ntk_vendor_session_note(struct ntk_system_trace *trace, const char *category,
                             const char *format, ...)
{
    struct ntk_system_note note = { .category = category };
    va_list args;

    va_start(args, format);
    if (vasprintf(&note.text, format, args) < 0) {
        note.text = NULL;
    }
    va_end(args);
    if (note.text && ntk_vec_push(&trace->notes, &note) < 0) {
        free(note.text);
    }
}
