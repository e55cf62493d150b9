/* SPDX-License-Identifier: MIT */
/* page_files - holds the files of this folder as bytes in the program; the build generates the
 * table. */
#ifndef NTK_PROFILER_TIMELINE_PAGE_PAGE_FILES_H
#define NTK_PROFILER_TIMELINE_PAGE_PAGE_FILES_H

#include "shared/http/http_files.h"

/* A NULL name ends the table. */
extern const struct ntk_http_file ntk_timeline_page_files[];

#endif
