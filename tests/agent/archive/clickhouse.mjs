// clickhouse TOOLS VIEWS ANSWERS FILE.sql... - runs the statements of VIEWS in ClickHouse, then the query of each FILE,
// and writes the answer to ANSWERS/FILE: column names, then one line per row, cells separated by "|".
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';

const [tools, views, answers, ...files] = process.argv.slice(2);
const {Session} = createRequire(path.join(tools, 'package.json'))('chdb');
const session = new Session(path.join(answers, 'session'));
const ask = (name, sql) => {
    try {
        return String(session.query(sql, 'TSVWithNames'));
    } catch (error) {
        console.error(`${name}: ${sql.slice(0, 200)}: ${error.message}`);
        process.exit(1);
    }
};
const text = file => fs.readFileSync(file, 'utf8').replace(/^--.*\n/gm, '');
for (const statement of text(views).split(/;\n/).filter(statement => statement.trim())) ask(views, statement);
for (const file of files) {
    const name = path.basename(file, '.sql');
    const cells = ask(name, text(file)).replace(/\\N/g, '').replace(/\t/g, '|');
    fs.writeFileSync(path.join(answers, name), cells);
}
session.cleanup();
