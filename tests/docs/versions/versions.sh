#!/bin/bash
# versions - docs/versions.md has the versions of the code, and a row for each format with a version.
set -euo pipefail
cd "${NTK_SOURCE_DIR:-$(dirname "$0")/../../..}"
bad=0
# Each line below: format, file, constant.
while read -r format file constant; do
    version=$(sed -nE "s/^#define $constant +([^ ]+).*/\1/p" "$file" | sed 's/"//g; s/[uU]$//')
    row=$(grep -F "| ${format//_/ } (" docs/versions.md | cut -d'|' -f3 | tr -d ' ')
    if [ -z "$version" ] || [ "$row" != "$version" ]; then
        echo "docs/versions.md: $format has version '$row', $file has '$version'" >&2
        bad=1
    fi
done <<'TEXT'
segment shared/abi/segment_abi.h NTK_SEGMENT_ABI_VERSION
store shared/store/store.h NTK_STORE_SCHEMA_VERSION
archive agent/archive/archive.h NTK_ARCHIVE_VERSION
spool exporters/transport/spool.h NTK_SPOOL_VERSION
capture shared/formats/ntff/ntff.h NTK_NTFF_VERSION_WRITTEN
inspection shared/formats/ntrace/ntrace.h NTK_NTRACE_VERSION
baseline profiler/output/answers/baseline_file.h NTK_BASELINE_VERSION
tables_of_a_profile profiler/output/tables/tables.h NTK_SCHEMA_VERSION
JSON_of_a_profile profiler/output/tables/rows_file.c JSON_DATA_VERSION
tiles_of_the_timeline profiler/timeline/timeline_tile.h NTK_TIMELINE_TILE_VERSION
samples_of_neuron-top top/model/samples.c FORMAT_VERSION
software_machine shared/abi/paths.h NTK_SOFT_ABI_VERSION
instructions shared/formats/neff/isa.h NTK_ISA_VERSION
PopEF shared/formats/popef/popef_layout.h NTK_OPEF_VERSION
offline_models shared/formats/mlumodel/mlumodel_layout.h MLUMODEL_VERSION
parameters runtime-hooks/mlugraph/mlu_params_layout.h MLU_PARAMS_VERSION
TEXT
# The example may show any version of the toolkit; these two rows have no constant.
rows=$(grep -cE '^\| .*\]\((formats/[a-z-]+|isa)\.md\)\)' docs/versions.md)
[ "$rows" = 18 ] || { echo "docs/versions.md has $rows rows of formats, this test knows 16 and two without a number" >&2 && bad=1; }
exit $bad
