/* SPDX-License-Identifier: MIT */
#include "runtime-hooks/rtd/rtd_upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES (1U << 20)

static void give_back(struct rtd_upload *upload)
{
    ntk_buf_fini(&upload->neff);
    upload->neff = (struct ntk_buf){ 0 };
    if (upload->limits) {
        atomic_fetch_sub_explicit(&upload->limits->bytes_now, upload->bytes_taken,
                                  memory_order_relaxed);
    }
    upload->bytes_taken = 0;
}

static void refuse(struct rtd_upload *upload, enum rtd_upload_fault fault)
{
    give_back(upload);
    upload->fault = upload->fault == RTD_UPLOAD_GOOD ? fault : upload->fault;
}

void rtd_upload_fini(struct rtd_upload *upload)
{
    give_back(upload);
}

void rtd_upload_announce(struct rtd_upload *upload, uint64_t bytes_count)
{
    if (bytes_count > upload->limits->neff_bytes_max) {
        refuse(upload, RTD_UPLOAD_TOO_LARGE);
    }
}

void rtd_upload_add(struct rtd_upload *upload, const void *bytes, size_t bytes_count)
{
    uint64_t max = upload->limits->neff_bytes_max;

    if (upload->fault != RTD_UPLOAD_GOOD) {
        return;
    }
    if (bytes_count > max - upload->neff.bytes_count) {
        refuse(upload, RTD_UPLOAD_TOO_LARGE);
        return;
    }
    upload->bytes_taken += bytes_count;
    uint64_t before =
        atomic_fetch_add_explicit(&upload->limits->bytes_now, bytes_count, memory_order_relaxed);
    if (before + bytes_count > max * RTD_UPLOADS_OF_LARGEST) {
        refuse(upload, RTD_UPLOAD_TOO_MUCH);
        return;
    }
    ntk_buf_add(&upload->neff, bytes, bytes_count);
    if (!ntk_buf_ok(&upload->neff)) {
        refuse(upload, RTD_UPLOAD_NO_MEMORY);
    }
}

static void read_all(struct rtd_upload *upload, int fd)
{
    char *piece = malloc(PIECE_BYTES);
    ssize_t got = 0;

    if (!piece) {
        refuse(upload, RTD_UPLOAD_NO_MEMORY);
        return;
    }
    while (upload->fault == RTD_UPLOAD_GOOD && (got = read(fd, piece, PIECE_BYTES)) > 0) {
        rtd_upload_add(upload, piece, (size_t)got);
    }
    if (got < 0) {
        upload->error = errno;
        refuse(upload, RTD_UPLOAD_NO_FILE);
    }
    free(piece);
}

void rtd_upload_read_file(struct rtd_upload *upload, const char *path)
{
    struct stat status;

    give_back(upload);
    upload->fault = RTD_UPLOAD_GOOD;
    if (path[0] != '/') {
        refuse(upload, RTD_UPLOAD_RELATIVE);
        return;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        upload->error = errno;
        refuse(upload, RTD_UPLOAD_NO_FILE);
        return;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        refuse(upload, RTD_UPLOAD_IRREGULAR);
    } else {
        rtd_upload_announce(upload, (uint64_t)status.st_size);
        read_all(upload, fd);
    }
    close(fd);
}
