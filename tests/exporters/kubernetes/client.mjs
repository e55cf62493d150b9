// The node and its devices as a Kubernetes client sees them: one JSON object per line of stdin.
// client.mjs NODE_MODULES SERVER CA NODE
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [modules, server, ca, node] = process.argv.slice(2);
const k8s = createRequire(`${modules}/`)('@kubernetes/client-node');
const config = new k8s.KubeConfig();
config.loadFromOptions({
    clusters: [{ name: 'c', server, caData: readFileSync(ca).toString('base64') }],
    users: [{ name: 'u', token: 'admin' }],
    contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
    currentContext: 'x',
});
const core = config.makeApiClient(k8s.CoreV1Api);
const resource = config.makeApiClient(k8s.ResourceV1alpha3Api);
for await (const _ of createInterface({ input: process.stdin })) {
    const [one, events, rules] = await Promise.all([
        core.readNode({ name: node }),
        core.listNamespacedEvent({ namespace: 'default' }),
        resource.listDeviceTaintRule(),
    ]);
    const condition = one.status.conditions.find((c) => c.type === 'NeuronHealth');
    console.log(JSON.stringify({
        condition: condition && {
            status: condition.status, reason: condition.reason, message: condition.message,
            heartbeat: condition.lastHeartbeatTime.getTime(), transition: condition.lastTransitionTime.getTime(),
        },
        ready: one.status.conditions.find((c) => c.type === 'Ready').reason,
        events: events.items.map((e) => [e.type, e.reason, e.involvedObject.name]),
        taints: rules.items.map((r) => [r.metadata.name, r.spec.deviceSelector.pool, r.spec.deviceSelector.device,
            r.spec.taint.key, r.spec.taint.value ?? '', r.spec.taint.effect]).sort(),
    }));
}
