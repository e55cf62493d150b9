#!/bin/bash
# readers - exported profiles in the programs that users open them with (docs/decisions/testing.md).
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/profiler/output
needs jq
needs_npm @duckdb/node-api hyparquet
cp "$NTK_SOURCE_DIR/tests/corpus/ntff/sample_v6.ntff" .
neuron-packager example memcpy -o big.neff -s 4096 -r 1000 >/dev/null
neuron-profile capture -n big.neff -s big.ntff >/dev/null 2>&1 || fail "the capture failed"

for run in "sample -s sample_v6.ntff -n -" "big -s big.ntff -n big.neff"; do
    set -- $run
    name=$1
    shift
    neuron-profile view "$@" --output-format parquet --output-file "$name.parquet.d"
    neuron-profile view "$@" --output-format csv --output-file "$name.csv.d"
    node "$here/readers.mjs" "$tools" "$name.parquet.d" "$name.csv.d" >out 2>err || fail "$name: unexpected output"
    grep -q '^[12][0-9] files$' out || fail "$name: unexpected output"
done

# ---- traces in the trace processor: the same sums as in the tables ----
processor=$tools/package/assets/trace-processor
[ -d "$processor" ] || fail "no trace processor below build/tools/npm"
# 13 MB of WebAssembly that run for a second: optimizing them would take most of the time, so it is disabled if
# possible.
quick=$(node --v8-options | grep -o -e '^ *--liftoff-only' | tr -d ' ') || true
neuron-packager example attention -o attention.neff >/dev/null
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null 2>&1 || fail "the capture failed"
lost="select name, value from stats where value > 0 and (severity in ('error', 'data_loss')
    or name like '%skipped%' or name like '%incremental%')"
slices="select name, count(*), sum(dur), min(ts), max(ts + dur) from slice group by 1 order by 1"
# Only counters from tables: trace_rows.py checks the others.
counters="select name, count(*), min(ts), max(ts) from counter join counter_track on track_id = counter_track.id
    where name not glob '* live*' and name not glob 'MFU*' and name not glob 'HBM [rw]*' group by 1 order by 1"
for run in "sample -s sample_v6.ntff -n -" "attention -s attention.ntff -n attention.neff"; do
    set -- $run
    name=$1
    shift
    neuron-profile view "$@" --output-format sqlite --output-file "$name.sqlite"
    for format in perfetto chrome; do
        neuron-profile view "$@" --output-format $format --output-file "$name.$format" --show-perfetto-flows
    done
    for format in perfetto chrome; do
        prefix=debug
        io=io
        # Chrome's counters are named with the key of their value, and kinds of queues as in the tables.
        [ $format = perfetto ] || { prefix=args io=unknown; }
        node $quick "$here/trace_processor.mjs" "$processor" "$name.$format" "$lost" "$slices" "$counters" \
            "select sum(extract_arg(arg_set_id, '$prefix.pc')), sum(extract_arg(arg_set_id, '$prefix.bytes')),
                count(extract_arg(arg_set_id, '$prefix.layer')) from slice" \
            "select process.name, thread.name, count(*) from slice join thread_track on track_id = thread_track.id
                join thread using (utid) join process using (upid) where thread.name in ('Tensor', 'Scalar') group by 1, 2 order by 1, 2" \
            "with place as (select slice.id, lower(thread.name) engine, ts, extract_arg(slice.arg_set_id, '$prefix.pc') pc from slice
                join thread_track on track_id = thread_track.id join thread using (utid))
                select a.engine, a.ts, a.pc, b.engine, b.ts, b.pc from flow join place a on a.id = slice_out join place b on b.id = slice_in" \
            >answers 2>err || fail "$name.$format: the trace processor failed"
        suffix() { [ $format = chrome ] && echo "|| ' $1'" || true; }
        sqlite3 -readonly "$name.sqlite" "
            select '[]';
            select json_group_array(json_array(name, n, d, s, e)) from (select name, count(*) n, sum(d) d, min(s) s, max(s + d) e from
                (select opcode name, duration_ns d, start_ts s from Instruction union all
                 select case queue_type when 'unknown' then '$io' else queue_type end, duration_ns, start_ts from DmaPacket union all
                 select coalesce(op, 'transfer'), duration_ns, start_ts from DmaPacketAggregated)
                group by 1 order by 1);
            select json_group_array(json_array(name, n, s, e)) from (select name, count(*) n, min(t) s, max(t) e from
                (select 'DMA throughput' $(suffix B/s) name, timestamp t from DmaUsage union all
                 select 'Pending DMA' $(suffix transfers), timestamp from PendingDma union all
                 select 'Throttle limit' $(suffix 'of 1'), timestamp from Throttle union all
                 select 'Semaphore ' || id $(suffix value), timestamp from SemaphoreUpdate) group by 1 order by 1);
            select json_array(json_array((select sum(pc) from Instruction), (select sum(transfer_bytes) from DmaPacket) +
                (select coalesce(sum(packet_bytes), 0) from DmaPacketAggregated),
                (select count(nullif(layer, '')) from Instruction)));" >wanted
        head -4 answers | diff wanted - >&2 || fail "$name.$format: unexpected values from the trace processor"
        jq -e 'length > 0 and all(.[]; .[0] | test("^NC [0-9]+ \\(sg00\\)$"))' <(sed -n 5p answers) >/dev/null ||
            fail "$name.$format: processes and threads are $(sed -n 5p answers)"
        tail -n 1 answers >arrows
        [ $name = sample ] || [ "$(jq length arrows)" -gt 10 ] || fail "$name.$format: arrows are $(cat arrows)"
        # Arrows: one to each waiting instruction, from an instruction that changes its semaphore, from the transfer
        # that does, or from the instruction that started it; and one to each transfer, from the instruction that
        # started it.
        sqlite3 "$name.sqlite" "
            create temp table arrow as select json_extract(value, '\$[0]') from_engine, json_extract(value, '\$[1]') from_ts,
                json_extract(value, '\$[2]') from_pc, json_extract(value, '\$[3]') to_engine, json_extract(value, '\$[4]') to_ts,
                json_extract(value, '\$[5]') to_pc from json_each(readfile('$PWD/arrows'));
            create temp table waiting as select engine, start_ts, pc, opcode, substr(operands, instr(operands, 'wait=s') + 5,
                instr(operands, '>=') - instr(operands, 'wait=s') - 5) what from Instruction where operands like '%wait=s%>=%';
            create temp view wait_arrow as select * from arrow where to_engine not like 'transfers %';
            create temp view begin_arrow as select * from arrow where to_engine like 'transfers %';
            select (select count(*) from waiting) = (select count(*) from wait_arrow), count(*) = (select count(*) from wait_arrow),
                total(a.operands like '%signal=' || what || '+%' or a.opcode = 'DMA_TRIGGER' or d.id) = count(*),
                (select count(*) from begin_arrow) = (select count(*) from DmaPacketAggregated),
                (select count(*) from begin_arrow join DmaPacketAggregated t on ('transfers ' || lower(t.queue_name), t.start_ts) =
                    (to_engine, to_ts) join Instruction i on i.id = t.trigger and (i.engine, i.start_ts, i.pc) =
                    (from_engine, from_ts, from_pc)) = (select count(*) from DmaPacketAggregated)
            from wait_arrow join waiting b on (b.engine, b.start_ts, b.pc) = (to_engine, to_ts, to_pc)
                left join Instruction a on (a.engine, a.start_ts, a.pc) = (from_engine, from_ts, from_pc)
                left join DmaPacketAggregated d on ('transfers ' || lower(d.queue_name), d.start_ts) = (from_engine, from_ts)" >checks
        [ "$(cat checks)" = '1|1|1|1|1' ] || fail "$name.$format: the arrows differ from the waits: $(cat checks), $(cat arrows)"
    done
done

# ---- a folder of an inspection: host and capture on one clock, nothing lost, arrows from call to core ----
neuron-profile inspect -o folder --capture-system-profiles --capture-device-profiles -- neuron-bench exec attention.neff --count 3 \
    >/dev/null 2>&1 || fail "inspect failed"
for format in sqlite perfetto chrome; do
    neuron-profile view -d folder --output-format $format --output-file "folder.$format" --show-perfetto-flows 2>err || fail "folder.$format: the export failed"
done
sqlite3 -readonly folder.sqlite "
    select '[]';
    select json_group_array(json_array(name, n, d)) from (select name, count(*) n, sum(duration_ns) d from SystemProfileEvents group by 1 order by 1);
    select json_array(json_array(3, (select min(start_ts) - first_ts_ns from SystemProfileEvents, SystemProfileMetadata)))" >wanted
for format in perfetto chrome; do
    prefix=debug
    [ $format = perfetto ] || prefix=args
    node $quick "$here/trace_processor.mjs" "$processor" "folder.$format" "$lost" \
        "select name, count(*), sum(dur) from slice where extract_arg(arg_set_id, '$prefix.id') is not null group by 1 order by 1" \
        "select (select count(*) from slice where name = 'nc_exec_running'), min(ts) from slice
            where extract_arg(arg_set_id, '$prefix.id') is not null" \
        "select count(*) > 0, min(slice.ts) >= (select min(ts) from slice where name = 'nc_exec_running') from slice
            join thread_track on track_id = thread_track.id join thread using (utid) where thread.name = 'Tensor'" \
        "select sum(extract_arg(o.arg_set_id, '$prefix.id') is not null), sum(extract_arg(o.arg_set_id, '$prefix.pc') is not null),
            sum(o.ts > i.ts) from flow join slice o on o.id = slice_out join slice i on i.id = slice_in" >answers 2>err || fail "folder.$format: the trace processor failed"
    head -3 answers | diff wanted - >&2 || fail "folder.$format: unexpected values from the trace processor"
    [ "$(sed -n 4p answers)" = '[[1,1]]' ] || fail "folder.$format: the capture is not where it ran: $(sed -n 4p answers)"
    # The capture has its NEFF next to it: instructions end 20 waits (a transfer, which has no pc, ends 3) and start
    # 6 transfers.
    [ "$(sed -n 5p answers)" = "[[$([ $format = chrome ] && echo 0 || echo 15),26,0]]" ] || fail "folder.$format: arrows are $(sed -n 5p answers)"
done
neuron-profile view -d folder --output-format kineto --output-file folder.kineto || fail "folder: the export to kineto failed"
node $quick "$here/trace_processor.mjs" "$processor" folder.kineto/rank_0.json "$lost" \
    "select name, count(*), sum(dur) from slice where category != 'cpu_instant_event' group by 1 order by 1" >answers 2>err ||
    fail "kineto: the trace processor failed"
jq -c '[], ([.traceEvents[] | select(.ph == "X")] | group_by(.name) | map([.[0].name, length, (map(.dur * 1000 | round) | add)]))' \
    folder.kineto/rank_0.json | diff - answers >&2 || fail "kineto: unexpected values from the trace processor"
neuron-profile view -d folder --output-format parquet --output-file folder.parquet.d
neuron-profile view -d folder --output-format csv --output-file folder.csv.d
node "$here/readers.mjs" "$tools" folder.parquet.d folder.csv.d >out.txt 2>err || fail "the readers reject the tables of the folder"
