/* SPDX-License-Identifier: MIT */
/*
 * timeline_html - the timeline page as one file that stands for itself: page, data and answers, to be opened
 * from a disk or a mail, without a server and without the network.
 *
 * Long captures are cut to what such a file can carry: from NTK_TIMELINE_HTML_SLICES_MAX slices on it has the
 * upper levels of the pyramid alone, from NTK_TIMELINE_HTML_DETAILS_MAX on slices without all that is known of
 * each. What is missing says so in the page.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_HTML_H
#define NTK_PROFILER_TIMELINE_TIMELINE_HTML_H

#include "profiler/timeline/timeline.h"

#define NTK_TIMELINE_HTML_SLICES_MAX 400000
#define NTK_TIMELINE_HTML_DETAILS_MAX 20000
#define NTK_TIMELINE_HTML_LEVELS 5

/* The file appears whole or not at all; "-" is stdout. 0 or -errno with a sentence. */
int ntk_timeline_html_write(const struct ntk_timeline *timeline, const char *title,
                            const char *path, struct ntk_err *err);

#endif
