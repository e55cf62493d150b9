// Objects as the published OpenAPI of Kubernetes and the definitions of the Prometheus operator have them.
// schemas.mjs NODE_MODULES FILE...: a file is a JSON list of objects. Each fault is a line "FILE: KIND NAME: FAULT", and a
// file without one is "FILE: N objects". kubernetes-models knows values and required fields, @kubernetes/client-node all names.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [modules, ...files] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const k8s = require('@kubernetes/client-node');

async function model({ apiVersion, kind }) {
    const library = apiVersion.includes('monitoring.coreos.com') ? '@kubernetes-models/prometheus-operator' : 'kubernetes-models';
    try {
        return (await import(pathToFileURL(`${modules}/${library}/${apiVersion}/${kind}.js`)))[kind];
    } catch {
        return undefined;
    }
}

// Unknown fields below an object of a type, such as "V1Pod" or "Array<V1Volume>".
function* unknown(value, type, path) {
    const list = /^(?:Array|Set)<(.*)>$/.exec(type);
    if (list && Array.isArray(value)) {
        for (const [i, item] of value.entries()) yield* unknown(item, list[1], `${path}.${i}`);
        return;
    }
    const fields = k8s[type]?.getAttributeTypeMap?.();
    if (!fields || value === null || typeof value !== 'object') return;
    for (const [key, inner] of Object.entries(value)) {
        const field = fields.find((f) => f.baseName === key);
        if (field) yield* unknown(inner, field.type, `${path}.${key}`);
        else yield `${path}.${key} is unknown`;
    }
}

async function* faults(object) {
    const found = await model(object);
    if (!found) {
        yield `${object.apiVersion} has no such kind`;
        return;
    }
    try {
        new found(object).validate();
    } catch (error) {
        yield error.message;
    }
    const [version, group] = object.apiVersion.split('/').reverse();
    if (!group?.includes('monitoring')) {
        const type = version[0].toUpperCase() + version.slice(1) + object.kind;
        if (k8s[type]) yield* unknown(object, type, '');
        else yield `the client has no ${type}`;
    }
}

for (const file of files) {
    const objects = JSON.parse(readFileSync(file));
    let good = true;
    for (const object of objects) {
        for await (const fault of faults(object)) {
            console.log(`${file}: ${object.kind} ${object.metadata?.name}: ${fault}`);
            good = false;
        }
    }
    if (good) console.log(`${file}: ${objects.length} objects`);
}
