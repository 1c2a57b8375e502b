// Why does X not run? One search for X leads to its page, which names the cause, who is in the way and since when,
// and has the button that ends it, or says who can. Each cause is a real one.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, sound, Stage, until } from './stage.mjs';
import { Journey } from './journey.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;
let page;
let journey;

const far = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 14);
const type = (name, more, detect = `${name}-key`) => `  ${name}:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    detect: {command: [printf, '${detect}\\n'], format: lines}
    execute: {command: [sleep, "600"]}
${more}`;
const more = [
  type('needs_gpu', '    each_worker: true\n    labels: {gpu: "yes"}\n').replace(/ {4}detect:.*\n/, ''),
  type('shut', `    windows: [{from: "${far}00", to: "${far}30", timezone: UTC}]\n`),
  type('lane_first', '    lane: tape\n'),
  type('lane_second', '    lane: tape\n'),
  type('pool_first', '    resources: {port: 1}\n'),
  type('pool_second', '    resources: {port: 1}\n'),
  ...['object_first', 'object_second'].map((name) => type(name, '', `{"dedupe_key": "${name}", "exclusive": ["volume/7"], "params": {"item": "${name}"}}`).replace('format: lines', 'format: json')),
  type('switched_off', '    enabled: false\n'),
  type('claims', '', 'shared-key'),
  type('overlaps', '').replace('cron: ["0 0 1 1 *"]', 'every: 10s'),
  type('on_b', '', '{"dedupe_key": "on-b", "node": "node-b", "params": {"item": "b"}}').replace('format: lines', 'format: json'),
].join('');

const open = (jobType, code) => until(`a run of ${jobType} with ${code}`, async () => {
  const [run] = (await stage.get(`/runs?running=true&job_type=${jobType}`)).runs;
  const reasons = run && (await stage.get(`/explain?thing=${encodeURIComponent(run.workflow_id)}`)).reasons;
  return run && (code === '' || reasons.some((reason) => reason.code === code)) && run.workflow_id;
}, 60_000);

before(async () => {
  if (options.skip) return;
  stage = await Stage.up();
  // What is applied later is not started at once, as `dev` does with its configuration.
  const file = join(stage.dir, 'why.yaml');
  writeFileSync(file, `version: 1\nowner: why\nlanes: {tape: {exclusive: true}}\nresources: {port: 1}\njob_types:\n${more}`);
  await stage.shell(`roundsman apply --config ${file}`);
  page = await stage.page({ width: 1440 });
  journey = new Journey(stage, page);
});
after(() => stage?.down());

// reasons are those on the page: code, text, buttons and who can act. The first button of a header belongs to its reason.
const reasons = () => page.$$eval('.reasons > li, .title .says > div', (all) => all.map((li) => ({
  code: li.querySelector('.state.code').textContent, text: li.innerText, runs: [...li.querySelectorAll('a.run')].map((a) => a.title), since: (li.closest('.title')?.querySelector('.named') ?? li).querySelector('time, small .number')?.title,
  buttons: [...(li.closest('.title')?.querySelectorAll('.actions > button:first-child') ?? []), ...li.querySelectorAll('.remedies > button, .remedies > a.button')].map((b) => b.textContent), actor: li.querySelector('.actor')?.textContent,
  commands: [...li.querySelectorAll('.line')].filter((e) => !e.closest('details')).length, fold: li.querySelector('details.lines summary')?.textContent,
})));
const chain = () => page.$$eval('.chain > li', (all) => all.map((li) => ({ run: li.querySelector('a.run').title, text: li.innerText, buttons: [...li.querySelectorAll('button')].map((b) => b.textContent) })));

async function why(x, code, hit) {
  await journey.begin();
  await journey.search(x, hit);
  const found = await until(`${code} on the page of ${x}, with a button or who can act`, async () => (await reasons()).find((reason) => reason.code === code && (reason.buttons.length > 0 || reason.actor))).catch(async (cause) => {
    throw new Error(await page.$eval('main', (e) => e.innerText), { cause });
  });
  journey.short();
  assert.equal(journey.clicks, 0);
  if (found.buttons.length > 0) assert.deepEqual([found.commands, found.fold], [0, 'In a terminal'], `${code}: buttons first, commands folded`);
  return found;
}

test('no worker has its label', options, async () => {
  const found = await why('needs_gpu', 'NO_WORKER');
  assert.match(found.text, /gpu=yes/);
  assert.match(found.actor, /an administrator of the workers/);
  assert.ok(found.since);
});

test('it is paused', options, async () => {
  await stage.shell('roundsman pause compact -r "new disks"');
  const found = await why('compact', 'PAUSED');
  assert.match(found.text, /ann: new disks/);
  assert.ok(found.since);
  await journey.click('Resume', '.title');
  await journey.confirm('Resume');
  await until('the effect', async () => (await stage.get('/job-types/compact')).paused === false);
  journey.short();
});

test('its window is closed', options, async () => {
  const found = await why('shut', 'WINDOW_CLOSED_UNTIL');
  assert.match(found.text, /until/);
  await journey.click('Run now', '.title');
  await journey.confirm('Run now');
  await until('the effect', async () => (await stage.get('/runs?job_type=shut')).runs.length === 1);
  journey.short();
});

test('the lane is held: the chain leads to the run that holds it', options, async () => {
  await stage.shell('roundsman start lane_first');
  const holder = await open('lane_first', '');
  await until('the lane', async () => (await stage.get('/lanes')).lanes.some((lane) => lane.holder?.workflow_id === holder));
  await stage.shell('roundsman start lane_second');
  await open('lane_second', 'LANE_BUSY');
  const found = await why('lane_second', 'LANE_BUSY');
  assert.ok(found.runs.includes(holder), found.text);
  assert.ok(found.since);
  const root = (await until('a chain', async () => (await chain()).length > 0 && chain())).at(-1);
  assert.equal(root.run, holder);
  await journey.click('Cancel', '.chain .root');
  await journey.confirm('Cancel');
  await until('the holder ends and the other one has the lane', async () => (await stage.get('/lanes')).lanes.some((lane) => /lane_second/.test(lane.holder?.workflow_id)));
  journey.short();
});

test('the pool is full: the job that has it is named', options, async () => {
  await stage.shell('roundsman start pool_first');
  const holder = await open('pool_first', '');
  await until('the pool', async () => (await stage.get('/pools')).pools.some((pool) => pool.name === 'port' && pool.used === 1));
  await stage.shell('roundsman start pool_second');
  await open('pool_second', 'POOL_FULL');
  const found = await why('pool_second', 'POOL_FULL');
  assert.ok(found.runs.some((run) => run.startsWith(holder)), found.text);
  assert.deepEqual(found.buttons, ['Resize']);
  assert.ok((await until('a chain', async () => (await chain()).length > 0 && chain())).at(-1).run.startsWith(holder));
});

test('it waits for an approval', options, async () => {
  const run = await stage.runDAG('asks-why');
  await journey.begin();
  await journey.search('asks-why', /^steps asks-why/);
  const found = await until('the question', () => page.$eval('.strip2', (e) => ({ text: e.innerText, buttons: [...e.querySelectorAll('.remedies button')].map((b) => b.textContent) })));
  assert.match(found.text, /Go live.*for \d/s);
  assert.deepEqual(found.buttons, ['Approve', 'Reject']);
  journey.short();
  assert.equal((await stage.get(`/runs/${key(run)}/items/go-ahead`)).state, 'running');
});

test('its key is held by another run', options, async () => {
  await stage.shell('roundsman start claims');
  const holder = await open('claims', '');
  await until('its job', async () => (await stage.get(`/runs/${key(holder)}/items`)).items.length === 1);
  const line = JSON.stringify({ dedupe_key: 'shared-key', params: { item: 'shared-key' } });
  await stage.shell(`roundsman submit claims -f - --as twice <<'END'\n${line}\nEND`);
  await journey.begin();
  await journey.search('twice', /^claims submitted twice/);
  await until('the run that has the key', () => page.$eval('main', (main, holder) => [...main.querySelectorAll('a.run')].some((a) => a.title.startsWith(holder)), holder));
  journey.short();
});

test('it is switched off', options, async () => {
  const found = await why('switched_off', 'DISABLED');
  assert.deepEqual(found.buttons, ['Run now', 'Plan and apply']);
});

test('its last instants were skipped, since a run was open', options, async () => {
  const run = await open('overlaps', '');
  // On a busy machine the first instants come late, and one run stands for them.
  await until('an instant that it overlaps', async () => (await stage.get('/ledger?job_type=overlaps&days=1&limit=1000')).ticks.find((tick) => tick.state === 'skipped')?.code === 'OVERLAP_SKIPPED', 90_000);
  await journey.begin();
  await journey.search('overlaps');
  const said = await until('the instant, its code and the run', () => page.$eval('.dropped', (e) => ({ text: e.innerText, run: e.querySelector('a.run')?.title })));
  assert.match(said.text, /skipped/);
  assert.match(said.text, /overlaps the run before OVERLAP_SKIPPED/);
  assert.equal(said.run, run);
  journey.short();
});

test('its worker is drained', options, async () => {
  // The line of the command waits for the jobs that run there.
  await fetch(`${stage.base}api/v1/workers/node-b/drain`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"reason": "reboot"}' });
  await stage.shell('roundsman start on_b');
  await open('on_b', 'WORKER_CORDONED');
  const found = await why('on_b', 'WORKER_CORDONED');
  assert.match(found.text, /node-b/);
  await journey.click('Uncordon', '.reasons');
  await journey.confirm('Uncordon');
  await until('the job runs', async () => (await stage.get('/runs?running=true&counts=true&job_type=on_b')).runs[0]?.progress?.running === 1);
  journey.short();
});

test('the overview has each wait with its holder, then what failed with its first error, and counts last', options, async () => {
  const [lane] = (await stage.get('/lanes')).lanes.filter(({ name }) => name === 'tape');
  await stage.shell('roundsman start lane_first');
  await open('lane_first', 'LANE_BUSY');
  await stage.shell('roundsman start object_first');
  const holder = await open('object_first', '');
  await until('the object', async () => (await stage.get('/objects')).objects.some((one) => one.name === 'volume/7' && one.holders?.length === 1));
  await stage.shell('roundsman start object_second');
  const waiter = await open('object_second', 'CLAIM_HELD');
  await stage.shell('roundsman start failing');
  const failed = await until('a run that failed', async () => (await stage.get('/runs?job_type=failing&outcome=partial&counts=true')).runs[0]);
  const [pool] = (await stage.get('/pools')).pools.filter(({ name }) => name === 'port');
  await stage.open(page, '');
  const rows = () => page.$$eval('main section', (all) => [...all.find((e) => e.querySelector('h2')?.textContent.startsWith('Waits')).querySelectorAll('.work > li')]
    .map((li) => ({ what: li.querySelector('.what').innerText, why: li.querySelector('.why')?.innerText, holder: li.querySelector('.why a.run')?.title, link: decodeURIComponent(li.querySelector('.acts a')?.hash) })));
  const [onLane, onPool, onObject] = await until('the waits', async () => {
    const found = await rows();
    const three = ['lane tape', 'pool port', 'object volume/7'].map((name) => found.find(({ what }) => what === `1 for ${name}`));
    return three.every(Boolean) && three;
  });
  assert.deepEqual([onLane.holder, onPool.holder, onObject.holder], [lane.holder.workflow_id, `${pool.holders[0].workflow_id}/${pool.holders[0].for}`, `${holder}/job-00001`]);
  assert.match(onObject.why, /^job-00001 of object_first .* has it$/);
  assert.equal(onObject.link, `#/locks?why=${waiter}&item=job-00001`);
  const row = await until('what failed', () => page.$eval('[aria-label="Runs that failed since yesterday"] tbody tr', (tr) => [...tr.children].map((td) => td.innerText)));
  assert.match(row[0], /failing/);
  assert.equal(row[1], failed.top_failure.message);
  assert.match(row[1], /no such disk/);
  assert.equal(row[2], '1 of 2');
  for (const [width, order] of [[1440, ['Needs a person', 'Failed since yesterday', 'Tonight', 'counts']], [390, ['Needs a person', 'Waits', 'Failed since yesterday', 'Tonight', 'counts']]]) {
    await page.setViewport({ width, height: 900 });
    const found = await until(`${order} at ${width} px`, async () => {
      const tops = await page.$$eval('main section, main .stats', (all) => all.map((e) => [e.querySelector('h2')?.firstChild.textContent.trim() ?? 'counts', e.getBoundingClientRect().top]));
      const found = tops.filter(([name]) => order.includes(name));
      return found.toSorted((a, b) => a[1] - b[1]).map(([name]) => name).join() === order.join() && found;
    });
    assert.deepEqual(found.map(([name]) => name), order, 'the order of the Tab key');
  }
  await page.setViewport({ width: 1440, height: 900 });
});

test('no page has a fault, or one of accessibility', options, async () => {
  assert.deepEqual(page.faults, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  for (const route of ['', 'job-types/needs_gpu', 'job-types/pool_second']) {
    await stage.open(page, route);
    assert.deepEqual(await sound(page), [], route);
  }
});
