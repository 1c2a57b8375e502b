// Journeys of an operator from the first page, each with three clicks at most, a search counted as one.
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

before(async () => {
  if (options.skip) return;
  stage = await Stage.shared();
  page = await stage.page({ width: 1440 });
  journey = new Journey(stage, page);
});
after(() => stage?.down());

const says = (pattern, within = 'main') => until(`${pattern} in ${within}`, () => page.$eval(within, (e, p) => new RegExp(p, 's').test(e.innerText), pattern.source));

test('approve from the first page', options, async () => {
  const run = await stage.runDAG('clicks');
  await journey.begin();
  await journey.click('Approve');
  await journey.confirm('Approve');
  await until('the effect', async () => (await stage.get(`/runs/${key(run)}/items/go-ahead`)).state === 'completed');
  journey.short();
});

test('what runs tonight', options, async () => {
  await stage.shell('roundsman start nightly --ignore-window'); // It is due within twelve hours only at some hours.
  await journey.begin();
  await says(/Tonight.*nightly/);
  assert.equal(journey.clicks + journey.searches, 0);
});

test('drain before a reboot, and put it back', options, async () => {
  const mode = async () => (await stage.get('/workers/node-b')).state;
  await journey.begin();
  await journey.search('node-b');
  await journey.click('Drain');
  await journey.confirm('Drain');
  await until('the effect', async () => (await mode()) === 'DRAINING');
  journey.short();
  await journey.begin();
  await journey.click('Workers', '.menu');
  await says(/1 not online.*node-b is draining/);
  await journey.click('Uncordon node-b');
  await journey.confirm('Uncordon node-b');
  await until('the effect', async () => (await mode()) === 'ONLINE');
  journey.short();
});

test('who changed this', options, async () => {
  await stage.shell('roundsman pause nightly -r "new disks"');
  await journey.begin();
  await journey.search('nightly');
  await says(/Who changed it.*ann.*jobtype\.pause/);
  assert.equal(journey.clicks, 0);
  journey.short();
  await stage.shell('roundsman resume nightly');
});

test('a task of a DAG is found by its key', options, async () => {
  const file = join(stage.dir, 'keyed.yaml');
  writeFileSync(file, 'version: 1\nname: keyed\ntasks:\n  - {id: dump, key: "dump/tuesday", command: [echo, dumped]}\n');
  await stage.shell(`roundsman start ${file} --as one -w`);
  await journey.begin();
  await journey.search('dump/tuesday', /dump/);
  await until('its page', () => page.$eval('h1', (e) => e.textContent === 'dump'));
  await says(/dumped/);
  journey.short();
});
