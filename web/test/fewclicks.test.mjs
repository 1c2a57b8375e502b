// Journeys of an operator from the first page that tables, forms and output carry: three clicks at most, a search counted as one.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Journey } from './journey.mjs';
import { key, missing, Stage, tabTo, until } from './stage.mjs';

const options = { skip: missing(), timeout: 600_000 };
const many = 'dag/many/one';
const tasks = 1200;
const ones = (from, to) => Array.from({ length: to - from }, (_, i) => `  one-${String(from + i).padStart(2, '0')}:
    handler: command
    schedule: {every: 12h, first_run: scheduled}
    detect: {command: ["true"]}
    execute: {command: ["true"]}`).join('\n');
const configuration = `version: 1
job_types:
  told:
    handler: command
    schedule: {every: 12h, first_run: scheduled}
    detect: {command: [printf, 'sda\\\\n'], format: lines}
    execute: {command: [sh, -c, 'n=0; while [ $n -lt 3000 ]; do n=$((n+1)); echo "block $n is read"; sleep 1; done']}
${ones(0, 8)}
`;
// Of its twelve jobs five fail, one is done, and two of the others run.
const torn = `  torn:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    policy: {global_execution_concurrency: 2}
    detect: {command: [printf, 'good\\nbad-1\\nbad-2\\nbad-3\\nbad-4\\nbad-5\\nlong-1\\nlong-2\\nlong-3\\nlong-4\\nlong-5\\nlong-6\\n'], format: lines}
    execute: {command: [sh, -c, 'case $1 in bad*) echo "no such disk" >&2; exit 3;; good) exit;; esac; sleep 600', sh, "{{.Params.item}}"]}
`;
let stage;
let page;
let journey;

before(async () => {
  if (options.skip) return;
  stage = await Stage.up('', configuration);
  // What is applied later is not started at once, as `dev` does with its configuration: 41 runs fewer.
  const later = join(stage.dir, 'later.yaml');
  writeFileSync(later, `version: 1\nowner: later\njob_types:\n${ones(8, 48)}\n${torn}`);
  await stage.shell(`roundsman apply --config ${later}`);
  const file = join(stage.dir, 'many.yaml');
  writeFileSync(file, `version: 1\nname: many\nhold_on_failure: 8h\ntasks:\n  - {id: first, noop: true}\n  - {id: each, needs: first, noop: true, for_each: [${Array.from({ length: tasks - 2 }, (_, i) => i)}]}\n  - {id: torn, needs: first, command: [sh, -c, "echo page 17 is torn >&2; exit 3"]}\n`);
  await stage.shell(`roundsman start ${file} --as one`);
  page = await stage.page({ width: 1440 });
  await page.evaluateOnNewDocument(() => Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } }));
  journey = new Journey(stage, page);
});
after(() => stage?.down());

const says = (pattern, within = 'main') => until(`${pattern} in ${within}`, () => page.$eval(within, (e, p) => new RegExp(p, 's').test(e.innerText), pattern.source));

test('change one setting', options, async () => {
  await journey.begin();
  await journey.search('one-07');
  await until('the field', async () => {
    const field = await page.evaluateHandle(() => [...document.querySelectorAll('.settings-of label')].find((e) => e.textContent === 'every')?.control);
    await field.asElement()?.click({ count: 3 }).catch(() => {}); // The page may be drawn again meanwhile.
    return field.evaluate((one) => one && one === document.activeElement);
  });
  journey.clicks += 1;
  await page.keyboard.type('2h');
  await journey.click(await until('a button to apply it', () => page.$eval('.settings-of .primary:not(:disabled)', (e) => e.textContent)));
  await until('the effect', async () => (await stage.get('/job-types/one-07')).spec.schedule.every === '2h');
  console.log(`change one setting: ${journey.short()}`);
});

test('change one setting by YAML, and put it back with its values', options, async () => {
  const settings = async () => (await stage.get('/job-types/one-06/settings')).document;
  const was = await settings();
  await journey.begin();
  await journey.search('one-06');
  await journey.click('YAML', '[aria-label="Settings by"]');
  await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content'));
  await tabTo(page, 'Settings of one-06 as YAML');
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
  await page.keyboard.sendCharacter(was.replace('every: 12h', 'every: 3h'));
  await journey.click(await until('a button to apply it', () => page.$eval('.settings-of .primary:not(:disabled)', (e) => e.textContent)), '.settings-of');
  await until('the effect', async () => (await stage.get('/job-types/one-06')).spec.schedule.every === '3h');
  console.log(`change one setting by YAML: ${journey.short()}`);
  await journey.begin();
  await journey.search('one-06');
  await journey.click('Put back', '.changes li:first-child');
  await journey.confirm('Put back');
  await until('the effect', async () => (await settings()) === was);
  console.log(`put it back: ${journey.short()}`);
});

// The runs of torn, newest first, and the keys of a run's jobs in a state.
const ofTorn = async () => (await stage.get('/runs?job_type=torn&counts=true')).runs;
const keysOf = async (run, state = '') => (await stage.get(`/runs/${key(run)}/items?state=${state}`)).items.map((item) => item.dedupe_key).sort();
const dialog = () => page.$eval('dialog[open]', (e) => e.textContent);
// retried is the run that the open dialog started, at its end.
const retried = async () => {
  const run = await page.waitForSelector('dialog[open] [role=status] a.run').then((link) => link.evaluate((e) => e.title));
  await page.keyboard.press('Escape');
  await until(`the end of ${run}`, async () => !(await stage.get(`/runs/${key(run)}`)).standing.open);
  return run;
};
const bad = ['bad-1', 'bad-2', 'bad-3', 'bad-4', 'bad-5'];
let ended;

test('an open run says when its failed jobs can be retried', options, async () => {
  await stage.shell('roundsman start torn');
  const { workflow_id: run } = await until('five failed and two run', async () => (await ofTorn()).find(({ progress }) => progress?.failed === 5 && progress.running === 2), 60_000);
  ended = run;
  await stage.open(page, `runs/${key(run)}?state=failed`);
  await says(/Failed jobs can be retried when the run has ended\..*cancel the run first/, '.title');
  await page.waitForSelector('[aria-label=Jobs] .row');
  await page.focus('[role=grid][aria-label=Jobs]');
  for (const one of ['j', 'x', 'r']) await page.keyboard.press(one);
  await says(/1 selected.*Failed jobs can be retried when/, '.bulk');
  const told = (text) => until(text, () => page.$eval('.tabled > [role=status]', (e, text) => e.textContent === text, text));
  await told('Retry is not possible here. Failed jobs can be retried when the run has ended. To do it sooner, cancel the run first.');
  await page.keyboard.press('a');
  await told('Approve is not possible here.');
  await page.keyboard.press('Escape');
});

test('a retry of a canceled run executes what failed, and what was not executed only if it is chosen', options, async () => {
  await stage.shell(`roundsman cancel ${ended} --wait`);
  await stage.open(page, `runs/${key(ended)}`);
  await journey.click('Retry 5 failed', '.title');
  assert.equal(await page.$('.title .refused'), null);
  const executes = (n) => until(`${n} jobs`, async () => (await dialog()).includes(`executes ${n} jobs`));
  await executes(5);
  assert.match(await dialog(), /also the 6 that were not executed/);
  const line = () => page.$eval('dialog .line code', (e) => e.textContent);
  const box = 'dialog .preview input[type=checkbox]';
  assert.match(await line(), /^roundsman retry \S+ --failed$/);
  await page.click(box);
  await executes(11);
  assert.match(await line(), /--failed --missed$/);
  assert.equal(await page.$eval('dialog button[type=submit]', (e) => e.textContent), 'Retry');
  // A preview that fails leaves the choice.
  await page.setRequestInterception(true);
  const fail = (request) => void (request.url().endsWith('/retry-preview') ? request.respond({ status: 409, contentType: 'application/problem+json', body: JSON.stringify({ status: 409, detail: 'no sense' }) }) : request.continue());
  page.on('request', fail);
  await page.click(box);
  await until('the failure', async () => /What it would do is not known: no sense/.test(await dialog()));
  assert.equal(await page.$eval(box, (e) => e.checked), false);
  page.off('request', fail);
  await page.setRequestInterception(false);
  await page.click(box);
  await executes(11);
  await page.click(box);
  await executes(5);
  await journey.confirm('Retry 5 failed');
  assert.deepEqual(await keysOf(await retried()), bad);
});

test('three of the failed jobs are selected and retried, and no other', options, async () => {
  await stage.open(page, `runs/${key(ended)}?state=failed`);
  await until('the five', () => page.$$eval('[aria-label=Jobs] .row', (all) => all.length === 5));
  await page.focus('[role=grid][aria-label=Jobs]');
  for (const one of ['j', 'r']) await page.keyboard.press(one);
  await until('a retry of the row with the keyboard', async () => /executes 1 job\./.test(await dialog()));
  await page.keyboard.press('Escape');
  await until('no dialog', async () => !(await page.$('dialog[open]')));
  await page.focus('[role=grid][aria-label=Jobs]');
  await page.keyboard.press('x');
  await page.keyboard.down('Shift');
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.up('Shift');
  const chosen = await until('three', () => page.$$eval('[aria-label=Jobs] .row[aria-selected=true]', (all) => all.length === 3 && all.map((e) => e.textContent.match(/bad-\d/)[0]).sort()));
  await journey.click('Retry 3', '.bulk');
  await until('the preview', async () => /executes 3 jobs\./.test(await dialog()));
  assert.match(await page.$eval('dialog .line code', (e) => e.textContent), /^roundsman retry \S+ --item job-\d+ --item job-\d+ --item job-\d+$/);
  await journey.confirm('Retry 3');
  assert.deepEqual(await keysOf(await retried()), chosen);
});

// asks is what an open dialog asks; the page has drawn what follows from a key.
const drawn = () => page.evaluate(() => new Promise((then) => requestAnimationFrame(() => setTimeout(then, 0))));
const asks = async () => {
  await drawn();
  return page.evaluate(() => document.querySelector('dialog[open]')?.ariaLabel ?? '');
};

test('R retries what is selected, also from its check box, and nothing of the header from within a table', options, async () => {
  await stage.open(page, 'runs?name=torn');
  await until('a retry in the header', () => page.$$eval('.title button', (all) => all.some((e) => e.textContent === 'Retry the last one')));
  await page.focus('[aria-label=Runs] .row .name a');
  await page.keyboard.press('r');
  assert.equal(await asks(), '');
  await page.focus('[role=grid][aria-label=Runs]');
  await page.keyboard.press('End');
  await page.waitForSelector('[aria-label=Runs] .row.at');
  await page.focus('h1');
  await page.keyboard.press('r');
  assert.equal(await asks(), `Retry ${await page.$eval('[aria-label=Runs] .row.at .name', (e) => e.textContent)}?`, 'the row, not the run of the header');
  await page.keyboard.press('Escape');
  await page.click('[aria-label="Select all of Runs"]');
  await page.waitForSelector('.bulk [data-verb=Retry]');
  await page.keyboard.press('r');
  assert.match(await asks(), /^Retry \d runs\?$/);
  await page.keyboard.press('Escape');
  await page.click('.bulk .end');

  await stage.open(page, `runs/${key(ended)}`);
  await until('its jobs', () => page.$eval('[aria-label=Jobs]', (e) => e.getAttribute('aria-rowcount') === '13'));
  await page.click('[aria-label="Select all of Jobs"]');
  await page.waitForSelector('.bulk [data-verb=Retry]');
  await page.keyboard.press('r');
  assert.match(await asks(), /^Retry 11 jobs of /, 'the one that was done is none of them');
  await page.keyboard.press('Escape');
  await page.click('.bulk .end');
  await stage.open(page, `runs/${key(ended)}?state=completed`);
  await until('one job', () => page.$eval('[aria-label=Jobs]', (e) => e.getAttribute('aria-rowcount') === '2'));
  await page.click('[aria-label="Select all of Jobs"]');
  await says(/1 selected.*Nothing can be done/, '.bulk');
  await page.keyboard.press('r');
  assert.equal(await asks(), '');
  await page.click('.bulk .end');
});

test('more jobs are selected than one retry takes: the bar says it', options, async () => {
  const [job] = (await stage.get(`/runs/${key(ended)}/items?state=failed&limit=1`)).items;
  const all = Array.from({ length: 1001 }, (_, i) => ({ ...job, id: `job-${String(i + 1).padStart(5, '0')}`, dedupe_key: `volume-${i}` }));
  const play = (request) => {
    const url = new URL(request.url());
    if (url.pathname.endsWith('/events') && url.search.includes('items')) return; // No stream follows the list.
    if (!url.pathname.endsWith('/items')) return request.continue();
    const [cursor, limit, from] = ['cursor', 'limit', 'from'].map((name) => url.searchParams.get(name));
    const at = Number(cursor ?? from ?? 0);
    const end = at + Number(limit);
    void request.respond({ contentType: 'application/json', body: JSON.stringify({ items: all.slice(at, end), total: all.length, next: end < all.length ? String(end) : undefined, as_of: new Date().toISOString() }) });
  };
  await stage.open(page, 'workers');
  await page.setRequestInterception(true);
  page.on('request', play);
  await page.evaluate((at) => { location.hash = at; }, `#/runs/${key(ended)}?find=volume`);
  await until('its jobs', () => page.$eval('[aria-label=Jobs]', (e) => e.getAttribute('aria-rowcount') === '1002'));
  await page.click('[aria-label="Select all of Jobs"]');
  await says(/1,001 selected.*One retry has at most 1,000 chosen jobs\./, '.bulk');
  await page.click('.bulk .end');
  page.off('request', play);
  await page.setRequestInterception(false);
});

test('retry what failed from the first page: an ended run', options, async () => {
  const [{ workflow_id: run }] = await ofTorn();
  const failed = await keysOf(run, 'failed');
  await journey.begin();
  await journey.click('Retry 3 failed', `[aria-label="Runs that failed since yesterday"] tr:has(a[title="${run}"])`);
  await until('the preview', async () => /executes 3 jobs\./.test(await dialog()));
  await journey.confirm('Retry 3 failed');
  const next = await retried();
  assert.deepEqual([await keysOf(next), (await stage.get(`/runs/${key(next)}`)).resumes], [failed, run]);
  console.log(`retry an ended run: ${journey.short()}`);
});

test('canceled runs are retried together, each with what failed or else with what was not executed', options, async () => {
  const run = await stage.openRun('told');
  await stage.shell(`roundsman cancel ${run} --wait`);
  // The search knows no counts of a run. Its preview has them.
  await stage.open(page, 'job-types');
  await journey.search(run, /Retry told/);
  await until('the preview', async () => /executes 1 job\./.test(await dialog()));
  assert.equal(await page.$eval('dialog .preview input[type=checkbox]', (e) => e.checked), true);
  await page.keyboard.press('Escape');

  await stage.open(page, 'runs?state=canceled');
  await until('both', () => page.$eval('[aria-label=Runs]', (e) => e.getAttribute('aria-rowcount') === '3'));
  await page.click('[aria-label="Select all of Runs"]');
  await journey.click('Retry 2', '.bulk');
  const lines = () => page.$eval('dialog .lines pre', (e) => e.textContent);
  const before = await until('the lines of both', lines);
  await page.click('dialog .field input');
  await until('ticked', async () => (await lines()) !== before);
  await page.click('dialog .field input');
  await until('ticked and unticked is as it was', async () => (await lines()) === before);
  await journey.confirm('Retry 2');
  await until('the results', async () => / of 2 done\./.test(await dialog()));
  assert.match(await dialog(), /2 of 2 done\./);
  await page.keyboard.press('Escape');
  const again = (await stage.get('/runs?limit=2')).runs;
  assert.deepEqual(again.map((one) => one.resumes).sort(), [run, ended].sort());
  const { workflow_id: torn } = again.find((one) => one.job_type === 'torn');
  await until('its jobs', async () => (await keysOf(torn)).length > 0);
  assert.deepEqual(await keysOf(torn), bad);
});

test('follow output', options, async () => {
  const run = await stage.openRun('told');
  const [job] = (await stage.get(`/runs/${key(run)}/items`)).items;
  await journey.begin();
  await journey.click('all', '.stack');
  await page.waitForSelector('[aria-label=Runs] .row');
  await journey.click(run);
  await journey.click(job.id);
  const newest = () => page.$eval('main', (e) => Number([...e.textContent.matchAll(/block (\d+) is read/g)].at(-1)?.[1] ?? 0));
  const first = await until('output', newest);
  await until('more of it, with no further click', async () => (await newest()) > first);
  console.log(`follow output: ${journey.short()}`);
});

test('read 1,200 tasks', options, async () => {
  await until('all tasks', async () => (await stage.get(`/runs/${key(many)}`)).progress.ended === tasks, 120_000);
  await journey.begin();
  await journey.search('many', /many one/);
  await says(/eld, 1 of 1,200 failed.*page 17 is torn/);
  await until('all of them', () => page.$eval('main', (e) => /1,200 tasks/.test(e.textContent)));
  await journey.click('Show');
  await says(/page 17 is torn/);
  console.log(`read 1,200 tasks: ${journey.short()}`);
});

test('retry what failed from the first page: a run that is held', options, async () => {
  const attempt = async () => (await stage.get(`/runs/${key(many)}/items/torn`)).attempt;
  const before = await attempt();
  await journey.begin();
  await journey.click('Retry', `section.ask li:has(a[title="${many}"])`);
  await until('the preview', async () => /The run itself executes 1 task/.test(await dialog()));
  await journey.confirm('Retry');
  await until('another attempt', async () => (await attempt()) > before);
  console.log(`retry a held run: ${journey.short()}`);
});

test('approve a task of a sub-DAG', options, async () => {
  const file = join(stage.dir, 'outer.yaml');
  writeFileSync(file, 'version: 1\nname: outer\ntasks:\n  - {id: inner, dag: steps.yaml}\n');
  await stage.shell(`roundsman start ${file} --as one`);
  const gate = async () => (await stage.get(`/runs/${key('dag/outer/one/inner')}/items/go-ahead`)).state;
  await until('its question', async () => (await gate()) === 'running');
  await journey.begin();
  await journey.click('Approve', 'section.ask li:has(a[title^="dag/outer/one"])');
  await journey.confirm('Approve');
  await until('the effect', async () => (await gate()) === 'completed');
  console.log(`approve a task of a sub-DAG: ${journey.short()}`);
  await stage.shell('roundsman cancel dag/outer/one --wait');
});

test('hand over to the next shift', options, async () => {
  await journey.begin();
  await journey.click('Runs', '.menu');
  await page.waitForSelector('[aria-label=Runs] .row');
  const rows = (of) => of.$$eval('[aria-label=Runs] .row .name', (all) => all.slice(0, 10).map((e) => e.textContent));
  const mine = await rows(page);
  await journey.click('Copy a link to this view at this time: Y', '.bar');
  const link = await until('the link', () => page.evaluate(() => window.copied));
  const other = await stage.page({ width: 1024, context: await stage.browser.createBrowserContext() });
  await other.goto(link);
  await until('the same rows', async () => JSON.stringify(await rows(other)) === JSON.stringify(mine));
  await until('its time', () => other.$eval('.asof', (e) => /As of /.test(e.textContent)));
  console.log(`hand over: ${journey.short()}`);
});

test('select 50 rows and act on them', options, async () => {
  await journey.begin();
  await journey.search('job types', /^Job types/i);
  await until('50 rows', () => page.$eval('[aria-label="Job types"]', (e) => e.getAttribute('aria-rowcount') === '51'));
  await page.click('[aria-label="Job types"] .rows-head input[type=checkbox]');
  journey.clicks += 1;
  await journey.click('Pause 50', '.bulk');
  await journey.confirm('Pause 50');
  // A slow server refuses some of the 50 requests. The dialog sends those again.
  await until('the effect', async () => {
    await page.evaluate(() => [...document.querySelectorAll('dialog[open] button')].find((e) => / again$/.test(e.textContent))?.click());
    return (await stage.get('/job-types?limit=1000')).job_types.filter((type) => type.paused).length === 50;
  }, 120_000).catch(async (cause) => { throw new Error(await page.evaluate(() => document.querySelector('dialog[open]')?.innerText ?? 'no dialog'), { cause }); });
  console.log(`select 50 rows and act: ${journey.short(4)}`); // The dialog asks once more what happens to so many.
});
