#!/bin/bash
# What libpopef.so.1 exports: its soname, its version node and the functions that popef.h declares, no others. One
# program in C and one in C++ that use only the header and the library write a file and read it back.
set -u
folder=$1 source=$2 cc=$3 cxx=$4
shift 4 # the rest runs programs of another architecture
library=$folder/libpopef.so.1
failed=0
bad() { echo "$*"; failed=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
[ "$soname" = libpopef.so.1 ] || bad "soname is $soname"
nodes=$(objdump -p "$library" | awk '/^Version definitions/ { on = 1; next } /^$/ { on = 0 } on && NF >= 4 { print $4 }' | tr '\n' ' ')
[ "$nodes" = "libpopef.so.1 POPEF_1.0 " ] || bad "version nodes are $nodes"
exported=$(nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
declared=$(tr '\n' ' ' <"$source/popef.h" | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE '\bpopef_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort -u)
diff <(sed 's/$/@@POPEF_1.0/' <<<"$declared") <(echo "$exported") || bad "declared (<) and exported functions (>) differ"

[ -z "${NTK_SANITIZE:-}" ] || exit $failed # a sanitizer's library links only with its compiler flags
cp "$source/popef.h" "$work"
cat >"$work/round.c" <<'END'
#include <popef.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    struct popef_tensor_data_info info = { "w", { POPEF_F32, 1, { 2 } } };
    struct popef_error err;
    struct popef_writer *writer = 0;
    struct popef_blob_writer *blob = 0;
    struct popef_reader *reader = 0;
    struct popef_stream *stream = 0;
    float out[2] = { 1.5f, -2.0f }, in[2] = { 0.0f, 0.0f };
    (void)argc;
    if (popef_writer_open(argv[1], POPEF_WRITER_CREATE, &writer, &err) < 0 ||
        popef_writer_create_tensor_data(writer, &info, &blob, &err) < 0 ||
        popef_blob_writer_write(blob, out, sizeof out, &err) < 0 ||
        popef_writer_close(writer, &err) < 0 || popef_reader_open(&reader, &err) < 0 ||
        popef_reader_parse_file(reader, argv[1], &err) < 0 ||
        popef_reader_open_stream(reader, &popef_reader_find_tensor(reader, "w")->blob, &stream, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    int64_t got = popef_stream_read(stream, in, sizeof in, &err);
    popef_stream_close(stream);
    popef_reader_close(reader);
    return got == 8 && memcmp(in, out, 8) == 0 ? 0 : 1;
}
END
cp "$work/round.c" "$work/round.cpp"
ln -s "$library" "$work/libpopef.so"
"$cc" -std=c11 -Wall -Wextra -Werror -I"$work" "$work/round.c" -L"$work" -lpopef -o "$work/c" || bad "no program in C"
"$cxx" -std=c++17 -Wall -Wextra -Werror -I"$work" "$work/round.cpp" -L"$work" -lpopef -o "$work/cpp" || bad "no program in C++"
for program in c cpp; do
    LD_LIBRARY_PATH=$folder "$@" "$work/$program" "$work/$program.popef" || bad "$program fails"
    [ "$(stat -c %s "$work/$program.popef")" = 88 ] || bad "$program wrote another file"
done
exit $failed
