/* SPDX-License-Identifier: MIT */
/* job_file - reads a file of a job-mapping folder. */
#include "agent/collect/job_file.h"

#include <errno.h>
#include <string.h>

#include "shared/base/str.h"

/* Returns true for characters in schedulers' job ids. A comma is excluded because it separates
 * ids. */
static bool is_id_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("_.+-:@[]%/#", c) != NULL);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void take_value(struct ntk_job_entry *job, const char *key, size_t key_bytes,
                       const char *value, size_t value_bytes)
{
    for (size_t i = 1; i < NTK_JOB_TEXTS; i++) { /* all texts except the id */
        const char *word = ntk_job_texts[i].column;
        if (strlen(word) == key_bytes && memcmp(word, key, key_bytes) == 0) {
            ntk_str_copy_clean(job->texts[i], NTK_JOB_TEXT_BYTES, value, value_bytes);
        }
    }
}

/* Returns the job with that id, added if new; NULL if the table is full. */
static struct ntk_job_entry *find_job(struct ntk_job_file *file, const char *id, size_t bytes)
{
    for (size_t i = 0; i < file->count; i++) {
        if (strlen(file->jobs[i].id) == bytes && memcmp(file->jobs[i].id, id, bytes) == 0) {
            return &file->jobs[i];
        }
    }
    if (file->count == NTK_JOB_FILE_JOBS_MAX) {
        return NULL;
    }
    struct ntk_job_entry *job = &file->jobs[file->count++];
    memcpy(job->id, id, bytes);
    job->id[bytes] = '\0';
    return job;
}

/* Parses a line without surrounding blanks; ignores empty lines. */
static int take_line(struct ntk_job_file *file, struct ntk_job_entry **job, const char *line,
                     size_t bytes, unsigned number, uint64_t offset, struct ntk_err *err)
{
    const char *equals = memchr(line, '=', bytes);

    if (equals) {
        if (!*job) {
            return ntk_err_set(err, -EBADMSG, offset, "line %u: attribute before any job id",
                               number);
        }
        size_t key_bytes = (size_t)(equals - line);
        take_value(*job, line, key_bytes, equals + 1, bytes - key_bytes - 1);
        return 0;
    }
    if (bytes >= NTK_JOB_ID_BYTES) {
        return ntk_err_set(err, -EBADMSG, offset, "line %u: invalid job id: more than %d bytes",
                           number, NTK_JOB_ID_BYTES - 1);
    }
    for (size_t i = 0; i < bytes; i++) {
        if (!is_id_char(line[i])) {
            return ntk_err_set(
                err, -EBADMSG, offset,
                "line %u: invalid job id: only letters, digits and _.+-:@[]%%/# are allowed",
                number);
        }
    }
    *job = find_job(file, line, bytes);
    return *job ? 0
                : ntk_err_set(err, -EBADMSG, offset, "line %u: too many jobs (at most %d)", number,
                              NTK_JOB_FILE_JOBS_MAX);
}

int ntk_job_file_read(const char *bytes, size_t bytes_count, struct ntk_job_file *out,
                      struct ntk_err *err)
{
    struct ntk_job_file file = { .count = 0 };
    struct ntk_job_entry *job = NULL;
    unsigned number = 0;

    if (bytes_count > NTK_JOB_FILE_BYTES_MAX) {
        return ntk_err_set(err, -EBADMSG, NTK_ERR_NO_OFFSET, "larger than %d bytes",
                           NTK_JOB_FILE_BYTES_MAX);
    }
    for (size_t at = 0; at < bytes_count;) {
        const char *end = memchr(bytes + at, '\n', bytes_count - at);
        size_t first = at;
        size_t last = end ? (size_t)(end - bytes) : bytes_count;

        at = end ? last + 1 : bytes_count;
        number++;
        file.is_unended = !end;
        while (first < last && is_blank(bytes[first])) {
            first++;
        }
        while (last > first && is_blank(bytes[last - 1])) {
            last--;
        }
        int ret = first < last
                      ? take_line(&file, &job, bytes + first, last - first, number, first, err)
                      : 0;
        if (ret < 0) {
            return ret;
        }
    }
    *out = file;
    return 0;
}

/* Parses decimal digits up to a dot or the end of the text. Returns their end, or NULL if the
 * number is not below the limit. */
static const char *parse_number(const char *text, uint32_t limit, uint32_t *out_number)
{
    uint32_t number = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (uint32_t)(*at - '0');
        if (number >= limit) {
            return NULL;
        }
    }
    *out_number = number;
    return at > text ? at : NULL;
}

bool ntk_job_place_parse(const char *name, struct ntk_job_place *out)
{
    struct ntk_job_place place = { .has_core = false };
    const char *at = parse_number(name, NTK_SNAPSHOT_DEVICES_MAX, &place.device);

    if (at && *at == '.') {
        place.has_core = true;
        at = parse_number(at + 1, NTK_JOB_FILE_CORES_MAX, &place.core);
    }
    if (!at || *at != '\0') {
        return false;
    }
    *out = place;
    return true;
}
