// SPDX-License-Identifier: MIT
// clients TOOLS ENDPOINT NEFF - tests neuron-rtd with a different gRPC implementation: health as in its package, and
// a client that knows only what reflection returns.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';

const [tools, endpoint, neffPath] = process.argv.slice(2);
const require = createRequire(`${tools}/package.json`);
const grpc = require('@grpc/grpc-js');
const health = require('grpc-health-check');
const { GrpcReflection } = require('grpc-js-reflection-client');

const neff = fs.readFileSync(neffPath);
const credentials = grpc.credentials.createInsecure();
const options = { 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };
const unary = (client, method, message) => new Promise((resolve, reject) =>
    client[method](message, (error, answer) => error ? reject(error) : resolve(answer)));
const codeOf = promise => promise.then(() => grpc.status.OK, error => error.code);

// ---- health ----

const Health = grpc.makeClientConstructor(health.service, 'Health');
const asked = new Health(endpoint, credentials);
for (const service of ['', 'nrt.nmgr_v1']) {
    assert.equal((await unary(asked, 'Check', { service })).status, 'SERVING', service);
}
assert.equal(await codeOf(unary(asked, 'Check', { service: 'nrt' })), grpc.status.NOT_FOUND);
for (const [service, status] of [['', 'SERVING'], ['nrt.nmgr_v1', 'SERVING'], ['nrt', 'SERVICE_UNKNOWN']]) {
    const watch = asked.Watch({ service });
    watch.on('error', error => assert.equal(error.code, grpc.status.CANCELLED));
    const first = await new Promise(resolve => watch.once('data', resolve));
    assert.equal(first.status, status, service);
    watch.cancel();
}

// ---- a client without a definition ----

const input = Buffer.alloc(128 * 64 * 4, 1);
for (const version of ['v1', 'v1alpha']) {
    const reflection = new GrpcReflection(endpoint, credentials, {}, version);
    const services = await reflection.listServices();
    for (const service of services) {
        assert((await reflection.listMethods(service)).length > 0, service);
    }
    assert(services.includes('nrt.nmgr_v1') && services.includes('openneuron.rtd.v1.model_table'));
    assert.equal((await reflection.listMethods('nrt.nmgr_v1')).length, 25);
    await assert.rejects(reflection.getDescriptorBySymbol('nrt.nothing'));
    await assert.rejects(reflection.getDescriptorByFileName('nothing.proto'));

    const load = async symbol => {
        let found = (await reflection.getDescriptorBySymbol(symbol)).getPackageObject(
            { keepCase: true, enums: String, longs: String, defaults: true, oneofs: true });
        for (const part of symbol.split('.')) found = found[part];
        return new found(endpoint, credentials, options);
    };
    const manager = await load('nrt.nmgr_v1');
    assert.equal((await unary(manager, 'get_version', {})).runtime_version.full_version, '1.6.24.0');
    const loaded = await new Promise((resolve, reject) => {
        const call = manager.load((error, answer) => error ? reject(error) : resolve(answer));
        call.write({ neff_size: neff.length });
        call.write({ model_params: { ninfer: { data: 4 } } });
        for (let at = 0; at < neff.length; at += 1000) {
            call.write({ neff_chunk: { chunk: neff.subarray(at, at + 1000) } });
        }
        call.end();
    });
    assert.equal(loaded.status.code, 0, `${loaded.status.details}`);
    const request = { h_nn: loaded.h_nn, ifmap: [{ name: 'in', buf: input }] };
    const answer = await unary(manager, 'infer', request);
    assert.equal(answer.status.code, 0);
    assert(answer.ofmap[0].buf.equals(input));

    const table = await load('openneuron.rtd.v1.model_table');
    const { models } = await unary(table, 'list', {});
    assert.deepEqual(models.map(model => [model.id, model.status]), [[loaded.h_nn.id, 'MODEL_READY']]);

    const answers = await new Promise(async (resolve, reject) => {
        const all = [];
        const call = (await load('nrt.nmgr_stream')).infer_stream();
        call.on('data', one => { all.push(one); if (all.length < 50) call.write(request); else call.end(); });
        call.on('error', reject);
        call.on('end', () => resolve(all));
        call.write(request);
    });
    assert.equal(answers.length, 50);
    assert(answers.every(one => one.status.code === 0 && one.ofmap[0].buf.equals(input)));

    const { nmgr_counters: counters } = await unary(manager, 'read_inference_counters', {});
    assert.equal(Number(counters.infer_count) % 51, 0);
    assert.equal((await unary(manager, 'unload', { h_nn: loaded.h_nn })).status.code, 0);
    assert.equal((await unary(table, 'list', {})).models.length, 0);
}
console.log('all');
process.exit(0);
