// The page of a run: its graph, its map, its failures, and the ways to mend it. Each journey is judged by its effect.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, sound, Stage, themes, until } from './stage.mjs';

const skip = missing();
let stage;
let page;

const numbers = (n) => `[${Array.from({ length: n }, (_, i) => i).join(',')}]`;
const asking = 'ask-owner';

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  writeFileSync(join(stage.dir, 'inner.yaml'), `version: 1
name: inner
tasks:
  - {id: ${asking}, approval: {prompt: "Rebuild the index?", timeout: 8h}}
  - {id: built, needs: ${asking}, noop: true}
`);
  writeFileSync(join(stage.dir, 'night.yaml'), `version: 1
name: night
hold_on_failure: 8h
tasks:
  - {id: snapshot, command: ["true"]}
  - {id: volumes, needs: snapshot, noop: true, for_each: ${numbers(1190)}}
  - {id: copy, needs: snapshot, command: [sh, -c, '[ -e ${stage.dir}/mended ] || { echo "no such disk" >&2; exit 75; }']}
  - {id: prune, needs: copy, command: ["true"]}
  - {id: verify, needs: volumes, noop: true}
  - {id: go-ahead, needs: verify, approval: {prompt: "Delete old volumes?", timeout: 8h}}
  - {id: index, needs: snapshot, dag: ./inner.yaml}
  - {id: report, needs: [prune, go-ahead, index], command: ["true"]}
`);
  await stage.shell(`roundsman start ${stage.dir}/night.yaml --as one`);
  page = await stage.page({ width: 1440, height: 900 });
  await until('a failed task and two questions', async () => {
    const { counts } = await stage.get(`/runs/${key('dag/night/one')}/graph`);
    return counts.failed === 1 && counts.running === 2 && (await inner(asking))?.state === 'running';
  }, 120_000);
});
after(() => stage?.down());

const night = 'dag/night/one';
const inner = async (id) => (await stage.get(`/runs/${key(`${night}/index`)}/items?id=${id}`)).items[0];
const item = async (id) => (await stage.get(`/runs/${key(night)}/items?id=${id}`)).items[0];
const nodes = () => page.evaluate(() => document.querySelectorAll('body *').length);
const box = (id) => `#box-${id}`;

// press presses a button by its text, within a part of the page.
async function press(text, within = 'main') {
  await until(`a button ${text}`, () => page.evaluate((text, within) => {
    const button = [...document.querySelectorAll(`${within} button`)].find((one) => one.textContent.trim() === text && !one.disabled);
    button?.click();
    return button !== undefined;
  }, text, within));
}

async function clean(onlyColors) {
  assert.deepEqual(await sound(page, undefined, onlyColors), []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
}

test('the shape of 1,200 tasks', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, `runs/${key(night)}`);
  await page.waitForSelector(box('copy'));
  const elements = await nodes();
  console.log(`1,200 tasks: ${elements} elements`);
  assert.ok(elements <= 600, `${elements} elements`);
  await until('its numbers', () => page.evaluate((volumes, index) => /1,190 tasks/.test(document.querySelector(volumes)?.textContent) && /0 of 2/.test(document.querySelector(index)?.textContent), box('volumes'), box('index')));
  const look = (id) => page.$eval(`${box(id)} .box`, (e) => getComputedStyle(e).fill);
  for (const [i, features] of themes.entries()) {
    await page.emulateMediaFeatures(features);
    const failed = await page.evaluate(() => {
      const probe = document.createElement('i');
      probe.style.color = 'var(--failed)';
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return color;
    });
    assert.equal(await look('copy'), failed, features[0].value);
    assert.notEqual(await look('snapshot'), failed);
    await clean(i > 0);
  }
  await page.waitForSelector('.edge.critical');
  await until('a dashed line', () => page.$eval('.edge.blocked', (e) => /4/.test(getComputedStyle(e).strokeDasharray)));
  const mini = await until('a small picture', () => page.$eval('.mini', (e) => e.getBoundingClientRect().toJSON()));
  assert.ok(mini.width <= 120 && mini.height <= 50);
});

const scale = () => page.$eval('.zoom span', (e) => Number.parseInt(e.textContent, 10));
const place = () => page.$eval('.graph > svg > g', (e) => e.getAttribute('transform'));

test('zoom, pan and move by keyboard and pointer', { skip, timeout: 600_000 }, async () => {
  await page.$eval('.graph > svg', (e) => e.focus());
  const whole = await scale();
  await page.keyboard.press('+');
  await page.keyboard.press('+');
  await until('a larger scale', async () => (await scale()) > whole);
  const before = await place();
  const at = await (await page.$('.graph')).boundingBox();
  await page.mouse.move(at.x + 60, at.y + 20);
  await page.mouse.down();
  await page.mouse.move(at.x + 160, at.y + 60, { steps: 4 });
  await page.mouse.up();
  await until('it was dragged', async () => (await place()) !== before);
  // The frame of the small picture goes where the pointer drags it.
  const mini = await (await page.$('.mini')).boundingBox();
  const left = async () => Number(/translate\((-?[\d.]+)/.exec(await place())[1]);
  const was = await left();
  await page.mouse.move(mini.x + 2, mini.y + mini.height / 2);
  await page.mouse.down();
  await until('its left', async () => (await left()) !== was);
  const first = await left();
  await page.mouse.move(mini.x + mini.width - 2, mini.y + mini.height / 2, { steps: 4 });
  await page.mouse.up();
  await until('its right', async () => (await left()) < first);
  await page.$eval('.graph > svg', (e) => e.focus());
  await page.keyboard.press('0');
  await until('all of it', async () => (await scale()) === whole);
  await page.keyboard.press('Home');
  const active = () => page.$eval('.node.active', (e) => e.id);
  await until('the first box', async () => (await active()) === 'box-snapshot');
  await page.keyboard.press('ArrowRight');
  await until('the next box', async () => (await active()) !== 'box-snapshot');
  await page.keyboard.press('f');
  await until('the failed one', async () => (await active()) === 'box-copy');
  await page.keyboard.press('Enter');
  await until('its panel with the error', () => page.evaluate(() => /copy.*no such disk/s.test(document.querySelector('.chosen')?.textContent ?? '')));
  // Two fingers zoom.
  const session = await page.createCDPSession();
  const touch = (type, apart) => session.send('Input.dispatchTouchEvent', { type, touchPoints: apart === undefined ? [] : [{ x: at.x + 300 - apart, y: at.y + 40, id: 1 }, { x: at.x + 300 + apart, y: at.y + 40, id: 2 }] });
  await touch('touchStart', 20);
  for (const apart of [30, 45, 60]) await touch('touchMove', apart);
  await touch('touchEnd');
  await until('a scale by two fingers', async () => (await scale()) > whole);
});

test('find tasks, and open a fan-out', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, `runs/${key(night)}`);
  await page.type('.find-task input', 'volumes.11');
  await until('hits', () => page.$eval('.find-task small', (e) => /^1 of \d+: volumes\.11/.test(e.textContent)));
  await page.keyboard.press('Enter');
  await until('the next hit', () => page.$eval('.find-task small', (e) => /^2 of /.test(e.textContent)));
  await until('its box', () => page.$eval('.node.active', (e) => e.id === 'box-volumes'));
  await page.click(box('volumes'));
  await until('tasks of their own', () => page.$('[id^="box-volumes."]'));
  assert.ok((await nodes()) <= 600, `${await nodes()} elements`);
  await page.click('[aria-label="Fold volumes"]');
  await until('one box again', async () => (await page.$(box('volumes'))) && !(await page.$('[id^="box-volumes."]')));
  await press('List', '.seg');
  await until('one stop of the Tab key', () => page.$$eval('.boxes a[tabindex="0"]', (all) => all.length === 1));
  await page.focus('.boxes a[tabindex="0"]');
  await page.keyboard.press('End');
  await until('the last task', () => page.evaluate(() => /report/.test(document.activeElement.textContent)));
  await press('Map', '.seg');
  await until('a map', () => page.evaluate(() => Number(document.querySelector('.cells canvas')?.dataset.drawn ?? 0) > 0));
  await page.focus('.cells canvas');
  await page.keyboard.press('f');
  await until('the failed task', () => page.evaluate(() => /no such disk/.test(document.querySelector('.chosen')?.textContent ?? '')));
  await clean();
});

test('approve in a sub-DAG from the page of its parent', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, `runs/${key(night)}`);
  await page.waitForSelector(box('index'));
  await page.click(box('index'));
  await until('the tasks of the sub-DAG in its place', () => page.$(`.chosen .graph ${box(asking)}`));
  assert.match(await page.evaluate(() => location.hash), new RegExp(`^#/runs/${key(night)}\\?task=`));
  await stage.open(page, `runs/${key(night)}`);
  await until('both questions', () => page.evaluate(() => ['Delete old volumes', 'Rebuild the index'].every((one) => [...document.querySelectorAll('section.ask:has(button)')].some((e) => e.textContent.includes(one)))));
  await page.evaluate(() => [...document.querySelectorAll('section.ask')].find((one) => /Rebuild/.test(one.textContent)).querySelector('button').click());
  await page.waitForSelector('dialog[open]');
  await press('Approve', 'dialog');
  await until('the sub-DAG has ended', async () => (await item('index')).state === 'completed', 60_000);
  await until('the question is gone', () => page.evaluate(() => !/Rebuild the index/.test(document.querySelector('main').innerText)));
});

test('retry what failed of a held run, with its preview', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, `runs/${key(night)}`);
  await until('its failure', () => page.$eval('section.alarm', (e) => /1 task failed.*no such disk/s.test(e.textContent)));
  writeFileSync(join(stage.dir, 'mended'), '');
  await press('Retry 1 failed');
  await page.waitForSelector('dialog[open]');
  await until('the tasks that run again', () => page.$eval('dialog .preview', (e) => /copy/.test(e.textContent) && /prune/.test(e.textContent)));
  await press('Retry 1 failed', 'dialog');
  await until('it is mended', async () => (await item('copy')).state === 'completed' && (await item('prune')).state === 'completed', 60_000);
  await page.keyboard.press('Escape');
  await until('the failure is gone', () => page.evaluate(() => !document.querySelector('section.alarm')));
  await until('a button of the approval', () => page.$('section.ask button'));
  await page.click('section.ask button');
  await page.waitForSelector('dialog[open]');
  await press('Approve', 'dialog');
  await until('the run has ended', async () => (await stage.get(`/runs/${key(night)}`)).outcome === 'completed', 60_000);
});

test('a run of many jobs: its map, its causes, and the retry of what failed', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'many.json');
  writeFileSync(file, Array.from({ length: 60 }, (_, i) => JSON.stringify({ dedupe_key: `disk-${i}`, params: { item: i % 2 === 0 ? 'good' : `disk-${i}` } })).join('\n'));
  await stage.shell(`roundsman submit failing -f ${file} --as many`);
  const run = 'group/failing-adhoc-many';
  await until('failures', async () => (await stage.get(`/runs/${key(run)}/failures`)).failed > 0, 120_000);
  await stage.open(page, `runs/${key(run)}`);
  await until('a map while it runs, or soon after', () => page.evaluate(() => Number(document.querySelector('.cells canvas')?.dataset.drawn ?? 0) > 0));
  await until('the end', async () => (await stage.get(`/runs/${key(run)}`)).outcome, 180_000);
  await stage.open(page, `runs/${key(run)}`);
  await until('one cause', () => page.evaluate(() => /30 jobs failed, 1 cause/.test(document.querySelector('section.alarm h2')?.textContent ?? '')));
  await until('all failures', () => page.$eval('.causes li', (e) => /^30.*no such disk/s.test(e.textContent)));
  const { map, states } = await stage.get(`/runs/${key(run)}/map`);
  assert.deepEqual([...Buffer.from(map, 'base64')].map((byte) => states[byte]), Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 'completed' : 'failed')), 'from the record');
  // A count has all of its jobs, whatever the list has been narrowed to.
  await page.evaluate(() => { location.hash += '?find=disk-2&since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z'; });
  const failed = () => page.$$eval('.spreads a', (all) => all.find((a) => /failed/.test(a.textContent)).hash);
  await until('its address', async () => /state=failed/.test(await failed()) && /find=/.test(page.url()));
  assert.equal(await failed(), `#/runs/${encodeURIComponent(key(run))}?state=failed`);
  await stage.open(page, `runs/${key(run)}`);
  await press('Show 30', 'section.alarm');
  await until('the jobs', () => page.$eval('.causes .of', (e) => /disk-1\D/.test(e.textContent)));
  await clean();
  await press('Retry 30 failed');
  await page.waitForSelector('dialog[open]');
  await until('a list with a search', () => page.$('dialog .preview input'));
  await page.type('dialog .preview input', 'disk-59');
  await until('what was searched', () => page.$eval('dialog .preview ul', (e) => e.children.length === 1 && /disk-59/.test(e.textContent)));
  await press('Retry 30 failed', 'dialog');
  const next = await until('a new run', () => page.$eval('dialog [role=status] a', (a) => a.title));
  await until('its jobs', async () => (await stage.get(`/runs/${key(next)}`)).progress?.total === 30);
  await page.keyboard.press('Escape');
  await until('no dialog', async () => !(await page.$('dialog[open]')));
  await page.focus('.cells canvas');
  await page.keyboard.press('f');
  await until('the first failed job', () => page.$eval('.jobs [role=status]', (e) => /disk-1: failed/.test(e.textContent)));
  // A job that comes late, also after its request was given up, does not lead away from another page.
  await page.evaluate(() => {
    const plain = window.fetch;
    const late = (status, body) => new Promise((done) => {
      window.answer = () => new Promise((read) => {
        const response = new Response(JSON.stringify(body), { status });
        const text = response.text.bind(response);
        response.text = () => text().finally(() => setTimeout(read, 0));
        done(response);
      });
    });
    window.asks = (...of) => {
      delete window.answer;
      window.fetch = (...request) => (/items\?find=\d+&limit=1$/.test(request[0]) ? late(...of) : plain(...request));
    };
    window.mend = () => { window.fetch = plain; };
    window.asks(200, { items: [{ id: 'job-00002' }] });
  });
  const answered = async () => {
    await until('its request', () => page.evaluate(() => window.answer !== undefined));
    return () => page.evaluate(() => window.answer());
  };
  await page.keyboard.press('Enter');
  const late = await answered();
  await page.evaluate(() => { location.hash = '#/workers'; });
  await until('another page', () => page.$eval('h1', (e) => e.textContent === 'Workers'));
  await late();
  assert.equal(await page.evaluate(() => location.hash), '#/workers');
  const again = async () => {
    await page.evaluate((at) => { window.mend(); location.hash = at; }, `#/runs/${key(run)}`);
    await page.waitForSelector('.cells canvas');
    await page.focus('.cells canvas');
    await page.keyboard.press('f');
    await until('the first failed job again', () => page.$eval('.jobs [role=status]', (e) => /disk-\d+: failed/.test(e.textContent)));
  };
  await again();
  await page.evaluate(() => window.asks(500, { status: 500, code: 'INTERNAL', detail: 'no record' }));
  await page.keyboard.press('Enter');
  await (await answered())();
  await until('the list of it', () => page.evaluate(() => /find=2\b/.test(location.hash)));
  assert.deepEqual(page.faults, []);
  await again();
  await page.keyboard.press('Enter');
  await until('its page', () => page.$eval('h1', (e) => /^job-\d{5}$/.test(e.textContent)));
  assert.deepEqual(page.faults, []);
});

test('a graph of few tasks can be read at once at every width', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'ladder.yaml');
  const rung = (i) => `  - {id: rung-${i}, ${i > 0 ? `needs: rung-${i - 1}` : 'approval: {prompt: "Climb?"}'}${i > 0 ? ', command: ["true"]' : ''}}`;
  writeFileSync(file, `version: 1\nname: ladder\ntasks:\n${Array.from({ length: 7 }, (_, i) => rung(i)).join('\n')}\n  - {id: beside, needs: rung-2, command: ["true"]}\n`);
  await stage.shell(`roundsman start ${file} --as tall`);
  for (const width of [1440, 1024, 390]) {
    await page.setViewport({ width, height: 960 });
    await stage.open(page, 'runs/dag~ladder~tall');
    await until(`all names at ${width} px`, () => page.$$eval('.graph .node text.t', (all) => all.length === 8));
    const cut = () => page.$eval('.graph', (e) => {
      const frame = e.getBoundingClientRect();
      return [...e.querySelectorAll('.node .box')].map((box) => box.getBoundingClientRect()).filter((b) => b.left < frame.left || b.right > frame.right || b.top < frame.top || b.bottom > frame.bottom).length;
    });
    await until(`85 % or more and no box out of sight at ${width} px`, async () => (await scale()) >= 85 && (await cut()) === 0).catch(async (cause) => { throw new Error(`${await scale()} %, ${await cut()} out of sight`, { cause }); });
  }
});
