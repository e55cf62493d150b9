/* SPDX-License-Identifier: MIT */
#include "agent/run/run_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shared/base/str.h"
#include "shared/formats/elf/elf_file.h"

#define SCRIPTS_MAX 5 /* maximum nesting of interpreters that are scripts, as in the kernel */
#define LINE_BYTES 256
#define SHELL "/bin/sh"

/* Returns 0, -ENOENT or -EACCES. */
static int file_check(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0) {
        return errno == EACCES ? -EACCES : -ENOENT;
    }
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

static int path_find(const char *name, char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    int found = -ENOENT;

    if (name[0] == '\0') {
        return -ENOENT;
    }
    if (strchr(name, '/')) {
        return ntk_str_copy(path, PATH_MAX, name) ? file_check(path) : -ENOENT;
    }
    for (list = list ? list : "/bin:/usr/bin"; list; list = strchr(list, ':')) {
        list += *list == ':';
        int bytes = (int)strcspn(list, ":");
        int length = snprintf(path, PATH_MAX, "%.*s%s%s", bytes, list, bytes > 0 ? "/" : "", name);
        int ret = length < PATH_MAX ? file_check(path) : -ENOENT;
        if (ret == 0) {
            return 0;
        }
        found = ret == -EACCES ? -EACCES : found;
    }
    return found;
}

/* Finds the interpreter of a script; false if the file is not a script. */
static bool interpreter_get(const char *path, char interpreter[PATH_MAX])
{
    char line[LINE_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return false;
    }
    ssize_t bytes = pread(fd, line, LINE_BYTES, 0);
    close(fd);
    line[bytes > 0 ? bytes : 0] = '\0';
    if (!ntk_str_starts_with(line, "#!")) {
        return false;
    }
    const char *name = line + 2 + strspn(line + 2, " \t");
    return snprintf(interpreter, PATH_MAX, "%.*s", (int)strcspn(name, " \t\r\n"), name) > 0;
}

static void text_keep(const char *text, char *kept, size_t bytes)
{
    if (text && !ntk_str_copy(kept, bytes, text)) {
        kept[0] = '\0'; /* longer than any path */
    }
}

/* Examines how the loader treats the program; returns false if the file is readable, but not
 * ELF. */
static bool program_look(struct ntk_run_program *program)
{
    struct ntk_elf_file file;
    int ret = ntk_elf_file_open(&file, program->path);
    const char *runpath = ntk_elf_file_text(&file, DT_RUNPATH, 0);
    const char *name;

    program->is_elf = ret == 0;
    program->is_ours = file.is_ours;
    text_keep(file.loader, program->loader, sizeof program->loader);
    text_keep(runpath ? runpath : ntk_elf_file_text(&file, DT_RPATH, 0), program->paths,
              sizeof program->paths);
    program->paths_come_first = !runpath;
    for (size_t i = 0; (name = ntk_elf_file_text(&file, DT_NEEDED, i)); i++) {
        if (ntk_str_starts_with(name, "libasan.so") ||
            ntk_str_starts_with(name, "libclang_rt.asan")) {
            text_keep(name, program->sanitizer, sizeof program->sanitizer);
        }
    }
    ntk_elf_file_close(&file);
    return ret != -ENOEXEC;
}

int ntk_run_program_find(const char *name, struct ntk_run_program *out, struct ntk_err *err)
{
    char interpreter[PATH_MAX];

    *out = (struct ntk_run_program){ 0 };
    int ret = path_find(name, out->path);
    if (ret < 0) {
        return ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot run '%s': %s", name,
                           strerror(-ret));
    }
    for (int i = 0; i < SCRIPTS_MAX && interpreter_get(out->path, interpreter); i++) {
        memcpy(out->path, interpreter, sizeof interpreter);
    }
    /* execvp() passes other files to the shell. A file that is executable but not readable is not
     * inspected. */
    if (!program_look(out)) {
        (void)ntk_str_copy(out->path, sizeof out->path, SHELL);
        (void)program_look(out);
    }
    return 0;
}

static bool is_privileged(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0) {
        return false;
    }
    return ((status.st_mode & S_ISUID) && status.st_uid != getuid()) ||
           ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
            status.st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

bool ntk_run_program_is_loader(const struct ntk_run_program *program)
{
    return ntk_str_starts_with(ntk_str_base_name(program->path), "ld-linux");
}

const char *ntk_run_program_obstacle(const struct ntk_run_program *program)
{
    if (is_privileged(program->path)) {
        return "runs with different privileges (setuid, setgid or capabilities), so the loader "
               "ignores the hooks";
    }
    if (!program->is_elf) {
        return "cannot be examined";
    }
    if (!program->is_ours) {
        return "is a program for a different architecture";
    }
    if (ntk_str_starts_with(ntk_str_base_name(program->loader), "ld-musl")) {
        return "is a musl program, but the vendor has no runtime for musl";
    }
    return NULL;
}
