// What pages show, and that they fit 360 px. Accessibility and the policy are in whole.test.mjs.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { missing, routes, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  await stage.runDAG('pages');
});
after(() => stage?.down());

test('a narrow screen shows where one is in the menu', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 360, height: 740 });
  for (const route of ['audit', 'doctor', 'job-types']) {
    await stage.open(page, route);
    await until(`${route} in the menu`, () => page.$eval('.menu [aria-current]', (e) => e.getBoundingClientRect().left >= 0 && e.getBoundingClientRect().right <= innerWidth));
  }
  await page.close();
});

test('the doctor begins with what a person has to look at, and folds what passes', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.shell('roundsman pause node-b -r "new disk"');
  await stage.open(page, 'doctor');
  const rows = () => page.$$eval('main section:first-of-type.ask .work > li', (all) => all.map((li) => ({ text: li.innerText, buttons: [...li.querySelectorAll('.remedies > *')].map((e) => e.textContent) })));
  const found = await until('the worker', async () => (await rows()).find((row) => /^Workers/.test(row.text)));
  assert.match(found.text, /node-b is cordoned/);
  assert.deepEqual(found.buttons, ['Uncordon', 'Workers']);
  assert.match(await page.$eval('.title', (e) => e.innerText), /\d to look at.*Roundsman/s);
  assert.match(await page.$eval('details.fold2:not([open]) summary', (e) => e.textContent), /^\d+ checks pass server version, namespace/);
  await page.click('details.fold2 summary');
  assert.match(await page.$eval('[aria-label="Checks that pass"] table', (e) => e.innerText), /closed runs are kept for \d+ (h|days)/);
  await stage.shell('roundsman resume node-b');
  await page.close();
});

test('an empty *Held before* is one line', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'locks?lane=nothing');
  const section = await until('its card', async () => (await page.$$('main section')).at(-1));
  await until('its text', () => section.evaluate((e) => e.innerText.includes('No release is kept.')));
  assert.ok((await section.evaluate((e) => e.offsetHeight)) <= 40);
  await page.close();
});

test('the audit log tells actions in words, with their codes; job types say in their header which of them stand', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440 });
  await stage.shell('roundsman pause compact -r "new disks"');
  await stage.open(page, 'audit?kind=operator');
  const [first] = await until('the entry', () => page.$$eval('[aria-label="Audit log"] .row', (all) => (/compact/.test(all[0]?.innerText) ? all.map((e) => [...e.children].map((cell) => cell.innerText)) : undefined)));
  assert.deepEqual(first.slice(1, 4), ['ann', 'Paused jobtype.pause', 'jobtype/compact']);
  assert.match(await page.$eval('.title', (e) => e.innerText), /ann paused jobtype\/compact/);
  const { entries } = await stage.get('/audit?kind=operator&limit=1000');
  assert.deepEqual(entries.filter((entry) => entry.did.includes('.') || entry.did === entry.action).map((entry) => entry.action), []);
  await stage.open(page, 'job-types');
  await until('which one stands', () => page.$eval('.title', (e) => /1 paused.*compact is paused: by ann: new disks/s.test(e.innerText)));
  await stage.shell('roundsman resume compact');
  await until('none stands', () => page.$eval('.title', (e) => /none stopped/i.test(e.innerText)));
  await page.close();
});

test('access has the rights of a person at the side, from 1,024 px', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1024 });
  await stage.open(page, 'access');
  const lefts = await page.$$eval('main section', (all) => Object.fromEntries(all.map((e) => [e.querySelector('h2').firstChild.textContent.trim(), e.getBoundingClientRect().left])));
  for (const side of ['You', 'What may a person do?']) assert.ok(lefts[side] > lefts.Roles + 400, `${side}: ${JSON.stringify(lefts)}`);
  await page.close();
});

test('a run has its facts at the side, from 1,024 px', { skip, timeout: 600_000 }, async () => {
  for (const [width, beside] of [[1440, true], [1024, true], [1023, false]]) {
    const page = await stage.page({ width });
    await stage.open(page, 'runs/dag~steps~pages');
    const [main, side] = await page.$$eval('.cols > .stack', (all) => all.map((e) => { const { left, right, top } = e.getBoundingClientRect(); return { left, right, top, facts: e.querySelector('dl dt') !== null }; }));
    assert.deepEqual([main.facts, side.facts], [false, true]);
    assert.equal(side.left >= main.right && side.top === main.top, beside, `${width}: ${JSON.stringify([main, side])}`);
    await page.close();
  }
});

test('the bar of a day leads to its instants', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'calendar?type=compact');
  await page.evaluate(() => localStorage.setItem('roundsman.zone', 'Asia/Kolkata'));
  await page.reload();
  const bars = () => page.$$eval('.days a', (all) => all.map((e) => e.textContent));
  const due = () => page.$$eval('[aria-label=Forecast] .row', (all) => all.map((row) => row.children[2].textContent));
  const [, day] = await until('a week', async () => { const found = await bars(); return found.length > 5 && (await due()).length > 5 && found; });
  assert.match(day, /^\w{3} \d+ \w{3} 24 runs/);
  await page.click('.days li:nth-child(2) a');
  const name = day.slice(0, day.indexOf(' 24 runs'));
  const [first] = await until('its instants alone', async () => { const found = await due(); return found.length > 5 && found.every((text) => text.startsWith(name)) && found; });
  assert.match(first, /00:\d\d/);
  assert.equal(await page.$eval('[aria-label=Forecast]', (e) => Number(e.getAttribute('aria-rowcount'))), 25);
  assert.ok(await page.$('.tl-brush'));
  assert.match(page.url(), /type=compact&since=[^&]+T18%3A30%3A00.000Z&until=[^&]+T18%3A29%3A59.999Z/);
  await page.goBack();
  await until('all days', async () => (await due()).some((text) => !text.startsWith(name)));
  await page.evaluate(() => localStorage.clear());
  await page.close();
});

test('the bar of a day has as many instants as its list, also with a run over midnight', { skip, timeout: 600_000 }, async () => {
  const tick = (at, started_at, ended_at) => ({ job_type: 'compact', at, state: 'ran', outcome: 'completed', started_at, ended_at });
  const ticks = [tick('2026-11-24T10:00:00Z', '2026-11-24T10:00:00Z', '2026-11-24T10:01:00Z'), tick('2026-11-23T22:00:00Z', '2026-11-23T22:00:00Z', '2026-11-24T02:00:00Z')];
  const days = [1, 2].map((ran) => ({ from: `2026-11-2${2 + ran}T00:00:00Z`, to: `2026-11-2${3 + ran}T00:00:00Z`, ran, skipped: 0, missed: 0 }));
  const page = await stage.page({ width: 1440 });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const path = request.url().replace(/.*\/api\/v1/, '');
    if (path.startsWith('/events')) return request.abort();
    if (!path.startsWith('/ledger')) return request.continue();
    return request.respond({ contentType: 'application/json', body: JSON.stringify({ ticks, days, counts: { ran: 2 }, as_of: '2026-11-25T00:00:00Z', from: '2026-11-18T00:00:00Z' }) });
  });
  await page.goto(`${stage.base}#/calendar?view=past&zone=UTC`);
  await page.waitForSelector('.days a');
  assert.deepEqual(await page.$$eval('.days a', (all) => all.map((e) => e.textContent.trim())), ['Mon 23 Nov 1 run', 'Tue 24 Nov 2 runs']);
  for (const n of [1, 2]) {
    await page.click(`.days li:nth-child(${n}) a`);
    await until(`${n} in the list`, () => page.$eval('[aria-label=Ledger]', (e) => e.getAttribute('aria-rowcount') === String(1 + Number(new URLSearchParams(location.hash.split('?')[1]).get('since').slice(8, 10) - 22))));
  }
  await page.evaluate(() => {
    const instants = [...document.querySelectorAll('.filters label')].find((e) => e.textContent.startsWith('Instants')).querySelector('select');
    instants.value = 'dropped';
    instants.dispatchEvent(new Event('change', { bubbles: true }));
  });
  await until('that the day has none', () => page.$eval('main', (e) => /Nothing was skipped or missed on Tue 24 Nov\. Show all/.test(e.innerText.replaceAll(/\s+/g, ' '))));
  await page.close();
});

test('of a zone that the server does not know, the bars are days of UTC', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440 });
  const says = (text) => until(text, () => page.$eval('main', (e, text) => e.innerText.includes(text), text));
  await stage.open(page, 'calendar?zone=europe/berlin'); // Browsers know a zone in any case.
  await says('The server does not know the zone europe/berlin: a bar is a day of UTC.');
  await stage.open(page, 'calendar?zone=america/new_york');
  await says('The server does not know the zone america/new_york: a bar is a day of UTC.');
  const tomorrow = new Date(Date.now() + 86_400_000).toUTCString().slice(0, 11).replace(/,? 0?/, ' '); // Tue 1 Dec
  assert.equal(await page.$$eval('.days li span', (all) => all[1].textContent.replace(/ \d{4}$/, '')), tomorrow);
  await stage.open(page, 'calendar?zone=europe/berlin&view=past');
  await says('The last seven days');
  assert.equal(await page.$('main .failure'), null);
  await page.close();
});

test('while the instants of a day are read, it is not said that none is due', { skip, timeout: 600_000 }, async () => {
  const at = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const tick = (hours) => ({ job_type: 'compact', at: at(hours), state: 'runs', begins_at: at(hours), ends_at: at(hours) });
  const page = await stage.page({ width: 1440 });
  const held = [];
  const answer = (request, ticks) => request.respond({ contentType: 'application/json', body: JSON.stringify({ ticks, more: 7, job_types: [], as_of: at(0), until: at(168) }) });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const path = request.url().replace(/.*\/api\/v1/, '');
    if (path.startsWith('/events')) return request.abort();
    if (!path.startsWith('/forecast')) return request.continue();
    return path.includes('since=') ? held.push(request) : answer(request, [tick(1)]);
  });
  const says = () => page.$eval('main', (e) => e.innerText);
  for (const [from, to] of [[72, 96], [96, 120]]) { // The second day is read while the first one is shown.
    held.length = 0;
    await page.goto(`${stage.base}#/calendar?since=${at(from)}&until=${at(to)}`);
    await until('the day is read', () => held.length > 0);
    await until('the week', async () => /Over time/.test(await says()));
    assert.doesNotMatch(await says(), /Nothing is due/);
    await answer(held[0], [tick(from + 1)]);
    await page.waitForSelector('[aria-label=Forecast] .row');
  }
  await page.close();
});

test('the rights of a person are not shown as those of another one', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await page.evaluateOnNewDocument(() => {
    const plain = window.fetch;
    window.fetch = (...request) => (/name=bob/.test(request[0]) ? new Promise(() => { window.asked = true; }) : plain(...request));
  });
  await stage.open(page, 'access');
  const said = () => page.evaluate(() => [...document.querySelectorAll('main section')].find((e) => /What may a person do/.test(e.querySelector('h2').textContent)).innerText);
  const type = (name) => page.evaluate((name) => {
    const input = [...document.querySelectorAll('main label')].find((e) => /^Person/.test(e.textContent)).querySelector('input');
    input.value = name;
    input.dispatchEvent(new Event('input', { bubbles: true }));
  }, name);
  await type('ann');
  await until('her rights', async () => /Nothing: no binding/.test(await said()));
  await type('bob');
  await until('the question', () => page.evaluate(() => window.asked === true));
  assert.doesNotMatch(await said(), /Nothing: no binding/);
  await page.close();
});

// A page is loaded once and then resized: both sizes lay it out anew.
test('pages fit 360 px, and 720 px at 200 %', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 360, height: 740 });
  const wide = [];
  for (const route of routes) {
    for (const size of [{ width: 360, height: 740 }, { width: 720, height: 450, deviceScaleFactor: 2 }]) {
      await page.setViewport(size);
      if (size.width === 360) await stage.open(page, route);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(`#/${route} at ${size.width} px`);
    }
  }
  assert.deepEqual(wide, []);
  await page.close();
});

test('filters are in the address', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'job-types');
  await page.type('input[type=search]', 'night');
  await until('one row', () => page.$$eval('.row', (rows) => rows.length === 1));
  assert.match(page.url(), /#\/job-types\?name=night$/);
  await page.reload();
  await page.waitForSelector('.row');
  assert.equal((await page.$$('.row')).length, 1);
  await page.close();
});

test('a run shows its tasks, and those of one state', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  const rows = () => page.$$eval('[aria-label=Tasks] .row', (all) => all.map((row) => row.textContent));
  await stage.open(page, 'runs/dag~steps~pages');
  await until('four tasks', async () => (await rows()).length === 4);
  await page.select('.filters select', 'failed');
  await until('the failed one', async () => (await rows()).length === 1 && /^broken/.test((await rows())[0]));
  assert.match(page.url(), /\?state=failed$/);
  await page.click('.row a');
  await until('its attempts', () => page.evaluate(() => /exited with status 1/.test(document.querySelector('[aria-label="Attempts at broken"]')?.textContent ?? '')));
  assert.equal(await page.title(), 'broken · Roundsman');
  await page.close();
});

test('a worker shows its slots over time', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.openRun('slow');
  await stage.open(page, 'workers/node-a');
  await until('the chart', () => page.$eval('.usage svg', (e) => /^Slots in use: \d+ % in the last \d+ (s|min)/.test(e.getAttribute('aria-label'))));
  await until('the words', () => page.$eval('.usage figcaption', (e) => /A slot was free all the last|No slot was free for/.test(e.textContent)));
  await page.close();
});

test('the settings at their default are one line, which opens; a changed one stands before them', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'job-types/compact');
  const fold = () => page.$eval('.settings-of details.defaults', (e) => ({ open: e.open, text: e.querySelector('summary').textContent, fields: e.querySelectorAll('.setting').length }));
  const policy = () => page.evaluate(() => [...document.querySelectorAll('[role=tab]')].find((e) => e.textContent === 'Policy').click());
  await policy();
  const before = await until('the fold', async () => { const found = await fold(); return found.fields > 10 && found; });
  assert.deepEqual(before, { open: false, text: `${before.fields} settings at their default`, fields: before.fields });
  await page.click('.settings-of details.defaults summary');
  await page.type('.settings-of details.defaults input', '2h');
  await until('the difference', () => page.$('.settings-of .diff'));
  await page.reload();
  await page.waitForSelector('.settings-of');
  await policy();
  await until('the changed setting', () => page.$eval('.settings-of .setting.changed', (e) => e.checkVisibility() && !e.closest('details') && e.querySelector('input').value === '2h'));
  assert.deepEqual(await fold(), { open: false, text: `${before.fields - 1} settings at their default`, fields: before.fields - 1 });
  await page.evaluate(() => [...document.querySelectorAll('.settings-of button')].find((e) => e.textContent === 'Discard').click());
  await page.close();
});

test('facts and cards do not repeat the header', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  for (const [route, card] of [['runs/dag~steps~pages/items/go-ahead', 'Facts'], ['runs/dag~steps~pages/items/broken', 'Attempts'], ['workers/node-a', 'Handlers'], ['job-types/compact', 'Facts']]) {
    await stage.open(page, route);
    await until(`${card} on ${route}`, () => page.$$eval('main h2', (all, card) => all.some((e) => e.textContent.startsWith(card)), card));
    assert.deepEqual(await page.$$eval('main dt', (all) => all.map((e) => e.textContent).filter((name) => ['State', 'Because', 'Waits for'].includes(name))), [], route);
  }
  await stage.open(page, 'runs/dag~steps~pages/items/go-ahead');
  await until('the question', () => page.$eval('main', (e) => e.innerText.includes('Go live')));
  assert.equal(await page.$eval('main', (e) => e.innerText.split('Go live').length - 1), 1);
  await page.close();
});

test('a run has its phases with their times, a job its command', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'runs/SLOW');
  const phases = await until('its phases', () => page.evaluateHandle(() => [...document.querySelectorAll('details summary')].find((e) => e.textContent.startsWith('Phases: '))).then((e) => e.asElement()));
  assert.match(await phases.evaluate((e) => e.textContent), /detecting \d+ \w+, .*dispatching \d+/);
  await phases.click();
  await until('when each began', () => page.$eval('[aria-label=Phases]', (e) => e.checkVisibility() && /detecting.*running jobs/s.test(e.textContent) && /\d\d:\d\d:\d\d, (now|\d+ (s|min|h) ago)/.test(e.textContent)));
  await stage.open(page, 'runs/SLOW/items/job-00001');
  await until('its command', () => page.$$eval('section pre', (all) => all.some((e) => /^sh -c 'for i in .* sh sda$/.test(e.textContent))));
  await stage.open(page, 'runs/dag~steps~pages/items/broken');
  await until('that of a task', () => page.$$eval('section pre', (all) => all.some((e) => e.textContent === 'false')));
  await page.close();
});

test('a graph is drawn in the colors of states', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'runs/dag~steps~pages');
  await page.waitForSelector('.graph rect');
  const fills = await page.$$eval('.graph rect', (all) => all.map((rect) => getComputedStyle(rect).fill));
  assert.ok(!fills.includes('rgb(0, 0, 0)'), `no box is black: ${fills}`);
  assert.ok(new Set(fills).size >= 3, `states differ: ${fills}`);
  await page.close();
});

test('times follow the chosen zone', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page();
  await stage.open(page, 'job-types/nightly');
  await page.click('.settings summary');
  await until('all zones', () => page.$$eval('.settings select option', (all) => all.length > 100));
  const at = () => page.evaluate(() => document.body.innerText.match(/, \d\d:00\b/g) ?? []);
  await page.select('.settings select', 'America/New_York');
  await until('another time in New York', async () => {
    const all = await at();
    return all.length > 0 && !all.includes(', 02:00');
  });
  await page.select('.settings select', 'Europe/Berlin');
  await until('02:00 in Berlin', async () => (await at()).includes(', 02:00'));
  await page.close();
});

test('a job type is in the state that the API names, with its cause', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'lonely.yaml');
  writeFileSync(file, `version: 1
owner: lonely
job_types:
  lonely:
    handler: command
    schedule: {every: 24h, first_run: scheduled}
    detect_on: every
    labels: {disk: tape}
    detect: {command: [printf, ''], format: lines}
    execute: {command: ["true"]}
`);
  await stage.shell(`roundsman apply --config ${file}`);
  const page = await stage.page();
  await stage.open(page, 'job-types/lonely');
  const why = () => page.evaluate(() => `${document.querySelector('.title .pill').textContent}: ${document.querySelector('.title .says .detail')?.textContent ?? ''}`);
  await until('that no worker has the label', async () => /^no worker: no online worker.*disk.*tape/i.test(await why()));
  await stage.open(page, 'job-types');
  await until('the same in the list', () => page.$$eval('.row', (all) => all.some((row) => /^lonelyno worker/.test(row.textContent))));
  await stage.shell('roundsman pause lonely --note "new drives"');
  await stage.open(page, 'job-types/lonely');
  await until('who paused it, and why', async () => /^paused: .*by ann: new drives$/.test(await why()));
  await page.close();
});
