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

// failed is the newest run of failing that has ended, started if there is none.
const failed = async () => {
  const newest = async () => (await stage.get('/runs?job_type=failing&outcome=partial&counts=true')).runs[0];
  if (!(await newest())) await stage.shell('roundsman start failing');
  return until('a run that failed', newest);
};
const icon = () => page.$eval('link[rel=icon]', (e) => e.getAttribute('href'));

test('an empty section is one line', options, async () => {
  await stage.open(page, '');
  const sections = await page.$$eval('.cols section', (all) => all.map((e) => ({ name: e.querySelector('h2').firstChild.textContent.trim(), lines: e.getBoundingClientRect().height, inline: e.querySelector('.empty')?.getBoundingClientRect().left > e.querySelector('h2').getBoundingClientRect().right })));
  for (const name of ['Needs a person', 'Failed since yesterday']) {
    const found = sections.find((one) => one.name === name);
    assert.ok(found?.inline && found.lines <= 36, JSON.stringify(sections));
  }
});

test('the icon of an overview that stays open is that of a failure, unless something needs a person', options, async () => {
  await stage.open(page, '');
  assert.equal(await icon(), './favicon.svg');
  await failed();
  await until('the icon of a failure', async () => (await icon()) === './favicon-failed.svg');
  assert.match(await page.$eval('.title', (e) => e.innerText), /1 run failed since yesterday/);
  const run = await stage.runDAG('icon');
  await until('the icon of a question', async () => (await icon()) === './favicon-person.svg');
  await stage.shell(`roundsman cancel ${run}`);
  await until('the icon of a failure again', async () => (await icon()) === './favicon-failed.svg');
  await page.click('.menu a[title=Workers]');
  await until('that of another page', async () => (await icon()) === './favicon.svg');
});

test('the header of the runs has the failure that came last, with its error, its age and its button', options, async () => {
  await failed();
  await stage.open(page, 'runs');
  const { runs } = await stage.get('/runs?outcome=failed,timeout,partial&counts=true');
  const last = runs.sort((a, b) => Date.parse(b.ended_at) - Date.parse(a.ended_at))[0];
  const head = await until('the header', () => page.$eval('.title', (e) => ({ state: e.querySelector('.pill').textContent, age: e.querySelector('small time').dateTime, cause: e.querySelector('.says').innerText, run: e.querySelector('.says a.run').title, acts: [...e.querySelectorAll('.actions > *')].map((one) => one.textContent) })));
  assert.deepEqual([head.state, head.age, head.run, head.acts], [`${runs.length} failed since yesterday`, last.ended_at, last.workflow_id, ['Retry the last one']]);
  assert.ok(head.cause.endsWith(last.top_failure.message), head.cause);
  await page.click('.title .actions button');
  await until('what it would do', () => page.$eval('dialog[open]', (e) => /^Retry failing/.test(e.querySelector('h2').textContent) && /executes 1 job/.test(e.innerText)));
  await page.keyboard.press('Escape');
});

test('a link shows the same rows in a second browser, as of its time', options, async () => {
  await failed();
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
  await page.$eval('.toast', (e) => { // It goes after seconds, which may pass between two looks.
    new MutationObserver(() => { window.copied ||= /The link is copied/.test(e.textContent); }).observe(e, { childList: true, characterData: true, subtree: true });
  });
  await page.keyboard.press('y');
  await until('that it is copied', () => page.evaluate(() => window.copied));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(link, /#\/runs\?kind=group&sort=-run&at=20\d\d-[^&]+\.\d{3}Z&row=/);
  assert.match(decodeURIComponent(link), new RegExp(`row=${at.replaceAll('+', '.')}`));

  // What starts later is not part of the view.
  await submit('compact', ['later']);
  await until('a later run', async () => (await stage.get('/runs?job_type=compact')).runs.some((run) => /adhoc/.test(run.workflow_id)));
  const other = await stage.page({ width: 1024, context: await stage.browser.createBrowserContext() });
  await other.goto(link);
  await until('the same rows', async () => JSON.stringify(await rows(other)) === JSON.stringify(mine));
  await until('the row of the link', () => other.$eval('.row.at .name a', (e, at) => e.title === at, at));
  await until('its time', () => other.$eval('.asof', (e) => /As of \w{3} \d+ \w{3} 20\d\d, \d\d:\d\d:\d\d UTC/.test(e.textContent)));
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

test('a link has the zone, the hidden columns, the rows and the zoom of a timeline, and leaves the choices of its reader', options, async () => {
  const run = await failed();
  const reads = await stage.browser.createBrowserContext();
  const [mine, other] = [await stage.page({ width: 1440, context: await stage.browser.createBrowserContext() }), await stage.page({ width: 1440, context: reads })];
  await mine.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }));
  // Of two pages only the one in front is drawn.
  const open = async (of, route) => {
    await of.bringToFront();
    await stage.open(of, route);
  };
  const choose = async (of, zone, hidden) => {
    await open(of, '');
    await of.evaluate((zone, hidden) => {
      localStorage.setItem('roundsman.zone', zone);
      localStorage.setItem('roundsman.columns.Runs', JSON.stringify(hidden));
    }, zone, hidden);
    await of.reload();
  };
  await choose(mine, 'Asia/Kolkata', ['Why', 'Of']);
  await choose(other, 'America/New_York', ['Took']);
  const kept = () => other.evaluate(() => ['zone', 'columns.Runs'].map((key) => localStorage.getItem(`roundsman.${key}`)));
  const own = ['America/New_York', '["Took"]'];
  assert.deepEqual(await kept(), own);
  const heads = (of) => of.$$eval('[aria-label=Runs] [role=columnheader]', (all) => all.map((e) => e.textContent).filter(Boolean));
  const zone = (of) => of.$eval('.settings summary', (e) => e.textContent);
  const handed = async () => {
    await mine.bringToFront();
    await mine.evaluate(() => { delete window.copied; });
    await until('the link', async () => {
      await mine.click('button.i-link');
      return mine.evaluate(() => window.copied);
    });
    const link = await mine.evaluate(() => window.copied);
    await other.bringToFront();
    await other.goto(link);
    await other.waitForSelector('.asof');
    return link;
  };

  await open(mine, 'runs');
  await mine.waitForSelector('.row');
  await handed();
  await other.waitForSelector('.row');
  assert.deepEqual(await heads(other), await heads(mine));
  assert.deepEqual([await zone(mine), await zone(other)], ['Kolkata', 'Kolkata']);
  assert.match(await other.$eval('.asof', (e) => e.textContent), /Kolkata/);
  // What the reader changes in this view is not a choice for others.
  await other.click('.columns:not(.more) summary');
  await other.evaluate(() => [...document.querySelectorAll('.columns label')].find((e) => e.textContent.trim() === 'Why').click());
  await until('another column', async () => (await heads(other)).includes('Why'));
  assert.deepEqual(await kept(), own);
  await other.evaluate(() => document.querySelector('.asof button').click());
  await until('the reader\'s own view', async () => (await zone(other)) === 'New York' && !(await heads(other)).includes('Took') && (await heads(other)).includes('Of'));
  // A zone that is chosen in a linked view is the reader's.
  await handed();
  await other.click('.settings summary');
  await until('all zones', () => other.$$eval('.settings option', (all) => all.length > 100));
  await other.select('.settings select', 'UTC');
  await until('the chosen zone', async () => (await zone(other)) === 'UTC' && !/zone=/.test(other.url()));
  assert.deepEqual(await kept(), ['UTC', own[1]]);

  await open(mine, `runs/${key(run.workflow_id)}`);
  await mine.waitForSelector('.timeline');
  const pressed = (of) => of.$eval('.timeline .seg [aria-pressed=true]', (e) => e.textContent);
  assert.equal(await pressed(mine), 'By worker');
  await mine.evaluate(() => [...document.querySelectorAll('.timeline .seg button')].find((e) => e.textContent === 'By job').click());
  await until('a row for each job', async () => (await pressed(mine)) === 'By job');
  await mine.focus('.tl-body');
  await mine.keyboard.press('+');
  await mine.keyboard.press('+');
  const axis = (of) => of.$$eval('.tl-axis span', (all) => all.map((e) => [e.textContent, Number.parseFloat(e.style.left)]));
  const whole = JSON.stringify(await axis(mine));
  await mine.keyboard.press(']');
  await until('a later part', async () => JSON.stringify(await axis(mine)) !== whole);
  await handed();
  await other.waitForSelector('.timeline');
  await until('the same part of the timeline', async () => {
    const [theirs, here] = [await axis(other), await axis(mine)];
    return theirs.length === here.length && theirs.every(([text, x], i) => text === here[i][0] && Math.abs(x - here[i][1]) < 3); // A link has whole milliseconds.
  });
  assert.equal(await pressed(other), 'By job');
  // Another zoom is the reader's own, and is not undone by a reload; a link leads back to its own.
  const zoom = (of) => of.$eval('.timeline', (e) => e.dataset.zoom ?? '');
  const [link, sent] = [other.url(), await zoom(other)];
  const fit = () => other.evaluate(() => document.querySelector('.tl-zoom [aria-label^=Fit]').click());
  assert.notEqual(sent, '');
  await fit();
  await until('all times', async () => (await zoom(other)) === '');
  assert.doesNotMatch(other.url(), /zoom=/);
  await other.focus('.tl-body');
  await other.keyboard.press('+');
  await until('a zoom', async () => !['', sent].includes(await zoom(other)));
  await other.evaluate((to) => { location.href = to; }, link);
  await until('the zoom of the link', async () => (await zoom(other)) === sent);
  await other.evaluate(() => document.querySelector('.asof button').click());
  await until('all times of now', async () => (await zoom(other)) === '');

  await open(mine, 'workers/node-a');
  const hours = (of) => of.$eval('[aria-label=Hours] [aria-pressed=true]', (e) => e.textContent);
  await mine.waitForSelector('[aria-label=Hours]');
  await mine.evaluate(() => [...document.querySelectorAll('[aria-label=Hours] button')].find((e) => e.textContent === '6 h').click());
  await until('6 hours', async () => (await hours(mine)) === '6 h');
  assert.match(await handed(), /hours=6/);
  await other.waitForSelector('[aria-label=Hours]');
  assert.equal(await hours(other), '6 h');
  assert.deepEqual([...mine.faults, ...other.faults], []);
  // What is no zone is none.
  await open(other, 'runs?zone=Nowhere/None');
  assert.equal(await zone(other), 'UTC');
  await Promise.all([mine.browserContext().close(), reads.close()]);
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

test('a page of jobs that ends within the newest run names no number of runs', options, async () => {
  const pair = { method: 'POST', headers: { 'Content-Type': 'application/yaml' }, body: 'version: 1\nname: pair\ntasks: [{id: left, key: pair, command: ["true"]}, {id: right, key: pair, command: ["true"]}]\n' };
  assert.ok((await fetch(`${stage.base}api/v1/dag-runs`, pair)).ok);
  await until('two tasks with the key', async () => (await stage.get('/items?key=pair')).items.length === 2);
  const other = await stage.page();
  await other.setRequestInterception(true);
  other.on('request', (request) => request.continue(/items\?key=pair/.test(request.url()) ? { url: `${request.url()}&limit=1` } : {}));
  await stage.open(other, 'runs?key=pair');
  const note = () => other.$eval('section:has([aria-label="Jobs by key"]) h2', (e) => e.textContent);
  await until('one of its two tasks', async () => /1 job of the newest run/.test(await note()));
  await other.evaluate(() => [...document.querySelectorAll('main button')].find((e) => /^Search runs before/.test(e.textContent)).click());
  await until('both', async () => /2 jobs, \d+ runs? searched/.test(await note()));
  assert.deepEqual(other.faults, []);
  await other.close();
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
