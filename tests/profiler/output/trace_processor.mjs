// trace_processor ASSETS TRACE SQL... - asks Perfetto's trace processor (WebAssembly of the npm package) about a
// trace.
// Prints rows as JSON arrays, one query per line; the time to read the file goes to stderr.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {pathToFileURL} from 'node:url';

const [assets, trace, ...queries] = process.argv.slice(2);
const asset = url => fs.readFileSync(path.join(assets, path.basename(String(url))));

// The engine is made for a browser worker: these are the globals that it looks up.
const place = value => ({value, configurable: true, writable: true});
Object.defineProperties(globalThis, {self: place(globalThis), location: place({href: pathToFileURL(assets).href + '/'})});
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.fetch = async url => new Response(asset(url), {headers: {'content-type': 'application/wasm'}});
globalThis.XMLHttpRequest = class {
    open(method, url) { this.url = url; }
    send() {
        const bytes = asset(this.url);
        this.status = 200;
        this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
};
const noise = /Unexpected QueryResult|mprotect/;
for (const name of ['warn', 'error', 'log']) {
    const print = console[name];
    console[name] = (...args) => { if (!noise.test(String(args[0])) && !/^Loading trace/.test(String(args[0]))) print(...args); };
}

vm.runInThisContext(fs.readFileSync(path.join(assets, 'engine_bundle.node.js'), 'utf8'));
const {EngineBase} = await import(pathToFileURL(path.resolve(assets, 'engine.mjs')).href);
const channel = new MessageChannel();
globalThis.onmessage({data: channel.port1});
class Engine extends EngineBase {
    constructor(port) {
        super();
        this.port = port;
        port.onmessage = message => this.onRpcResponseBytes(message.data);
    }
    rpcSendRequestBytes(bytes) { this.port.postMessage(bytes); }
}
const engine = new Engine(channel.port2);
await engine.query('select 1'); // it is ready

const bytes = new Uint8Array(fs.readFileSync(trace));
const start = performance.now();
await engine.parse(bytes);
await engine.notifyEof();
console.error(`${bytes.length} bytes in ${Math.round(performance.now() - start)} ms`);
for (const query of queries) {
    const result = await engine.query(query);
    const columns = result.columns();
    const rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) {
        rows.push(columns.map(name => { const v = row.get(name); return typeof v === 'bigint' ? Number(v) : v; }));
    }
    console.log(JSON.stringify(rows));
}
process.exit();
