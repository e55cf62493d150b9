/* SPDX-License-Identifier: MIT */
/* report_schema - the JSON Schema of a report as bytes of the program. */
#include "shared/report/report_schema.h"

#include "shared/report/schema.h" /* made from report.schema.json */

const char *ntk_report_schema_get(size_t *out_bytes)
{
    *out_bytes = sizeof report_schema_json - 1;
    return report_schema_json;
}
