/* SPDX-License-Identifier: MIT */
/* archive_s3 - writes an archive to a bucket: a part is written to an unnamed file, then
 * uploaded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/archive_target.h"
#include "shared/aws/s3.h"
#include "shared/base/fs.h"

struct bucket {
    struct ntk_archive_target target;
    struct ntk_s3 *s3;
    const char *temporary_folder;
    char *path;
    int fd;
};

static void abort_part(struct ntk_archive_target *target)
{
    struct bucket *bucket = (struct bucket *)target;

    if (bucket->fd >= 0) {
        close(bucket->fd);
        bucket->fd = -1;
    }
    free(bucket->path);
    bucket->path = NULL;
}

static int begin_part(struct ntk_archive_target *target, const char *path, int *out_fd,
                      struct ntk_err *err)
{
    struct bucket *bucket = (struct bucket *)target;

    abort_part(target);
    bucket->path = strdup(path);
    bucket->fd =
        bucket->path ? ntk_fs_open_unnamed(bucket->temporary_folder, err) : ntk_err_no_memory(err);
    if (bucket->fd < 0) {
        int ret = bucket->fd;
        bucket->fd = -1;
        return ret;
    }
    *out_fd = bucket->fd;
    return 0;
}

static int commit_part(struct ntk_archive_target *target, bool keeps, struct ntk_err *err)
{
    struct bucket *bucket = (struct bucket *)target;
    struct stat info;
    void *bytes = MAP_FAILED;
    int ret = fstat(bucket->fd, &info) < 0 ? -errno : 0;

    if (ret == 0) {
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, bucket->fd, 0);
        ret = bytes == MAP_FAILED ? -errno : 0;
    }
    if (ret < 0) {
        ntk_err_set(err, ret, NTK_ERR_NO_OFFSET, "cannot verify '%s': %s", bucket->path,
                    strerror(-ret));
    } else {
        ret = ntk_s3_put(bucket->s3, bucket->path, bytes, (size_t)info.st_size, keeps, err);
        munmap(bytes, (size_t)info.st_size);
    }
    abort_part(target);
    return ret;
}

static void cancel(struct ntk_archive_target *target)
{
    ntk_s3_cancel(((struct bucket *)target)->s3);
}

static void close_bucket(struct ntk_archive_target *target)
{
    struct bucket *bucket = (struct bucket *)target;

    ntk_s3_destroy(bucket->s3);
    free(bucket);
}

static const struct ntk_archive_target_ops ops = { begin_part, commit_part, abort_part, cancel,
                                                   close_bucket };

int ntk_archive_s3_open(const struct ntk_archive_target_options *options,
                        struct ntk_archive_target **out_target, struct ntk_err *err)
{
    const struct ntk_s3_options s3_options = { .place = options->destination,
                                               .endpoint_url = options->endpoint,
                                               .region = options->region,
                                               .profile = options->profile,
                                               .clock = options->clock };
    struct bucket *bucket = calloc(1, sizeof *bucket);

    if (!bucket) {
        return ntk_err_no_memory(err);
    }
    bucket->target.ops = &ops;
    bucket->fd = -1;
    bucket->temporary_folder =
        options->temporary_folder ? options->temporary_folder : ntk_fs_temporary_folder();
    int ret = ntk_s3_create(&s3_options, &bucket->s3, err);
    if (ret < 0) {
        close_bucket(&bucket->target);
        return ret;
    }
    *out_target = &bucket->target;
    return 0;
}
