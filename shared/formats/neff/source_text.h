/* SPDX-License-Identifier: MIT */
/*
 * source_text - finds the text of source lines by paths that a NEFF recorded on another machine.
 *
 * A recorded path is searched for below the given folders: its last k parts, from all of them down
 * to one, until a regular file is found. Nothing outside of the folders is opened, and no symbolic
 * link is followed. Next, the NEFF's member for this path is tried, which examples have. Without
 * folders, the path itself is tried last if its ending is that of source code (also required for
 * the member), so a NEFF cannot show other files.
 *
 * Text is UTF-8, clean (str.h), tabs become blanks. A file is read at the first request for one of
 * its lines; files of more than 64 MiB, or beyond 256 MiB together, have no text. Files should have
 * the version that was compiled; each file with signs of another version causes a warning.
 *
 * Owner:   ntk_source_text_create() allocates, ntk_source_text_destroy() frees.
 * Threads: one.
 */
#ifndef NTK_SHARED_FORMATS_NEFF_SOURCE_TEXT_H
#define NTK_SHARED_FORMATS_NEFF_SOURCE_TEXT_H

#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/vec.h"
#include "shared/formats/neff/neff.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_SOURCE_TEXT_FILE_BYTES_MAX ((size_t)64 << 20)
#define NTK_SOURCE_TEXT_BYTES_MAX ((size_t)256 << 20)
#define NTK_SOURCE_TEXT_FILES_MAX 4096
#define NTK_SOURCE_TEXT_LINE_BYTES 1024 /* limit after which texts are truncated */
/* Name of the member with the text of a source path. */
#define NTK_SOURCE_TEXT_MEMBER "debug_info/source/%s"

struct ntk_source_text_options {
    const char *nki_root, *framework_root; /* NULL: none; nki_root is searched first */
    const struct ntk_neff *neff;           /* NULL: none; must outlive the text */
    /* time of the NEFF's creation in seconds since 1970; newer files are other versions; 0:
     * unknown */
    int64_t built_s;
};

struct ntk_source_text;

/* Returns -errno with a message if a folder cannot be opened, or -ENOMEM. */
int ntk_source_text_create(const struct ntk_source_text_options *options,
                           struct ntk_source_text **out_text, struct ntk_err *err);
void ntk_source_text_destroy(struct ntk_source_text *text);

/* The text of a line without indentation and line end; NULL if unavailable. Borrowed until the next
 * call. */
const char *ntk_source_text_line(struct ntk_source_text *text, const char *path, uint32_t line);
/* All bytes of a file, unchecked; NULL if unavailable. For programs that show a file. */
const char *ntk_source_text_file(struct ntk_source_text *text, const char *path,
                                 size_t *out_bytes_count);
/* The warnings so far as char *: one per file and reason. */
const struct ntk_vec *ntk_source_text_warnings(const struct ntk_source_text *text);

#ifdef __cplusplus
}
#endif
#endif
