/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/core/core_once.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK "neuron-software-machine"
#define MARK_BYTES 1 /* address space of a mark, rounded up to a page; never accessed */

/* Number of marks that the kernel did not remove, for example when out of memory: they do not
 * affect this copy. */
static _Atomic size_t stuck;

static size_t marks_count(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t capacity = 0;
    size_t count = 0;

    while (maps && getline(&line, &capacity, maps) >= 0) {
        count += strstr(line, "/memfd:" MARK) != NULL;
    }
    free(line);
    if (maps) {
        (void)fclose(maps);
    }
    return count;
}

static void *mark_make(void)
{
    int fd = memfd_create(MARK, MFD_CLOEXEC);

    if (fd < 0) {
        return NULL;
    }
    void *mark = mmap(NULL, MARK_BYTES, PROT_NONE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mark == MAP_FAILED) {
        return NULL;
    }
    (void)madvise(mark, MARK_BYTES, MADV_DONTFORK);
    return mark;
}

int ntk_core_once_claim(void **out_mark, struct ntk_err *err)
{
    void *mark = mark_make();

    if (marks_count() > stuck + (mark ? 1 : 0)) {
        ntk_core_once_release(mark);
        return ntk_err_set(err, -EALREADY, NTK_ERR_NO_OFFSET,
                           "this process already has a software machine, possibly through another "
                           "library; close it first");
    }
    *out_mark = mark;
    return 0;
}

void ntk_core_once_release(void *mark)
{
    if (mark && munmap(mark, MARK_BYTES) < 0) {
        stuck++;
    }
}
