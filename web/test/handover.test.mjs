// A job by its key over all runs, and a link for the next shift.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing();
const options = { skip, timeout: 600_000 };
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  page = await stage.page({ width: 1440 });
});
after(() => stage?.down());

const submit = async (jobType, names) => {
  const response = await fetch(`${stage.base}api/v1/job-types/${jobType}/submissions`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ proposals: names.map((name) => ({ dedupe_key: name, params: { item: name } })) }),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
};
const rows = (of, label = 'Runs') => of.$$eval(`[aria-label="${label}"] .row .name`, (all) => all.map((e) => e.textContent));

test('a link shows the same rows in a second browser, as of its time', options, async () => {
  await stage.shell('roundsman start failing');
  await until('a run that failed', async () => (await stage.get('/job-types/failing')).recent?.some((run) => run.outcome === 'partial'));
  await stage.openRun('slow');
  await stage.open(page, 'runs?kind=group&sort=-run');
  await until('its runs', async () => (await rows(page)).length >= 2);
  await page.focus('[aria-label=Runs]');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const [mine, at] = [await rows(page), await page.$eval('.row.at .name a', (e) => e.title)];
  const context = page.browserContext();
  await context.overridePermissions(new URL(stage.base).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
  await page.bringToFront();
  for (const part of ['button.i-link', '.toast']) await page.waitForSelector(part);
  await page.keyboard.press('y');
  await until('that it is copied', () => page.$eval('.toast', (e) => /The link is copied/.test(e.textContent)));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(link, /#\/runs\?kind=group&sort=-run&at=20\d\d-[^&]+Z&row=/);
  assert.match(decodeURIComponent(link), new RegExp(`row=${at.replaceAll('+', '.')}`));

  // What starts later is not part of the view.
  await submit('compact', ['later']);
  await until('a later run', async () => (await stage.get('/runs?job_type=compact')).runs.some((run) => /adhoc/.test(run.workflow_id)));
  const other = await stage.page({ width: 1024, context: await stage.browser.createBrowserContext() });
  await other.goto(link);
  await until('the same rows', async () => JSON.stringify(await rows(other)) === JSON.stringify(mine));
  assert.equal(await other.$eval('.row.at .name a', (e) => e.title), at);
  assert.match(await other.$eval('.asof', (e) => e.textContent), /As of \w{3} \d+ \w{3} 20\d\d, \d\d:\d\d:\d\d UTC/);
  const ages = () => other.$$eval('.row time', (all) => all.map((e) => e.textContent).join());
  const first = await ages();
  // The clock of another page moves on meanwhile; this one stands still.
  await page.evaluate(() => { location.hash = '#/workers'; });
  const live = () => page.$$eval('[aria-label=Workers] .row time', (all) => all.map((e) => e.textContent).join());
  await page.waitForSelector('[aria-label=Workers] .row time');
  const before = await live();
  await until('a clock that moves', async () => (await live()) !== before, 150_000);
  assert.equal(await ages(), first);
  await other.evaluate(() => document.querySelector('.asof button').click());
  await until('the later run', async () => (await rows(other)).some((name) => /^compact .*submitted/.test(name)));
  assert.deepEqual(other.faults, []);
  await other.close();
});

test('a job is found by its key in a running run, and in an old one behind 200 newer ones', options, async () => {
  await stage.openRun('slow');
  await stage.open(page, 'runs?key=sda');
  await until('the running job', () => page.$eval('[aria-label="Jobs by key"]', (e) => /sda|job-0000\d/.test(e.textContent) && /running/.test(e.textContent)));
  await submit('compact', ['needle']);
  await until('its end', async () => (await stage.get('/items?key=needle')).items[0]?.state === 'completed');
  const left = Array.from({ length: 205 }, (_, i) => `hay-${i}`);
  const hay = { method: 'POST', headers: { 'Content-Type': 'application/yaml' }, body: 'version: 1\nname: hay\ntasks: [{id: straw, noop: true}]\n' };
  await Promise.all(Array.from({ length: 12 }, async () => {
    for (let one = left.pop(); one; one = left.pop()) await until(`a run of ${one}`, async () => (await fetch(`${stage.base}api/v1/dag-runs`, hay)).ok, 120_000);
  }));
  const newest = await until('200 newer runs', async () => {
    const found = await stage.get('/items?key=needle');
    return found.items.length === 0 && found;
  }, 120_000);
  assert.equal(newest.searched, 200);
  assert.ok(newest.next && newest.back_to);
  await stage.open(page, '');
  await page.keyboard.press('/');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('needle');
  await until('a way to older runs', () => page.$$eval('.hit', (all) => all.some((e) => /Search older runs for the key needle/.test(e.textContent))));
  await page.keyboard.press('Enter');
  await until('the old job', () => page.$eval('[aria-label="Jobs by key"]', (e) => /compact .* submitted/.test(e.textContent) && /completed/.test(e.textContent)));
  await page.evaluate(() => document.querySelector('[aria-label="Jobs by key"] a').click());
  await until('its page', () => page.$eval('h1', (e) => /^job-\d+$/.test(e.textContent)));
  await stage.open(page, 'runs?key=no-such-key');
  await until('that all were searched', () => page.evaluate(() => /No run that is kept has a job with this key: \d+ runs searched/.test(document.body.innerText)));
  assert.deepEqual(page.faults, []);
});

test('the id of a run is copied, or selected on a page without a clipboard, and told to the keyboard', options, async () => {
  const run = await stage.runDAG('copied');
  const context = await stage.browser.createBrowserContext();
  await context.overridePermissions(new URL(stage.base).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']);
  const other = await stage.page({ context });
  await stage.open(other, `runs/${key(run)}`);
  const label = () => other.$eval('.title .copy', (e) => e.getAttribute('aria-label'));
  await other.bringToFront();
  await other.click('.title .copy');
  await until('that it is copied', async () => (await label()) === `Copied: ${run}`);
  assert.equal(await other.evaluate(() => navigator.clipboard.readText()), run);
  await other.$eval('.title .copy', (e) => e.blur());
  await until('that it can be copied again', async () => (await label()) === `Copy: ${run}`);

  const shown = () => other.$('#tip');
  const told = async () => {
    await other.keyboard.press('Tab');
    await other.$eval(`a.run[title="${run}"]`, (a) => a.focus());
    return until('its id', () => other.$eval('#tip', (e) => ({ text: e.textContent, position: getComputedStyle(e).position })));
  };
  await stage.open(other, '');
  await other.waitForSelector(`a.run[title="${run}"]`);
  assert.deepEqual(await told(), { text: run, position: 'fixed' });
  await other.keyboard.press('Escape');
  assert.equal(await shown(), null);
  await told();
  await other.keyboard.press('Enter');
  await until('the page of the run', () => other.$eval('h1', (e) => e.textContent === 'steps copied'));
  assert.equal(await shown(), null, 'it goes with its page');

  await other.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await other.reload();
  await other.waitForSelector('.title .copy');
  await other.click('.title .copy');
  await until('that it is selected', async () => (await other.evaluate(() => getSelection().toString())) === run);
  assert.deepEqual(other.faults, []);
  await other.close();
});
