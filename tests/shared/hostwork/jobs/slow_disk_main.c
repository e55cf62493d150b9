/* SPDX-License-Identifier: MIT */
/*
 * slow_disk_main FOLDER - mounts a disk there, using the protocol of /dev/fuse, with one file: each
 * read of it takes 12 ms. Serves it in the background until it is unmounted everywhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILE_NAME "batches"
#define FILE_NODE 2
#define READ_NS 12000000L
#define REQUEST_BYTES (FUSE_MIN_READ_BUFFER * 4)

static int fuse;

static void answer(uint64_t unique, int error, const void *data, size_t bytes)
{
    struct fuse_out_header head = { .len = (uint32_t)(sizeof head + bytes),
                                    .error = -error,
                                    .unique = unique };
    struct iovec parts[2] = { { &head, sizeof head }, { (void *)(uintptr_t)data, bytes } };

    (void)!writev(fuse, parts, 2);
}

static struct fuse_attr attributes_of(uint64_t node)
{
    return (struct fuse_attr){ .ino = node,
                               .size = node == FILE_NODE ? UINT64_C(1) << 40 : 0,
                               .mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555,
                               .nlink = 1 };
}

static void look_up(const struct fuse_in_header *request, const char *name)
{
    struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes_of(FILE_NODE) };
    bool is_there = strcmp(name, FILE_NAME) == 0;

    answer(request->unique, is_there ? 0 : ENOENT, &entry, is_there ? sizeof entry : 0);
}

static void read_slowly(const struct fuse_in_header *request)
{
    struct timespec pause = { 0, READ_NS };

    (void)nanosleep(&pause, NULL);
    answer(request->unique, 0, "x", 1);
}

static void serve(const struct fuse_in_header *request)
{
    const void *argument = request + 1;
    const struct fuse_init_in *init = argument;
    struct fuse_init_out agreed = { .major = FUSE_KERNEL_VERSION, .max_write = 4096 };
    struct fuse_attr_out attributes = { .attr = attributes_of(request->nodeid) };
    struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

    switch (request->opcode) {
    case FUSE_INIT:
        agreed.minor =
            init->minor < FUSE_KERNEL_MINOR_VERSION ? init->minor : FUSE_KERNEL_MINOR_VERSION;
        answer(request->unique, 0, &agreed, sizeof agreed);
        break;
    case FUSE_LOOKUP:
        look_up(request, argument);
        break;
    case FUSE_GETATTR:
        answer(request->unique, 0, &attributes, sizeof attributes);
        break;
    case FUSE_OPEN:
        answer(request->unique, 0, &opened, sizeof opened);
        break;
    case FUSE_READ:
        read_slowly(request);
        break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        answer(request->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break; /* these get no answer */
    default:
        answer(request->unique, ENOSYS, NULL, 0);
        break;
    }
}

int main(int argc, char **argv)
{
    static _Alignas(8) char request[REQUEST_BYTES];
    char options[128];
    ssize_t bytes;

    fuse = argc == 2 ? open("/dev/fuse", O_RDWR | O_CLOEXEC) : -1;
    (void)snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    if (fuse < 0 || mount("slow", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        perror("slow_disk");
        return 1;
    }
    if (fork() != 0) {
        return 0; /* requests wait until they are served */
    }
    /* This process's own mount would keep the disk forever. */
    if (unshare(CLONE_NEWNS) < 0 || umount2(argv[1], MNT_DETACH) < 0) {
        return 1;
    }
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    (void)close(STDERR_FILENO);
    while ((bytes = read(fuse, request, sizeof request)) > 0 || errno == EINTR || errno == ENOENT) {
        if (bytes >= (ssize_t)sizeof(struct fuse_in_header)) {
            serve((const struct fuse_in_header *)request);
        }
    }
    return 0;
}
