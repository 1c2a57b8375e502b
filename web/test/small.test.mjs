// Small things that mislead: the menu of zones, forms in another zone, raw UTC, a verdict that asks for what is under
// way, alarm colors, letters that cannot be seen, errors of Go, and a log without its actors.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

const click = (selector, text) => page.evaluate((selector, text) => [...document.querySelectorAll(selector)].find((e) => e.textContent.startsWith(text)).click(), selector, text);

test('the menu of zones stays on the screen and closes with Esc', options, async () => {
  for (const width of [1440, 1024, 390]) {
    await page.setViewport({ width, height: 700 });
    await stage.open(page, 'access');
    await page.click('.settings summary');
    await until('all zones', () => page.$$eval('.settings option', (all) => all.length > 100));
    const box = await page.$eval('.settings > div', (e) => { const r = e.getBoundingClientRect(); return { left: r.left, top: r.top, right: innerWidth - r.right, bottom: innerHeight - r.bottom }; });
    for (const [side, room] of Object.entries(box)) assert.ok(room >= 0, `${width}: ${side} ${room}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
    await page.keyboard.press('Escape');
    await until('it is closed', () => page.$eval('.settings', (e) => !e.open));
  }
  await page.setViewport({ width: 1440, height: 900 });
});

test('a backfill is in the chosen zone', options, async () => {
  await stage.open(page, 'job-types/nightly');
  await page.evaluate(() => localStorage.setItem('roundsman.zone', 'Asia/Kolkata'));
  await page.reload();
  await until('its button', () => page.$$eval('main button', (all) => all.some((e) => e.textContent === 'Backfill')));
  await click('main button', 'Backfill');
  await page.waitForSelector('dialog[open]');
  assert.match(await page.$eval('dialog', (e) => e.innerText), /In the chosen time zone, Asia\/Kolkata\./);
  for (const i of [0, 1]) {
    await page.$$eval('dialog input[type=datetime-local]', (all, i) => { all[i].value = `2026-11-2${i + 1}T05:30`; all[i].dispatchEvent(new Event('input', { bubbles: true })); }, i);
    await until('the field', () => page.$eval('dialog .line code', (e, day) => e.textContent.includes(day), `2026-11-2${i + 1}T00:00`));
  }
  await until('the line for a shell', () => page.$eval('dialog .line code', (e) => /--backfill 2026-11-21T00:00:00.000Z\.\.2026-11-22T00:00:00.000Z/.test(e.textContent)));
  await page.keyboard.press('Escape');
  await page.evaluate(() => localStorage.clear());
  await page.reload();
});

test('no page shows raw UTC, but in names, code and input', options, async () => {
  await stage.runDAG('utc');
  await stage.openRun('slow');
  for (const route of ['', 'job-types', 'job-types/nightly', 'job-types/slow', 'runs', 'runs/dag~steps~utc', 'runs/SLOW', 'runs/SLOW/items/job-00001', 'workers/node-a', 'locks', 'calendar', 'calendar?view=past', 'audit', 'doctor']) {
    await stage.open(page, route);
    const raw = await page.evaluate(() => {
      const copy = document.querySelector('main').cloneNode(true);
      for (const e of copy.querySelectorAll('code, pre, textarea, details.lines')) e.remove();
      return [...copy.textContent.matchAll(/.{0,20}20\d\d-\d\d-\d\dT\d\d:\d\d\S*/g)].map((m) => m[0]).filter((text) => !/[\w-]+-20\d\d-\d\d-\d\dT/.test(text));
    });
    assert.deepEqual(raw, [], route);
  }
});

test('a worker that drains is not told to drain first', options, async () => {
  await stage.openRun('slow');
  const busy = await until('a worker with a job', async () => {
    for (const { registration } of (await stage.get('/workers')).workers) if ((await stage.get(`/workers/${registration.id}/reboot`)).code === 'DRAIN_FIRST') return registration.id;
    return undefined;
  }, 60_000);
  await stage.shell(`roundsman pause ${busy} --reason reboot`);
  await stage.open(page, `workers/${busy}`);
  await until('the verdict', () => page.$eval('.verdict', (e) => /^After its jobs\./.test(e.textContent.trim()) && !/drain it first|roundsman drain/i.test(e.textContent)));
  await stage.shell(`roundsman resume ${busy}`);
});

test('a job type that is not due has no alarm color; a task that waits for a person does not run', options, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.row');
  for (const state of await page.$$eval('.row .state', (all) => all.map((e) => e.className))) assert.doesNotMatch(state, /person|paused|failed/);
  const run = await stage.runDAG('waits');
  await stage.open(page, `runs/${key(run)}`);
  await until('what the task waits for', () => page.$$eval('[aria-label=Tasks] .row', (all) => all.some((e) => /^go-ahead.*needs approval/.test(e.textContent) && e.querySelector('.state.person'))));
  await stage.open(page, `runs/${key(run)}/items/go-ahead`);
  await until('the same in its header', () => page.$eval('.title .pill.person', (e) => e.textContent === 'needs approval'));
});

test('letters that cannot be seen are marked everywhere', options, async () => {
  const file = join(stage.dir, 'jobs.json');
  writeFileSync(file, JSON.stringify({ dedupe_key: 'a\u202Egpj.exe', params: { item: 'x' } }));
  await stage.shell(`roundsman submit compact -f ${file} --as turned`);
  await until('its run', async () => (await stage.get('/runs?job_type=compact')).runs.some((one) => /turned/.test(one.workflow_id)));
  const { runs } = await stage.get('/runs?job_type=compact');
  await stage.open(page, `runs/${key(runs.find((one) => /turned/.test(one.workflow_id)).workflow_id)}`);
  await until('its key', () => page.$$eval('[aria-label=Jobs] .unseen', (all) => all.some((e) => e.textContent === 'U+202E')));
  assert.ok(await page.evaluate(() => !/[\u202a-\u202e]/.test(document.body.innerText)));
});

test('the log on a telephone says who', options, async () => {
  await stage.shell('roundsman pause compact --reason disks');
  const phone = await stage.page({ width: 390, height: 844 });
  await stage.open(phone, 'audit?kind=operator');
  await until('who did it', () => phone.$$eval('[aria-label="Audit log"] .row', (all) => all.some((e) => /jobtype\.pause/.test(e.innerText) && /\bann\b/.test(e.innerText))));
  const cut = await phone.$$eval('[aria-label="Audit log"] .row', (all) => all.flatMap((row) => [...row.children].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)));
  assert.deepEqual(cut, []);
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= 390));
  await phone.close();
});

test('the banner has no error of Go', options, async () => {
  await page.setRequestInterception(true);
  const detail = 'rpc error: code = Unavailable desc = connection error: dial tcp 127.0.0.1:7233';
  page.on('request', (request) => {
    if (/\/events/.test(request.url())) void request.respond({ status: 200, contentType: 'text/event-stream', body: `data: ${JSON.stringify({ topic: 'server', problem: { status: 503, unreachable: true, detail } })}\n\n` });
    else void request.continue();
  });
  await page.goto(stage.base);
  await page.reload();
  await until('the banner', () => page.$eval('.banner', (e) => /Temporal's server does not answer the control plane\. Running jobs continue\./.test(e.textContent) && !/rpc|dial|desc/.test(e.textContent)));
});

test('on a telephone, what failed stands above what runs', options, async () => {
  const phone = await stage.page({ width: 390, height: 844 });
  await stage.open(phone, '');
  const heads = () => phone.$$eval('main h2', (all) => all.map((e) => e.textContent.trim()).filter((text) => /^(Needs|Waits|Failed|Runs)/.test(text)).map((text) => text.split(' ')[0]).join());
  await until('the order', async () => (await heads()) === 'Needs,Waits,Failed,Runs');
  await phone.setViewport({ width: 1440, height: 900 });
  await until('two columns', async () => (await heads()) === 'Needs,Failed,Waits,Runs');
  await phone.close();
});
