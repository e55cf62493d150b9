/* SPDX-License-Identifier: MIT */
/*
 * dump - writes the output of popef_dump about the files of a reader, as text and as JSON.
 */
#ifndef NTK_PROFILER_POPEF_DUMP_H
#define NTK_PROFILER_POPEF_DUMP_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/buf.h"
#include "shared/formats/popef/popef.h"

struct dump {
    const struct popef_reader *reader;
    bool metadata, anchors, user_anchors, executables, tensors, feeds, opaques, unknown;
    bool is_colored;
    struct ntk_buf out; /* the caller writes and empties it */
};

/* Adds text from a file on one terminal line: unsafe and non-UTF-8 bytes become \n and \xNN. */
void dump_add_safe(struct ntk_buf *out, const char *text);
/* Returns true if a tensor or feed in any file has the anchor's data. */
bool dump_is_popef_provided(const struct dump *dump, const struct popef_anchor *anchor);
/* Writes the first line of a file and its sections. */
void dump_text_file(struct dump *dump, size_t file);
/* Writes one object with the content of all files. */
void dump_json(struct dump *dump);

#endif
