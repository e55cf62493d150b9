/* SPDX-License-Identifier: MIT */
/*
 * names - holds the exported names of metrics: --names own,observer; and the rows of names.def as
 * data.
 *
 * Threads: any for constant data; ntk_names_option is written before other threads start.
 */
#ifndef NTK_EXPORTERS_NAMES_NAMES_H
#define NTK_EXPORTERS_NAMES_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/base/err.h"
#include "shared/base/opt.h"
#include "shared/metrics/catalogue.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NTK_NAMES_BYTES 96

enum ntk_name_list {
#define NTK_NAME_LIST(symbol, ...) NTK_NAME_LIST_##symbol,
#include "exporters/names/names.def"
    NTK_NAME_LIST_COUNT
};
struct ntk_name_list_row {
    const char *name;
    const char *text;
};
extern const struct ntk_name_list_row ntk_name_lists[NTK_NAME_LIST_COUNT];

enum {
    NTK_NAME_COUNT = 0
#define NTK_NAME(...) +1
#include "exporters/names/names.def"
};

/* Labels with dots in their OTLP names. */
enum {
    NTK_NAME_ATTRIBUTE_COUNT = 0
#define NTK_NAME_ATTRIBUTE(...) +1
#include "exporters/names/names.def"
};

/* Names in other lists that are not exported. */
enum {
    NTK_NAME_ABSENT_COUNT = 0
#define NTK_NAME_ABSENT(...) +1
#include "exporters/names/names.def"
};
struct ntk_name_absent {
    enum ntk_name_list list;
    const char *dotted;
    const char *why;
};
extern const struct ntk_name_absent ntk_names_absent[NTK_NAME_ABSENT_COUNT];

enum ntk_name_how {
    NTK_NAME_SUM,
    NTK_NAME_MEAN,
    NTK_NAME_MAX,
    NTK_NAME_COUNT_POINTS,
    NTK_NAME_CORES,
    NTK_NAME_MINUS,
    NTK_NAME_SHARE,
    NTK_NAME_NOT,
};

struct ntk_name_row {
    struct ntk_metric_row metric; /* row of the catalogue, but with the Prometheus name */
    enum ntk_name_list list;
    const char *dotted;    /* name in OTLP */
    const char *otlp_unit; /* UCUM; NULL if the unit of the metric determines it */
    bool is_up_down;       /* a gauge that is a sum in OTLP */
    bool is_part;          /* another part of the metric in the previous row */
    enum ntk_metric source;
    const char *where;
    enum ntk_name_how how;
    enum ntk_metric other; /* NTK_METRIC_COUNT if none */
    double scale;
    const char *labels;
};
const struct ntk_name_row *ntk_name_get(size_t index);
/* Returns the next row; NULL after the last. */
const struct ntk_name_row *ntk_name_next(const struct ntk_name_row *row);
/* Returns the OTLP name of a label in a row. */
const char *ntk_name_attribute(const struct ntk_name_row *row, const char *label);
/* Returns the names row of a metric row; NULL if it belongs to the catalogue, or to another
 * list. */
const struct ntk_name_row *ntk_name_of(const struct ntk_metric_row *metric);

/* Parses a list such as "own,observer" to bits of enum ntk_name_list. -EINVAL with a message. */
int ntk_names_parse(const char *text, unsigned *out_lists, struct ntk_err *err);
/* Returns true if a family of the catalogue is in one of the lists; 0 means the names of this
 * project. */
bool ntk_names_have(unsigned lists, bool vendor_only, const struct ntk_metric_row *metric);

/* For an option table; 0 if not set. */
extern unsigned ntk_names_option;
extern int (*const ntk_names_call)(const char *value, struct ntk_err *err);
#define NTK_NAMES_OPT                                                                         \
    {                                                                                         \
        0, "names", "LIST", NTK_OPT_CALL, (void *)(uintptr_t)&ntk_names_call,                 \
            "export metrics under these names, separated by commas: own (default), classic, " \
            "observer, mlu, otel",                                                            \
            "own classic observer mlu otel"                                                   \
    }

#ifdef __cplusplus
}
#endif
#endif
