/* SPDX-License-Identifier: MIT */
/* The ports of EFA adapters: "efa" of the machine. */
#include "shared/report/report_part.h"

#define AT(member) .offset = offsetof(struct ntk_efa_port, member)
/* Before what it counts, by the names of the files; the files that are not there are not there. */
const struct report_field report_fields_efa_port[] = {
    REPORT_ROW("device", REPORT_TEXT, AT(device)),
    REPORT_ROW("port", REPORT_U32, AT(port)),
    REPORT_END,
};
#undef AT

void report_write_efa(struct report_writer *w)
{
    const struct ntk_snapshot *snapshot = w->snapshot;

    if (snapshot->efa_port_count == 0) {
        return;
    }
    ntk_json_key_array_begin(&w->json, "efa");
    for (size_t i = 0; i < snapshot->efa_port_count; i++) {
        const struct ntk_efa_port *port = &snapshot->efa_ports[i];

        ntk_json_object_begin(&w->json);
        report_write_fields(w, report_fields_efa_port, port);
        ntk_json_key_object_begin(&w->json, "hw_counters");
        for (int c = 0; c < NTK_EFA_COUNTER_COUNT; c++) {
            if (port->has >> c & 1) {
                report_key_u64(w, ntk_efa_counter_row(c).name, port->counter[c]);
            }
        }
        ntk_json_object_end(&w->json);
        ntk_json_object_end(&w->json);
    }
    ntk_json_array_end(&w->json);
}

void report_read_efa(struct ntk_snapshot *snapshot, const json_t *ext)
{
    const json_t *array = report_get_array(ext, "efa");
    struct ntk_efa_port *ports;

    if (!array) {
        return;
    }
    ports = ntk_snapshot_alloc_efa_ports(
        snapshot, report_bounded(json_array_size(array), REPORT_EFA_PORTS_MAX));
    for (size_t i = 0; ports && i < snapshot->efa_port_count; i++) {
        const json_t *entry = json_array_get(array, i);
        const json_t *counters = report_get_object(entry, "hw_counters");

        report_read_fields(snapshot, entry, report_fields_efa_port, &ports[i]);
        for (int c = 0; c < NTK_EFA_COUNTER_COUNT; c++) {
            const char *name = ntk_efa_counter_row(c).name;

            if (report_has(counters, name)) {
                ports[i].has |= 1U << c;
                ports[i].counter[c] = report_get_u64(counters, name);
            }
        }
    }
}
