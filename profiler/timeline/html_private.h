/* SPDX-License-Identifier: MIT */
/* html_private - state shared by the files of timeline_html while they write the page as one
 * file. */
#ifndef NTK_PROFILER_TIMELINE_HTML_PRIVATE_H
#define NTK_PROFILER_TIMELINE_HTML_PRIVATE_H

#include "profiler/output/answers/analyses.h"
#include "profiler/output/tables/operands.h"
#include "profiler/output/sink.h"
#include "profiler/timeline/timeline_html.h"
#include "profiler/timeline/timeline_source.h"
#include "shared/base/progress.h"

struct ntk_html_writer {
    struct ntk_sink *sink;
    const struct ntk_timeline *timeline;
    uint64_t bytes_max;
    uint64_t page_bytes; /* bytes for the modules, which follow the data */
    struct ntk_timeline_html_extent extent;
    /* One element per source. */
    struct ntk_analyses **analyses;
    struct ntk_operands **operands;
    struct ntk_source_lines **lines;
    struct ntk_source_text *source_text; /* NULL if none */
    bool shows_progress;
    struct ntk_progress progress; /* progress of the written data */
};

/* Share of the time after which a part is done, for a capture of a million packets. */
#define NTK_HTML_SHARE_ANSWERS 0.3
#define NTK_HTML_SHARE_LINES 0.35
#define NTK_HTML_SHARE_TILES 0.98

static inline void ntk_html_passed(struct ntk_html_writer *w, double share)
{
    if (w->shows_progress) {
        ntk_progress_show(&w->progress, share);
    }
}

/* Functions of html_pieces.c. */

int ntk_html_put_base64(struct ntk_html_writer *w, const void *data, size_t bytes_count);
/* Appends <script type="text/plain" ATTRIBUTES>base64 of the deflated bytes</script> to text;
 * empties data. */
int ntk_html_add_data(const char *attributes, struct ntk_buf *data, struct ntk_buf *text);
int ntk_html_put_data(struct ntk_html_writer *w, const char *attributes, struct ntk_buf *data);
/* Returns the number of bytes left in the file. */
uint64_t ntk_html_room_bytes(const struct ntk_html_writer *w);
/* Writes the text if it fits; empties it. */
int ntk_html_put_if_room(struct ntk_html_writer *w, struct ntk_buf *text, bool *out_is_put);
/* Returns memory of long lists that an answer or tile used to the system. */
void ntk_html_give_back(const struct ntk_html_writer *w);

/* Functions of html_answers.c: append objects to out. */

/* Writes a value of the current object with a function that appends to a buffer. */
void ntk_html_put_member(struct ntk_buf *out, const char *separator, const char *key);
int ntk_html_put_answers(struct ntk_html_writer *w, const char *title, struct ntk_buf *out);
/* Writes host activity, as far as it fits. */
int ntk_html_put_host(struct ntk_html_writer *w, const struct ntk_timeline_html_options *options);

/* Functions of html_details.c: write details as far as they fit. */

int ntk_html_put_details(struct ntk_html_writer *w);
int ntk_html_put_tensors(struct ntk_html_writer *w);

/* Functions of html_source.c. */

int ntk_html_put_lines(struct ntk_html_writer *w, struct ntk_buf *out);
/* Writes the text of each file, as far as it fits. */
int ntk_html_put_source_files(struct ntk_html_writer *w);
/* Writes the source positions of slices, if there are any and they fit. */
int ntk_html_put_positions(struct ntk_html_writer *w);

/* Functions of html_tiles.c. */

int ntk_html_put_tiles(struct ntk_html_writer *w, bool has_whole);

#endif
