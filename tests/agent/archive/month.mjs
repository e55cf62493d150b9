// month TOOLS ROOT ANSWERS - queries the month of a fleet in DuckDB: compares the answers with those of make_month,
// and checks what was read.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [tools, root, answers] = process.argv.slice(2);
const require = createRequire(path.join(tools, 'package.json'));
const {DuckDBInstance} = await import(pathToFileURL(require.resolve('@duckdb/node-api')));
const db = await (await DuckDBInstance.create(':memory:')).connect();
const wanted = Object.fromEntries(fs.readFileSync(answers, 'utf8').trim().split('\n').map(line => line.split(' ')));
const fail = text => { console.error(text); process.exit(1); };
const ask = async sql => (await db.runAndReadAll(sql)).getRowsJson();
const analyze = async sql => JSON.parse((await ask(`explain (analyze, format json) ${sql}`))[0][1]);
// What the scan reports about itself: "200/6000" files where partitions were skipped, and bytes.
const scan = plan => plan.operator_type === 'TABLE_SCAN' ? plan : plan.children.map(scan).find(found => found);

await db.run("set timezone = 'UTC'");
const all = `read_parquet('${root}/core_hour/**/*.parquet', hive_partitioning = true)`;
const busy = 'sum(busy_ns) // 1000000000';

const [[rows, sum, hosts, days, clusters]] =
    await ask(`select count(*), ${busy}, count(distinct host), count(distinct date), count(distinct cluster) from ${all}`);
if (`${rows} ${sum} ${hosts} ${days} ${clusters}` !== `${wanted.rows} ${wanted.all} 200 30 2`)
    fail(`of the month DuckDB finds ${rows} rows, ${sum} s busy, ${hosts} hosts, ${days} days, ${clusters} clusters`);

const check = async (name, where, files) => {
    const sql = `select ${busy} from ${all} where ${where}`;
    const plan = await analyze(`create or replace temp table answer as ${sql}`);
    const [[found]] = await ask('from answer');
    if (String(found) !== wanted[name]) fail(`${where}: ${found} s busy, not ${wanted[name]}`);
    const scanned = scan(plan).extra_info['Scanning Files'];
    if (scanned !== `${files}/6000`) fail(`${where}: ${scanned} files, not ${files}: ${JSON.stringify(scan(plan).extra_info)}`);
    console.log(`${where}: ${scanned} files`);
};
await check('day', "date = '2026-11-07'", 200);
await check('hour', "date = '2026-11-07' and host = 'node-0123' and time = '2026-11-07 03:00:00+00'", 1);
// A path that names the days lists no other files.
const week = `read_parquet(['${root}/core_hour/cluster=odd/date=2026-11-08/**/*.parquet', '${root}/core_hour/cluster=odd/date=2026-11-09/**/*.parquet',
    '${root}/core_hour/cluster=odd/date=2026-11-1[0-4]/**/*.parquet'], hive_partitioning = true)`;
const [[odd]] = await ask(`select ${busy} from ${week}`);
if (String(odd) !== wanted.week) fail(`a week of a cluster: ${odd}, not ${wanted.week}`);
const [[host]] = await ask(`select ${busy} from '${root}/core_hour/*/*/host=node-0123/*.parquet'`);
if (String(host) !== wanted.host) fail(`a host: ${host}, not ${wanted.host}`);

// For the last minutes only the last row group is read, so the size of the others does not matter.
const [[file]] = await ask(`select file from glob('${root}/core_sample/**/*.parquet')`);
const places = await ask(`select row_group_id, min(coalesce(dictionary_page_offset, data_page_offset))::int from parquet_metadata('${file}') group by 1 order by 1`);
if (places.length !== 4) fail(`${places.length} row groups`);
const spoilt = path.join(root, 'spoilt.parquet');
const bytes = fs.readFileSync(file);
bytes.fill(0xa5, places[0][1], places[3][1]);
fs.writeFileSync(spoilt, bytes);
const end = async (from, where) => (await ask(`select count(*), sum(busy_ns), min(process), max(tag) from '${from}' where ${where}`)).join();
const late = "time > '2026-11-04 01:05:00+00'";
if (await end(spoilt, late) !== await end(file, late)) fail('the end differs without the other row groups');
const error = await end(spoilt, "time > '2026-11-04 01:00:00+00'").catch(error => error.message);
if (!/spoilt|thrift|invalid|corrupt|TProtocol|decompress/i.test(error)) fail(`a row group that is spoilt reads as ${error}`);
if (!(await end(file, late)).startsWith('10000,')) fail(`of the end ${await end(file, late)}`);
console.log(`1 of ${places.length} row groups`);
