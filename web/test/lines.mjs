// The lines for a shell of every action, as JSON: internal/cli holds them to the command
// line, the document of the API and the messages of the workflows.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sources, web } from './source.mjs';

const [run, dag] = ["group/scrub-2026-11-20T09:00:00Z", 'dag/nightly/a'];
const job = { run: { workflow_id: run, run_id: '' }, id: 'job-00012' };
const task = { run: { workflow_id: dag, run_id: '' }, id: "go/it's" };
const key = { id: 'k-1f2e3d', name: 'backup', role: 'operator', job_types: ['scrub*'], created_at: '2026-11-01T09:00:00Z', expires_at: '2026-12-01T08:59:59Z' };
const form = { key: 'sda', summary: "ann's disk", priority: 'high', node: 'node-7', params: { item: 'sda', n: 3 }, ignore: true };

// Each action with what it is about, and what somebody fills in; an action that has
// fields is shown without them, too.
const table = {
  drain: [['node-7'], { reason: "ann's new disks" }],
  cordon: [['node-7'], { reason: 'new disks' }],
  uncordon: [['node-7']],
  removeWorker: [['node-7'], { reason: 'gone' }],
  resizeWorker: [['node-7', { max_execute: 4, max_detect: 1 }], { execute: '8', detect: '2', reason: 'more memory' }],
  cleanUp: [[], { all: 'true' }],
  resizePool: [['db', 3, 5], { size: '7' }],
  reEnable: [['scrub', '/srv/a b']],
  forgive: [['scrub', '/srv/a b']],
  pauseJobType: [['scrub'], { note: 'new disks' }],
  resumeJobType: [['scrub']],
  runJobType: [['scrub', false, true], { ignore: 'true' }],
  detect: [['scrub']],
  backfill: [['scrub'], { from: '2026-11-20T09:00', to: '2026-11-20T12:00' }],
  submit: [['scrub', form]],
  detectPlanned: [[{ document: 'version: 1\n' }, ['scrub', 'tidy']]],
  apply: [[{ document: 'version: 1\n' }, 'abc', [{ action: 'delete' }]], { prune: 'true' }],
  cancelRun: [[run, 'group'], { reason: 'new disks' }],
  pauseRun: [[run], { note: 'backup' }],
  resumeRun: [[run]],
  retryRun: [[{ workflow_id: run, kind: 'group' }], { missed: 'true' }],
  retryJobs: [[run, ['job-00012', 'job-00013']]],
  releaseRun: [[dag]],
  addTasks: [[dag], { text: '- {id: again, command: ["true"]}' }],
  approve: [[task], { note: 'agreed' }],
  reject: [[task], { note: 'not today' }],
  rerun: [[task]],
  skip: [[task], { reason: 'not needed' }],
  cancelTask: [[task], { reason: 'not needed' }],
  cancelJob: [[job], { reason: 'in use' }],
  expireJob: [[job], { reason: 'node burned down' }],
  createKey: [[['viewer', 'operator']], { name: "ann's laptop", role: 'operator', job_types: 'scrub*, tidy', dags: 'nightly', handlers: 'command', worker: 'node-7', days: '30' }],
  rotateKey: [[key]],
  revokeKey: [[key]],
  endSessions: [[''], { name: 'ann@example.org' }],
};
// The same with something else in it.
const others = [
  ['reEnable', ['scrub', '']],
  ['retryRun', [{ workflow_id: dag, kind: 'dag' }]],
  ['cancelRun', [dag, 'dag'], { reason: 'wrong cluster' }],
  ['submit', ['scrub', { key: '', summary: '', priority: '', node: '', params: {}, ignore: false }]],
];

const found = {};
const { curl } = await sources(async (load) => {
  for (const file of readdirSync(join(web, 'src', 'acts'))) Object.assign(found, await load(`/src/acts/${file}`));
  return load('/src/api.ts');
});
const lines = [];
function write(name, act, values) {
  const request = act.request(values);
  const temporal = act.temporal(values);
  lines.push({
    name, method: request.method, path: request.path, body: request.body ?? {}, roundsman: act.roundsman(values), curl: curl(request),
    ...(typeof temporal === 'string' ? { temporal } : { none: temporal.none }),
  });
}
for (const [name, args, values = {}] of [...Object.entries(table).map(([name, [args, values]]) => [name, args, values]), ...others]) {
  if (!found[name]) throw new Error(`no action ${name}`);
  const act = found[name](...args);
  const defaults = Object.fromEntries((act.fields ?? []).map((f) => [f.name, f.value ?? '']));
  if ((act.fields ?? []).every((f) => !f.required || f.value)) write(name, act, defaults);
  if (Object.keys(values).length > 0) write(name, act, { ...defaults, ...values });
}
// An action is a function that gives a request; what else acts/ has is for them. The lines of
// actOf come from the API; internal/cli holds those to the command line as well.
const helpers = ['flag', 'filled', 'signal', 'update', 'schedule', 'iso', 'actsOnRun', 'actsOnItem', 'actOf'];
const missing = Object.keys(found).filter((name) => !table[name] && !helpers.includes(name));
if (missing.length > 0) throw new Error(`not in the table of test/lines.mjs: ${missing.join(', ')}`);
// What the actions import may have timers, which would keep the process.
process.stdout.write(`${JSON.stringify(lines)}\n`, () => process.exit(0));
