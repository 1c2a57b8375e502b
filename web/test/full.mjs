// A full installation: 100 job types with 30 runs each, and 20 workers. A number in front of each makes it smaller.
import { spawn } from 'node:child_process';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { binary, Stage, until } from './stage.mjs';

const sites = ['ams', 'ber', 'cdg', 'dub', 'fra', 'lhr', 'mad', 'mxp', 'osl', 'waw'];
const kinds = ['backup', 'scrub', 'vacuum', 'compact', 'rotate', 'reindex', 'verify', 'offsite-copy', 'snapshot-cleanup', 'certificate-renewal'];
const schedules = ['every: 1h', 'every: 10m', 'every: 2h', 'cron: ["0 2 * * *"], timezone: Europe/Berlin', 'every: 30m', 'every: 6h', 'every: 15m', 'cron: ["30 3 * * sun"], timezone: Europe/Berlin', 'every: 5m', 'every: 12h'];
export const names = (types) => kinds.flatMap((kind) => sites.map((site) => `${kind}-${site}`)).slice(0, types);

export const configuration = (types = 100) => `version: 1
lanes: {disk-io: {exclusive: true}}
resources: {db: 4, uplink: 8}
job_types:
${names(types).map((name, i) => `  ${name}:
    handler: command
    description: ${kinds[Math.floor(i / 10)]} of all nodes in ${sites[i % 10]}, one job for each of them.
    schedule: {${schedules[i % 10]}, first_run: scheduled}
${i % 10 === 3 ? `    resources: {db: 1}\n` : ''}    policy: {retry_limit: 0}
    detect: {command: [printf, '%s\\n', node-1, node-2], format: lines}
    execute: {command: [sh, -c, '[ "$1" != node-2 ] || [ ${i % 7} != 3 ] || { echo "${kinds[Math.floor(i / 10)]}: $1.${sites[i % 10]}.example.com: No space left on device" >&2; exit 1; }; echo "$1 is done"', sh, "{{.Params.item}}"]}`).join('\n')}
`;

// fill starts workers and runs each job type a number of times.
export async function fill(stage, { types = 100, runs = 30, workers = 20 } = {}) {
  stage.others = Array.from({ length: workers - 2 }, (_, i) => {
    const id = `store-${String(i + 1).padStart(2, '0')}`;
    const log = openSync(join(stage.dir, `${id}.log`), 'a');
    return spawn(binary, ['worker', '--id', id, '--config', stage.config, '--data-dir', join(stage.dir, id), '--labels', `rack=${1 + (i % 3)},disk=ssd`, '--max-execute', '4'], {
      stdio: ['ignore', log, log], env: { ...process.env, TEMPORAL_ADDRESS: `127.0.0.1:${stage.port}`, ROUNDSMAN_CONFIG: '' },
    });
  });
  await until('all workers', async () => (await stage.get('/workers?limit=1000')).workers.filter((w) => w.state === 'ONLINE').length >= workers, 180_000);
  for (let round = 0; round < runs; round++) {
    const left = names(types);
    await Promise.all(Array.from({ length: 8 }, async () => {
      for (let name = left.pop(); name; name = left.pop()) await fetch(`${stage.base}api/v1/job-types/${name}/run`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
    }));
    await until('the end of these runs', async () => !(await stage.get('/runs?running=true&limit=1')).runs.length, 120_000);
  }
}

export const up = (types = 100) => Stage.up('', configuration(types));
