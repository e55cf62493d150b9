/* SPDX-License-Identifier: MIT */
/* Any bytes as a file of a job-mapping folder: rejected with a message, or jobs within their
 * limits, each with a unique id. Also any bytes as the name of a file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/collect/job_file.h"
#include "shared/metrics/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_name(const uint8_t *data, size_t size)
{
    struct ntk_job_place place;
    char name[32] = "";

    memcpy(name, data, size < sizeof name - 1 ? size : sizeof name - 1);
    if (ntk_job_place_parse(name, &place) &&
        (place.device >= NTK_SNAPSHOT_DEVICES_MAX || place.core >= NTK_JOB_FILE_CORES_MAX)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ntk_job_file file;
    struct ntk_err err = { 0 };

    check_name(data, size);
    if (ntk_job_file_read((const char *)data, size, &file, &err) < 0) {
        if (err.text[0] == '\0') {
            abort();
        }
        return 0;
    }
    if (file.count > NTK_JOB_FILE_JOBS_MAX) {
        abort();
    }
    for (size_t i = 0; i < file.count; i++) {
        if (file.jobs[i].id[0] == '\0' || strpbrk(file.jobs[i].id, ", =\n\"\\")) {
            abort();
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(file.jobs[i].id, file.jobs[k].id) == 0) {
                abort();
            }
        }
    }
    return 0;
}
