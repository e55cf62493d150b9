/* SPDX-License-Identifier: MIT */
/* source_text - finds files, reads each once and divides it into lines. */
#include "shared/formats/neff/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/base/fs.h"
#include "shared/base/map.h"
#include "shared/base/str.h"

#define ROOTS 2
#define PARTS_MAX 64 /* maximum parts of a path that are compared, counted from its end */
#define LINES_PER_MARK 64

struct source_file {
    char *bytes; /* NULL: the file has no text */
    size_t bytes_count;
    struct ntk_vec marks; /* elements are uint32_t: positions of lines 1, 1 + LINES_PER_MARK ... */
    uint32_t line_count;
    bool is_other; /* the warning about another version was given */
};

struct ntk_source_text {
    int roots[ROOTS]; /* -1 if not given */
    const struct ntk_neff *neff;
    int64_t built_s;
    struct ntk_map files; /* maps a path to struct source_file */
    size_t bytes_count;
    bool has_too_many; /* the warning about too many files was given */
    struct ntk_vec warnings;
    char line[NTK_SOURCE_TEXT_LINE_BYTES * 3 + 1];
};

static void __attribute__((format(printf, 2, 3)))
warn(struct ntk_source_text *text, const char *format, ...)
{
    char *copy = NULL;
    struct ntk_err clean = { 0 };
    char sentence[NTK_ERR_TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    (void)ntk_err_set(&clean, -EINVAL, NTK_ERR_NO_OFFSET, "%s", sentence);
    copy = strdup(clean.text);
    if (copy && ntk_vec_push(&text->warnings, &copy) < 0) {
        free(copy);
    }
}

int ntk_source_text_create(const struct ntk_source_text_options *options,
                           struct ntk_source_text **out_text, struct ntk_err *err)
{
    const char *roots[ROOTS] = { options->nki_root, options->framework_root };
    struct ntk_source_text *text = calloc(1, sizeof *text);
    int ret = 0;

    if (!text) {
        return ntk_err_no_memory(err);
    }
    text->built_s = options->built_s;
    text->neff = options->neff;
    ntk_vec_init(&text->warnings, sizeof(char *));
    for (int r = 0; r < ROOTS; r++) {
        text->roots[r] = roots[r] ? open(roots[r], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        if (roots[r] && text->roots[r] < 0 && ret == 0) {
            ret = ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET,
                              "cannot open the source folder '%s': %s", roots[r], strerror(errno));
        }
    }
    if (ret < 0) {
        ntk_source_text_destroy(text);
        return ret;
    }
    *out_text = text;
    return 0;
}

void ntk_source_text_destroy(struct ntk_source_text *text)
{
    if (!text) {
        return;
    }
    for (int r = 0; r < ROOTS; r++) {
        if (text->roots[r] >= 0) {
            close(text->roots[r]);
        }
    }
    ntk_map_each(entry, &text->files) {
        struct source_file *file = entry->value;
        free(file->bytes);
        ntk_vec_fini(&file->marks);
        free(file);
    }
    ntk_map_fini(&text->files);
    ntk_vec_each(char *, warning, &text->warnings) {
        free(*warning);
    }
    ntk_vec_fini(&text->warnings);
    free(text);
}

/* ---- where a file is ---- */

/* Returns true if the file is source code. A recorded path may lead to any file on the machine, so
 * only program text is shown. */
static bool is_source_code(const char *path)
{
    static const char *const endings[] = { ".py",  ".pyi", ".pyx", ".c",   ".cc",  ".cpp",
                                           ".cxx", ".h",   ".hpp", ".cuh", ".inc", ".mlir" };

    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (ntk_str_ends_with(path, endings[i])) {
            return true;
        }
    }
    return false;
}

static int if_regular(int fd, struct stat *out_status)
{
    if (fd >= 0 && (fstat(fd, out_status) < 0 || !S_ISREG(out_status->st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Opens a file inside the folder. A link may lead to another place in the folder, but never out of
 * it. Without openat2() in the kernel, links are not followed at all. */
static int open_inside(int root, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int fd = ntk_fs_open_below(root, path, O_RDONLY | O_NOCTTY);

    return fd < 0 && errno == ELOOP ? (int)syscall(__NR_openat2, root, path, &how, sizeof how) : fd;
}

static int open_below(int root, const char *path, struct stat *out_status)
{
    const char *parts[PARTS_MAX];
    size_t count = 0;
    int fd = -1;

    for (const char *end = path + strlen(path); end > path && count < PARTS_MAX;) {
        const char *begin = end;
        while (begin > path && begin[-1] != '/') {
            begin--;
        }
        if (end - begin == 2 && begin[0] == '.' && begin[1] == '.') {
            break;
        }
        if (begin < end) {
            parts[count++] = begin;
        }
        end = begin > path ? begin - 1 : begin;
    }
    while (fd < 0 && count > 0) {
        fd = if_regular(open_inside(root, parts[--count]), out_status);
    }
    return fd;
}

static const struct ntk_neff_member *member_of(const struct ntk_source_text *text, const char *path)
{
    char name[NTK_NEFF_MEMBER_NAME_MAX];
    const struct ntk_neff_member *member = NULL;

    if (text->neff && is_source_code(path) &&
        (size_t)snprintf(name, sizeof name, NTK_SOURCE_TEXT_MEMBER, path) < sizeof name) {
        member = ntk_neff_member_get(text->neff, name);
    }
    return member && member->bytes ? member : NULL;
}

static int open_source(const struct ntk_source_text *text, const char *path,
                       struct stat *out_status)
{
    bool has_root = text->roots[0] >= 0 || text->roots[1] >= 0;
    int fd = -1;

    for (int r = 0; r < ROOTS && fd < 0; r++) {
        fd = text->roots[r] >= 0 ? open_below(text->roots[r], path, out_status) : -1;
    }
    if (!has_root && !member_of(text, path) && path[0] == '/' && is_source_code(path)) {
        fd = if_regular(open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), out_status);
    }
    return fd;
}

/* ---- contents ---- */

static int mark_lines(struct source_file *file)
{
    const char *at = file->bytes;
    const char *end = file->bytes + file->bytes_count;

    while (at < end) {
        uint32_t offset = (uint32_t)(at - file->bytes);
        if (file->line_count++ % LINES_PER_MARK == 0 && ntk_vec_push(&file->marks, &offset) < 0) {
            return -ENOMEM;
        }
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return 0;
}

static int read_bytes(int fd, const struct ntk_neff_member *member, char *to, size_t bytes_count)
{
    if (!member) {
        return ntk_fs_pread(fd, to, bytes_count, 0);
    }
    if (bytes_count > 0) { /* bytes may be NULL for an empty member */
        memcpy(to, member->bytes, bytes_count);
    }
    return 0;
}

static void read_file(struct ntk_source_text *text, const char *path, struct source_file *file)
{
    struct stat status = { 0 };
    int fd = open_source(text, path, &status);
    const struct ntk_neff_member *member = fd < 0 ? member_of(text, path) : NULL;
    size_t bytes = member ? member->bytes_count : (size_t)status.st_size;

    if (fd < 0 && !member) {
        return;
    }
    if (bytes > NTK_SOURCE_TEXT_FILE_BYTES_MAX) {
        warn(text, "source file '%s' omitted: larger than 64 MiB", path);
    } else if (bytes > NTK_SOURCE_TEXT_BYTES_MAX - text->bytes_count) {
        if (!text->has_too_many) {
            warn(text, "source files beyond 256 MiB in total are omitted; the first is '%s'", path);
        }
        text->has_too_many = true;
    } else {
        file->bytes = malloc(bytes + 1);
        /* If the file was truncated in the meantime, it has no text. */
        if (file->bytes && read_bytes(fd, member, file->bytes, bytes) == 0) {
            file->bytes_count = bytes;
            text->bytes_count += bytes;
        }
        if (file->bytes && (file->bytes_count != bytes || mark_lines(file) < 0)) {
            free(file->bytes);
            file->bytes = NULL;
        }
        if (file->bytes && fd >= 0 && text->built_s && status.st_mtime > text->built_s) {
            warn(text, "source file '%s' was changed after the NEFF was built", path);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

static struct source_file *file_of(struct ntk_source_text *text, const char *path)
{
    struct source_file *file = ntk_map_get(&text->files, path);

    if (file || text->files.count == NTK_SOURCE_TEXT_FILES_MAX) {
        return file;
    }
    file = calloc(1, sizeof *file);
    if (!file || ntk_map_put(&text->files, path, file) < 0) {
        free(file);
        return NULL;
    }
    ntk_vec_init(&file->marks, sizeof(uint32_t));
    read_file(text, path, file);
    return file;
}

const char *ntk_source_text_file(struct ntk_source_text *text, const char *path,
                                 size_t *out_bytes_count)
{
    struct source_file *file = text && path ? file_of(text, path) : NULL;

    if (!file || !file->bytes) {
        return NULL;
    }
    *out_bytes_count = file->bytes_count;
    return file->bytes;
}

const char *ntk_source_text_line(struct ntk_source_text *text, const char *path, uint32_t line)
{
    struct source_file *file = text && path ? file_of(text, path) : NULL;
    char blanks[NTK_SOURCE_TEXT_LINE_BYTES];

    if (!file || !file->bytes || line == 0) {
        return NULL;
    }
    if (line > file->line_count) {
        if (!file->is_other) {
            warn(text, "source file '%s' does not match the NEFF: the file has no line %u", path,
                 line);
        }
        file->is_other = true;
        return NULL;
    }
    const char *end = file->bytes + file->bytes_count;
    const char *at =
        file->bytes + *(uint32_t *)ntk_vec_at(&file->marks, (line - 1) / LINES_PER_MARK);
    for (uint32_t skip = (line - 1) % LINES_PER_MARK; skip > 0; skip--) {
        /* not NULL, because lines were counted */
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    size_t bytes = (size_t)((newline ? newline : end) - at);
    while (bytes > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        bytes--;
    }
    bytes -= bytes > 0 && at[bytes - 1] == '\r';
    bytes = bytes < sizeof blanks ? bytes : sizeof blanks;
    for (size_t i = 0; i < bytes; i++) {
        blanks[i] = at[i] == '\t' ? ' ' : at[i];
    }
    ntk_str_copy_clean(text->line, sizeof text->line, blanks, bytes);
    return text->line;
}

const struct ntk_vec *ntk_source_text_warnings(const struct ntk_source_text *text)
{
    return &text->warnings;
}
