/* SPDX-License-Identifier: MIT */
/*
 * model - the state of neuron-top: the last snapshot, projected to the selected tab, and the user's
 * position in it. No terminal, no clock, no files.
 *
 * Input is a snapshot (ntk_top_model_update) or an action (ntk_top_model_act), output are the
 * fields of the struct; views only read. Tabs, tree selection and the set of expanded items are
 * kept by identity, so they survive refreshes, new and ended processes and other tabs. The views
 * next to the vendor's screen are lists (tables[]), written again from the snapshot when they are
 * shown. A value that a snapshot lacks is absent here, never zero.
 *
 * Owner:   create allocates, destroy frees; everything in the model is valid until the next update
 *          or act.
 * Threads: one.
 */
#ifndef NTK_TOP_MODEL_MODEL_H
#define NTK_TOP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/base/err.h"
#include "shared/base/map.h"
#include "shared/base/vec.h"
#include "shared/metrics/snapshot.h"
#include "top/base/keys.h"
#include "top/base/value.h"
#include "top/model/history.h"
#include "top/model/settings.h"
#include "top/model/view_ops.h"
#include "top/source/event_log.h"

/* Computed by model_alerts.h. */
enum ntk_top_core_state {
    NTK_TOP_CORE_GOOD,
    NTK_TOP_CORE_STUCK,
    NTK_TOP_CORE_DEAD,
};

/* One logical core, the share of the selected tab. */
struct ntk_top_core {
    struct ntk_top_number busy_percent;
    struct ntk_top_number teraflops; /* per second, without transposes */
    enum ntk_top_core_state state;   /* for any tab */
};

struct ntk_top_vcpu {
    struct ntk_top_number user_percent;
    struct ntk_top_number system_percent;
};

/* The groups that users know: sums over the fine categories of shared/abi/memory.def. */
enum ntk_top_group {
    NTK_TOP_GROUP_TENSORS,
    NTK_TOP_GROUP_CONSTANTS,
    NTK_TOP_GROUP_DMA_BUFFERS,
    NTK_TOP_GROUP_APP_MEMORY,
    NTK_TOP_GROUP_MODEL_CODE,
    NTK_TOP_GROUP_RUNTIME_MEMORY,
    NTK_TOP_GROUP_SCRATCHPAD,
    NTK_TOP_GROUP_COUNT,
};

struct ntk_top_memory {
    struct ntk_top_bytes host[NTK_TOP_GROUP_COUNT];
    struct ntk_top_bytes device[NTK_TOP_GROUP_COUNT];
    struct ntk_top_bytes host_total;
    struct ntk_top_bytes device_total;
};

#define NTK_TOP_TAB_TEXT_BYTES 128

struct ntk_top_tab {
    bool is_all;
    size_t runtime_index; /* in the snapshot */
    bool ended;
    char tag[NTK_TOP_TAB_TEXT_BYTES];
};

/* The data of the view of graphs, see model_graphs.h. */
struct ntk_top_graphs {
    struct ntk_top_history history;
    uint32_t core_count; /* logical; of the history */
    uint32_t lnc;
    float *now; /* the values of the shown snapshot in the form of the history; NAN absent */
    int quantity;
    size_t span_index;
    size_t first; /* the first line of cores shown, bounded by the view */
    size_t page;  /* lines shown, set by the view */
};

/* The memory of model_errors.h. */
struct ntk_top_errors {
    struct ntk_map counters;
    uint64_t first_ns; /* start of the observation */
    uint64_t last_ns;  /* the last snapshot */
};

/* The memory of model_alerts.h for each logical core. */
struct ntk_top_alerts {
    struct ntk_top_alerts_core *cores;
    uint32_t core_count;
    uint32_t lnc;
    uint64_t last_ns; /* the last snapshot */
    struct {          /* applications that exited as failures lately */
        char tag[64]; /* of the last one */
        uint32_t pid;
        uint32_t count;
        uint64_t at_ns;
        char how[NTK_EXIT_TEXT_BYTES];
    } failed;
};

/* The memory of model_hbm.h: the peak of each device so far. */
struct ntk_top_peaks {
    struct ntk_top_bytes devices[NTK_SNAPSHOT_DEVICES_MAX];
    uint64_t last_ns; /* the last snapshot */
};

/* See model_watch.h. */
struct ntk_top_watch {
    struct ntk_top_errors errors;
    struct ntk_top_alerts alerts;
    struct ntk_top_peaks peaks;
    struct ntk_top_pace *pace; /* model_pace.h; NULL: no ranks */
};

#define NTK_TOP_DEPTH_MAX 4 /* device, core, model, group */

enum ntk_top_node_kind {
    NTK_TOP_NODE_HOST,   /* memory that belongs to no core */
    NTK_TOP_NODE_DEVICE, /* index: the device */
    NTK_TOP_NODE_CORE,   /* index: logical core in its device */
    NTK_TOP_NODE_MODEL,
    NTK_TOP_NODE_GROUP,
};

#define NTK_TOP_NODE_TEXT_BYTES 256

/* A row of the tree, in the order of the screen; rows below a collapsed one are missing. */
struct ntk_top_node {
    uint64_t key; /* identity over refreshes and tabs */
    enum ntk_top_node_kind kind;
    int depth;
    int32_t device_index; /* -1 below the host */
    int32_t core_index;   /* in its device; -1 above the cores */
    bool can_expand;
    bool is_expanded;
    uint32_t model_id; /* 0 none */
    struct ntk_top_bytes device_bytes;
    struct ntk_top_bytes host_bytes;
    char text[NTK_TOP_NODE_TEXT_BYTES];
};

#define NTK_TOP_NOTICE_BYTES 512

/* See model_page.h. */
struct ntk_top_page {
    bool is_open;
    bool is_of_model; /* else of an application */
    uint64_t start_time;
    uint32_t header_pid;
    uint32_t model_id;
    char name[NTK_TOP_TAB_TEXT_BYTES]; /* the name when it was opened */
    size_t first;                      /* the first line shown, bounded by the view */
    size_t rows;                       /* lines shown, set by the view */
};

struct ntk_top_hosts; /* hosts.h */

struct ntk_top_model {
    const char *version; /* of this program */
    const struct ntk_top_view *const *views;

    /* the machine */
    char instance_id[64]; /* "" away from EC2 */
    char instance_type[64];
    const char *memory_type; /* the usual name of the memory of its devices, "HBM" if unknown */
    char core_version[16];   /* "v3d", "" unknown */
    double core_peak_flops;  /* of a logical core, per second; 0 unknown */
    uint32_t device_count;
    uint32_t lnc;                      /* physical cores per logical core */
    uint32_t cores_per_device;         /* logical */
    char note[NTK_TOP_NOTICE_BYTES];   /* of the source */
    bool is_report;                    /* snapshots list only the cores that are in use */
    bool is_recording;                 /* snapshots come from a database */
    bool is_partial;                   /* there may be applications that the source cannot read */
    char notice[NTK_TOP_NOTICE_BYTES]; /* the reason for missing data, "" if there is none */
    char alert[NTK_TOP_NOTICE_BYTES];  /* current faults, "" if there are none */
    char status[32];                   /* a word at the end of the title bar, "" for nothing */

    /* the selected tab */
    struct ntk_top_core *cores; /* device_count * cores_per_device */
    struct ntk_top_number busy_percent_mean;
    struct ntk_top_number teraflops_mean;
    struct ntk_top_number teraflops_total;
    struct ntk_top_vcpu system_vcpu;
    struct ntk_top_vcpu runtime_vcpu;
    struct ntk_top_memory memory;
    struct ntk_vec tabs;  /* struct ntk_top_tab; [0] is "all" */
    struct ntk_vec nodes; /* struct ntk_top_node */

    /* where the user is */
    size_t tab_index;
    size_t cursor_index; /* in nodes; 0 when there is none */
    size_t tree_first;   /* the first row shown */
    size_t tree_page;    /* rows shown, set by the view */
    bool with_flops;
    bool with_help;
    struct ntk_top_settings *settings; /* the caller's; NULL: settings cannot be changed */
    size_t help_first;                 /* the first line shown, bounded by the view */
    size_t help_page;                  /* lines shown, set by the view */
    enum ntk_top_view_id view;
    enum ntk_top_view_id first_view; /* for one machine: the overview, or the vendor's tree */
    char my_user[64];                /* user of neuron-top, "" unknown */
    bool only_mine;                  /* lists of processes and models show only those of my_user */
    struct ntk_top_page page;        /* over the open view */
    bool wants_events;               /* the view of events was opened: the source must read them */
    /* the reason for missing events, "" if there may be some */
    char events_note[NTK_TOP_NOTICE_BYTES];
    struct ntk_top_event_log events;
    bool each_event;  /* each event has a row; else repeated ones share one */
    bool hbm_by_core; /* rows are cores, else devices */
    struct ntk_top_graphs graphs;
    uint64_t past_ns; /* length of the past in the last frame's graphs next to others; 0 none */
    struct ntk_top_watch watch;        /* of the shown snapshot */
    bool is_behind;                    /* the shown snapshot is not the newest one */
    struct ntk_top_watch watch_now;    /* then: of the newest one; else empty */
    struct ntk_top_watch watch_before; /* of the snapshots that the past has dropped */
    int heat; /* enum ntk_top_heat: the quantity on the map of the devices */
    struct ntk_top_table tables[NTK_TOP_VIEW_COUNT]; /* of the list views; only that of the open
                                                      * view is up to date */

    /* many machines, and their list is open: the snapshot has no machine */
    struct ntk_top_hosts *hosts;        /* the source's; NULL: one machine */
    struct ntk_top_model *host_scratch; /* model_hosts.c: to compute the state of one host */
    size_t host_wanted;                 /* index + 1 of the host to be opened; 0 none */
    const struct ntk_top_host *host;    /* of the host's list; NULL: this machine, or a list */
    char host_name[64]; /* set for one of many hosts, else "": the key back leads to the list */
    bool has_utf8;      /* the list may have bars of blocks */

    /* kept for the next update */
    const struct ntk_snapshot *snapshot;
    /* values of cores that it does not list and that are known to be 0, enum ntk_core_has */
    uint32_t idle_has;
    struct ntk_vec items; /* model_tree.c: the leaves from which nodes are built */
    bool expanded_by_default;
    struct ntk_map exceptions;               /* node key -> differs from the default */
    uint64_t cursor_keys[NTK_TOP_DEPTH_MAX]; /* the user's position: the item, then its parents */
    uint64_t tab_start_time;                 /* of the selected application */
    uint32_t tab_pid;
    bool has_opened_first;
};

enum ntk_top_result {
    NTK_TOP_NOTHING, /* no change */
    NTK_TOP_REDRAW,
    NTK_TOP_QUIT,
};

/* views: the table of view/views.h, by enum ntk_top_view_id; lives as long as the model. */
int ntk_top_model_create(const struct ntk_top_view *const *views, struct ntk_top_model **out_model,
                         struct ntk_err *err);
void ntk_top_model_destroy(struct ntk_top_model *model);
/* The reason why the data may be out of date, "" for none; shown before all other notices. */
void ntk_top_model_set_note(struct ntk_top_model *model, const char *note);
/* Takes the snapshot, even on failure. -ENOMEM: parts of the screen are missing. */
int ntk_top_model_update(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err);
/* Shows a snapshot that histories have already. */
int ntk_top_model_show(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                       struct ntk_err *err);
/* Takes a snapshot that is not shown, so that histories continue. */
int ntk_top_model_observe(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                          struct ntk_err *err);
enum ntk_top_result ntk_top_model_act(struct ntk_top_model *model, enum ntk_top_action action,
                                      int argument);
/* A key for an open box of the view (filter, search, columns); false: use keys.h. */
bool ntk_top_model_key(struct ntk_top_model *model, int key);
/* The application of the selected row, else of the tab; NULL for all of them. */
const struct ntk_runtime_sample *ntk_top_model_selected(const struct ntk_top_model *model);
/* Shows an application, or all with index 0 of the tabs. */
void ntk_top_model_select_tab(struct ntk_top_model *model, size_t index);
/* Whether a view can show something: the list of hosts has other views than a host. */
bool ntk_top_model_has_view(const struct ntk_top_model *model, enum ntk_top_view_id view);
/* The view to which the key back leads. */
enum ntk_top_view_id ntk_top_model_home(const struct ntk_top_model *model);
/* Opens a view, or home if the view has nothing to show. */
void ntk_top_model_set_view(struct ntk_top_model *model, enum ntk_top_view_id view);
/* Whether it is known that no application runs: then their use is really zero. False if some cannot
 * be read, and next to a driver, because its applications may lack our hooks. */
bool ntk_top_model_has_no_application(const struct ntk_top_model *model);
/* Whether the open view shows execution times. */
bool ntk_top_model_shows_latency(const struct ntk_top_model *model);
/* The same of models: in their list, and on pages. */
bool ntk_top_model_shows_model_latency(const struct ntk_top_model *model);
/* Same, for CPU time and memory of processes. */
bool ntk_top_model_shows_usage(const struct ntk_top_model *model);
bool ntk_top_model_has_settings_open(const struct ntk_top_model *model);
/* Writes the list of the open view again after a change of its options. */
void ntk_top_model_project_view(struct ntk_top_model *model);
/* Writes the list of a view that is shown inside another. */
void ntk_top_model_project_list(struct ntk_top_model *model, enum ntk_top_view_id id);
/* Expands or collapses all of the tree. */
void ntk_top_model_expand_all(struct ntk_top_model *model, bool expanded);
/* Sets the number of shown rows of the tree; moves tree_first so that the cursor is among them. */
void ntk_top_model_set_page(struct ntk_top_model *model, size_t rows);
/* NULL when the tree is empty. */
const struct ntk_top_node *ntk_top_model_cursor_get(const struct ntk_top_model *model);
const struct ntk_top_tab *ntk_top_model_tab_get(const struct ntk_top_model *model);
/* The runtime of the tab; NULL for that of all. */
const struct ntk_runtime_sample *ntk_top_model_tab_runtime(const struct ntk_top_model *model);

/* ---- for projections ---- */
/* Makes the snapshot the one that is checked; returns the previous one. */
const struct ntk_snapshot *ntk_top_model_look_at(struct ntk_top_model *model,
                                                 const struct ntk_snapshot *snapshot);
/* The snapshot's data of a logical core, for the selected tab; false if there is none. */
bool ntk_top_model_core_find(const struct ntk_top_model *model, uint32_t logical,
                             struct ntk_core_sample *out);
/* Same, for all applications together. */
bool ntk_top_model_core_find_of_all(const struct ntk_top_model *model, uint32_t logical,
                                    struct ntk_core_sample *out);
/* Mean share of the logical cores of a device with known values, for the selected tab. */
struct ntk_top_number ntk_top_model_device_busy(const struct ntk_top_model *model, uint32_t device);
/* The first part of a logical core that a process has; NULL: none. */
const struct ntk_core_sample *ntk_top_model_core_of(const struct ntk_top_model *model,
                                                    const struct ntk_runtime_sample *runtime,
                                                    uint32_t logical);
bool ntk_top_model_is_in_tab(const struct ntk_top_model *model, size_t runtime_index);
/* Whether a list of processes or models includes those of the runtime. */
bool ntk_top_model_is_listed(const struct ntk_top_model *model, size_t runtime_index);

#endif
