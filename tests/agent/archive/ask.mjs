// ask TOOLS [--names] SQL... - prints answers of DuckDB, one line per row, cells separated by "|"; --names: column
// names first.
// hyparquet:FILE instead of SQL: prints how many rows hyparquet reads, and the smallest and largest time.
import path from 'node:path';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const [tools, ...questions] = process.argv.slice(2);
const require = createRequire(path.join(tools, 'package.json'));
const load = async name => import(pathToFileURL(require.resolve(name)));
const {DuckDBInstance} = await load('@duckdb/node-api');
const db = await (await DuckDBInstance.create(':memory:')).connect();
await db.run("set timezone = 'UTC'");
const hasNames = questions[0] === '--names';
for (const question of questions.slice(hasNames ? 1 : 0)) {
    if (question.startsWith('hyparquet:')) {
        const {parquetReadObjects, asyncBufferFromFile} =
            await import(pathToFileURL(path.join(tools, 'node_modules/hyparquet/src/node.js')));
        const {compressors} = await load('hyparquet-compressors');
        const rows = await parquetReadObjects({file: await asyncBufferFromFile(question.slice(10)), compressors});
        const times = rows.map(row => row.time.getTime());
        console.log([rows.length, Math.min(...times), Math.max(...times)].join('|'));
        continue;
    }
    try {
        const answer = await db.runAndReadAll(question);
        if (hasNames && answer.columnNames().length && answer.currentRowCount) console.log(answer.columnNames().join('|'));
        for (const row of answer.getRowsJson()) console.log(row.map(cell => cell === null ? '' : cell).join('|'));
    } catch (error) {
        console.error(`${question}: ${error.message}`);
        process.exit(1);
    }
}
