#!/bin/bash
# recipes - every recipe of docs/recipes gives the same answer in DuckDB, on the archive of two machines, and in
# SQLite, on the database of one of them. The page shows these answers; `recipes.sh --update` writes it and the
# tables of Athena, Trino and Spark.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
. "$NTK_SOURCE_DIR/tests/agent/archive/lib.sh"
needs_readers
recipes=$NTK_SOURCE_DIR/docs/recipes
update=${1:-}

# The history of a machine: four cores and two devices over three days; the driver changes on the third.
neuron-monitor --no-imds --count 1 --quiet --db empty.db
make_machine() { # NAME, NUMBER: 1 is the busier machine
    cp empty.db "$1.db"
    rm -f "$1.db"-*
    sqlite3 "$1.db" "
create temp table hours as with recursive h(n) as (select 1 union all select n + 1 from h where n < 72)
  select n, (n - 1) / 24 as day, strftime('%s', '2026-11-01') * 1000000000 + n * 3600000000000 as time_ns from h;
delete from machine_sample where time_ns < (select max(time_ns) from machine_sample); update machine_sample set time_ns = (select max(time_ns) from hours) + 1000000000; delete from machine_minute; delete from device_sample; delete from process;
update tier set first_ns = (select max(time_ns) from hours), done_ns = (select max(time_ns) from hours);
update tier set first_ns = (select min(time_ns) from hours) - 3600000000000 where tier = 'hour';
update machine set host_name = '$1', core_count = 4, driver_version = '2.28', since_ns = (select min(time_ns) from hours) - 3600000000000;
insert into machine select (select max(time_ns) from hours where day = 1) + 1, boot_id, host_name, instance_name, instance_id, instance_type, availability_zone,
  region, hardware_type, device_type, device_version, core_version, '2.31', software, device_count, cores_per_device, lnc, stack_count,
  cores_per_stack, device_memory_bytes, tensor_peak_flops, core_count from machine;
insert into machine_hour (time_ns, samples, period_ns, events_read, events_lost, events_unlisted)
  select time_ns, 3600, 3600000000000, 0, 0, 0 from hours;
insert into process (process_id, boot_id, header_pid, uid, start_time, pid, tag, command, user, container_id, runtime_version, framework_version,
  instance_type, lnc, first_seen_ns, last_seen_ns, ended_ns)
  select k, 'boot-$1', 100 + k, 1000 + k, k, 100 + k, t, 'python3 ' || t || '.py', 'user' || k, '', '', '', '', 1, (select min(time_ns) from hours),
    (select max(time_ns) from hours), null from (select 1 as k, 'train' as t union all select 2, 'notebook');
-- Training holds cores 0 to 2 and is busy for 90 % of each hour, the notebook holds core 3 and works one hour per day.
insert into core_hour (time_ns, process_id, core, samples, period_ns, busy_period_ns, busy_ns)
  select time_ns, 1, c, 3600, 3600000000000, 3600000000000, 3240000000000 / $2 from hours, (select 0 as c union all select 1 union all select 2);
insert into core_hour (time_ns, process_id, core, samples, period_ns, busy_period_ns, busy_ns)
  select time_ns, 2, 3, 3600, 3600000000000, 3600000000000, case when n % 24 = 10 then 1800000000000 else 0 end from hours;
insert into device_hour (time_ns, device, samples, mem_ecc_corrected, mem_ecc_uncorrected, sram_ecc_corrected, sram_ecc_uncorrected,
  mem_ecc_repairable_uncorrected)
  select time_ns, d, 3600, case when d = 1 and day = 2 then 5 * $2 else 1 end, 0, 0, case when $2 = 2 and n = 70 then 1 else 0 end, 0
    from hours, (select 0 as d union all select 1);
insert into model (process_id, model_id, name, neff_path, uuid, core, core_count, first_seen_ns, last_seen_ns, estimated, memory_estimated)
  select 1, m, 'model-' || m, '', '', 0, 1, (select min(time_ns) from hours), (select max(time_ns) from hours), 0, 0 from (select 1 as m union all select 2);
-- Model 1 becomes slower with the new driver, model 2 does not.
insert into model_hour (time_ns, process_id, model_id, samples, period_ns, executions, errors, total_latency_p50_ns, total_latency_p99_ns)
  select time_ns, 1, m, 3600, 3600000000000, 1000 * $2, 0, 4000000, case when day = 2 and m = 1 then 7500000 else 5000000 end
    from hours, (select 1 as m union all select 2);
insert into job (job_key, time_ns, to_ns, job_id, user, name, partition, cluster, lnc)
  select k, (select min(time_ns) from hours) - 3600000000000, case k when 1 then (select max(time_ns) from hours where day = 1) end, '$2' || k, 'u', n, 'p', 'c', 1
    from (select 1 as k, 'pretrain' as n union all select 2, 'explore');
insert into job_core (job_key, core, time_ns, to_ns) select job_key, c, time_ns, to_ns from job, (select 0 as c, 1 as k union all select 1, 1 union all select 3, 2) where k = job_key;
" || fail "cannot create the history"
    neuron-monitor export --db "$1.db" --output-folder "$3" --from 2026-11-01T00:00:00Z --to 2026-11-04T00:00:00Z >/dev/null || fail "the export failed"
}
make_machine node-1 1 one
mkdir both && cp -r one/* both
make_machine node-2 2 both

# in_duckdb ROOT RECIPE, in_sqlite DATABASE RECIPE: print the column names, then rows with "|" between cells.
in_duckdb() {
    sed "s#ROOT#$1#" "$recipes/duckdb.sql" | grep -v '^--' | sed 's/;$//' >views
    mapfile -t views <views
    node "$here/ask.mjs" "$tools" --names "${views[@]}" "$(sed 's/;$//' "$recipes/$2.sql")"
}
in_sqlite() { sqlite3 -readonly -header -cmd ".read $recipes/sqlite.sql" "$1" <"$recipes/$2.sql"; }
# Strips zeros at the end of numbers, which the two print differently.
plain() { sed -E 's/\.0+(\||$)/\1/g; s/(\.[0-9]*[1-9])0+(\||$)/\1\2/g'; }

mkdir answers
for recipe in $(python3 -c "import re; print(*re.findall('\"(\w+)\"', re.search('RECIPES = (.*)', open('$here/recipes.py').read())[1]))"); do
    in_duckdb one "$recipe" | plain >one.duckdb || fail "$recipe fails in DuckDB"
    in_sqlite node-1.db "$recipe" | plain >one.sqlite || fail "$recipe fails in SQLite"
    diff one.duckdb one.sqlite >differs.log || fail "$recipe: the answer of SQLite differs: see differs.log"
    in_duckdb both "$recipe" | plain >"answers/$recipe" || fail "$recipe fails in DuckDB"
    [ "$(wc -l <"answers/$recipe")" -gt 1 ] || fail "$recipe has no answer"
done
[ "$(ls answers | wc -l)" = "$(ls "$recipes" | grep -cvE '^(README.md|(sqlite|duckdb|clickhouse|athena|trino|spark).sql)$')" ] || fail "a recipe is not on the page"

# Expected answers for the generated data.
grep -q '^2026-11-01|2|192|51.1$' answers/utilization_by_day || fail "unexpected answer of utilization_by_day: $(cat answers/utilization_by_day)"
[ "$(sed -n 2p answers/jobs_by_waste | cut -d'|' -f 1,2)" = '12|explore' ] || fail "unexpected answer of jobs_by_waste: $(cat answers/jobs_by_waste)"
[ "$(cut -d'|' -f 1-3 answers/rising_ecc | sed -n '2,4p' | paste -sd' ')" = 'node-2|1|2026-11-03 node-2|0|2026-11-03 node-1|1|2026-11-03' ] || fail "unexpected answer of rising_ecc: $(cat answers/rising_ecc)"
grep -q '^node-1|notebook|python3 notebook.py|1002|1|69|72$' answers/held_idle || fail "unexpected answer of held_idle: $(cat answers/held_idle)"
[ "$(tail -n +2 answers/driver_regressions)" = 'model-1|2.28|2.31|2026-11-03|5|7.5|50' ] || fail "unexpected answer of driver_regressions: $(cat answers/driver_regressions)"

for engine in athena trino spark; do
    python3 "$here/recipes.py" ddl "$NTK_SOURCE_DIR/docs/formats/archive-columns.md" $engine >$engine.sql
    [ "$update" != --update ] || cp $engine.sql "$recipes"
    diff "$recipes/$engine.sql" $engine.sql >differs.log || fail "$engine.sql has outdated columns: run recipes.sh --update"
done
python3 "$here/recipes.py" page "$recipes" answers >README.md
[ "$update" != --update ] || cp README.md "$recipes"
diff "$recipes/README.md" README.md >differs.log || fail "docs/recipes/README.md has outdated answers: run recipes.sh --update"
