/* SPDX-License-Identifier: MIT */
/*
 * timeline_serve - serves the timeline page and its answers over HTTP on loopback.
 *
 *   /                             the page
 *   /api/v1/meta                  the content
 *   /api/v1/tiles?level&tile&tracks=0,3-7    a tile (docs/formats/timeline-tile.md)
 *   /api/v1/slice?track&slice     one slice in full
 *   /api/v1/stats?from&to         how busy each track is in a range
 *   /api/v1/hits?whats=1,5&from&back   slices of these kinds from a time on, or (back=1) before it
 *                                 pc=76, or source, file and line: instructions
 *   /api/v1/summary?source        all metrics of a capture
 *   /api/v1/analysis?source&name  {"value": an answer of `neuron-profile analyze`}, or null and why
 *                                 it is "absent"; &brief=1: without the steps of the critical path
 *   /api/v1/host?name             the same of `neuron-profile analyze -d`
 *   /api/v1/flows?track&slice     what released an instruction, and what it released
 *   /api/v1/path?source&from&to   the critical path, step by step
 *   /api/v1/compare               what became slower or faster, if two captures are compared
 *   /api/v1/lines?source          what lines and loops of the source cost (timeline_source.h)
 *   /api/v1/iterations?source&loop     the iterations of a loop
 *   /api/v1/source_file?source&file    the text of a source file, or null
 *   /api/v1/position?track&slice  where in the source a slice comes from, or null
 *   /api/v1/tensors               names of the tensors of slices (timeline_tensors.h)
 *   /api/v1/tensor_tiles?level&tile&tracks   a tile with their numbers instead of operations
 *   /api/v1/flame?source&from&to  time by engine, layer and operation
 *   /api/v1/flame_stacks?source   time by region, source line and operation
 *   /api/v1/sql...                SELECTs over the captures (timeline_sql.h)
 *   PUT /api/v1/drop              another capture, see timeline_drop.h
 *
 * Numbers are decimal and from 0; times are ps since the start of the timeline, and times after its
 * end count as its end. An error is one message with 400 or 404.
 *
 * Owner:   create / destroy; all members of the options are borrowed for that time.
 * Threads: it answers in two separate threads, which only read; one of them runs the analyses.
 */
#ifndef NTK_PROFILER_TIMELINE_TIMELINE_SERVE_H
#define NTK_PROFILER_TIMELINE_TIMELINE_SERVE_H

#include "profiler/timeline/timeline_ask.h"
#include "profiler/timeline/timeline_sql.h"

/* Default port, same as the vendor's; and number of further ports to try if it is in use. */
#define NTK_TIMELINE_PORT 3001
#define NTK_TIMELINE_PORTS_TRIED 100

struct ntk_timeline_serve;

struct ntk_timeline_serve_options {
    struct ntk_timeline_ask_options ask;
    /* neuron-profile, for dropped captures and queries; borrowed; NULL if neither is supported */
    const char *view_program;
    const struct ntk_timeline_sql_source *sql_sources; /* inputs of queries; borrowed */
    size_t sql_source_count;                           /* 0 if none */
    uint16_t port; /* 0 if the system selects it; else this port or one of the next free ports */
};

int ntk_timeline_serve_create(const struct ntk_timeline_serve_options *options,
                              struct ntk_timeline_serve **out_serve, struct ntk_err *err);
/* Accepts NULL. */
void ntk_timeline_serve_destroy(struct ntk_timeline_serve *serve);
uint16_t ntk_timeline_serve_port_get(const struct ntk_timeline_serve *serve);

#endif
