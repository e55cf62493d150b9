/* SPDX-License-Identifier: MIT */
#include "tests/support/rank_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/formats/ntrace/ntrace.h"
#include "shared/formats/ntrace/ntrace_comm.h"

#define BEGIN_NS UINT64_C(1766072157000000000)
#define PIECE 4096U

enum { RUNNING, COLLECTIVE, BARRIER, TYPES };

/* splitmix64, depending only on its arguments. */
static uint64_t chance(const struct rank_world *world, uint32_t rank, uint32_t step, uint32_t what)
{
    uint64_t z =
        ((uint64_t)world->seed << 40 ^ (uint64_t)rank << 34 ^ (uint64_t)what << 32 ^ step) +
        UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t run_ns(const struct rank_world *world, uint32_t rank, uint32_t step)
{
    uint64_t ns = 2000 + chance(world, rank, step, 0) % 1000;

    return rank == world->late ? 5 * ns : ns;
}

static uint64_t host_ns(const struct rank_world *world, uint32_t rank, uint32_t step)
{
    return 300 + chance(world, rank, step, 1) % 400;
}

/* The time from leaving a collective to arriving at the next. */
static uint64_t gap_ns(const struct rank_world *world, uint32_t rank, uint32_t step)
{
    return world->runs * (run_ns(world, rank, step) + host_ns(world, rank, step));
}

struct out {
    struct ntk_ntrace_writer writer;
    struct ntk_ntrace_event *events;
    size_t count;
    uint64_t tracking_id;
    uint32_t first_core, nc;
};

static uint32_t cores_of(const struct rank_world *world)
{
    return world->cores > 0 ? world->cores : 1;
}

static bool flush(struct out *out)
{
    bool is_good = ntk_ntrace_writer_add_events(&out->writer, out->nc, out->first_core + out->nc, 0,
                                                out->events, out->count, NULL) == 0;

    out->count = 0;
    return is_good;
}

static bool event_add(struct out *out, uint8_t kind, uint8_t phase, uint64_t time_ns, uint64_t id,
                      uint32_t name)
{
    if (out->count == PIECE && !flush(out)) {
        return false;
    }
    out->events[out->count++] = (struct ntk_ntrace_event){ .tracking_id = out->tracking_id,
                                                           .time_ns = time_ns,
                                                           .execution_id = id,
                                                           .name = name,
                                                           .kind = kind,
                                                           .phase = phase };
    return true;
}

static bool span_add(struct out *out, uint32_t nc, uint8_t kind, uint64_t start_ns, uint64_t end_ns,
                     uint64_t id, uint32_t name)
{
    if (nc != out->nc && !flush(out)) {
        return false;
    }
    out->nc = nc;
    out->tracking_id++;
    return event_add(out, kind, NTK_NTRACE_START, start_ns, 0, name) &&
           event_add(out, kind, NTK_NTRACE_STOP, end_ns, id, name);
}

static bool info_write(const struct rank_world *world, const char *folder, uint32_t rank)
{
    NtkNtracePb__Info info = NTK_NTRACE_PB__INFO__INIT;
    char path[512];
    char id[64];
    char name[32];

    (void)snprintf(path, sizeof path, "%s/trace_info.pb", folder);
    (void)snprintf(id, sizeof id, "boot-%u", rank / world->per_host);
    (void)snprintf(name, sizeof name, "host-%u", rank / world->per_host);
    info.version = NTK_NTRACE_VERSION;
    info.instance_id = (char *)"i-local";
    info.instance_type = (char *)"trn2.48xlarge";
    info.runtime_version = (char *)"2.31.24.0";
    info.boot_id = id;
    info.host_name = name;
    info.process_id = 1000 + rank;
    info.core_count = cores_of(world);
    info.first_core = rank % world->per_host * cores_of(world);
    info.begin_ns = BEGIN_NS;
    info.end_ns = BEGIN_NS + 1;
    return ntk_ntrace_write(path, &info.base, NULL) == 0;
}

static bool out_begin(struct out *out, const struct rank_world *world, const char *folder,
                      uint32_t rank, uint32_t process)
{
    static char *types[TYPES] = { "nc_exec_running", "cc_running", "cc_exec_barrier" };
    NtkNtracePb__Trace head = NTK_NTRACE_PB__TRACE__INIT;
    const struct ntk_ntrace_comm comm = { UINT64_C(0xc0ffee), rank, world->ranks, rank,
                                          world->ranks };
    char name[NTK_NTRACE_COMM_BYTES];
    char *names[] = { name };
    char path[512];

    (void)snprintf(path, sizeof path, "%s/i-local_pid_%u_%u", folder, rank, process);
    if (mkdir(path, 0755) < 0 || !info_write(world, path, rank)) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/i-local_pid_%u_%u/ntrace.pb", folder, rank, process);
    ntk_ntrace_comm_write(&comm, name);
    head.version = NTK_NTRACE_VERSION;
    head.event_types = types;
    head.n_event_types = TYPES;
    head.names = names;
    head.n_names = 1;
    *out = (struct out){ .first_core = rank % world->per_host * cores_of(world) };
    out->events = calloc(PIECE, sizeof *out->events);
    return out->events && ntk_ntrace_writer_begin(&out->writer, path, NULL) == 0 &&
           ntk_ntrace_writer_add(&out->writer, &head.base, NULL) == 0;
}

static bool out_end(struct out *out, struct rank_world *world)
{
    bool is_good = out->events && flush(out);

    world->bytes += out->writer.bytes;
    is_good = is_good && ntk_ntrace_writer_commit(&out->writer, NULL) == 0;
    ntk_ntrace_writer_abort(&out->writer);
    free(out->events);
    return is_good;
}

static bool is_lacking(const struct rank_world *world, uint32_t rank, uint32_t step)
{
    return rank == world->broken &&
           (step < world->begins_at ||
            (step >= world->lacks_from && step < world->lacks_from + world->lacks_count));
}

/* ends_ns: of the collectives. */
static bool rank_write(struct rank_world *world, const char *folder, uint32_t rank,
                       const uint64_t *ends_ns)
{
    uint64_t ahead_ns = (uint64_t)(world->host_ahead_ns * (int64_t)(rank / world->per_host));
    uint64_t number = 0;
    struct out out = { 0 };
    bool is_good = out_begin(&out, world, folder, rank, 0);

    for (uint32_t step = 0; step < world->collectives && is_good; step++) {
        uint64_t at_ns = (step > 0 ? ends_ns[step - 1] : BEGIN_NS) + ahead_ns;

        if (step > 0 && world->restarts_at == step) { /* over all ranks: a restarted job */
            is_good = out_end(&out, world) && out_begin(&out, world, folder, rank, 1);
            number = 0;
        }
        if (world->remake_every > 0 && step % world->remake_every == 0) {
            number = 0;
        }
        number++;
        for (uint32_t i = 0; i < world->runs && is_good; i++) {
            uint64_t end_ns = at_ns + run_ns(world, rank, step);

            is_good = is_lacking(world, rank, step) ||
                      span_add(&out, i % cores_of(world), RUNNING, at_ns, end_ns, step + 1, 0);
            at_ns = end_ns + host_ns(world, rank, step);
        }
        uint32_t nc = world->is_spread ? step % cores_of(world) : cores_of(world) - 1;
        is_good = is_good && (is_lacking(world, rank, step) ||
                              span_add(&out, nc, step % 3 == 2 ? BARRIER : COLLECTIVE, at_ns,
                                       ends_ns[step] + ahead_ns, world->is_numbered ? number : 0,
                                       world->is_numbered));
    }
    return out_end(&out, world) && is_good;
}

bool rank_world_write(struct rank_world *world, const char *folder,
                      struct rank_world_sums *out_sums)
{
    uint64_t *ends_ns = calloc((size_t)world->collectives + 1, sizeof *ends_ns);
    bool is_good = ends_ns != NULL;

    world->bytes = 0;
    *out_sums = (struct rank_world_sums){ 0 };
    for (uint32_t step = 0; step < world->collectives && is_good; step++) {
        uint64_t last_ns = 0;

        for (uint32_t rank = 0; rank < world->ranks; rank++) {
            uint64_t ns = gap_ns(world, rank, step);
            last_ns = ns > last_ns ? ns : last_ns;
        }
        for (uint32_t rank = 0; rank < world->ranks && step > 0; rank++) {
            out_sums->run_ns += world->runs * run_ns(world, rank, step);
            out_sums->waited_ns += last_ns - gap_ns(world, rank, step);
        }
        out_sums->path_ns += step > 0 ? last_ns + RANK_WORLD_LINK_NS : 0;
        ends_ns[step] = (step > 0 ? ends_ns[step - 1] : BEGIN_NS) + last_ns + RANK_WORLD_LINK_NS;
    }
    for (uint32_t rank = 0; rank < world->ranks && is_good; rank++) {
        is_good = rank_write(world, folder, rank, ends_ns);
    }
    free(ends_ns);
    return is_good;
}
