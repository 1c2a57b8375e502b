// Cancel: a run, a job and a task of a DAG, each while it is pending, runs, or waits for its lane, by its effect.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';
import { Journey } from './journey.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;
let page;
let journey;

const more = `  pairs:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    resources: {kiln: 1}
    policy: {interactive: true}
    detect: {command: [printf, 'pair-one\\npair-two\\n'], format: lines}
    execute: {command: [sleep, "600"]}
  waits_for_disk:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    lane: disk
    detect: {command: [printf, 'volume-9\\n'], format: lines}
    execute: {command: [sleep, "600"]}
`;
const dag = `version: 1
name: chores
tasks:
  - {id: sweep-floor, command: [sleep, "600"]}
  - {id: mop-floor, needs: sweep-floor, command: ["true"]}
  - {id: ask-cook, approval: {prompt: "Is the kitchen free?"}}
`;

const open = (jobType) => until(`a run of ${jobType}`, async () => (await stage.get(`/runs?running=true&job_type=${jobType}`)).runs[0]?.workflow_id, 60_000);
const stateOf = async (run, item) => (await stage.get(`/runs/${key(run)}/items/${item}`)).state;

before(async () => {
  if (options.skip) return;
  stage = await Stage.up();
  const file = join(stage.dir, 'cancel.yaml');
  writeFileSync(file, `version: 1\nowner: cancel\nlanes: {disk: {exclusive: true}}\nresources: {kiln: 1}\njob_types:\n${more}`);
  await stage.shell(`roundsman apply --config ${file}`);
  page = await stage.page({ width: 1440 });
  journey = new Journey(stage, page);
});
after(() => stage?.down());

test('a run that runs, and one that waits for its lane', options, async () => {
  const holder = await stage.openRun('slow');
  await stage.shell('roundsman start waits_for_disk');
  const waiting = await open('waits_for_disk');
  await until('it waits', async () => (await stage.get('/lanes')).lanes.some((lane) => lane.waiting?.some((use) => use.workflow_id === waiting)));

  await journey.begin();
  await journey.click(waiting);
  await journey.click('Cancel', '.title');
  await journey.confirm('Cancel');
  await until('the end of the one that waits', async () => (await stage.get(`/runs/${key(waiting)}`)).outcome === 'canceled');
  await until('nobody waits for the lane', async () => (await stage.get('/lanes')).lanes.every((lane) => !lane.waiting_count));
  assert.equal((await stage.get(`/runs/${key(holder)}`)).standing.open, true);
  journey.short();

  await journey.begin();
  await journey.click(holder);
  await journey.click('Cancel', '.title');
  await journey.confirm('Cancel');
  await until('the end of the one that runs', async () => (await stage.get(`/runs/${key(holder)}`)).outcome === 'canceled');
  await until('the lane is free', async () => !(await stage.get('/lanes')).lanes.some((lane) => lane.holder));
  await until('it on the page', () => page.$eval('.title .pill', (e) => e.textContent === 'canceled'));
  journey.short();
});

test('a job that waits for its pool, then one that runs', options, async () => {
  await stage.shell('roundsman start pairs');
  const run = await open('pairs');
  const items = () => stage.get(`/runs/${key(run)}/items`).then((found) => found.items);
  await until('one runs and one waits', async () => (await items()).map((item) => item.state).sort().join() === 'pending,running');
  for (const state of ['pending', 'running']) {
    const job = (await items()).find((item) => item.state === state);
    await journey.begin();
    await journey.search(job.dedupe_key, new RegExp(`^${job.dedupe_key} ${job.id} of pairs`));
    await journey.click('Cancel', '.title');
    await journey.confirm('Cancel');
    await until(`the end of the one that was ${state}`, async () => (await stateOf(run, job.id)) === 'canceled');
    await until('it on the page', () => page.$eval('.title .pill', (e) => e.textContent === 'canceled'));
    journey.short();
  }
  await until('the pool is free', async () => !(await stage.get('/pools')).pools.some((pool) => pool.used > 0));
});

test('a task of a DAG that is pending, one that asks and one that runs', options, async () => {
  const file = join(stage.dir, 'chores.yaml');
  writeFileSync(file, dag);
  await stage.shell(`roundsman start ${file} --as today`);
  const run = 'dag/chores/today';
  await until('it runs', async () => (await stateOf(run, 'sweep-floor')) === 'running' && (await stateOf(run, 'ask-cook')) === 'running');
  for (const task of ['mop-floor', 'ask-cook', 'sweep-floor']) {
    await journey.begin();
    await journey.search(task, new RegExp(`^${task} chores today`));
    await journey.click('Cancel', '.title');
    await journey.confirm('Cancel');
    await until(`the end of ${task}`, async () => (await stateOf(run, task)) === 'canceled');
    journey.short();
  }
  await until('the end of the run', async () => (await stage.get(`/runs/${key(run)}`)).standing.open === false);
  assert.deepEqual(page.faults, []);
});
