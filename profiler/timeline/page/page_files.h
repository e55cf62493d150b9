/* SPDX-License-Identifier: MIT */
/* page_files - the files of this folder as bytes of the program; the table is made by the
 * build. */
#ifndef NTK_PROFILER_TIMELINE_PAGE_PAGE_FILES_H
#define NTK_PROFILER_TIMELINE_PAGE_PAGE_FILES_H

#include "shared/http/http_files.h"

/* Ended by a NULL name. */
extern const struct ntk_http_file ntk_timeline_page_files[];

#endif
