#!/bin/bash
# export - neuron-monitor export writes what an agent stored as Parquet, and DuckDB and hyparquet read the same rows:
# repeated, by two processes at once, and under hostile names. Also its messages about bad databases and folders.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
needs_readers

# ---- a history of an agent and software cores ----
make_history h.db

# ---- every table is exported, and each value is that of the database ----
neuron-monitor export --db h.db --output-folder out --cluster 'prod/eu=1 é' --json >exported || fail "the export failed"
questions=()
jq -r '.tables[] | select(.rows > 0) | "\(.table)|\(.rows)|\(.parts)|prod/eu=1 é"' exported >wanted
for table in $(cut -d'|' -f1 wanted); do
    questions+=("select '$table', count(*), count(distinct filename), string_agg(distinct cluster) from
        read_parquet('out/$table/**/*.parquet', hive_partitioning = true, filename = true)")
done
[ ${#questions[@]} -ge 10 ] || fail "only few tables have rows: $(cat wanted)"
ask "${questions[@]}" | diff wanted - >&2 || fail "reported and found values differ"
questions=()
for table in machine_sample core_sample execution_sample model_sample memory_log model_log memory_sample; do
    [ -d out/$table ] || [ "$(sqlite3 -readonly h.db "select count(*) from $table")" != 0 ] || continue
    sqlite3 -readonly h.db "select '$table', count(*), min(time_ns) / 1000, max(time_ns) / 1000 from $table"
    questions+=("select '$table', count(*), epoch_us(min(time)), epoch_us(max(time)) from 'out/$table/**/*.parquet'")
done >times
ask "${questions[@]}" | diff times - >&2 || fail "the database has other rows"
sqlite3 -readonly h.db "select s.time_ns / 1000, p.tag, s.core, s.completed, s.total_latency_p50_ns, hex(s.total_latency_histogram)
    from execution_sample s join process p using (process_id) order by 1, 3, 4" >wanted
ask "select epoch_us(time), tag, core, completed, total_latency_p50_ns, hex(total_latency_histogram) from 'out/execution_sample/**/*.parquet'
    order by 1, 3, 4" >found
diff wanted found >&2 || fail "the executions differ"
sqlite3 -readonly h.db "select p.tag, p.pid, first_seen_ns / 1000, (select sum(completed) from core_total t where t.process_id = p.process_id)
    from process p order by 2" >wanted
ask "select tag, pid, epoch_us(first_seen), completed from 'out/process/**/*.parquet' order by 2" >found
diff wanted found >&2 || fail "the processes differ"
[ "$(ask "select distinct decode(value) from parquet_kv_metadata('out/core_sample/**/*.parquet') where decode(key) = 'neuron.archive.version'")" = 1 ] ||
    fail "a file has no version"
file=$(find out/core_sample -name '*.parquet' | head -1)
[ "$(ask "hyparquet:$file")" = "$(ask "select count(*), epoch_ms(min(time)), epoch_ms(max(time)) from '$file'")" ] ||
    fail "hyparquet reads $(ask "hyparquet:$file")"
find out -name '.*' | greps . && fail "leftover files: $(find out -name '.*')"

# ---- again, and two at once: the same files with the same bytes; files of killed programs are removed ----
cp -r out first
part=$(find out/core_sample -name '*.parquet' | head -1)
touch "$(dirname "$part")/.part-20260101-1.parquet.tmp-1-0"
neuron-monitor export --db h.db --output-folder out --cluster 'prod/eu=1 é' >exported.txt || fail "the second export failed"
neuron-monitor export --db h.db --output-folder both --cluster 'prod/eu=1 é' >/dev/null & one=$!
neuron-monitor export --db h.db --output-folder both --cluster 'prod/eu=1 é' >/dev/null & two=$!
wait $one && wait $two || fail "one of two concurrent exports failed"
diff -r first out >&2 || fail "the second export changed files"
diff -r first both >&2 || fail "two concurrent exports changed files"
greps '^all ' <exported.txt || fail "unexpected table: $(cat exported.txt)"

# ---- a part of the tables; intervals of more than a minute are in core_minute too ----
neuron-monitor export --db h.db --output-folder some --tables 'core,*_log' >/dev/null
[ "$(ls some | grep -vx core_minute | tr '\n' ' ')" = 'core_sample memory_log model_log ' ] || fail "unexpected tables with --tables: $(ls some)"
neuron-monitor export --db h.db --output-folder none --to 2020-01-01T00:00:00Z --json | jq -e '[.tables[].rows] | add == 0' >/dev/null ||
    fail "--to has no effect"
neuron-monitor export --tables help | greps '^core_minute ' || fail "expected a list of tables"

# ---- names with a meaning in a path ----
questions=()
mkdir -p a/b # a name that leaves the folder would end up here
: >wanted
for name in '..' '../../x' 'a/b=c' 'a%2Fb' $'new\nline' 'x?*[y]' '' 'ü東'; do
    n=${#questions[@]}
    neuron-monitor export --db h.db --output-folder a/b/hostile$n --host "$name" --cluster "$name" --tables machine_sample >/dev/null ||
        fail "the export for host '$name' failed"
    [ "$(find a/b/hostile$n -type d | wc -l)" = 5 ] || fail "unexpected folders for host '$name': $(find a/b/hostile$n)"
    questions+=("select distinct hex(host), hex(cluster) from
        read_parquet('a/b/hostile$n/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)")
    hex=$(printf %s "$name" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F)
    echo "$hex|$hex" >>wanted
done
ask "${questions[@]}" | diff wanted - >&2 || fail "unexpected hosts in the files"
[ "$(ls a)" = b ] && [ -z "$(find a/b -mindepth 1 -maxdepth 1 ! -name 'hostile*')" ] && [ ! -e x ] || fail "a host name led out of the folder"
neuron-monitor export --db h.db --output-folder long --host "$(printf 'a%.0s' {1..300})" 2>err && fail "an overlong host name was accepted" || [ $? = 1 ]
greps 'the name of the host is too long for a folder name' <err || fail "no message about the overlong host name"

# ---- bad databases and folders: one message, exit 1; wrong usage: exit 2 ----
refused() { # WORDS ARGUMENT...
    local words=$1 code=0
    shift
    neuron-monitor export "$@" >out.txt 2>err || code=$?
    [ $code = 1 ] && [ "$(wc -l <err)" = 1 ] && greps "$words" <err || fail "$*: exit $code"
}
for bytes in 10 200 5000 20000; do
    head -c $bytes h.db >cut.db
    refused 'cut.db' --db cut.db --output-folder cut
done
cp h.db bad.db
size=$(stat -c %s bad.db)
python3 - <<'PY'
data = bytearray(open("bad.db", "rb").read())
for page in range(4096 * 3, len(data), 4096):
    data[page : page + 200] = b"\xa5" * 200
open("bad.db", "wb").write(data)
PY
refused 'bad.db' --db bad.db --output-folder bad
find bad -name '.*.tmp-*' 2>/dev/null | greps . && fail "a damaged database leaves $(find bad -name '.*')"
refused 'database '\''none.db'\'' not found' --db none.db --output-folder out
: >file
refused 'file' --db h.db --output-folder file
if [ "$(id -u)" != 0 ]; then
    mkdir closed && chmod 555 closed
    refused 'closed' --db h.db --output-folder closed
fi
for wrong in "--db h.db" "--output-folder x" "--db h.db --output-folder x --tables nothing" "--db h.db --output-folder x --from nonsense"; do
    code=0
    neuron-monitor export $wrong 2>err || code=$?
    [ $code = 2 ] || fail "$wrong: exit $code"
done
