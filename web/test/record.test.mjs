// The record of a run: all its jobs are listed, sorted and found when they have ended, and
// *back* shows the place in the list that was left.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing();
const jobs = 210; // Three parts of the list.
let stage;
const runs = [];

before(async () => {
  if (skip) return;
  stage = await Stage.shared();
  const job = (i) => JSON.stringify({ dedupe_key: `disk-${i}`, params: { item: `disk-${i}` } });
  for (const [id, all] of [['first', Array.from({ length: jobs }, (_, i) => job(i))], ['second', [job(42)]]]) {
    const file = join(stage.dir, `${id}.json`);
    writeFileSync(file, all.join('\n'));
    await stage.shell(`roundsman submit compact -f ${file} --as ${id}`);
    runs.push(await until(`${all.length} jobs that have ended`, async () => {
      const found = (await stage.get('/runs?counts=true&job_type=compact')).runs.find((run) => run.workflow_id.includes(id));
      return found?.outcome === 'completed' && found.workflow_id;
    }, 180_000));
  }
});
after(() => stage?.down());

const list = '[aria-label=Jobs]';
const rows = (page) => page.$$eval(`${list} .row`, (all) => all.map((row) => row.textContent));
const write = async (page, label, text) => {
  const box = await page.evaluateHandle((label) => [...document.querySelectorAll('.filters label')].find((e) => e.textContent.trim().startsWith(label)).querySelector('input'), label);
  await box.click({ count: 3 });
  await page.keyboard.press('Backspace');
  if (text !== '') await box.type(text);
};

test('back shows the place in the list', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, `runs/${key(runs[0])}`);
  await until('rows', async () => (await rows(page)).length > 5);
  const elements = await page.evaluate(() => document.querySelectorAll('body *').length);
  assert.ok(elements <= 600, `${elements} elements`);
  await page.$eval(list, (e) => e.scrollIntoView({ block: 'end' }));
  await page.$eval(list, (e) => e.scrollTo({ top: 5000, behavior: 'instant' }));
  await until('rows from the middle', async () => (await rows(page)).some((text) => /^job-00150/.test(text)));
  const at = () => page.evaluate((list) => [scrollY, document.querySelector(list)?.scrollTop], list);
  const left = await at();
  assert.ok(left[0] > 0 && left[1] === 5000, `${left}`);
  await page.evaluate((list) => [...document.querySelectorAll(`${list} .row a`)].find((a) => a.textContent === 'job-00150').click(), list);
  await until('the job', () => page.$eval('h1', (e) => e.textContent === 'job-00150'));
  assert.equal(await page.evaluate(() => scrollY), 0);
  await page.goBack();
  await until('the same place', async () => JSON.stringify(await at()) === JSON.stringify(left)).catch(async () => assert.deepEqual(await at(), left));
  await until('the same rows', async () => (await rows(page)).some((text) => /^job-00150/.test(text)));
  // A link to the same page is no way back.
  await page.evaluate(() => { location.hash = '#/runs'; });
  await until('the runs', () => page.$eval('h1', (e) => e.textContent === 'Runs'));
  await page.evaluate((at) => { location.hash = at; }, `#/runs/${key(runs[0])}`);
  await until('its rows', async () => (await rows(page)).length > 5);
  assert.equal((await at())[1], 0);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('a part of the list that could not be read is read again', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  let refused = 0;
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (!/\/items\?.*from=\d/.test(request.url()) || refused >= 3) return request.continue();
    refused++;
    return request.respond({ status: 503, contentType: 'application/problem+json', body: '{"title":"busy","status":503}' });
  });
  await stage.open(page, `runs/${key(runs[0])}`);
  await until('rows', async () => (await rows(page)).length > 5);
  await page.focus(list);
  await page.keyboard.press('End');
  await until('the last row', async () => (await rows(page)).some((text) => /disk-209/.test(text)));
  assert.equal(refused, 3);
  await page.close();
});

test('a job is found by its key and by its number', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, `runs/${key(runs[0])}`);
  await write(page, 'Key or number', 'disk-180');
  await until('the job with the key', async () => (await rows(page)).length === 1 && /disk-180/.test((await rows(page))[0]));
  assert.match(page.url(), /find=disk-180/);
  await write(page, 'Key or number', '17');
  await until('the job with the number', async () => (await rows(page)).length === 1 && /^job-00017/.test((await rows(page))[0]));
  await write(page, 'Key or number', 'disk-9999');
  await until('that there is none', () => page.evaluate(() => /None of 210 jobs is disk-9999/.test(document.body.textContent)));
  await page.evaluate(() => [...document.querySelectorAll('main button')].find((b) => b.textContent === 'Show all').click());
  await until('all', () => page.$eval(list, (e) => e.getAttribute('aria-rowcount') === '211'));
  await page.close();
});

test('jobs are sorted by a column', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, `runs/${key(runs[0])}`);
  const press = () => page.evaluate((list) => [...document.querySelectorAll(`${list} .sort`)].find((b) => b.textContent === 'Key').click(), list);
  await until('the list', async () => (await rows(page)).length > 5);
  await press();
  await until('disk-1 before disk-10', async () => /disk-0/.test((await rows(page))[0]) && /disk-10/.test((await rows(page))[2]));
  await press();
  await until('disk-99 first', async () => /disk-99/.test((await rows(page))[0]));
  assert.equal(await page.$eval(`${list} [aria-sort=descending]`, (e) => e.textContent), 'Key');
  await page.focus(list);
  await page.keyboard.press('End');
  await until('disk-0 last', async () => /disk-0/.test((await rows(page)).at(-1)));
  await page.close();
});

test('a key is found over all runs', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'runs');
  await write(page, 'Job by its key', 'disk-42');
  const found = () => page.$$eval('[aria-label="Jobs by key"] tbody tr', (all) => all.map((row) => row.textContent));
  await until('one job of each run', async () => (await found()).length === 2 && (await found()).every((text) => /^job-\d+completed/.test(text)));
  assert.ok((await found())[0].includes('second') && (await found())[1].includes('first'), 'the newest run first');
  await page.click('[aria-label="Jobs by key"] a');
  await until('the job', () => page.evaluate(() => /disk-42/.test(document.querySelector('main').textContent) && /^job-/.test(document.querySelector('h1').textContent)));
  await page.close();
});
