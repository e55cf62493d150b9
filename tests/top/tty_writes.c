/* SPDX-License-Identifier: MIT */
/*
 * tty_writes - counters for frames.py in the file that NTK_TEST_WRITES names, eight bytes each in
 * native order: calls of write(2) on a terminal, including those of curses; frames that were drawn;
 * and checks of scene_source.c. write() replaces that of the C library, even in shared libraries.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/top/tty_writes.h"
#include "top/view/view.h"

static uint64_t *counts;

static void __attribute__((constructor)) map_count(void)
{
    const char *path = getenv("NTK_TEST_WRITES");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd >= 0) {
        void *mapped =
            mmap(NULL, TTY_COUNTS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        counts = mapped == MAP_FAILED ? NULL : mapped;
        close(fd);
    }
}

void tty_count(enum tty_count which)
{
    if (counts) {
        __atomic_add_fetch(&counts[which], 1, __ATOMIC_SEQ_CST);
    }
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t size)
{
    if (isatty(fd)) {
        tty_count(TTY_COUNT_WRITES);
    }
    return syscall(SYS_write, fd, bytes, size);
}

/* The linker replaces ntk_top_view_draw() by this function. */
void __real_ntk_top_view_draw(struct ntk_top_model *model, struct ntk_screen *screen,
                              bool with_keys);
void __wrap_ntk_top_view_draw(struct ntk_top_model *model, struct ntk_screen *screen,
                              bool with_keys);

void __wrap_ntk_top_view_draw(struct ntk_top_model *model, struct ntk_screen *screen,
                              bool with_keys)
{
    tty_count(TTY_COUNT_FRAMES);
    __real_ntk_top_view_draw(model, screen, with_keys);
}
