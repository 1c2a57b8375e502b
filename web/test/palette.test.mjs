// The palette: a job by its key over all runs, a page, an action; and the sheet of shortcuts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, sound, Stage, until } from './stage.mjs';
import { sources } from './source.mjs';

const skip = missing();
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.shared();
  await stage.shell('roundsman start failing');
  await until('a job that failed', async () => (await stage.get('/items?key=bad')).items.some((item) => item.state === 'failed'), 60_000);
  page = await stage.page();
  await stage.open(page, '');
});
after(() => stage?.down());

const hits = () => page.$$eval('.hit', (all) => all.map((e) => e.innerText.replaceAll('\n', ' ')));
const chosen = () => page.$eval('.hit[aria-selected=true] .name', (e) => e.textContent);
const open = () => page.$('dialog[open]');

test('a job is found by its key over all runs', { skip, timeout: 600_000 }, async () => {
  await page.keyboard.press('/');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('bad');
  await until('the job', async () => (await hits()).some((text) => /^bad job-0000\d of failing \w{3} \d\d:\d\d.*failed$/.test(text)));
  assert.equal(await chosen(), 'bad');
  assert.deepEqual(await sound(page, 'dialog'), []);
  await page.keyboard.press('Enter');
  await until('its page', () => page.$eval('h1', (e) => /^job-0000\d$/.test(e.textContent)));
  assert.equal(await open(), null);
});

test('an action opens its dialog, and does nothing before', { skip, timeout: 600_000 }, async () => {
  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('compact');
  await until('its actions', async () => (await hits()).some((text) => /^Pause/.test(text)));
  // Hits that come later move the others.
  await until('Pause is chosen', async () => (await chosen()) === 'Pause' || void (await page.keyboard.press('ArrowDown')));
  await page.keyboard.press('Enter');
  await until('the dialog', () => page.$eval('dialog[open] h2', (e) => /compact/.test(e.textContent)));
  assert.equal((await stage.get('/job-types/compact')).paused, false);
  await page.evaluate(() => document.querySelector('dialog[open] button[type=submit]').click());
  await until('the effect', async () => (await stage.get('/job-types/compact')).paused === true);
  await until('no dialog', async () => (await open()) === null);
  await stage.shell('roundsman resume compact');
});

test('another key has nothing of the key before, nor its actions', { skip, timeout: 600_000 }, async () => {
  await page.evaluate(() => {
    const plain = (window.plain = window.fetch);
    window.held = new Promise((then) => { window.go = then; });
    window.fetch = async (...request) => {
      if (/\/items\?key=good/.test(request[0])) {
        window.asked = true;
        await window.held;
      }
      return plain(...request);
    };
  });
  await page.keyboard.press('/');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('bad');
  await until('the job', async () => (await hits()).some((text) => /^bad job-/.test(text)));
  await page.$eval('.palette[open] input', (e) => e.select());
  await page.keyboard.type('good');
  await until('its request', () => page.evaluate(() => window.asked));
  await page.evaluate(() => new Promise((then) => requestAnimationFrame(() => setTimeout(then))));
  assert.deepEqual((await hits()).filter((text) => /^bad /.test(text)), []);
  await page.evaluate(() => window.go());
  await until('the other job', async () => (await hits()).some((text) => /^good job-/.test(text)));
  await page.keyboard.press('Escape');
  await page.evaluate(() => { window.fetch = window.plain; });
});

test('a search that no run was read for names no number of them', { skip, timeout: 600_000 }, async () => {
  await page.evaluate(() => {
    const plain = (window.plain = window.fetch);
    window.fetch = async (...request) => (/\/items\?key=nothing/.test(request[0]) ? new Response(JSON.stringify({ items: [], searched: 0, next: 'older' })) : plain(...request));
  });
  await page.waitForFunction(() => !document.querySelector('.palette[open]')); // Before that, / is a letter of the last search.
  await page.keyboard.press('/');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('nothing');
  const [first] = await until('the search of older runs', async () => /^Search older runs/.test((await hits())[0]) && hits());
  assert.equal(first, 'Search older runs for the key nothing');
  await page.keyboard.press('Escape');
  await page.evaluate(() => { window.fetch = window.plain; });
});

test('Esc gives the focus back; a field keeps its letters', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'runs');
  const field = await page.$('.filters input');
  await field.focus();
  await page.keyboard.type('a/b?');
  assert.equal(await page.evaluate(() => document.activeElement.value), 'a/b?');
  assert.equal(await open(), null);
  await page.focus('.find');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.palette[open]');
  await page.keyboard.press('Escape');
  await until('the focus', () => page.evaluate(() => document.activeElement?.matches('.find')));
});

test('two letters go to a page, and ? lists all keys', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, '');
  await page.keyboard.press('g');
  await page.keyboard.press('w');
  await until('the workers', () => page.$eval('h1', (e) => e.textContent === 'Workers'));
  await page.keyboard.press('?');
  await until('the sheet', () => page.$eval('.shortcuts[open]', (e) => /Search, or run a command/.test(e.textContent)));
  await page.keyboard.press('Escape');
  assert.equal(await open(), null);
  assert.deepEqual(page.faults, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
});

test('every page of the menu is found, and each key is listed once', async () => {
  const { chords, keys, pages } = await sources((load) => load('/src/keys.ts'));
  assert.equal(new Set(Object.values(chords)).size, Object.values(chords).length);
  assert.equal(new Set(keys.map(([name]) => name)).size, keys.length);
  for (const path of Object.keys(chords)) assert.ok(pages.some(([page]) => page === path), path);
});
