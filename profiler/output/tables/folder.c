/* SPDX-License-Identifier: MIT */
#include "profiler/output/tables/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/output/tables/tables.h"
#include "shared/base/fs.h"

struct target { /* file of one table, opened at its first row */
    const struct ntk_folder_format *format;
    const struct ntk_table *table;
    const char *folder;
    struct ntk_sink sink;
    void *state;
    struct ntk_err *err;
};

static int fail(const char *path, int code, struct ntk_err *err)
{
    return ntk_err_set(err, code, NTK_ERR_NO_OFFSET, "cannot write '%s': %s", path,
                       strerror(-code));
}

static int begin_file(struct target *target)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s.%s", target->folder, target->table->name,
                 target->format->extension) < 0) {
        return ntk_err_no_memory(target->err);
    }
    int ret = ntk_sink_open(&target->sink, path, target->err);
    free(path);
    if (ret == 0) {
        target->state = target->format->begin(target->table, &target->sink);
        ret = target->state ? 0 : ntk_err_no_memory(target->err);
    }
    return ret;
}

static int put_row(void *ctx, const void *row)
{
    struct target *target = ctx;
    int ret = target->state ? 0 : begin_file(target);

    if (ret == 0) {
        ret = target->format->put(target->state, row);
    }
    return ret == 0 ? ntk_sink_step(&target->sink) : ret;
}

static int write_table(const struct ntk_export *export, const struct ntk_folder_format *format,
                       const struct ntk_table *table, const char *folder, struct ntk_err *err)
{
    struct target target = { .format = format, .table = table, .folder = folder, .err = err };
    int ret = table->rows(export, put_row, &target);

    if (ret == 0 && target.state) {
        ret = format->end(target.state);
    }
    if (target.state) {
        format->destroy(target.state);
        ret = ntk_export_finish(&target.sink, ret, err);
    }
    ntk_sink_abort(&target.sink);
    return ret < 0 && !err->text[0] ? fail(folder, ret, err) : ret;
}

static bool is_of(const struct ntk_table *tables, size_t count, const char *name,
                  const char *extension)
{
    for (size_t t = 0; t < count; t++) {
        size_t length = strlen(tables[t].name);
        if (strncmp(name, tables[t].name, length) == 0 && name[length] == '.' &&
            strcmp(name + length + 1, extension) == 0) {
            return true;
        }
    }
    return false;
}

struct tables {
    const struct ntk_export *export;
    const struct ntk_folder_format *format;
};

/* Returns true for a file name such as "Instruction.csv" of an exported table, of captures or of
 * folders. */
static bool is_table(const char *name, const void *ctx)
{
    const char *extension = ((const struct tables *)ctx)->format->extension;
    size_t count;
    size_t system_count;
    const struct ntk_table *tables = ntk_tables_schema(&count);
    const struct ntk_table *system_tables = ntk_tables_system(&system_count);

    return is_of(tables, count, name, extension) ||
           is_of(system_tables, system_count, name, extension);
}

/* Returns 1 for a folder that may be replaced; 0 if there is nothing; -errno. */
static int look_at(const char *path, const struct ntk_folder_files *files, struct ntk_err *err)
{
    DIR *dir = opendir(path);
    int ret = 1;

    if (!dir) {
        return errno == ENOENT ? 0 : fail(path, -errno, err);
    }
    for (struct dirent *entry; ret == 1 && (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            !files->is_ours(entry->d_name, files->ctx)) {
            ret = ntk_err_set(err, -EEXIST, NTK_ERR_NO_OFFSET,
                              "cannot write '%s': the folder exists and contains other files (%s)",
                              path, entry->d_name);
        }
    }
    closedir(dir);
    return ret;
}

/* Moves the finished folder to its place, replacing an earlier one. */
static int take_place(char *temporary, const char *path, bool is_there, struct ntk_err *err)
{
    mode_t mask = umask(0);

    umask(mask);
    if (chmod(temporary, 0777 & ~mask) < 0) {
        return fail(path, -errno, err);
    }
    if (!is_there) {
        return rename(temporary, path) < 0 ? fail(path, -errno, err) : 0;
    }
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
        return ntk_fs_remove_tree(temporary, err);
    }
    /* A file system without exchange: for a moment, the folder is missing. */
    int ret = ntk_fs_remove_tree(path, err);
    if (ret == 0 && rename(temporary, path) < 0) {
        ret = fail(path, -errno, err);
    }
    return ret;
}

/* Writes the files to a new folder in the parent of `place` and moves it there. */
static int write_and_move(const char *place, const struct ntk_folder_files *files,
                          struct ntk_err *err)
{
    struct ntk_err ignored = { 0 };
    char *temporary = NULL;
    int is_there = look_at(place, files, err);
    int ret = 0;

    if (is_there < 0) {
        return is_there;
    }
    if (asprintf(&temporary, "%s.tmp-XXXXXX", place) < 0) {
        return ntk_err_no_memory(err);
    }
    if (!mkdtemp(temporary)) {
        ret = fail(place, -errno, err);
        free(temporary);
        return ret;
    }
    ret = files->write(temporary, files->ctx, err);
    if (ret == 0) {
        ret = take_place(temporary, place, is_there > 0, err);
    }
    if (ret < 0) {
        ntk_fs_remove_tree(temporary, &ignored);
    }
    free(temporary);
    return ret;
}

int ntk_folder_write(const char *path, const struct ntk_folder_files *files, struct ntk_err *err)
{
    char *place;

    if (strcmp(path, "-") == 0) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET,
                           "%s is a folder of files and cannot be written to stdout", files->name);
    }
    place = strdup(path);
    if (!place) {
        return ntk_err_no_memory(err);
    }
    for (size_t length = strlen(place); length > 1 && place[length - 1] == '/'; length--) {
        place[length - 1] = '\0';
    }
    int ret = write_and_move(place, files, err);
    free(place);
    return ret;
}

static int write_tables(const char *folder, const void *ctx, struct ntk_err *err)
{
    const struct tables *of = ctx;
    size_t table_count;
    const struct ntk_table *tables = ntk_tables_of(of->export, &table_count);
    int ret = 0;

    for (size_t t = 0; t < table_count && ret == 0; t++) {
        ret = write_table(of->export, of->format, &tables[t], folder, err);
    }
    return ret;
}

int ntk_folder_export(const struct ntk_export *export, const char *path,
                      const struct ntk_folder_format *format, struct ntk_err *err)
{
    const struct tables tables = { export, format };

    return ntk_folder_write(
        path, &(struct ntk_folder_files){ format->extension, is_table, write_tables, &tables },
        err);
}
