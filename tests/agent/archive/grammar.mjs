// grammar TOOLS ENGINE:FILE... - prints the syntax errors of SQL files in the grammar of trino, spark or hive.
import fs from 'node:fs';
import path from 'node:path';
import {register} from 'node:module';
import {pathToFileURL} from 'node:url';

const [tools, ...texts] = process.argv.slice(2);
// The package imports its files without ".js", which node rejects.
register('data:text/javascript,' + encodeURIComponent(`
    import fs from 'node:fs';
    export const resolve = (name, context, next) => {
        const ending = context.parentURL?.includes('/dt-sql-parser/') && name.startsWith('.') &&
            ['.js', '/index.js'].find(ending => fs.existsSync(new URL(name + ending, context.parentURL)));
        return next(ending ? name + ending : name, context);
    };`));
const {TrinoSQL, SparkSQL, HiveSQL} = await import(pathToFileURL(path.join(tools, 'node_modules/dt-sql-parser/dist/index.js')));
const parsers = {trino: new TrinoSQL(), spark: new SparkSQL(), hive: new HiveSQL()};
for (const text of texts) {
    const [engine, file] = text.split(':');
    for (const error of parsers[engine].validate(fs.readFileSync(file, 'utf8')))
        console.log(`${engine}: ${path.basename(file)}:${error.startLine}: ${error.message.replaceAll('\n', ' ')}`);
}
