/* SPDX-License-Identifier: MIT */
/*
 * model - holds the state of neuron-top: the last snapshot, projected to the selected tab, and the
 * user's position in it. It uses no terminal, clock or files.
 *
 * The input is a snapshot (ntk_top_model_update) or an action (ntk_top_model_act), the output are
 * the fields of the struct; views only read. Tabs, tree selection and the set of expanded items are
 * kept by identity, so they survive refreshes, new and ended processes and other tabs. The views
 * next to the vendor's screen are lists (tables[]), written again from the snapshot when they are
 * shown. A value that a snapshot lacks is absent here, never zero.
 *
 * Owner:   create allocates, destroy frees; all data in the model is valid until the next update or
 *          act.
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

/* State computed by model_alerts.h. */
enum ntk_top_core_state {
    NTK_TOP_CORE_GOOD,
    NTK_TOP_CORE_STUCK,
    NTK_TOP_CORE_DEAD,
};

/* One logical core, with the share of the selected tab. */
struct ntk_top_core {
    struct ntk_top_number busy_percent;
    struct ntk_top_number teraflops; /* per second, without transposes */
    enum ntk_top_core_state state;   /* same for all tabs */
};

struct ntk_top_vcpu {
    struct ntk_top_number user_percent;
    struct ntk_top_number system_percent;
};

/* Groups for users: sums over the fine categories of shared/abi/memory.def. */
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
    size_t runtime_index; /* index in the snapshot */
    bool ended;
    char tag[NTK_TOP_TAB_TEXT_BYTES];
};

/* Data for the view of graphs, see model_graphs.h. */
struct ntk_top_graphs {
    struct ntk_top_history history;
    uint32_t core_count; /* number of logical cores in the history */
    uint32_t lnc;
    float *now; /* values of the shown snapshot in the form of the history; NAN if absent */
    int quantity;
    size_t span_index;
    size_t first; /* first shown line of cores, bounded by the view */
    size_t page;  /* number of shown lines, set by the view */
};

/* State of model_errors.h. */
struct ntk_top_errors {
    struct ntk_map counters;
    uint64_t first_ns; /* start of the observation */
    uint64_t last_ns;  /* time of the last snapshot */
};

/* State of model_alerts.h for each logical core. */
struct ntk_top_alerts {
    struct ntk_top_alerts_core *cores;
    uint32_t core_count;
    uint32_t lnc;
    uint64_t last_ns; /* time of the last snapshot */
    struct {          /* applications that failed recently */
        char tag[64]; /* tag of the last one */
        uint32_t pid;
        uint32_t count;
        uint64_t at_ns;
        char how[NTK_EXIT_TEXT_BYTES];
    } failed;
};

/* State of model_hbm.h: the peak of each device so far. */
struct ntk_top_peaks {
    struct ntk_top_bytes devices[NTK_SNAPSHOT_DEVICES_MAX];
    uint64_t last_ns; /* time of the last snapshot */
};

/* State of all observations, see model_watch.h. */
struct ntk_top_watch {
    struct ntk_top_errors errors;
    struct ntk_top_alerts alerts;
    struct ntk_top_peaks peaks;
    struct ntk_top_pace *pace; /* model_pace.h; NULL without ranks */
};

#define NTK_TOP_DEPTH_MAX 4 /* levels: device, core, model, group */

enum ntk_top_node_kind {
    NTK_TOP_NODE_HOST,   /* memory that belongs to no core */
    NTK_TOP_NODE_DEVICE, /* index of the device */
    NTK_TOP_NODE_CORE,   /* index of the logical core in its device */
    NTK_TOP_NODE_MODEL,
    NTK_TOP_NODE_GROUP,
};

#define NTK_TOP_NODE_TEXT_BYTES 256

/* A row of the tree, in the order of the screen; rows below a collapsed row are missing. */
struct ntk_top_node {
    uint64_t key; /* identity over refreshes and tabs */
    enum ntk_top_node_kind kind;
    int depth;
    int32_t device_index; /* -1 below the host */
    int32_t core_index;   /* core in its device; -1 above the cores */
    bool can_expand;
    bool is_expanded;
    uint32_t model_id; /* 0 if none */
    struct ntk_top_bytes device_bytes;
    struct ntk_top_bytes host_bytes;
    char text[NTK_TOP_NODE_TEXT_BYTES];
};

#define NTK_TOP_NOTICE_BYTES 512

/* State of an open page, see model_page.h. */
struct ntk_top_page {
    bool is_open;
    bool is_of_model; /* true: of a model; false: of an application */
    uint64_t start_time;
    uint32_t header_pid;
    uint32_t model_id;
    char name[NTK_TOP_TAB_TEXT_BYTES]; /* name at the time when it was opened */
    size_t first;                      /* first shown line, bounded by the view */
    size_t rows;                       /* number of shown lines, set by the view */
};

struct ntk_top_hosts; /* see hosts.h */

struct ntk_top_model {
    const char *version; /* version of this program */
    const struct ntk_top_view *const *views;

    /* Facts about the machine. */
    char instance_id[64]; /* "" if not on EC2 */
    char instance_type[64];
    const char *memory_type; /* usual name of the memory in its devices, "HBM" if unknown */
    char core_version[16];   /* such as "v3d"; "" if unknown */
    double core_peak_flops;  /* operations of a logical core per second; 0 if unknown */
    uint32_t device_count;
    uint32_t lnc;                      /* physical cores per logical core */
    uint32_t cores_per_device;         /* logical cores */
    char note[NTK_TOP_NOTICE_BYTES];   /* note of the source */
    bool is_report;                    /* snapshots only list cores that are in use */
    bool is_recording;                 /* snapshots come from a database */
    bool is_partial;                   /* there may be applications that the source cannot read */
    char notice[NTK_TOP_NOTICE_BYTES]; /* reason for missing data, "" if none */
    char alert[NTK_TOP_NOTICE_BYTES];  /* current faults, "" if none */
    char status[32];                   /* word at the end of the title bar, "" if none */

    /* Data of the selected tab. */
    struct ntk_top_core *cores; /* device_count * cores_per_device elements */
    struct ntk_top_number busy_percent_mean;
    struct ntk_top_number teraflops_mean;
    struct ntk_top_number teraflops_total;
    struct ntk_top_vcpu system_vcpu;
    struct ntk_top_vcpu runtime_vcpu;
    struct ntk_top_memory memory;
    struct ntk_vec tabs;  /* elements are struct ntk_top_tab; [0] is "all" */
    struct ntk_vec nodes; /* elements are struct ntk_top_node */

    /* Position of the user. */
    size_t tab_index;
    size_t cursor_index; /* index in nodes; 0 if there are none */
    size_t tree_first;   /* first shown row */
    size_t tree_page;    /* number of shown rows, set by the view */
    bool with_flops;
    bool with_help;
    struct ntk_top_settings *settings; /* owned by the caller; NULL if settings cannot be changed */
    size_t help_first;                 /* first shown line, bounded by the view */
    size_t help_page;                  /* number of shown lines, set by the view */
    enum ntk_top_view_id view;
    /* first view for one machine: the overview, or the vendor's tree */
    enum ntk_top_view_id first_view;
    char my_user[64];         /* user of neuron-top, "" if unknown */
    bool only_mine;           /* lists of processes and models only show rows of my_user */
    struct ntk_top_page page; /* page over the open view */
    bool wants_events;        /* the view of events was opened, so the source must read them */
    /* Reason for missing events, "" if there may be some */
    char events_note[NTK_TOP_NOTICE_BYTES];
    struct ntk_top_event_log events;
    bool each_event;  /* each event has a row; false: repeated events share a row */
    bool hbm_by_core; /* rows are cores; false: rows are devices */
    struct ntk_top_graphs graphs;
    uint64_t past_ns; /* length of the past in small graphs of the last frame; 0 if none */
    struct ntk_top_watch watch;        /* watch of the shown snapshot */
    bool is_behind;                    /* the shown snapshot is not the newest */
    struct ntk_top_watch watch_now;    /* if is_behind: watch of the newest snapshot; else empty */
    struct ntk_top_watch watch_before; /* watch of the snapshots that the past has dropped */
    int heat;                          /* enum ntk_top_heat: quantity on the map of the devices */
    /* list views; only the table of the open view is up to date */
    struct ntk_top_table tables[NTK_TOP_VIEW_COUNT];

    /* Set for many machines while their list is open: the snapshot has no machine */
    struct ntk_top_hosts *hosts;        /* owned by the source; NULL for one machine */
    struct ntk_top_model *host_scratch; /* used by model_hosts.c to compute the state of one host */
    size_t host_wanted;                 /* index + 1 of the host to be opened; 0 if none */
    /* open host of the list; NULL for this machine, or for the list */
    const struct ntk_top_host *host;
    char host_name[64]; /* set for one of many hosts, else "": the key back leads to the list */
    bool has_utf8;      /* the list may have bars of blocks */

    /* Data kept for the next update. */
    const struct ntk_snapshot *snapshot;
    /* enum ntk_core_has: values of cores that it does not list and that are known to be 0 */
    uint32_t idle_has;
    struct ntk_vec items; /* for model_tree.c: leaves from which nodes are built */
    bool expanded_by_default;
    struct ntk_map exceptions; /* maps the key of a node to a difference from the default */
    uint64_t cursor_keys[NTK_TOP_DEPTH_MAX]; /* cursor position: the item, then its parents */
    uint64_t tab_start_time;                 /* start time of the selected application */
    uint32_t tab_pid;
    bool has_opened_first;
};

enum ntk_top_result {
    NTK_TOP_NOTHING, /* no change */
    NTK_TOP_REDRAW,
    NTK_TOP_QUIT,
};

/* Creates a model. views: the table of view/views.h, by enum ntk_top_view_id; must outlive the
 * model. */
int ntk_top_model_create(const struct ntk_top_view *const *views, struct ntk_top_model **out_model,
                         struct ntk_err *err);
void ntk_top_model_destroy(struct ntk_top_model *model);
/* Sets the reason why the data may be out of date, "" if none; shown before all other notices. */
void ntk_top_model_set_note(struct ntk_top_model *model, const char *note);
/* Takes the snapshot, even on failure. -ENOMEM: parts of the screen are missing. */
int ntk_top_model_update(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                         struct ntk_err *err);
/* Shows a snapshot that histories already have. */
int ntk_top_model_show(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                       struct ntk_err *err);
/* Takes a snapshot that is not shown, so that histories continue. */
int ntk_top_model_observe(struct ntk_top_model *model, const struct ntk_snapshot *snapshot,
                          struct ntk_err *err);
enum ntk_top_result ntk_top_model_act(struct ntk_top_model *model, enum ntk_top_action action,
                                      int argument);
/* Handles a key for an open box of the view (filter, search, columns); returns false if keys.h
 * applies. */
bool ntk_top_model_key(struct ntk_top_model *model, int key);
/* Returns the application of the selected row, else of the tab; NULL for all applications. */
const struct ntk_runtime_sample *ntk_top_model_selected(const struct ntk_top_model *model);
/* Shows the application at this index of the tabs; index 0 shows all. */
void ntk_top_model_select_tab(struct ntk_top_model *model, size_t index);
/* Returns true if a view has content: the list of hosts and a host have different views. */
bool ntk_top_model_has_view(const struct ntk_top_model *model, enum ntk_top_view_id view);
/* Returns the view to which the key back leads. */
enum ntk_top_view_id ntk_top_model_home(const struct ntk_top_model *model);
/* Opens a view, or the home view if it has no content. */
void ntk_top_model_set_view(struct ntk_top_model *model, enum ntk_top_view_id view);
/* Returns true if it is known that no application runs, so that use is zero. False if some
 * applications cannot be read, and with a driver, because its applications may lack the hooks. */
bool ntk_top_model_has_no_application(const struct ntk_top_model *model);
/* Returns true if the open view shows execution times. */
bool ntk_top_model_shows_latency(const struct ntk_top_model *model);
/* Returns true for execution times of models: in their list, and on pages. */
bool ntk_top_model_shows_model_latency(const struct ntk_top_model *model);
/* Returns true for CPU time and memory of processes. */
bool ntk_top_model_shows_usage(const struct ntk_top_model *model);
bool ntk_top_model_has_settings_open(const struct ntk_top_model *model);
/* Projects the list of the open view again after a change of its options. */
void ntk_top_model_project_view(struct ntk_top_model *model);
/* Projects the list of a view that is shown inside another view. */
void ntk_top_model_project_list(struct ntk_top_model *model, enum ntk_top_view_id id);
/* Expands or collapses the whole tree. */
void ntk_top_model_expand_all(struct ntk_top_model *model, bool expanded);
/* Sets the number of shown rows of the tree; moves tree_first so that the cursor is visible. */
void ntk_top_model_set_page(struct ntk_top_model *model, size_t rows);
/* Returns NULL if the tree is empty. */
const struct ntk_top_node *ntk_top_model_cursor_get(const struct ntk_top_model *model);
const struct ntk_top_tab *ntk_top_model_tab_get(const struct ntk_top_model *model);
/* Returns the runtime of the tab; NULL for the tab of all. */
const struct ntk_runtime_sample *ntk_top_model_tab_runtime(const struct ntk_top_model *model);

/* ---- for projections ---- */
/* Sets the snapshot that is examined; returns the previous one. */
const struct ntk_snapshot *ntk_top_model_look_at(struct ntk_top_model *model,
                                                 const struct ntk_snapshot *snapshot);
/* Finds the snapshot's data of a logical core, for the selected tab; returns false if there is
 * none. */
bool ntk_top_model_core_find(const struct ntk_top_model *model, uint32_t logical,
                             struct ntk_core_sample *out);
/* Same, for all applications together. */
bool ntk_top_model_core_find_of_all(const struct ntk_top_model *model, uint32_t logical,
                                    struct ntk_core_sample *out);
/* Returns the mean share of the logical cores of a device with known values: in the tab of an
 * application, of its cores, or 0 if it has none there. */
struct ntk_top_number ntk_top_model_device_busy(const struct ntk_top_model *model, uint32_t device);
/* Returns true if the process has a core of the device. */
bool ntk_top_model_device_has(const struct ntk_top_model *model,
                              const struct ntk_runtime_sample *runtime, uint32_t device);
/* Returns the first part of a logical core that a process has; NULL if none. */
const struct ntk_core_sample *ntk_top_model_core_of(const struct ntk_top_model *model,
                                                    const struct ntk_runtime_sample *runtime,
                                                    uint32_t logical);
bool ntk_top_model_is_in_tab(const struct ntk_top_model *model, size_t runtime_index);
/* Returns true if a list of processes or models includes rows of the runtime. */
bool ntk_top_model_is_listed(const struct ntk_top_model *model, size_t runtime_index);

#endif
