/* SPDX-License-Identifier: MIT */
/* jobs - reads a folder of job files and adds the jobs to a snapshot. */
#include "agent/collect/jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/aside.h"
#include "shared/base/bits.h"
#include "shared/base/log.h"
#include "shared/base/order.h"
#include "shared/base/str.h"
#include "shared/base/vec.h"

#define MODULE "jobs"
#define NAME_BYTES 16

/* A file in the folder, as last read. */
struct entry {
    char name[NAME_BYTES];
    struct ntk_job_place place;
    bool is_seen; /* true if the file is in the current list */
    bool is_read;
    bool is_settled; /* true if any later change will have a later time */
    ino_t inode;
    off_t bytes;
    uint64_t modified_ns;
    uint64_t changed_ns;
    struct ntk_job_file file;
    uint64_t since_ns[NTK_JOB_FILE_JOBS_MAX]; /* start time of each job in file.jobs */
    char error[NTK_ERR_TEXT_BYTES];
};

/* A job, while files are merged. */
struct job {
    const struct ntk_job_entry *entry;
    /* For each text, the first entry that has it */
    const struct ntk_job_entry *texts[NTK_JOB_TEXTS];
    uint64_t since_ns;
    uint64_t cores[NTK_BITS_WORDS(NTK_SNAPSHOT_JOB_CORES_MAX)];
    uint64_t devices;
};

struct ntk_jobs_folder {
    char *path;
    const struct ntk_clock *clock;
    /* elements are struct entry *: pointers, so that new files do not move the other entries */
    struct ntk_vec entries;
    struct job jobs[NTK_SNAPSHOT_JOBS_MAX];
    size_t job_count;
    uint64_t reads;
    size_t trouble_count; /* number of problems in the current pass */
    char trouble[NTK_ERR_TEXT_BYTES];
    /* During a pass the members above belong to the thread; the members below never do. */
    struct ntk_aside *aside; /* NULL without a thread; the caller then reads the folder */
    uint64_t wait_ns;
    struct ntk_snapshot *kept; /* snapshot with the jobs of the last pass; NULL if none yet */
    char hangs[NTK_ERR_TEXT_BYTES];
    char said[NTK_ERR_TEXT_BYTES];
};

/* -- troubles ---------------------------------------------------------------------------------- */

/* Adds a problem: stores the text of the first, and the number of the others. */
static void add_trouble(struct ntk_jobs_folder *folder, const char *name, const char *sentence)
{
    if (folder->trouble_count++ == 0) {
        snprintf(folder->trouble, sizeof folder->trouble, "%.160s%s%s: %.280s", folder->path,
                 name[0] ? "/" : "", name, sentence);
    }
}

static void count_troubles(struct ntk_jobs_folder *folder)
{
    if (folder->trouble_count > 1) {
        size_t used = strlen(folder->trouble);
        snprintf(folder->trouble + used, sizeof folder->trouble - used, " (and %zu similar)",
                 folder->trouble_count - 1);
    }
}

/* Logs each kind of problem once until it is fixed. */
static void tell(struct ntk_jobs_folder *folder, const char *trouble)
{
    if (trouble[0] && strcmp(trouble, folder->said) != 0) {
        ntk_log_warn(MODULE, "%s", trouble);
    } else if (!trouble[0] && folder->said[0]) {
        ntk_log_warn(MODULE, "%s: all files are valid again", folder->path);
    }
    ntk_str_copy(folder->said, sizeof folder->said, trouble);
}

/* -- files ------------------------------------------------------------------------------------- */

static uint64_t ns_of(struct timespec time)
{
    return time.tv_sec < 0 ? 0 : (uint64_t)time.tv_sec * NTK_NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

/* Returns the time since which a job of a changed file holds the device or core of the file. */
static uint64_t job_since(const struct entry *before, const char *id, uint64_t modified_ns)
{
    for (size_t i = 0; i < before->file.count; i++) {
        if (strcmp(before->file.jobs[i].id, id) == 0) {
            return before->since_ns[i];
        }
    }
    return modified_ns;
}

static void take_file(struct entry *entry, const struct ntk_job_file *file, uint64_t since_ns)
{
    const struct entry before = *entry;

    entry->file = *file;
    for (size_t i = 0; i < file->count; i++) {
        entry->since_ns[i] = job_since(&before, file->jobs[i].id, since_ns);
    }
    entry->error[0] = '\0';
}

static void refuse_file(struct entry *entry, const char *sentence)
{
    entry->file.count = 0;
    ntk_str_copy(entry->error, sizeof entry->error, sentence);
}

/* Reads a file; protects against hostile files: FIFOs, symbolic links, endless files. */
static void read_file(struct ntk_jobs_folder *folder, int folder_fd, struct entry *entry,
                      uint64_t now_ns)
{
    char bytes[NTK_JOB_FILE_BYTES_MAX + 1];
    struct ntk_job_file file = { .count = 0 };
    struct ntk_err err = { 0 };
    struct stat facts;
    size_t count = 0;
    ssize_t got = 0;
    int fd = openat(folder_fd, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &facts) < 0) {
        if (errno == ENOENT) {
            entry->is_seen = false; /* an epilog has removed it meanwhile */
        } else {
            /* the reason may be in this process, such as no free descriptor */
            entry->is_settled = false;
            refuse_file(entry,
                        errno == ELOOP ? "symbolic links are not followed" : strerror(errno));
        }
    } else if (!S_ISREG(facts.st_mode)) {
        refuse_file(entry, "not a regular file");
    } else {
        do {
            got = read(fd, bytes + count, sizeof bytes - count);
            count += got > 0 ? (size_t)got : 0;
        } while (got > 0 && count < sizeof bytes);
        bool is_young =
            entry->modified_ns <= now_ns && now_ns - entry->modified_ns < NTK_JOBS_SETTLED_NS;
        int ret = got < 0 ? ntk_err_set(&err, -errno, NTK_ERR_NO_OFFSET, "%s", strerror(errno))
                          : ntk_job_file_read(bytes, count, &file, &err);
        entry->is_settled = !is_young && got >= 0;
        if (ret < 0) {
            refuse_file(entry, err.text);
        } else if (!file.is_unended || !is_young) {
            take_file(entry, &file, entry->modified_ns < now_ns ? entry->modified_ns : now_ns);
        }
        folder->reads++;
    }
    if (fd >= 0) {
        close(fd);
    }
}

static struct entry *get_entry(struct ntk_jobs_folder *folder, const char *name,
                               const struct ntk_job_place *place)
{
    ntk_vec_each(struct entry *, entry, &folder->entries) {
        if (strcmp((*entry)->name, name) == 0) {
            return *entry;
        }
    }
    struct entry *entry = calloc(1, sizeof *entry);
    if (entry && ntk_vec_push(&folder->entries, &entry) < 0) {
        free(entry);
        entry = NULL;
    }
    if (entry) {
        ntk_str_copy(entry->name, sizeof entry->name, name);
        entry->place = *place;
    }
    return entry;
}

static void look_at_file(struct ntk_jobs_folder *folder, int folder_fd, const char *name,
                         const struct ntk_job_place *place, uint64_t now_ns)
{
    struct stat facts;

    if (fstatat(folder_fd, name, &facts, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(facts.st_mode)) {
        return;
    }
    struct entry *entry = get_entry(folder, name, place);
    if (!entry) {
        add_trouble(folder, name, "out of memory");
        return;
    }
    uint64_t modified_ns = ns_of(facts.st_mtim);
    uint64_t changed_ns = ns_of(facts.st_ctim);

    entry->is_seen = true;
    if (entry->is_read && entry->is_settled && entry->inode == facts.st_ino &&
        entry->bytes == facts.st_size && entry->modified_ns == modified_ns &&
        entry->changed_ns == changed_ns) {
        return;
    }
    entry->is_read = true;
    entry->is_settled = true;
    entry->inode = facts.st_ino;
    entry->bytes = facts.st_size;
    entry->modified_ns = modified_ns;
    entry->changed_ns = changed_ns;
    read_file(folder, folder_fd, entry, now_ns);
}

NTK_ORDER_POINTERS(compare_entries, struct entry,
                   NTK_UP(place.device) NTK_UP(place.core) NTK_TEXT(name));

static void drop_unseen(struct ntk_jobs_folder *folder)
{
    for (size_t i = folder->entries.count; i-- > 0;) {
        struct entry **entry = ntk_vec_at(&folder->entries, i);
        if (!(*entry)->is_seen) {
            free(*entry);
            ntk_vec_remove(&folder->entries, i);
        }
    }
}

/* Reads the folder, in bounded time for any content. */
static void look(void *ctx)
{
    struct ntk_jobs_folder *folder = ctx;
    uint64_t now_ns = folder->clock->realtime_ns(folder->clock->ctx);
    DIR *list = opendir(folder->path);
    const struct dirent *name;
    size_t names = 0;
    size_t taken = 0;

    folder->trouble[0] = '\0';
    folder->trouble_count = 0;
    ntk_vec_each(struct entry *, entry, &folder->entries) {
        (*entry)->is_seen = false;
    }
    if (!list && errno != ENOENT) {
        add_trouble(folder, "", strerror(errno));
    }
    while (list && (name = readdir(list)) != NULL && names++ < NTK_JOBS_NAMES_MAX) {
        struct ntk_job_place place;
        if (strlen(name->d_name) >= NAME_BYTES || !ntk_job_place_parse(name->d_name, &place)) {
            continue;
        }
        if (taken++ >= NTK_JOBS_FILES_MAX) {
            add_trouble(folder, name->d_name, "too many files; ignoring this one");
            continue;
        }
        look_at_file(folder, dirfd(list), name->d_name, &place, now_ns);
    }
    if (list && names > NTK_JOBS_NAMES_MAX) {
        add_trouble(folder, "", "too many files in the folder; ignoring the rest");
    }
    if (list) {
        closedir(list);
    }
    drop_unseen(folder);
    ntk_vec_sort(&folder->entries, compare_entries);
}

/* -- into a snapshot --------------------------------------------------------------------------- */

static struct job *get_job(struct ntk_jobs_folder *folder, const struct ntk_job_entry *entry)
{
    for (size_t i = 0; i < folder->job_count; i++) {
        if (strcmp(folder->jobs[i].entry->id, entry->id) == 0) {
            return &folder->jobs[i];
        }
    }
    if (folder->job_count == NTK_SNAPSHOT_JOBS_MAX) {
        return NULL;
    }
    struct job *job = &folder->jobs[folder->job_count++];
    *job = (struct job){ .entry = entry, .since_ns = UINT64_MAX };
    for (size_t i = 0; i < sizeof job->texts / sizeof *job->texts; i++) {
        job->texts[i] = entry;
    }
    return job;
}

static void add_cores(struct job *job, uint32_t first, uint32_t count)
{
    for (uint32_t core = first; core < first + count && core < NTK_SNAPSHOT_JOB_CORES_MAX; core++) {
        ntk_bits_add(job->cores, core);
    }
}

static void fill_texts(struct job *job, const struct ntk_job_entry *entry)
{
    for (size_t i = 0; i < NTK_JOB_TEXTS; i++) {
        job->texts[i] = job->texts[i]->texts[i][0] ? job->texts[i] : entry;
    }
}

/* Adds an entry; only for devices while the hardware is unknown. */
static void add_entry(struct ntk_jobs_folder *folder, const struct ntk_hardware *hardware,
                      const struct entry *entry)
{
    const struct ntk_job_place *place = &entry->place;
    uint32_t per_device = hardware->cores_per_device / (hardware->lnc ? hardware->lnc : 1);
    bool is_known = hardware->device_count > 0 && per_device > 0;
    char sentence[96];

    if (entry->error[0]) {
        add_trouble(folder, entry->name, entry->error);
        return;
    }
    if (is_known && entry->file.count > 0 &&
        (place->device >= hardware->device_count ||
         (place->has_core && place->core >= per_device))) {
        snprintf(sentence, sizeof sentence,
                 "unknown %s: the machine has %u device%s with %u core%s each",
                 place->device < hardware->device_count ? "core" : "device", hardware->device_count,
                 hardware->device_count == 1 ? "" : "s", per_device, per_device == 1 ? "" : "s");
        add_trouble(folder, entry->name, sentence);
        return;
    }
    for (size_t i = 0; i < entry->file.count; i++) {
        struct job *job = get_job(folder, &entry->file.jobs[i]);
        if (!job) {
            add_trouble(folder, entry->name, "too many jobs; ignoring the rest");
            return;
        }
        fill_texts(job, &entry->file.jobs[i]);
        job->since_ns = entry->since_ns[i] < job->since_ns ? entry->since_ns[i] : job->since_ns;
        job->devices |= UINT64_C(1) << place->device;
        if (is_known && place->has_core) {
            add_cores(job, place->device * per_device + place->core, 1);
        } else if (is_known) {
            add_cores(job, place->device * per_device, per_device);
        }
    }
}

/* Returns the numbers of the set bits, in memory of the snapshot. */
static uint32_t *list_bits(struct ntk_snapshot *snapshot, const uint64_t *bits, size_t words,
                           size_t *out_count)
{
    size_t count = ntk_bits_count(bits, words);
    uint32_t *numbers = ntk_snapshot_alloc(snapshot, count, sizeof *numbers);
    *out_count = numbers ? count : 0;
    count = 0;
    for (size_t i = 0; numbers && i < words * 64; i++) {
        if (ntk_bits_has(bits, i)) {
            numbers[count++] = (uint32_t)i;
        }
    }
    return numbers;
}

static void set_jobs(const struct ntk_jobs_folder *folder, struct ntk_snapshot *snapshot)
{
    struct ntk_job *rows = ntk_snapshot_alloc(snapshot, folder->job_count, sizeof *rows);

    for (size_t i = 0; rows && i < folder->job_count; i++) {
        const struct job *job = &folder->jobs[i];
        struct ntk_job *row = &rows[i];

        for (size_t k = 0; k < NTK_JOB_TEXTS; k++) {
            row->texts[k] = ntk_snapshot_text(snapshot, job->texts[k]->texts[k]);
        }
        row->since_ns = job->since_ns;
        row->cores = list_bits(snapshot, job->cores, sizeof job->cores / sizeof *job->cores,
                               &row->core_count);
        row->devices = list_bits(snapshot, &job->devices, 1, &row->device_count);
    }
    snapshot->jobs = (struct ntk_jobs){ .is_asked = true,
                                        .error = ntk_snapshot_text(snapshot, folder->trouble),
                                        .rows = rows,
                                        .count = rows ? folder->job_count : 0 };
}

static void copy_jobs(const struct ntk_jobs *from, const char *error, struct ntk_snapshot *snapshot)
{
    struct ntk_jobs jobs = *from;

    jobs.is_asked = true;
    jobs.error = error;
    ntk_snapshot_set_jobs(snapshot, &jobs);
}

/* Keeps the result of this pass in case the next pass hangs. */
static void keep_jobs(struct ntk_jobs_folder *folder, const struct ntk_hardware *hardware)
{
    struct ntk_snapshot *kept = ntk_snapshot_create();

    folder->job_count = 0;
    ntk_vec_each(struct entry *, entry, &folder->entries) {
        add_entry(folder, hardware, *entry);
    }
    count_troubles(folder);
    tell(folder, folder->trouble);
    if (kept) {
        set_jobs(folder, kept);
    }
    if (kept && ntk_snapshot_ok(kept)) {
        ntk_snapshot_destroy(folder->kept);
        folder->kept = kept;
    } else {
        ntk_snapshot_destroy(kept); /* if out of memory, the previous jobs stay */
    }
}

void ntk_jobs_get(struct ntk_snapshot *snapshot, void *ctx)
{
    static const struct ntk_jobs none;
    struct ntk_jobs_folder *folder = ctx;
    bool is_done = !folder->aside || ntk_aside_ask(folder->aside, folder->wait_ns);

    if (!folder->aside) {
        look(folder);
    }
    if (is_done) {
        keep_jobs(folder, &snapshot->hardware);
    } else {
        tell(folder, folder->hangs);
    }
    copy_jobs(folder->kept ? &folder->kept->jobs : &none,
              !is_done       ? folder->hangs
              : folder->kept ? folder->kept->jobs.error
                             : "",
              snapshot);
}

void ntk_jobs_set_wait(struct ntk_jobs_folder *folder, uint64_t wait_ns)
{
    folder->wait_ns = wait_ns;
}

uint64_t ntk_jobs_reads(const struct ntk_jobs_folder *folder)
{
    return folder->reads;
}

static void release(void *ctx)
{
    struct ntk_jobs_folder *folder = ctx;

    ntk_vec_each(struct entry *, entry, &folder->entries) {
        free(*entry);
    }
    ntk_vec_fini(&folder->entries);
    ntk_snapshot_destroy(folder->kept);
    free(folder->path);
    free(folder);
}

int ntk_jobs_create(const char *path, const struct ntk_clock *clock,
                    struct ntk_jobs_folder **out_folder, struct ntk_err *err)
{
    struct ntk_jobs_folder *folder = calloc(1, sizeof *folder);

    if (!folder || !(folder->path = strdup(path))) {
        free(folder);
        return ntk_err_no_memory(err);
    }
    folder->clock = clock ? clock : ntk_clock_system_get();
    folder->wait_ns = NTK_JOBS_WAIT_NS;
    (void)snprintf(folder->hangs, sizeof folder->hangs,
                   "%.160s: the file system does not respond; keeping the previous jobs", path);
    ntk_vec_init(&folder->entries, sizeof(struct entry *));
    folder->aside = ntk_aside_create(look, release, folder);
    *out_folder = folder;
    return 0;
}

void ntk_jobs_destroy(struct ntk_jobs_folder *folder)
{
    if (folder && folder->aside) {
        ntk_aside_destroy(folder->aside);
    } else if (folder) {
        release(folder);
    }
}
