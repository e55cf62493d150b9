/* SPDX-License-Identifier: MIT */
/*
 * ring_registry_fixture - a scratch folder, registries on it, and children that write segments
 * there.
 */
#include "tests/shared/ring/ring_registry_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime-hooks/hooks/hooks.h"
#include "shared/abi/paths.h"
#include "tests/support/unit.h"

int registry_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    f->folder = test_scratch_create();
    *state = f;
    return 0;
}

int registry_teardown(void **state)
{
    struct fixture *f = *state;

    test_scratch_destroy(f->folder);
    free(f);
    return 0;
}

struct ntk_ring_registry *open_registry(const struct fixture *f, bool reap, enum ntk_ring_from from)
{
    struct ntk_ring_options options = { .folder = f->folder, .reap = reap, .from = from };
    struct ntk_ring_registry *registry = NULL;

    assert_int_equal(ntk_ring_registry_open(&options, &registry, NULL), 0);
    return registry;
}

struct ntk_ring_poll poll_once(struct ntk_ring_registry *registry)
{
    struct ntk_ring_poll poll;

    assert_int_equal(ntk_ring_registry_poll(registry, &poll, NULL), 0);
    return poll;
}

int child_marks_on_demand(struct observed *child, void *ctx)
{
    struct ntk_hooks_config config = { .lnc = 1 };
    uint64_t count;

    (void)ctx;
    if (ntk_hooks_attach(&config, NULL, 0) != 0) {
        return 1;
    }
    observed_send(child, 0);
    while ((count = observed_receive(child)) != 0) {
        while (count-- > 0) {
            ntk_hooks_mark(1, 0, 0, 0, 0);
        }
        observed_send(child, 0);
    }
    ntk_hooks_detach();
    return 0;
}

void order(struct observed *child, uint64_t marks)
{
    observed_send(child, marks);
    (void)observed_receive(child);
}

static void count_events(const struct ntk_ring_segment *segment, const struct ntk_slot *slots,
                         size_t count, void *ctx)
{
    (void)segment;
    (void)slots;
    *(uint64_t *)ctx += count;
}

uint64_t drain(struct ntk_ring_registry *registry)
{
    uint64_t events = 0;
    size_t i;

    for (i = 0; i < ntk_ring_registry_count(registry); i++) {
        (void)ntk_ring_segment_drain(ntk_ring_registry_get(registry, i), 0, count_events, &events);
    }
    return events;
}

unsigned int segment_files(const struct fixture *f)
{
    DIR *dir = opendir(f->folder);
    const struct dirent *entry;
    unsigned int files = 0;

    while (dir && (entry = readdir(dir))) {
        unsigned long long start_time;
        unsigned int pid;

        files += (unsigned int)ntk_paths_parse_segment_name(entry->d_name, &pid, &start_time);
    }
    if (dir) {
        closedir(dir);
    }
    return files;
}

void run_short_process(const struct fixture *f, uint64_t marks)
{
    struct observed child = observed_start(f->folder, child_marks_on_demand, NULL);

    (void)observed_receive(&child);
    order(&child, marks);
    observed_send(&child, 0);
    assert_int_equal(observed_finish(&child, 0), 0);
}

void poke(const char *path, size_t in_process, uint64_t value)
{
    struct ntk_segment_header header;
    int fd = open(path, O_RDWR | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    assert_int_equal(pwrite(fd, &value, sizeof value,
                            (off_t)(header.section[NTK_SECTION_PROCESS].offset + in_process)),
                     sizeof value);
    close(fd);
}

void write_file(const char *folder, const char *name, size_t bytes, mode_t mode)
{
    char *path = test_scratch_path(folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    static const char zeros[8192];
    char text[8192];

    assert_true(fd >= 0 && bytes <= sizeof text);
    memset(text, 'x', sizeof text);
    assert_int_equal(write(fd, mode == 0640 ? zeros : text, bytes), bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    free(path);
}
