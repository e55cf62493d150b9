/* SPDX-License-Identifier: MIT */
/* report_adapters - the ports of network adapters, with a list for each family ("efa"). */
#include <string.h>

#include "shared/base/str.h"
#include "shared/report/report_part.h"

static void write_port(struct report_writer *w, const struct ntk_adapter_port *port)
{
    ntk_json_object_begin(&w->json);
    report_key_text(w, "device", port->device);
    report_key_u64(w, "port", port->port);
    ntk_json_key_object_begin(&w->json, "hw_counters");
    for (size_t c = 0; c < NTK_ADAPTER_COUNTERS; c++) {
        if (port->has >> c & 1) {
            report_key_u64(w, ntk_adapter_rows[c].name, port->counter[c]);
        }
    }
    ntk_json_object_end(&w->json);
    ntk_json_object_end(&w->json);
}

void report_write_adapters(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    for (size_t i = 0; i < snapshot->port_count; i++) {
        enum ntk_adapter family = snapshot->ports[i].family;

        if (i == 0 || snapshot->ports[i - 1].family != family) {
            ntk_json_key_array_begin(&w->json, ntk_adapter_words[family]);
        }
        write_port(w, &snapshot->ports[i]);
        if (i + 1 == snapshot->port_count || snapshot->ports[i + 1].family != family) {
            ntk_json_array_end(&w->json);
        }
    }
}

static void read_port(struct ntk_snapshot *snapshot, const json_t *entry,
                      struct ntk_adapter_port *port)
{
    const json_t *counters = report_get_object(entry, "hw_counters");

    ntk_str_copy(port->device, sizeof port->device, report_get_text(snapshot, entry, "device"));
    port->port = report_get_u32(entry, "port");
    for (size_t c = 0; c < NTK_ADAPTER_COUNTERS; c++) {
        if (ntk_adapter_rows[c].family == port->family &&
            report_has(counters, ntk_adapter_rows[c].name)) {
            port->has |= UINT64_C(1) << c;
            port->counter[c] = report_get_u64(counters, ntk_adapter_rows[c].name);
        }
    }
}

static size_t listed_of(const json_t *ext, int family)
{
    return report_bounded(json_array_size(report_get_array(ext, ntk_adapter_words[family])),
                          REPORT_PORTS_MAX);
}

void report_read_adapters(struct ntk_snapshot *snapshot, const json_t *ext)
{
    size_t room = 0;

    for (int family = 0; family < NTK_ADAPTER_COUNT; family++) {
        room += listed_of(ext, family);
    }
    snapshot->ports = ntk_snapshot_alloc(snapshot, room, sizeof *snapshot->ports);
    for (int family = 0; snapshot->ports && family < NTK_ADAPTER_COUNT; family++) {
        const json_t *array = report_get_array(ext, ntk_adapter_words[family]);
        for (size_t i = 0; i < listed_of(ext, family); i++) {
            struct ntk_adapter_port *port = &snapshot->ports[snapshot->port_count++];
            port->family = (enum ntk_adapter)family;
            read_port(snapshot, json_array_get(array, i), port);
        }
    }
}
