// Timelines and charts: what an operator sees, and where a click leads.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { key, missing, sound, Stage, themes, until } from './stage.mjs';

const skip = missing();
const many = 10_000;
let stage;
let page;

const hrefOf = (run) => `#/runs/${encodeURIComponent(run.replaceAll('/', '~'))}`;
const hrefIs = (run) => until(`the address of ${run}`, async () => (await page.evaluate(() => location.hash)) === hrefOf(run));

// The 10,000 tasks of a DAG that run nothing: they end in seconds, each with its own time.
const swarm = `version: 1
name: swarm
tasks:
  - {id: before, command: [sleep, "1"]}
  - {id: each, needs: before, noop: true, for_each: [${Array.from({ length: many - 3 }, (_, i) => i).join(',')}]}
  - {id: bad, needs: before, command: [sh, -c, "sleep 1; echo no such disk >&2; exit 3"]}
  - {id: good, needs: before, command: [sleep, "2"]}
`;

const flaky = (timeout) => `version: 1
owner: times
job_types:
  flaky:
    handler: command
    description: One of three jobs fails at first.
    schedule: {every: 3h, first_run: scheduled}
    policy: {max_runtime: 1h, execution_timeout: ${timeout}, retry_limit: 0}
    detect: {command: [printf, 'one\\ntwo\\nthree\\n'], format: lines}
    execute: {command: [sh, -c, 'sleep 0.2; echo "{\\"bytes\\": 7}"; [ "$1" != two ] || [ -e "$2" ] || { echo "no such disk" >&2; exit 3; }', sh, "{{.Params.item}}", DIR/mended]}
`.replace('DIR', stage.dir);

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  const file = join(stage.dir, 'times.yaml');
  const run = async () => {
    await stage.shell('roundsman start flaky');
    await until('a run of flaky that has ended', async () => (await stage.get('/runs?job_type=flaky')).runs.length > 0 && (await stage.get('/runs?job_type=flaky&running=true')).runs.length === 0);
  };
  writeFileSync(file, flaky('30s'));
  await stage.shell(`roundsman apply --config ${file}`);
  await run();
  await run();
  writeFileSync(join(stage.dir, 'mended'), '');
  writeFileSync(file, flaky('40s'));
  await stage.shell(`roundsman apply --config ${file}`);
  await run();
  await until('three runs', async () => (await stage.get('/run-strips?job_type=flaky')).strips[0].runs.filter((one) => one.ended_at).length === 3);
  page = await stage.page();
});
after(() => stage?.down());

const elements = () => page.evaluate(() => document.querySelectorAll('body *').length);
const hashIs = (pattern) => until(`an address like ${pattern}`, async () => pattern.test(await page.evaluate(() => location.hash)));
const rect = (selector) => page.$eval(selector, (e) => { const { x, y, width, height } = e.getBoundingClientRect(); return { x, y, width, height }; });

const failedBar = 'a.tl-bar.partial[aria-label^="flaky"]';
test('what failed last night and why: from the first page, three clicks', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, '');
  await page.waitForSelector(failedBar);
  const bar = await page.$eval(failedBar, (e) => ({ href: e.getAttribute('href'), text: e.getAttribute('aria-label'), width: e.getBoundingClientRect().width }));
  assert.match(bar.href, /^#\/runs\/group~flaky-/);
  assert.match(bar.text, /^flaky: partial, took /);
  assert.ok(bar.width >= 4, `${bar.width}`);
  await page.click(failedBar);
  await hashIs(/^#\/runs\/group~flaky-/);
  await page.waitForFunction(() => /no such disk/.test(document.querySelector('section.alarm')?.textContent ?? ''));
  await page.waitForSelector('a.tl-bar.failed');
  await page.click('a.tl-bar.failed');
  await hashIs(/\/items\/job-0000\d$/);
  await page.waitForFunction(() => /no such disk/.test(document.querySelector('main').textContent));
  assert.deepEqual(page.faults, []);
});

test('what runs tonight: the first page has a bar for each run to come', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, '');
  await page.waitForSelector('a.tl-bar.plan');
  const night = await stage.get('/night?limit=12');
  const due = night.rows.flatMap((row) => row.bars.filter((bar) => bar.kind === 'plan' || bar.kind === 'skip'));
  assert.ok(due.length > 0);
  assert.equal(await page.$$eval('a.tl-bar.plan', (all) => all.length), due.length);
  const closed = night.rows.flatMap((row) => row.bars.filter((bar) => bar.kind === 'closed'));
  assert.equal(await page.$$eval('.tl-row .tl-bar.closed', (all) => all.length), closed.length);
  assert.ok(await page.$('.tl-now'));
  await page.click('a.tl-bar.plan');
  await hashIs(/^#\/job-types\//);
});

test('the last runs of a job type are bars that lead to them', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types/flaky');
  await page.waitForSelector('.trend a.done');
  const history = await stage.get('/job-types/flaky/history');
  assert.deepEqual(history.runs.map((run) => run.state), ['partial', 'partial', 'completed']);
  assert.deepEqual(history.runs.map((run) => run.jobs.failed), [1, 1, 0]);
  assert.deepEqual(history.runs.map((run) => run.jobs.of), [2, 2, 3]);
  assert.ok(history.runs.every((run) => run.jobs.p50_ms >= 200 && run.jobs.p95_ms >= run.jobs.p50_ms));
  assert.deepEqual(await page.$$eval('.trend a[href]:not(.changes a)', (all) => all.map((a) => a.getAttribute('href'))), history.runs.map((run) => hrefOf(run.workflow_id)));
  // The change of the settings is a line with who and what.
  const changes = history.changes.filter((change) => change.action === 'apply.update');
  assert.equal(changes.length, 1);
  assert.equal((await page.$$('.trend line.change')).length, 1);
  assert.match(await page.$eval('.trend .changes a', (e) => `${e.textContent} ${e.title}`), /^ann: .*30s.*40s/s);
  assert.match(await page.$eval('.trend', (e) => e.textContent), /max runtime 60 min.*p95/s);
  assert.match(await page.$eval('[aria-label="Numbers that its jobs returned"]', (e) => e.textContent), /bytes/);
  // By keyboard: the newest, the one before it, open it.
  await page.focus('.trend .chart');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.match(await page.$eval('.trend [role=status]', (e) => e.textContent), /^partial, took .*1 of 3 jobs failed/);
  await page.keyboard.press('Enter');
  await hrefIs(history.runs[1].workflow_id);
});

test('a row of job types has its last runs, each of them a link', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types');
  const link = '.strip-link[aria-label*="flaky"]';
  await page.waitForSelector(link);
  const { runs } = (await stage.get('/run-strips?job_type=flaky')).strips[0];
  const box = await rect(link);
  for (const [i, run] of runs.entries()) {
    await page.mouse.move(box.x + ((i + 0.5) / runs.length) * box.width, box.y + 5);
    await until(`the link to run ${i}`, async () => (await page.$eval(link, (e) => e.getAttribute('href'))) === hrefOf(run.workflow_id));
  }
  await page.focus(link);
  await page.keyboard.press('Home');
  await until('the first run', async () => (await page.$eval(link, (e) => e.getAttribute('href'))) === hrefOf(runs[0].workflow_id));
  assert.match(await page.$eval(link, (e) => e.getAttribute('aria-label')), /run 1 of 3: partial/);
  await page.keyboard.press('Enter');
  await hrefIs(runs[0].workflow_id);
});

test('a DAG that failed since yesterday has its last runs, each of them a link', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'flops.yaml');
  writeFileSync(file, 'version: 1\nname: flops\ntasks:\n  - {id: only, command: ["false"]}\n');
  for (const name of ['first', 'second']) {
    await stage.shell(`roundsman start ${file} --as ${name}`);
    await until(`the end of ${name}`, async () => (await stage.get(`/runs/dag~flops~${name}`)).ended_at);
  }
  const ids = async () => (await stage.get('/run-strips?dag=flops')).dags[0]?.runs.map((run) => run.workflow_id).join();
  await until('both runs in its strip', async () => (await ids()) === 'dag/flops/first,dag/flops/second');
  await page.setViewport({ width: 1440, height: 900 }); // Narrower windows have no room for strips beside the errors.
  await stage.open(page, '');
  const link = '[aria-label="Runs that failed since yesterday"] .strip-link[aria-label*="flops"]';
  await until('two runs', () => page.$eval(link, (e) => /run 2 of 2: failed/.test(e.getAttribute('aria-label'))));
  await page.focus(link);
  await page.keyboard.press('Home');
  await until('the first run', async () => (await page.$eval(link, (e) => e.getAttribute('href'))) === hrefOf('dag/flops/first'));
  await until('the last runs of a job type beside it', () => page.$('[aria-label="Runs that failed since yesterday"] .strip-link[aria-label*="flaky"]'));
  await page.setViewport({ width: 1280, height: 900 });
});

test('arrow keys go from bar to bar, Enter opens it; [ and ] go earlier and later', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'calendar');
  await page.waitForSelector('.tl-canvas, .tl-bar');
  await page.focus('.tl-body');
  const on = (unlike) => until('the bar with the keyboard', () => page.evaluate((before) => {
    const bar = document.querySelector('.tl-bar.on');
    const text = bar?.getAttribute('aria-label');
    return text !== undefined && text !== before && text === document.querySelector('.timeline [role=status]').textContent && { text, row: text.split(':')[0], x: bar.getBoundingClientRect().x, href: bar.getAttribute('href') };
  }, unlike));
  const press = async (name, from) => { await page.keyboard.press(name); return on(from?.text); };
  const first = await press('ArrowRight');
  const next = await press('ArrowRight', first);
  assert.ok(next.row === first.row && next.x > first.x, `${first.text}, then ${next.text}`);
  const below = await press('ArrowDown', next);
  assert.notEqual(below.row, first.row);
  assert.equal((await press('ArrowUp', below)).row, first.row);
  assert.deepEqual(await press('ArrowLeft').then(({ row }) => row), first.row);
  const axis = () => page.$$eval('.tl-axis > :not(.tl-clock)', (all) => all.map((e) => e.textContent).join());
  const whole = await axis();
  const changed = async (key, from) => { await page.keyboard.press(key); return until(`another axis after ${key}`, async () => { const is = await axis(); return is !== from && is; }); };
  const zoomed = await changed('+', whole);
  const later = await changed(']', zoomed);
  assert.equal(await changed('[', later), zoomed);
  assert.notEqual(await changed('[', zoomed), later);
  await page.keyboard.press('0');
  await until('all of it', async () => (await axis()) === whole);
  const { href } = await press('ArrowDown', first);
  await page.keyboard.press('Enter');
  await until('its page', async () => (await page.evaluate(() => location.hash)) === href);
});

test('the bars of a lane and of a worker are those of the API', { skip, timeout: 600_000 }, async () => {
  const bars = () => page.$$eval('.tl-row .tl-bar', (all) => all.map((e) => [e.classList[2], e.getAttribute('href')].join(' ')).sort().join('\n'));
  const itemOf = (run, item) => `${hrefOf(run)}${item ? `/items/${encodeURIComponent(item)}` : ''}`;
  await stage.shell(`roundsman cancel ${await stage.openRun('slow')} --wait`);
  await stage.openRun('slow');
  const held = async () => {
    const [{ grants }, { lanes }] = [await stage.get('/past-grants?lane=disk'), await stage.get('/lanes')];
    const { holder, waiting = [] } = lanes.find((lane) => lane.name === 'disk');
    return [
      ...grants.flatMap((grant) => ['held', ...(Date.parse(grant.granted_at) - Date.parse(grant.requested_at) >= 1000 ? ['waiting'] : [])].map((role) => `${role} ${itemOf(grant.workflow_id, grant.for)}`)),
      ...[holder].filter(Boolean).map((use) => `running ${itemOf(use.workflow_id, use.for)}`),
      ...waiting.map((use) => `waiting ${itemOf(use.workflow_id, use.for)}`),
    ].sort();
  };
  await stage.open(page, 'locks?lane=disk');
  await until('who held it, and who holds it', async () => (await held()).length >= 2 && (await bars()) === (await held()).join('\n')).catch(async (cause) => { throw new Error(`${await bars()}\n\nnot\n\n${(await held()).join('\n')}`, { cause }); });
  const ran = async () => (await stage.get('/workers/node-a/times?hours=24')).work.map((work) => `${{ completed: 'done' }[work.state] ?? work.state} ${itemOf(work.workflow_id, work.id)}`).sort();
  await stage.open(page, 'workers/node-a');
  await until('what it ran', async () => (await ran()).length >= 2 && (await bars()) === (await ran()).join('\n')).catch(async (cause) => { throw new Error(`${await bars()}\n\nnot\n\n${(await ran()).join('\n')}`, { cause }); });
});

test('a bar of a strip is as high as its run was long, and has the glyph of its outcome', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'job-types');
  await page.waitForSelector('.strip-link[aria-label*="flaky"] .strip');
  const { runs } = (await stage.get('/run-strips?job_type=flaky')).strips[0];
  const paths = await page.$$eval('.strip-link[aria-label*="flaky"] .strip path', (all) => all.map((e) => ({ look: e.getAttribute('class'), d: e.getAttribute('d') })));
  const bars = paths.filter(({ look }) => !look.endsWith('mark')).flatMap(({ look, d }) => [...d.matchAll(/M([\d.]+) [\d.]+v-(\d+)/g)].map(([, x, high]) => ({ look, x: Number(x), high: Number(high) }))).sort((a, b) => a.x - b.x);
  assert.deepEqual(bars.map(({ look }) => look), ['partial', 'partial', 'done']);
  const took = runs.map((run) => Date.parse(run.ended_at) - Date.parse(run.started_at));
  const longest = Math.max(...took);
  assert.deepEqual(bars.map(({ high }) => high), took.map((ms) => Math.round(3 + (13 * ms) / longest)));
  // What completed is quiet: only the others have a glyph, below their bars.
  const marks = paths.filter(({ look }) => look.endsWith('mark'));
  assert.deepEqual(marks.map(({ look }) => look), ['partial mark']);
  assert.deepEqual([...marks[0].d.matchAll(/M([\d.]+) ([\d.]+)h6/g)].map(([, x, y]) => [Number(x), Number(y)]), bars.slice(0, 2).map(({ x }) => [x, 19]));
});

test('10,000 items of a run: few elements, zoom, a brush filters the table', { skip, timeout: 1_500_000 }, async () => {
  const file = join(stage.dir, 'swarm.yaml');
  writeFileSync(file, swarm);
  await stage.shell(`roundsman start ${file} --as swarm`);
  const run = 'dag/swarm/swarm';
  await until('the end of 10,000 tasks', async () => (await stage.get(`/runs/${key(run)}`)).outcome, 240_000, 1_200_000);
  const times = await stage.get(`/runs/${key(run)}/times`);
  assert.equal(times.total, many);
  assert.ok(times.bars.id.length >= many - 10, `${times.bars.id.length} bars`);
  await page.goto('about:blank');
  const began = Date.now();
  await stage.open(page, `runs/${key(run)}?view=list`);
  await page.waitForSelector('.tl-canvas, .tl-bar');
  console.log(`${times.bars.id.length} bars after ${Date.now() - began} ms, ${JSON.stringify(times).length} bytes of JSON; ${await elements()} elements`);
  for (const by of ['By task', 'By worker']) {
    await page.evaluate((text) => [...document.querySelectorAll('.seg button')].find((b) => b.textContent === text).click(), by);
    await page.waitForFunction((text) => [...document.querySelectorAll('.seg button')].find((b) => b.textContent === text).ariaPressed === 'true', {}, by);
    const count = await elements();
    assert.ok(count <= 600, `${by}: ${count} elements`);
  }
  await page.waitForSelector('.tl-canvas');
  // The failed task is red among thousands of others.
  const red = () => page.$eval('.tl-canvas', (canvas) => {
    const [r, g, b] = getComputedStyle(canvas).getPropertyValue('--failed').trim().match(/\w\w/g).map((hex) => Number.parseInt(hex, 16));
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let [n, x] = [0, 0];
    for (let i = 0; i < data.length; i += 4) if (Math.abs(data[i] - r) < 3 && Math.abs(data[i + 1] - g) < 3 && Math.abs(data[i + 2] - b) < 3) { n++; x += (i / 4) % canvas.width; }
    return { n, x: n > 0 ? x / n : 0 };
  });
  const seen = await until('red pixels', async () => { const found = await red(); return found.n >= 4 && found; });
  // F finds it, and its link is there: Enter opens the task.
  await page.focus('.tl-body');
  await page.keyboard.press('f');
  await until('the failed task by F', () => page.$eval('.timeline [role=status]', (e) => /^bad: failed, took/.test(e.textContent)));
  // Ctrl and the wheel zoom around the pointer: the failed bar stays below it and grows.
  await page.$eval('.tl-frame', (e) => e.scrollIntoView({ block: 'center', behavior: 'instant' }));
  const frame = await rect('.tl-frame');
  const canvas = await rect('.tl-canvas');
  await page.mouse.move(canvas.x + seen.x, canvas.y + 20);
  await page.keyboard.down('Control');
  for (let i = 0; i < 2; i++) await page.mouse.wheel({ deltaY: -120 });
  await page.keyboard.up('Control');
  const zoomed = await until('a larger bar', async () => { const found = await red(); return found.n > seen.n * 1.5 && found; });
  assert.ok(Math.abs(zoomed.x - seen.x) < 40, `from ${seen.x} to ${zoomed.x}`);
  await page.keyboard.press('0');
  await until('all again', async () => Math.abs((await red()).n - seen.n) <= seen.n / 4);
  // A drag chooses a time; the table has only what ran then.
  const all = await page.$eval('.rows', (e) => Number(e.ariaRowCount) - 1);
  assert.equal(all, many);
  const x = (share) => canvas.x + share * canvas.width;
  await page.mouse.move(x(0.001), frame.y + frame.height - 4);
  await page.mouse.down();
  await page.mouse.move(x(0.05), frame.y + frame.height - 4, { steps: 5 });
  await page.mouse.up();
  await hashIs(/since=.*until=/);
  const params = new URLSearchParams((await page.evaluate(() => location.hash)).split('?')[1]);
  const chosen = await stage.get(`/runs/${key(run)}/items?limit=1&since=${params.get('since')}&until=${params.get('until')}`);
  assert.ok(chosen.total > 0 && chosen.total < many, `${chosen.total}`);
  await until('a filtered table', () => page.$eval('.rows', (e, n) => Number(e.ariaRowCount) - 1 === n, chosen.total));
  await page.focus('.tl-body');
  await page.keyboard.press('Escape');
  await until('the whole table', () => page.$eval('.rows', (e, n) => Number(e.ariaRowCount) - 1 === n, many));
  assert.deepEqual(page.faults, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
});

test('the code of charts is not in the first page', { skip, timeout: 600_000 }, async () => {
  const first = await (await fetch(stage.base)).text();
  const names = [...first.matchAll(/assets\/[^"]+\.js/g)].map(([name]) => name);
  assert.ok(names.length > 0);
  for (const name of names) assert.doesNotMatch(await (await fetch(stage.base + name)).text(), /tl-canvas|tl-axis/, name);
});

test('no faults of accessibility', { skip, timeout: 600_000 }, async () => {
  const [run] = (await stage.get('/runs?job_type=flaky')).runs;
  const own = await stage.page();
  for (const route of ['', 'job-types', 'job-types/flaky', `runs/${key(run.workflow_id)}`, 'workers/node-a', 'calendar', 'locks', 'design']) {
    await stage.open(own, route);
    for (const [i, features] of themes.entries()) {
      await own.emulateMediaFeatures(features);
      assert.deepEqual(await sound(own, 'main', i > 0), [], `${route} ${features[0].value}`);
    }
  }
  assert.deepEqual(await own.evaluate(() => window.violations), []);
  await own.close();
});
