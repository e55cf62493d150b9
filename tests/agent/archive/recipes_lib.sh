# recipes_lib.sh - the history that the tests of docs/recipes query; source it after lib.sh.
recipes=$NTK_SOURCE_DIR/docs/recipes
names=$(python3 -c "import re; print(*re.findall('\"(\\w+)\"', re.search('RECIPES = (.*)', open('$here/recipes.py').read())[1]))")
mapfile -t queries < <(printf "$recipes/%s.sql\n" $names)
# example_of ENGINE: the query in docs/formats/archive.md.
example_of() { sed -n "/^In $1:/,/^\`\`\`\$/p" "$NTK_SOURCE_DIR/docs/formats/archive.md" | sed '1,/^```sql/d; /^```/d'; }

# make_machine creates NAME.db, the history of four cores and two devices over three days; the driver
# changes on the third. Number 1 is the busier machine. With SCALE, its hours are that much longer.
make_machine() { # NAME NUMBER [SCALE]
    local scale=${3:-1}
    [ -e empty.db ] || neuron-monitor --no-imds --count 1 --quiet --db empty.db
    cp empty.db "$1.db"
    rm -f "$1.db"-*
    sqlite3 "$1.db" "
create temp table hours as with recursive h(n) as (select 1 union all select n + 1 from h where n < 72)
  select n, (n - 1) / 24 as day, strftime('%s', '2026-11-01') * 1000000000 + n * 3600000000000 as time_ns from h;
delete from machine_sample where time_ns < (select max(time_ns) from machine_sample); update machine_sample set time_ns = (select max(time_ns) from hours) + 1000000000; delete from machine_minute; delete from device_sample_packed; delete from process;
update tier set first_ns = (select max(time_ns) from hours), done_ns = (select max(time_ns) from hours);
update tier set first_ns = (select min(time_ns) from hours) - 3600000000000 where tier = 'hour';
update machine set host_name = '$1', core_count = 4, driver_version = '2.28', since_ns = (select min(time_ns) from hours) - 3600000000000;
insert into machine select (select max(time_ns) from hours where day = 1) + 1, boot_id, host_name, instance_name, instance_id, instance_type, availability_zone,
  region, hardware_type, device_type, device_version, core_version, '2.31', software, device_count, cores_per_device, lnc, stack_count,
  cores_per_stack, device_memory_bytes, tensor_peak_flops, core_count from machine;
insert into machine_hour (time_ns, samples, period_ns, events_read, events_lost, events_unlisted)
  select time_ns, 3600, 3600000000000 * $scale, 0, 0, 0 from hours;
insert into process (process_id, boot_id, header_pid, uid, start_time, pid, tag, command, user, container_id, runtime_version, framework_version,
  instance_type, lnc, first_seen_ns, last_seen_ns, ended_ns)
  select k, 'boot-$1', 100 + k, 1000 + k, k, 100 + k, t, 'python3 ' || t || '.py', 'user' || k, '', '', '', '', 1, (select min(time_ns) from hours),
    (select max(time_ns) from hours), null from (select 1 as k, 'train' as t union all select 2, 'notebook');
-- Training holds cores 0 to 2 and is busy for 90 % of each hour, the notebook holds core 3 and works one hour per day.
create table core_hour_plain as
  select time_ns, 1 as process_id, c as core, 3600 as samples, 3600000000000 * $scale as period_ns, 3600000000000 as busy_period_ns,
    3240000000000 / $2 * $scale as busy_ns from hours, (select 0 as c union all select 1 union all select 2)
  union all select time_ns, 2, 3, 3600, 3600000000000 * $scale, 3600000000000, case when n % 24 = 10 then 1800000000000 * $scale else 0 end from hours;
create table device_hour_plain as
  select time_ns, d as device, 3600 as samples, case when d = 1 and day = 2 then 5 * $2 else 1 end as mem_ecc_corrected,
    0 as mem_ecc_uncorrected, 0 as sram_ecc_corrected, 0 as mem_ecc_repairable_uncorrected,
    case when ($2 = 2 and n = 70) or ($2 = 1 and n = 3 and d = 0) then 1 else 0 end as sram_ecc_uncorrected
    from hours, (select 0 as d union all select 1);
insert into model (process_id, model_id, name, neff_path, uuid, core, core_count, first_seen_ns, last_seen_ns, estimated, memory_estimated)
  select 1, m, 'model-' || m, '', '', 0, 1, (select min(time_ns) from hours), (select max(time_ns) from hours), 0, 0 from (select 1 as m union all select 2);
-- Model 1 becomes slower with the new driver, model 2 does not. The latency of one hour is unknown.
insert into model_hour (time_ns, process_id, model_id, samples, period_ns, executions, errors, total_latency_p50_ns, total_latency_p99_ns)
  select time_ns, 1, m, 3600, 3600000000000, 1000 * $2, 0, 4000000, case when n = 60 then null when day = 2 and m = 1 then 7500000 else 5000000 end
    from hours, (select 1 as m union all select 2);
insert into job (job_key, time_ns, to_ns, job_id, user, name, partition, cluster, lnc)
  select k, (select min(time_ns) from hours) - 3600000000000, case k when 1 then (select max(time_ns) from hours where day = 1) end, '$2' || k, 'u', n, 'p', 'c', 1
    from (select 1 as k, 'pretrain' as n union all select 2, 'explore');
insert into job_core (job_key, core, time_ns, to_ns) select job_key, c, time_ns, to_ns from job, (select 0 as c, 1 as k union all select 1, 1 union all select 3, 2) where k = job_key;
" && python3 "$here/pack.py" "$1.db" || fail "cannot create the history"
}
# export_days NAME PLACE OPTION...: exports the three days of NAME.db.
export_days() {
    neuron-monitor export --db "$1.db" --output-folder "${@:2}" --from 2026-11-01T00:00:00Z --to 2026-11-04T00:00:00Z >/dev/null || fail "the export failed"
}

# in_duckdb ROOT RECIPE: prints the column names, then rows with "|" between cells.
in_duckdb() {
    sed "/^--/d; s#ROOT#$1#" "$recipes/duckdb.sql" | tr '\n' ' ' | sed 's/; */\n/g' >views
    mapfile -t views <views
    node "$here/ask.mjs" "$tools" --names "${views[@]}" "$(sed 's/;$//' "$recipes/$2.sql")"
}
# Strips zeros at the end of numbers, which engines print differently.
plain() { sed -E 's/\.0+(\||$)/\1/g; s/(\.[0-9]*[1-9])0+(\||$)/\1\2/g'; }
