// A night in which one node fails, a job waits for a pool, and a job type is due every 30 s: what the pages show of it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;
let page;
const error = 'mount /data2 on this node: structure needs cleaning, run xfs_repair before the next attempt';

before(async () => {
  if (options.skip) return;
  stage = await Stage.up();
  const file = join(stage.dir, 'night.yaml');
  const never = 'handler: command, schedule: {cron: ["0 0 1 1 *"]}, policy: {interactive: true, retry_limit: 0}';
  writeFileSync(file, `version: 1
owner: night
resources: {db: 3}
job_types:
  dense: {handler: command, schedule: {every: 30s}, detect: {command: ["true"], format: lines}, execute: {command: ["true"]}}
  mounts: {${never}, detect: {command: [seq, "12"], format: lines}, execute: {command: [sh, -c, '[ "$ROUNDSMAN_WORKER_ID" = node-a ] && sleep 1 && exit 0; echo "${error}" >&2; exit 5']}}
  dump: {${never}, resources: {db: 3}, detect: {command: [echo, all], format: lines}, execute: {command: [sleep, "600"]}}
  vacuum: {${never}, resources: {db: 1}, detect: {command: [echo, one], format: lines}, execute: {command: ["true"]}}
`);
  await stage.shell(`roundsman apply --config ${file}`);
  await stage.shell('roundsman pause dense');
  page = await stage.page();
});
after(() => stage?.down());

test('a job type waits while the only job of its run waits for a pool', options, async () => {
  await stage.openRun('dump');
  await stage.shell('roundsman start vacuum');
  await until('a job that waits', async () => (await stage.get('/pools')).pools.some((pool) => pool.name === 'db' && pool.waiting_count === 1));
  await stage.open(page, 'job-types/vacuum');
  await until('its state', () => page.$eval('.title .pill', (e) => e.textContent === 'waiting'));
  assert.match(await page.$eval('.title .says', (e) => e.textContent), /^1 job waits: its resources: 1 of pool db/);
  await stage.open(page, 'job-types?name=vacuum');
  await until('its state in the list', () => page.$('.row .state.waiting'));
  const { runs } = await stage.get('/runs?running=true&counts=true&job_type=vacuum');
  await stage.open(page, `runs/${key(runs[0].workflow_id)}`);
  await until('the state of its run', () => page.$eval('.title .pill', (e) => e.textContent === 'waiting'));
});

test('an item and its attempt took the same time', options, async () => {
  const { items } = await stage.get(`/runs/${key(await stage.openRun('dump'))}/items`);
  const path = `/runs/${key(items[0].run.workflow_id)}/items/${items[0].id}`;
  const times = ({ started_at, ended_at }) => [started_at, ended_at];
  const open = await stage.get(path);
  assert.deepEqual(times(open), times(open.attempts.at(-1)));
  await stage.shell(`roundsman cancel ${items[0].run.workflow_id} --wait`);
  const ended = await stage.get(path);
  assert.ok(ended.ended_at);
  assert.deepEqual(times(ended), times(ended.attempts.at(-1)));
});

test('equal failures on one node: the node is named with a button, and no error is cut at 390 px', options, async () => {
  await stage.shell('roundsman start mounts --wait').catch(() => undefined);
  const { runs } = await stage.get('/runs?job_type=mounts');
  await stage.open(page, `runs/${key(runs[0].workflow_id)}`);
  await until('a remedy', () => page.$eval('.causes .help', (e) => /all on node-b: cordon it/i.test(e.textContent)));
  await page.$$eval('.causes .help button', (all) => all.find((e) => e.textContent === 'Cordon').click());
  await page.waitForSelector('dialog[open]');
  assert.equal(await page.$eval('dialog h2', (e) => e.textContent), 'Cordon node-b?');
  await page.keyboard.press('Escape');
  await page.setViewport({ width: 390, height: 844 });
  await page.waitForSelector('[aria-label=Jobs] .cause');
  assert.ok(await page.$$eval('[aria-label=Jobs] .cause', (all, error) => all.every((e) => e.textContent.includes(error) && [...e.children].every((part) => getComputedStyle(part).whiteSpace !== 'pre')), error));
  await page.setViewport({ width: 1280, height: 900 });
});

test('the bars of days count all instants, and a day beyond the list has its instants', options, async () => {
  await stage.open(page, 'calendar?type=dense&zone=UTC');
  const bars = await until('a week', async () => { const found = await page.$$eval('.days a', (all) => all.map((e) => e.textContent.trim())); return found.length === 8 && found; });
  for (const bar of bars.slice(1, 7)) assert.match(bar, / 2,880 skipped$/);
  await page.click('.days li:nth-child(7) a');
  await until('its instants', () => page.$eval('[aria-label=Forecast]', (e) => e.getAttribute('aria-rowcount') === '2881'));
});

test('a job is not submitted with params that are no JSON', options, async () => {
  await stage.open(page, 'submit/vacuum');
  const run = () => page.focus('main button.primary').then(() => page.keyboard.press('Enter'));
  await page.type('#params', '{"item": ');
  await run();
  await until('its fault', () => page.$eval('#params', (e) => document.activeElement === e && /This is no JSON/.test(e.validationMessage)));
  assert.equal(await page.$('dialog[open]'), null);
  await page.type('#params', '"one"}');
  await run();
  await page.waitForSelector('dialog[open]');
  await page.keyboard.press('Escape');
  await until('the focus again', () => page.evaluate(() => document.activeElement.textContent === 'Run the job'));
});

test('a graph and a chart are one tab stop each', options, async () => {
  await stage.runDAG('tabs');
  for (const [route, within] of [['runs/dag~steps~tabs', '.graph'], ['job-types/mounts', '.chart']]) {
    await stage.open(page, route);
    await page.waitForSelector(`${within} svg a`);
    await page.focus('.title button');
    await page.evaluate(() => { window.stops = new Set(); });
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      await page.evaluate((within) => document.activeElement.closest(within) && window.stops.add(document.activeElement), within);
    }
    assert.equal(await page.evaluate(() => window.stops.size), 1, within);
  }
  assert.deepEqual(page.faults, []);
});
