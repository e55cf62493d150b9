/* SPDX-License-Identifier: MIT */
/* host_list - reads names of machines from options and a file. */
#include "top/source/host_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/hosts/hosts_watch.h"

int ntk_top_host_list_add(struct ntk_top_host_list *list, const char *name, struct ntk_err *err)
{
    char url[NTK_HOSTS_URL_BYTES];
    int ret = ntk_hosts_url_make(name, "", url, sizeof url, err);

    if (ret < 0) {
        return ret;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return 0;
        }
    }
    if (list->count == NTK_HOSTS_WATCH_MAX) {
        return ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "too many hosts (at most %u)",
                           NTK_HOSTS_WATCH_MAX);
    }
    char **names = realloc(list->names, (list->count + 1) * sizeof *names);
    if (!names) {
        return ntk_err_no_memory(err);
    }
    list->names = names;
    names[list->count] = strdup(name);
    if (!names[list->count]) {
        return ntk_err_no_memory(err);
    }
    list->count++;
    return 0;
}

/* Opens a list. A FIFO without a writer is an empty list and blocks no view; a FIFO from a shell
 * command (<(...)) is read to its end. */
static FILE *open_list(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *file = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "r") : NULL;

    if (fd >= 0 && !file) {
        close(fd);
    }
    return file;
}

int ntk_top_host_list_read(struct ntk_top_host_list *list, const char *path, struct ntk_err *err)
{
    FILE *file = open_list(path);
    char line[NTK_HOSTS_URL_BYTES];
    unsigned int number = 0;
    int ret = 0;

    if (!file) {
        return ntk_err_set(err, -errno, NTK_ERR_NO_OFFSET, "cannot read the host list '%.200s': %s",
                           path, strerror(errno));
    }
    while (ret == 0 && fgets(line, sizeof line, file)) {
        struct ntk_err why = { 0 };
        char *name = line + strspn(line, " \t\r\n");

        number++;
        if (!strchr(line, '\n') && !feof(file)) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%.200s, line %u: too long", path,
                              number);
            break;
        }
        name[strcspn(name, " \t\r\n#")] = '\0';
        if (name[0] && ntk_top_host_list_add(list, name, &why) < 0) {
            ret = ntk_err_set(err, -EINVAL, NTK_ERR_NO_OFFSET, "%.200s, line %u: %s", path, number,
                              why.text);
        }
    }
    if (ret == 0 && ferror(file)) {
        ret = ntk_err_set(err, -EIO, NTK_ERR_NO_OFFSET, "cannot read the host list '%.200s'", path);
    }
    fclose(file);
    return ret < 0 || list->count > 0
               ? ret
               : ntk_err_set(err, -ENODATA, NTK_ERR_NO_OFFSET, "%.200s contains no hosts", path);
}

void ntk_top_host_list_fini(struct ntk_top_host_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->names[i]);
    }
    free(list->names);
    *list = (struct ntk_top_host_list){ 0 };
}
