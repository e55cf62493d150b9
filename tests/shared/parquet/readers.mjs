// readers TOOLS FILE... - DuckDB and hyparquet read the files of make_parquet, and must find the rows of its rules.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [tools, ...files] = process.argv.slice(2);
const require = createRequire(path.join(tools, 'package.json'));
const load = async name => import(pathToFileURL(require.resolve(name)));
const {DuckDBInstance} = await load('@duckdb/node-api');
const {parquetReadObjects, asyncBufferFromFile} =
    await import(pathToFileURL(path.join(tools, 'node_modules/hyparquet/src/node.js')));
const {compressors} = await load('hyparquet-compressors');
const db = await (await DuckDBInstance.create(':memory:')).connect();
const ask = async sql => (await db.runAndReadAll(sql)).getRowsJson();
const fail = text => { console.error(text); process.exit(1); };

// The rules of make_parquet.c.
const rule = `select make_timestamp(1700000000000000 + i * 1000)::timestamptz as time, case when i % 3 <> 0 then i - 1000 end as i64,
    case when i % 5 <> 1 then (i % 100000)::int end as i32, case when i % 7 <> 2 then i / 4::double end as f64,
    case when i % 4 <> 3 then i % 2 = 0 end as flag, case when i % 11 <> 4 then 'few-' || (i * 7919 % 300) end as few,
    'run é ' || (i // 1000) as runs, case when i % 13 <> 5 then 'many-' || i end as many, '' as one, null::varchar as none,
    case when i % 2 = 0 then printf('%02X00FF%02X', i & 255, i >> 8 & 255) end as bytes`;

await db.run("set timezone = 'UTC'");
for (const file of files) {
    const rows = Number(path.basename(file).split('-')[0]);
    const names = 'time, i64, i32, f64, flag, few, runs, many, one, none, bytes';
    const theirs = `(select ${names.replace('bytes', 'hex(bytes) as bytes')} from '${file}')`;
    const mine = `(select ${names} from (${rule} from range(${rows}) r(i)))`;
    for (const [a, b] of [[theirs, mine], [mine, theirs]]) {
        const wrong = await ask(`select * from ${a} except all select * from ${b} limit 3`);
        if (wrong.length) fail(`${file}: rows only in ${a}: ${JSON.stringify(wrong)}`);
    }
    const types = Object.fromEntries(await ask(`select column_name, column_type from (describe select * from '${file}')`));
    if (types.time !== 'TIMESTAMP WITH TIME ZONE' || types.bytes !== 'BLOB' || types.few !== 'VARCHAR') fail(`${file}: types ${JSON.stringify(types)}`);
    const pairs = await ask(`select decode(key), decode(value) from parquet_kv_metadata('${file}')`);
    if (JSON.stringify(pairs) !== '[["schema_version","1"],["table","test"]]') fail(`${file}: metadata ${JSON.stringify(pairs)}`);
    // The statistics of each row group match its rows.
    const groups = await ask(`select row_group_id, row_group_num_rows, path_in_schema, stats_min_value, stats_max_value, stats_null_count,
        encodings, compression from parquet_metadata('${file}') order by 1, column_id`);
    let first = 0;
    for (let g = 0; g < groups.length; g += 11) {
        const count = Number(groups[g][1]);
        for (const [, , name, min, max, nulls, encodings] of groups.slice(g, g + 11)) {
            const [[lo, hi, absent]] = name === 'bytes' ? [[null, null, null]] : await ask(`select min(${name})::varchar, max(${name})::varchar,
                count(*) - count(${name}) from (${rule} from range(${first}, ${first + count}) r(i))`);
            const same = (a, b) => a === b || (a !== null && b !== null && (Number(a) === Number(b) || (name === 'time' && a.slice(0, 22) === b.slice(0, 22))));
            if (!same(min, lo) || !same(max, hi)) fail(`${file}: ${name} from row ${first}: ${min} to ${max}, not ${lo} to ${hi}`);
            if (absent !== null && Number(nulls) !== Number(absent)) fail(`${file}: ${name}: ${nulls} absent, not ${absent}`);
            const coded = encodings.includes('RLE_DICTIONARY');
            const wanted = ['runs', 'few', 'one'].includes(name) && count > 600;
            if (wanted !== coded && (count > 600 || ['many', 'i64'].includes(name))) fail(`${file}: ${name} is ${encodings}`);
        }
        first += count;
    }
    if (first !== rows) fail(`${file}: ${first} rows in row groups`);
    const objects = await parquetReadObjects({file: await asyncBufferFromFile(file), compressors});
    if (objects.length !== rows) fail(`${file}: ${objects.length} rows for hyparquet`);
    objects.forEach((o, i) => {
        if (o.time.getTime() !== 1700000000000 + i || o.few !== (i % 11 !== 4 ? `few-${i * 7919 % 300}` : null) && i % 11 !== 4 ||
            o.runs !== `run é ${Math.floor(i / 1000)}` || (i % 13 !== 5 && o.many !== `many-${i}`) || o.one !== '' || o.none ||
            (i % 7 !== 2 && o.f64 !== i / 4)) fail(`${file}: row ${i} is ${JSON.stringify(o, (k, v) => typeof v === 'bigint' ? Number(v) : v)} for hyparquet`);
    });
}

console.log(files.length, 'files');
