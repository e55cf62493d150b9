/* SPDX-License-Identifier: MIT */
/* hang_hosts - lists the hosts, including this machine, and reports those that did not answer. */
#include "agent/hang/hang.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/fs.h"
#include "shared/base/log.h"
#include "shared/collect/collect.h"

struct ntk_host *ntk_hang_hosts_create(char *const *names, size_t count, struct ntk_err *err)
{
    struct ntk_host *hosts = calloc(count, sizeof *hosts);

    if (!hosts) {
        (void)ntk_err_no_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        ntk_host_set(&hosts[i], names ? names[i] : "");
    }
    return hosts;
}

void ntk_hang_hosts_destroy(struct ntk_host *hosts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ntk_host_fini(&hosts[i]);
    }
    free(hosts);
}

int ntk_hang_print(const struct ntk_buf *out)
{
    struct ntk_err err = { 0 };

    return ntk_fs_print(out, &err) < 0 ? ntk_log_failure(NULL, &err) : EXIT_SUCCESS;
}

void ntk_hang_write_source(const struct ntk_host *hosts, const char *own, struct ntk_buf *out)
{
    if (hosts[0].name[0]) {
        return;
    }
    ntk_buf_add_format(out, "source: %s", hosts[0].is_segments ? own : "the agent on this machine");
    if (hosts[0].is_segments) {
        ntk_buf_add_text(out, " (");
        ntk_buf_add_clean(out,
                          hosts[0].no_agent[0] ? hosts[0].no_agent : "the agent was not queried");
        ntk_buf_add_char(out, ')');
    }
    ntk_buf_add_char(out, '\n');
    if (hosts[0].unreadable_processes > 0) {
        ntk_buf_add_format(out, "permission denied for %u process%s: run as root\n",
                           hosts[0].unreadable_processes,
                           hosts[0].unreadable_processes > 1 ? "es" : "");
    }
    if (hosts[0].unreadable_users > 0) {
        ntk_buf_add_format(out, "permission denied for processes of %u other user%s: run as root\n",
                           hosts[0].unreadable_users, hosts[0].unreadable_users > 1 ? "s" : "");
    }
}

bool ntk_hang_has_unreadable(const struct ntk_host *host)
{
    return host->unreadable_processes > 0 || host->unreadable_users > 0;
}

void ntk_hang_write_source_json(struct ntk_json *json, const struct ntk_host *host)
{
    ntk_json_key_text(json, "source", host->is_segments ? "segments" : "agent");
    if (host->no_agent[0]) {
        ntk_json_key_text(json, "no_agent", host->no_agent);
    }
    if (ntk_hang_has_unreadable(host)) {
        ntk_json_key_u64(json, "unreadable_processes", host->unreadable_processes);
        ntk_json_key_u64(json, "unreadable_users", host->unreadable_users);
    }
}

size_t ntk_hang_answers_say(const struct ntk_host *hosts, size_t count)
{
    size_t answers = 0;

    for (size_t i = 0; i < count; i++) {
        answers += hosts[i].snapshot != NULL;
        if (!hosts[i].snapshot) {
            ntk_log_error(NULL, "%s: %s; its ranks are missing from this output",
                          hosts[i].name[0] ? hosts[i].name : "this machine", hosts[i].err.text);
        }
    }
    return answers;
}

int ntk_hang_look(struct ntk_host *host, uint64_t window_ns, unsigned periods,
                  ntk_hang_period *each, void *ctx, struct ntk_err *err)
{
    const struct ntk_collector_options options = { .no_events = true, .no_latency = true };
    struct ntk_collector *collector = NULL;
    int ret = ntk_collector_create(&options, &collector, err);

    host->is_segments = true;
    for (unsigned p = 0; p < periods && ret == 0; p++) {
        struct ntk_snapshot *snapshot = NULL;

        usleep((useconds_t)(window_ns / periods / NTK_NS_PER_US));
        ret = ntk_collector_poll(collector, &snapshot, err);
        ret = ret == 0 && each ? each(snapshot, ctx) : ret;
        ntk_snapshot_destroy(host->snapshot);
        host->snapshot = snapshot;
    }
    if (collector) {
        struct ntk_collector_unreadable unreadable = ntk_collector_unreadable(collector);

        host->unreadable_processes = unreadable.processes;
        host->unreadable_users = unreadable.users;
    }
    ntk_collector_destroy(collector);
    return ret;
}
