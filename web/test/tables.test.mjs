// Tables: order, columns, selection by mouse and keys, an action on many rows with a result for each, and the way back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing();
const options = { skip, timeout: 600_000 };
let stage;
let page;
let many;

const jobs = 120;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  page = await stage.page({ width: 1440 });
  const file = join(stage.dir, 'jobs.json');
  writeFileSync(file, Array.from({ length: jobs }, (_, i) => JSON.stringify({ dedupe_key: `volume-${i}`, params: { item: `volume-${i}` } })).join('\n'));
  const config = join(stage.dir, 'wide.yaml');
  writeFileSync(config, `version: 1
owner: wide
job_types:
  wide:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"], format: lines}
    execute: {command: [sleep, "6000"]}
`);
  await stage.shell(`roundsman apply --config ${config}`);
  await stage.shell(`roundsman submit wide -f ${file} --as many`);
  many = await until('the run', async () => (await stage.get('/runs?counts=true&job_type=wide')).runs.find((run) => run.progress?.total >= jobs && run.progress.running > 0)?.workflow_id, 60_000);
});
after(() => stage?.down());

// focusTable gives the focus to a table, whose selection is cleared.
const focusTable = async (label) => {
  await page.focus(`[role=grid][aria-label="${label}"]`);
  await page.keyboard.press('Escape');
};
const press = async (...keys) => {
  for (const one of keys) {
    const [shift, name] = one.startsWith('Shift+') ? [true, one.slice(6)] : [false, one];
    if (shift) await page.keyboard.down('Shift');
    await page.keyboard.press(name);
    if (shift) await page.keyboard.up('Shift');
  }
};
const selected = () => page.$eval('.bulk strong', (e) => e.textContent).catch(() => '0 selected');
const names = (label) => page.$$eval(`[aria-label="${label}"] .row .name`, (all) => all.map((e) => e.textContent));
const until_ = (what, text) => until(what, async () => (await selected()) === text);
const dialog = () => page.$eval('dialog[open]', (e) => e.innerText);
const click = (selector, text) => page.evaluate((selector, text) => [...document.querySelectorAll(selector)].find((e) => e.textContent.startsWith(text)).click(), selector, text);
const inState = async (state) => (await stage.get(`/runs/${key(many)}/items?state=${state}&limit=1`)).total;

test('select 50 jobs of a run by key and cancel them, with a result for each', options, async () => {
  await stage.open(page, `runs/${key(many)}?state=pending`);
  await until('its jobs', async () => (await names('Jobs')).length > 10 && (await inState('pending')) >= 100);
  await focusTable('Jobs');
  await press('j', 'x');
  await until_('one', '1 selected');
  for (let i = 1; i < 50; i++) await press('Shift+ArrowDown');
  await until_('fifty', '50 selected');
  await click('.bulk button', 'Cancel 50');
  await page.waitForSelector('dialog[open] .list input');
  assert.match(await dialog(), /Cancel 50 jobs\?/);
  await page.type('dialog[open] input[type=search]', 'nothing has this name');
  await until('no entry', async () => /None of 50 matches/.test(await dialog()));
  const before = await inState('canceled');
  await page.focus('dialog[open] [id$=reason]');
  await page.keyboard.type('wrong disks');
  await click('dialog[open] button[type=submit]', 'Cancel 50');
  await until('all are done', async () => /50 of 50 done\./.test(await dialog()));
  await until('their state', async () => (await inState('canceled')) === before + 50);
  await until('who canceled them', async () => (await stage.audit()).filter((entry) => entry.action.includes('cancel') && entry.detail?.includes('wrong disks')).length === 50);
  await click('dialog[open] button', 'Close');
});

test('rows that refuse say why, and the others are done; those that may succeed later are sent again', options, async () => {
  await stage.open(page, `runs/${key(many)}?state=pending`);
  await until('its jobs', async () => (await names('Jobs')).length > 10);
  await focusTable('Jobs');
  await press('j', 'x', 'Shift+ArrowDown', 'Shift+ArrowDown');
  await until_('three', '3 selected');
  await click('.bulk button', 'Cancel 3');
  await page.waitForSelector('dialog[open]');
  // The server refuses one of them while the dialog is open, and is too slow for the others.
  await page.setRequestInterception(true);
  let first = true;
  let late = 2;
  const refuse = (request) => {
    if (request.method() === 'POST' && /cancel$/.test(request.url()) && first) {
      first = false;
      void request.respond({ status: 409, contentType: 'application/problem+json', body: JSON.stringify({ status: 409, code: 'REFUSED', detail: 'it has ended' }) });
    } else if (request.method() === 'POST' && /cancel$/.test(request.url()) && late > 0) {
      late--;
      void request.respond({ status: 504, contentType: 'application/problem+json', body: JSON.stringify({ status: 504, code: 'TIMEOUT', detail: 'no answer in time', retryable: true }) });
    } else void request.continue();
  };
  page.on('request', refuse);
  await click('dialog[open] button[type=submit]', 'Cancel 3');
  await until('all results', async () => /0 of 3 done\. 3 refused\./.test(await dialog()) && /it has ended · REFUSED/.test(await dialog()));
  await click('dialog[open] button', 'Cancel 2 again');
  await until('those that were late are done', async () => /2 of 3 done\. 1 refused\./.test(await dialog()) && /it has ended · REFUSED/.test(await dialog()));
  assert.doesNotMatch(await dialog(), / again/, 'a repetition does not help the one that has ended');
  page.off('request', refuse);
  await page.setRequestInterception(false);
  await press('Escape');
});

test('all jobs that match a filter are selected, those not loaded too', options, async () => {
  await stage.open(page, `runs/${key(many)}`);
  await until('its jobs', async () => (await names('Jobs')).length > 10);
  await page.click('[aria-label="Select all of Jobs"]');
  await until_('all', `${jobs} selected`);
  await focusTable('Jobs');
  await press('Escape');
  await until_('none', '0 selected');
});

test('all of a long list are selected while its jobs end, or the page says how many', options, async () => {
  const [job] = (await stage.get(`/runs/${key(many)}/items?limit=1`)).items;
  const all = Array.from({ length: 1200 }, (_, i) => ({ ...job, id: `job-${String(i + 1).padStart(5, '0')}`, dedupe_key: `volume-${i}` }));
  // Its first ones end after the first 1,000 were read, and stand behind the others then. A cursor has their place in the run,
  // but in a list with a search it has their number.
  let now = all;
  const play = (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/events') && url.search.includes('items')) return; // No stream follows the list.
    if (!url.pathname.endsWith('/items')) return request.continue();
    const [cursor, limit, from] = ['cursor', 'limit', 'from'].map((name) => url.searchParams.get(name));
    const at = Number(cursor ?? from ?? 0);
    const end = at + Number(limit);
    const items = (cursor && !url.searchParams.get('find') ? all : now).slice(at, end);
    if (limit === '1000') now = [...all.slice(5), ...all.slice(0, 5)];
    void request.respond({ contentType: 'application/json', body: JSON.stringify({ items, total: all.length, next: end < all.length ? String(end) : undefined, as_of: new Date().toISOString() }) });
  };
  await stage.open(page, 'workers');
  await page.setRequestInterception(true);
  page.on('request', play);
  for (const [filter, n, told] of [['', '1,200', ''], ['?find=volume', '1,195', 'The list changed while its rows were read: 1,195 of 1,200 are selected. Select all again.']]) {
    now = all;
    await page.evaluate((at) => { location.hash = at; }, `#/runs/${key(many)}${filter}`);
    await until('its jobs', () => page.$eval('[aria-label=Jobs]', (e) => e.getAttribute('aria-rowcount') === '1201'));
    await page.click('[aria-label="Select all of Jobs"]');
    await until('a selection', async () => (await selected()) !== '0 selected');
    assert.equal(await selected(), `${n} selected`);
    assert.equal(await page.$eval('.tabled:has([aria-label=Jobs]) > [role=status]', (e) => e.textContent), told);
    await focusTable('Jobs');
    await press('Escape');
    await until_('none', '0 selected');
  }
  page.off('request', play);
  await page.setRequestInterception(false);
});

test('Tab leaves a table; Shift with a click selects a range', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  await focusTable('Job types');
  await press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.closest('[role=grid] .row')), null);
  const boxes = await page.$$('[aria-label="Job types"] .row .pick');
  await boxes[0].click();
  await until_('one', '1 selected');
  await page.keyboard.down('Shift');
  await boxes[3].click();
  await page.keyboard.up('Shift');
  await until_('four', '4 selected');
  await focusTable('Job types');
  await until_('none', '0 selected');
});

test('job types are paused and resumed together', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  await focusTable('Job types');
  await press('Home', 'x', 'j', 'x');
  await until_('two', '2 selected');
  const two = (await names('Job types')).slice(0, 2);
  await click('.bulk button', 'Pause 2');
  await page.waitForSelector('dialog[open]');
  await click('dialog[open] button[type=submit]', 'Pause 2');
  await until('both paused', async () => (await Promise.all(two.map((name) => stage.get(`/job-types/${name}`)))).every((type) => type.paused));
  await until('the results', async () => /2 of 2 done\./.test(await dialog()));
  await click('dialog[open] button', 'Close');
  await until('the new verb', async () => page.$$eval('.bulk button', (all) => all.some((e) => e.textContent === 'Resume 2')));
  await click('.bulk button', 'Resume 2');
  await page.waitForSelector('dialog[open]');
  await click('dialog[open] button[type=submit]', 'Resume 2');
  await until('both resumed', async () => (await Promise.all(two.map((name) => stage.get(`/job-types/${name}`)))).every((type) => !type.paused));
  await until('the results', async () => /2 of 2 done\./.test(await dialog()));
  await click('dialog[open] button', 'Close');
});

test('workers are drained together, runs are canceled together', options, async () => {
  await stage.open(page, 'workers');
  await page.waitForSelector('.row');
  await page.click('[aria-label="Select all of Workers"]');
  await until_('both', '2 selected');
  await click('.bulk button', 'Drain 2');
  await page.waitForSelector('dialog[open]');
  await click('dialog[open] button[type=submit]', 'Drain 2');
  const states = async () => (await stage.get('/workers')).workers.map((worker) => worker.state);
  await until('both drain', async () => (await states()).every((state) => state === 'DRAINING'));
  await until('the results', async () => /2 of 2 done\./.test(await dialog()));
  await click('dialog[open] button', 'Close');
  await until('the new verb', async () => page.$$eval('.bulk button', (all) => all.some((e) => e.textContent === 'Uncordon 2')));
  await click('.bulk button', 'Uncordon 2');
  await page.waitForSelector('dialog[open]');
  await click('dialog[open] button[type=submit]', 'Uncordon 2');
  await until('both are back', async () => (await states()).every((state) => state === 'ONLINE'));
  await press('Escape');

  await stage.open(page, 'runs?state=running');
  await page.waitForSelector('.row');
  await focusTable('Runs');
  await press('j', 'x');
  await until_('one', '1 selected');
  await click('.bulk button', 'Pause 1');
  await page.waitForSelector('dialog[open]');
  await click('dialog[open] button[type=submit]', 'Pause 1');
  await until('the results', async () => /1 of 1 done\./.test(await dialog()));
  await until('a paused run', async () => (await stage.get('/runs?running=true&counts=true')).runs.some((run) => run.standing.state === 'paused'));
  await press('Escape');
});

test('the list and a selection in it stay while the span of "Started within" moves', options, async () => {
  const since = new Set();
  const asks = (request) => {
    for (const [, at] of decodeURIComponent(decodeURIComponent(request.url())).matchAll(/\/runs\?since=(\d{4}-[^&]+)/g)) since.add(at);
  };
  page.on('request', asks);
  await stage.open(page, 'runs?since=24');
  await page.waitForSelector('.row');
  await focusTable('Runs');
  await press('Home', 'x');
  await until_('one', '1 selected');
  await page.evaluate(() => {
    const now = Date.now;
    Date.now = () => now() + 180_000;
  });
  await page.click('[aria-label="Runs"] [role=columnheader] button');
  await until('another order', async () => /sort=/.test(page.url()));
  assert.equal(await selected(), '1 selected');
  page.off('request', asks);
  assert.equal(since.size, 1, 'a later instant would be another list');
  await stage.open(page, 'runs');
});

test('the filters of runs are one line; the rare ones are in a menu until they are set', options, async () => {
  const wide = await stage.page({ width: 1440 });
  const labels = () => wide.$$eval('.table-tools .filters > .choice', (all) => all.map((e) => e.firstChild.textContent));
  const more = () => wide.$$eval('.table-tools .filters .more > summary', (all) => all.map((e) => e.textContent).join());
  await stage.open(wide, 'runs');
  assert.equal(await wide.$$eval('.table-tools .filters > *', (all) => new Set(all.map((e) => Math.round(e.getBoundingClientRect().top))).size), 1, 'one line');
  assert.deepEqual([await labels(), await more()], [['Job by its key', 'State', 'Job type', 'Started within'], '2 more filters']);
  await wide.focus('.filters .more > summary');
  await wide.keyboard.press('Enter');
  await wide.waitForSelector('.more[open] select');
  await wide.keyboard.press('Tab');
  await wide.keyboard.type('DAGs');
  await until('the filter', () => /kind=dag/.test(wide.url()));
  assert.equal(await wide.evaluate(() => document.activeElement.closest('.more')?.open), true, 'the focus stays');
  await wide.keyboard.press('Escape');
  await until('a filter in use beside the others', async () => (await labels()).includes('Kind'));
  assert.equal(await more(), '1 more filter');
  await wide.close();
});

test('a header sorts: by key too, with its direction in the address and in aria-sort', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  const order = async () => (await names('Job types')).join(' ');
  await page.focus('[aria-label="Job types"] .sort');
  await press('Enter');
  await until('ascending', async () => (await order()) === 'compact failing nightly slow wide');
  await press('Enter');
  await until('descending', async () => (await order()) === 'wide slow nightly failing compact');
  assert.match(page.url(), /sort=-name/);
  assert.equal(await page.$eval('[aria-label="Job types"] [aria-sort]', (e) => e.getAttribute('aria-sort')), 'descending');
  await page.reload();
  await until('the same after a reload', async () => (await order()) === 'wide slow nightly failing compact');
  await stage.open(page, 'runs');
  await page.waitForSelector('.row');
  await click('[aria-label=Runs] .sort', 'Took');
  await until('what was sorted', () => page.$eval('.table-tools .end', (e) => /\d+ runs?, sorted|the newest 500 of more are shown and sorted/.test(e.textContent)));
});

test('the row with the keyboard is in sight, also when the user sorts; a change of somebody else scrolls nothing', options, async () => {
  const low = await stage.page({ width: 1440, height: 160 });
  const table = '[role=grid][aria-label="Job types"]';
  await stage.open(low, 'job-types');
  await low.waitForSelector(`${table} .row`);
  const place = () => low.$eval(table, (e) => {
    const [box, head, at] = [e, e.querySelector('.rows-head'), e.querySelector('.row.at')].map((one) => one?.getBoundingClientRect());
    return { top: e.scrollTop, more: e.scrollHeight - e.clientHeight, at: e.querySelector('.row.at .name')?.textContent, seen: at !== undefined && at.top >= head.bottom - 1 && at.bottom <= box.top + e.clientTop + e.clientHeight + 1 };
  });
  const sees = (name) => until(`${name} in sight`, async () => { const { at, seen } = await place(); return at === name && seen; }).catch(async (cause) => { throw new Error(JSON.stringify(await place()), { cause }); });
  const sort = () => low.$eval(`${table} .sort`, (e) => e.click());
  assert.ok((await place()).more > 68, 'the table scrolls');
  await low.focus(table);
  for (const name of ['compact', 'failing', 'nightly', 'slow', 'wide']) {
    await low.keyboard.press('j');
    await sees(name);
  }
  for (const direction of ['ascending', 'descending']) {
    await sort();
    await low.waitForSelector(`${table} [aria-sort=${direction}]`);
    await sees('wide');
  }
  // Where the user looks stays.
  await low.$eval(table, (e) => { e.scrollTop = e.scrollHeight; });
  await until('the other end', () => low.$$eval(`${table} .row`, (all) => all.at(-1).textContent.startsWith('compact')));
  const { top, seen } = await place().catch(() => ({}));
  await stage.shell('roundsman pause compact --reason disks');
  await until('the change', () => low.$$eval(`${table} .row`, (all) => /paused/.test(all.at(-1).textContent)));
  assert.deepEqual([(await place()).top, (await place()).seen], [top, seen]);
  assert.equal(seen, false);
  await stage.shell('roundsman resume compact');
  await low.close();
});

test('a list that its filters have emptied names them and what was searched, and shows all again', options, async () => {
  const workers = (await stage.get('/workers')).total;
  for (const [route, text] of [
    ['workers?name=nobody&state=OFFLINE', `None of ${workers} workers has the name, host or label nobody and the state offline.`],
    ['job-types?name=nothing', 'None of 5 job types has the name, handler or lane nothing.'],
    ['runs?state=skipped&name=none', 'No run that is kept has the state skipped and the job type none.'],
  ]) {
    await stage.open(page, route);
    await until(text, () => page.$eval('.tabled .empty', (e, text) => e.innerText.startsWith(text), text)).catch(async (cause) => { throw new Error(await page.$eval('main', (e) => e.innerText), { cause }); });
    assert.deepEqual(await page.$$eval('main section > h2', (all) => all.map((e) => e.textContent).filter((text) => text.startsWith('Fleet'))), [], 'no card without a worker');
    await page.focus('.tabled .empty button');
    await press('Enter');
    await page.waitForSelector('[role=grid] .row');
    await until('the focus on the rows', () => page.evaluate(() => document.activeElement.matches('[role=grid]')));
  }
});

test('a link to runs may have any number of hours', options, async () => {
  await stage.open(page, 'runs?since=3&at=2020-01-01T00:00:00Z'); // Before all runs.
  await until('its filter', () => page.$eval('.tabled .empty', (e) => e.innerText.startsWith('No run that is kept has a start within 3 hours.')));
  assert.ok(await page.$$eval('.filters select', (all) => all.some((e) => e.value === '3' && e.selectedOptions[0].text === '3 hours')));
});

test('a hidden column stays hidden, in this table only', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  const heads = (label) => page.$$eval(`[aria-label="${label}"] [role=columnheader]`, (all) => all.map((e) => e.textContent));
  assert.ok((await heads('Job types')).includes('State'));
  await page.click('.columns summary');
  await click('.columns label', ' State').catch(() => click('.columns label', 'State'));
  await until('it is gone', async () => !(await heads('Job types')).includes('State'));
  await page.reload();
  await page.waitForSelector('.row');
  assert.ok(!(await heads('Job types')).includes('State'));
  await stage.open(page, 'workers');
  await page.waitForSelector('.row');
  assert.ok((await heads('Workers')).includes('State'));
  await page.evaluate(() => localStorage.clear());
});

test('the head of a table stays while its rows scroll', options, async () => {
  await stage.open(page, `runs/${key(many)}`);
  await until('its jobs', async () => (await names('Jobs')).length > 10);
  const head = () => page.$eval('[aria-label=Jobs]', (e) => {
    const [table, row] = [e.getBoundingClientRect(), e.querySelector('.rows-head').getBoundingClientRect()];
    return { top: e.scrollTop, below: Math.round(row.top - table.top), seen: Boolean(document.elementFromPoint(row.left + 80, row.top + row.height / 2)?.closest('.rows-head')) };
  });
  await page.$eval('[aria-label=Jobs]', (e) => e.scrollIntoView({ block: 'center', behavior: 'instant' }));
  const before = await head();
  await page.$eval('[aria-label=Jobs]', (e) => { e.scrollTop = 1000; });
  await until('that it has scrolled', async () => (await head()).top > 500 && (await names('Jobs')).length > 10);
  assert.deepEqual({ ...(await head()), top: 0 }, { ...before, top: 0 });
  assert.ok(before.seen && before.below <= 1, JSON.stringify(before));
});

test('the counts of a map lead to the jobs in that state', options, async () => {
  await stage.open(page, `runs/${key(many)}`);
  const count = () => page.$$eval('.spreads .counted a', (all) => all.map((a) => [a.hash, a.textContent.trim()]).find(([hash]) => hash.endsWith('?state=pending')));
  const [, text] = await until('the count', count);
  assert.match(text, /^pending \d+$/);
  await page.click('.spreads .counted a[href$="?state=pending"]');
  await until('those jobs', async () => /\?state=pending$/.test(page.url()) && (await page.$$eval('[aria-label=Jobs] .row .state', (all) => all.length > 10 && all.every((e) => e.textContent === 'pending'))));
  assert.equal(await page.$eval('.filters select', (e) => e.value), 'pending');
});

test('back restores place, filter and selection', options, async () => {
  await stage.open(page, `runs/${key(many)}?state=pending`);
  await until('its jobs', async () => (await names('Jobs')).length > 10);
  await focusTable('Jobs');
  for (let i = 0; i < 30; i++) await press('j');
  await press('x');
  await until_('one', '1 selected');
  const here = () => page.evaluate(() => [document.querySelector('[aria-label=Jobs]')?.scrollTop, document.querySelector('.row.at .name')?.textContent]);
  await until('the row, drawn where it was scrolled to', async () => (await here())[1]);
  const [top, at] = await here();
  assert.ok(top > 100, `it was scrolled: ${top}`);
  await page.goto(page.url()); // As by a bookmark: another entry, without a state.
  await press('Enter');
  await until('the page of the job', () => page.$eval('h1', (e, at) => e.textContent === at, at));
  await page.goBack();
  await until_('the selection', '1 selected');
  await until('the place', async () => isDeepStrictEqual(await here(), [top, at])).catch(async () => assert.deepEqual(await here(), [top, at]));
  assert.match(page.url(), /state=pending/);
});

test('a row that is cut shows its whole text to the keyboard', options, async () => {
  const narrow = await stage.page({ width: 1024 });
  await stage.open(narrow, 'runs');
  await narrow.waitForSelector('.row');
  await narrow.focus('[aria-label=Runs]');
  await narrow.keyboard.press('j');
  await until('a tip with day and zone', () => narrow.$eval('#tip', (e) => /\w{3} \d+ \w{3} 20\d\d, \d\d:\d\d:\d\d UTC/.test(e.textContent)));
  await narrow.close();
});

test('compact rows are 28 px, after a reload too', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  const height = () => page.$eval('.row', (e) => e.getBoundingClientRect().height);
  assert.equal(await height(), 34);
  await page.click('.settings summary');
  await page.select('.settings label:nth-of-type(2) select', 'compact');
  await until('28 px', async () => (await height()) === 28);
  await page.reload();
  await page.waitForSelector('.row');
  assert.equal(await height(), 28);
  await page.evaluate(() => localStorage.clear());
  assert.deepEqual(page.faults, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
});

test('a key without a dialog changes nothing: A and R ask first', options, async () => {
  const run = await stage.runDAG('keys');
  await stage.open(page, `runs/${key(run)}`);
  await until('its tasks', async () => (await names('Tasks')).length === 4);
  const at = (await names('Tasks')).indexOf('go-ahead');
  await focusTable('Tasks');
  for (let i = 0; i <= at; i++) await press('j');
  await press('a');
  await page.waitForSelector('dialog[open]');
  assert.match(await dialog(), /Approve go-ahead\?/);
  assert.equal((await stage.get(`/runs/${key(run)}/items/go-ahead`)).state, 'running');
  await press('Escape');
  const at_ = (name) => until(name, () => page.$eval('.row.at .name', (e, name) => e.textContent === name, name));
  await focusTable('Tasks');
  for (const one of ['f', 'F']) { // With Caps Lock it is F.
    await press('Home');
    await at_((await names('Tasks'))[0]);
    await press(one);
    await at_('broken');
  }
});

test('past holders, instants and the audit log are sorted as far as they are loaded, and columns are chosen', options, async () => {
  const at = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString();
  const names = ['beta', 'alpha', 'gamma'];
  const grants = names.map((lane, i) => ({ seq: i + 1, workflow_id: `group/${lane}-2026-11-24T02:40:00Z`, lane, requested_at: at(-9), granted_at: at(-8), released_at: at(-7 + i) }));
  const ticks = names.map((job_type, i) => ({ job_type, at: at(60 + i), state: 'skipped', code: 'PAUSED', text: 'it is paused' }));
  const entries = names.map((actor, i) => ({ seq: i + 1, at: at(-9 + i), kind: 'operator', actor, action: 'jobtype.pause', did: 'paused', object: actor, count: 1, job_type: actor }));
  const answers = {
    '/past-grants': { grants, kept: 3, released: 3, as_of: at(0) },
    '/forecast': { ticks, more: 7, job_types: [], as_of: at(0), until: at(9000) },
    '/ledger': { ticks, counts: { skipped: 3 }, as_of: at(0), from: at(-9000) },
    '/audit': { entries, kept: 9, keeps: 10, dropped: 0, next: 'x', as_of: at(0) },
  };
  const own = await stage.page({ width: 1440 });
  await own.setRequestInterception(true);
  own.on('request', (request) => {
    const path = decodeURIComponent(request.url().replace(/.*\/api\/v1/, ''));
    if (path.startsWith('/events')) return request.abort();
    const body = Object.entries(answers).find(([begin]) => path.startsWith(begin))?.[1];
    return body ? request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify(body) }) : request.continue();
  });
  for (const [route, label, column, note, other] of [
    ['locks', 'Held before', 'What', '3 releases, sorted', 'Waited'],
    ['calendar', 'Forecast', 'Job type', 'the soonest 3 of more are shown and sorted', 'Begins'],
    ['calendar?view=past', 'Ledger', 'Job type', '3 instants, sorted', 'Took'],
    ['audit', 'Audit log', 'Who', 'the newest 3 of more are shown and sorted', 'Detail'],
  ]) {
    await own.goto(`${stage.base}#/${route}`);
    const table = `[role=grid][aria-label="${label}"]`;
    const rows = () => own.$$eval(`${table} .row`, (all) => all.map((row) => /alpha|beta|gamma/.exec(row.textContent)[0]).join());
    const heads = () => own.$$eval(`${table} [role=columnheader]`, (all) => all.map((e) => e.textContent));
    await own.waitForSelector(`${table} .row`);
    for (const order of ['alpha,beta,gamma', 'gamma,beta,alpha']) {
      await own.$$eval(`${table} .sort`, (all, name) => all.find((e) => e.textContent === name).click(), column);
      await until(`${label}: ${order}`, async () => (await rows()) === order);
      await until(`${label}: ${note}`, () => own.$eval(`.tabled:has(${table}) .table-tools .end`, (e, text) => e.textContent.startsWith(text), note));
    }
    assert.match(own.url(), /sort=-/);
    assert.ok((await heads()).includes(other));
    await own.click(`.tabled:has(${table}) .columns:not(.more) summary`);
    await own.$$eval(`.tabled:has(${table}) .columns label`, (all, name) => all.find((e) => e.textContent.trim() === name).querySelector('input').click(), other);
    await until(`${label} without ${other}`, async () => !(await heads()).includes(other));
  }
  // The orders and the days of one list are none of the other.
  await own.goto(`${stage.base}#/calendar?sort=begins&type=a&since=${at(0)}&until=${at(9000)}&zoom=${at(0)}/${at(60)}`);
  await until('other days', async () => (await own.select('.filters select', 'past')).length > 0);
  await until('the last days', () => own.$('[aria-label=Ledger]'));
  assert.match(own.url(), /#\/calendar\?type=a&view=past$/);
  assert.deepEqual(own.faults.filter((fault) => !/ERR_FAILED/.test(fault)), []);
  await own.close();
});
