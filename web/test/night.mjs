// One night of an installation for pictures: most things are well, and five need a person.
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { binary, key, until } from './stage.mjs';

// access asks for a log-in: the pictures show who did what.
export const access = `access:
  keys: true
  roles: {auditor: [view audit, view runs]}
  bindings:
    - {group: sre, role: admin}
    - {group: storage, role: operator, job_types: ["scrub*", rebalance]}
    - {subject: eve@example.org, role: auditor}
`;

export const configuration = `version: 1
notify:
  receivers: {oncall: {webhook: {url: "http://127.0.0.1:9/hook", allow_private: true}}}
  rules: [{on: [approval], to: [oncall]}]
lanes: {disk-io: {exclusive: true}}
resources: {db: 4, repository: 1}
job_types:
  scrub:
    handler: command
    description: Reads every volume and compares its checksums.
    schedule: {every: 12h, first_run: scheduled}
    lane: disk-io
    policy: {interactive: true, concurrency: 48, max_runtime: 6h, timeout: 5h, max_jobs_per_detection: 10000, retry_limit: 1}
    detect: {command: [seq, -f, "vol-%05g", "1", "10000"], format: lines}
    execute:
      command: [sh, -c, 'n=\${1#vol-}; case $n in *137|*811) echo "read $1: block 4711: checksum mismatch" >&2; exit 3;; *0500) echo "open $1: no such device" >&2; exit 4;; 06[3-9]*|0[7-9]*|1*) echo "::progress 40 reading $1"; sleep 3000;; esac; echo "verified $1"', sh, "{{.Params.item}}"]
  pg_dump:
    handler: command
    description: Dumps each database and verifies the dump.
    schedule: {cron: ["0 3 * * *"], timezone: Europe/Berlin}
    resources: {db: 1}
    policy: {retry_limit: 1}
    detect: {command: [printf, '%s\\n', accounts, billing, events, orders, search, users], format: lines}
    execute: {command: [sh, -c, '[ "$1" != events ] || { echo "pg_dump: writing $1.dump" >&2; echo "could not write to output file: No space left on device" >&2; exit 1; }; sleep 0.2; echo "dumped $1"', sh, "{{.Params.item}}"]}
  log_rotate:
    handler: command
    description: Compresses and ships the logs of each node.
    schedule: {every: 30m, first_run: scheduled}
    detect: {command: [printf, '%s\\n', access, audit, error, slow], format: lines}
    execute: {command: [sh, -c, 'sleep "0.$(date +%N | cut -c1)"; echo "compressed $1"', sh, "{{.Params.item}}"]}
  mount_check:
    handler: command
    description: Looks for mounts that do not answer.
    schedule: {every: 20s}
    detect: {command: [printf, ""], format: lines}
    execute: {command: [umount, "{{.Params.item}}"]}
  rebalance:
    handler: command
    description: Moves volumes from full nodes to empty ones.
    schedule: {every: 6h, first_run: scheduled}
    lane: disk-io
    detect: {command: [printf, 'vol-00012\\nvol-00940\\n'], format: lines}
    execute: {command: [sleep, "1"]}
  offsite_copy:
    handler: command
    description: Copies the newest dumps to another site.
    schedule: {cron: ["30 4 * * *"], timezone: Europe/Berlin}
    windows: [{from: "01:00", to: "05:00", timezone: Europe/Berlin}]
    each_worker: true
    labels: {uplink: fast}
    execute: {command: [sleep, "1"]}
  reindex:
    handler: command
    description: Builds bloated indexes again.
    schedule: {cron: ["0 4 * * sun"], timezone: Europe/Berlin}
    resources: {db: 1}
    detect: {command: [printf, 'orders_by_day\\n'], format: lines}
    execute: {command: [sleep, "1"]}
  verify_dumps:
    handler: command
    description: Restores each dump into an empty database.
    schedule: {every: 8h, first_run: scheduled}
    retry_budget: {per_key: {count: 2, window: 6h, disable_for: 24h}}
    policy: {retry_limit: 1}
    detect: {command: [printf, 'accounts\\n%s\\n', events.dump], format: lines}
    execute: {command: [sh, -c, '[ "$1" != events.dump ] || { echo "pg_restore: error: file is truncated at byte 73400320" >&2; exit 1; }; echo "restored $1"', sh, "{{.Params.item}}"]}
  snapshot_cleanup:
    handler: command
    description: Deletes snapshots that nothing refers to.
    schedule: {every: 4h, first_run: scheduled}
    detect: {command: [printf, 'snap-1\\n'], format: lines}
    execute: {command: [echo, "deleted"]}
`;

const release = `version: 1
name: release
hold_on_failure: 4h
tasks:
  - {id: freeze, command: [echo, "writes are off"]}
  - {id: snapshot, needs: freeze, command: [sh, -c, "sleep 2; echo taken"]}
  - {id: migrate, needs: snapshot, command: [sh, -c, "sleep 3; echo 14 migrations"]}
  - {id: verify, needs: migrate, command: [sh, -c, "sleep 1; echo checksums agree"]}
  - {id: warm-cache, needs: migrate, command: [sleep, "4"]}
  - {id: offsite-copy, needs: snapshot, command: [sh, -c, 'echo "s3: 503 SlowDown" >&2; exit 1']}
  - {id: archive, needs: offsite-copy, command: ["true"]}
  - {id: go-live, needs: [verify, warm-cache], approval: {prompt: "Checksums agree. Switch traffic to the new version?", timeout: 8h}}
  - {id: switch, needs: go-live, command: ["true"]}
  - {id: announce, needs: [switch, archive], command: ["true"]}
`;

const nodes = ['node-c', 'node-d', 'node-e', 'node-f', 'node-g', 'node-h'];

// again runs a job type after its open run: the start of a second one would be skipped. Some end as partial.
async function again(stage, name) {
  await until(`no run of ${name}`, async () => (await stage.get(`/runs?running=true&job_type=${name}`)).runs.length === 0, 60_000);
  await stage.shell(`roundsman start ${name} --wait`).catch(() => undefined);
}

// begin starts more workers and brings the installation where the pictures want it.
export async function begin(stage) {
  stage.others = nodes.map((id, i) => {
    const log = openSync(join(stage.dir, `${id}.log`), 'a');
    return spawn(binary, ['worker', '--id', id, '--config', stage.config, '--data-dir', join(stage.dir, id), '--labels', `rack=${1 + (i % 3)},disk=ssd`, '--max-execute', '8'], {
      stdio: ['ignore', log, log], env: { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${stage.port}`, ROUNDSMAN_CONFIG: '' },
    });
  });
  await until('all workers', async () => (await stage.get('/workers')).workers.filter((w) => w.state === 'ONLINE').length >= nodes.length + 2, 90_000);
  for (let i = 0; i < 20; i++) await Promise.all([again(stage, 'log_rotate'), i % 4 || again(stage, 'pg_dump')]);
  mkdirSync(join(stage.dir, 'dags'), { recursive: true });
  const dag = join(stage.dir, 'dags', 'release.yaml');
  writeFileSync(dag, release);
  await stage.shell(`roundsman start ${dag} --as v1.14`);
  await stage.shell('roundsman start rebalance').catch(() => undefined); // Its first run may still wait for the lane.
  await stage.shell('roundsman pause snapshot_cleanup -r "the array is being replaced"');
  await stage.shell('roundsman pause node-g -r "new disk at 06:00"');
  await stage.shell('roundsman set pg_dump global_execution_concurrency=2');
  await stage.shell('roundsman start verify_dumps --wait').catch(() => undefined); // A dump is broken.
  for (const key of ['ci --role viewer --expires 90d', 'storage-team --role operator --job-types scrub*,rebalance', 'node-x --role worker --worker node-x']) await stage.shell(`roundsman keys create ${key}`);
  stage.scrub = key(await stage.openRun('scrub'));
  await until('6,200 volumes', async () => {
    const { runs } = await stage.get('/runs?running=true&counts=true&job_type=scrub');
    return runs[0]?.progress?.ended >= 6250;
  }, 300_000);
}
