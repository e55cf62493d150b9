// readers TOOLS PARQUET-FOLDER CSV-FOLDER - DuckDB and hyparquet read every Parquet file of a folder, and find the
// rows of the CSV.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [tools, folder, csv] = process.argv.slice(2);
const require = createRequire(path.join(tools, 'package.json'));
const load = async name => import(pathToFileURL(require.resolve(name)));
const {DuckDBInstance} = await load('@duckdb/node-api');
const {parquetReadObjects, asyncBufferFromFile} =
    await import(pathToFileURL(path.join(tools, 'node_modules/hyparquet/src/node.js')));
const db = await (await DuckDBInstance.create(':memory:')).connect();
const ask = async sql => (await db.runAndReadAll(sql)).getRowsJson();
const fail = text => { console.error(text); process.exit(1); };

for (const file of fs.readdirSync(folder).sort()) {
    const parquet = `'${path.join(folder, file)}'`;
    const text = `'${path.join(csv, file.replace('.parquet', '.csv'))}'`;
    const types = await ask(`select column_name, column_type from (describe select * from ${parquet})`);
    const columns = types.map(([name, type]) => `'${name}': '${type}'`).join(', ');
    const same = `read_csv(${text}, header = true, delim = ',', nullstr = '', allow_quoted_nulls = false, columns = {${columns}})`;
    // The same number of rows, and each row of one is a row of the other.
    const [[rows, wanted]] = await ask(`select (select count(*) from ${parquet}), (select count(*) from ${same})`);
    if (rows !== wanted) fail(`${file}: ${rows} rows for DuckDB, ${wanted} in the CSV`);
    const wrong = await ask(`select * from ${parquet} except all select * from ${same} limit 3`);
    if (wrong.length) fail(`${file}: DuckDB finds rows that the CSV lacks: ${JSON.stringify(wrong)}`);
    const objects = await parquetReadObjects({file: await asyncBufferFromFile(path.join(folder, file))});
    if (String(objects.length) !== String(rows)) fail(`${file}: ${objects.length} rows for hyparquet, ${rows} for DuckDB`);
    const figures = types.filter(([, type]) => type !== 'VARCHAR' && type !== 'BOOLEAN').map(([name]) => name);
    const [sums] = await ask(`select ${[...figures.map(name => `sum("${name}")::double`), '0'].join(', ')} from ${parquet}`);
    for (const [i, name] of figures.entries()) {
        const sum = sums[i];
        const values = objects.map(o => o[name]).filter(v => v !== null && v !== undefined);
        const mine = values.length ? values.reduce((s, v) => s + Number(v), 0) : null;
        if (mine === null ? sum !== null : Math.abs(mine - sum) > 1e-9 * Math.abs(sum)) fail(`${file}: sum of ${name}: ${mine} for hyparquet, ${sum} for DuckDB`);
    }
}
console.log(fs.readdirSync(folder).length, 'files');
