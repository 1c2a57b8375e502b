// The page of a job type: what started its runs, how long its jobs take, and the state of a run that waits.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Journey } from './journey.mjs';
import { missing, Stage, until } from './stage.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;

const more = `  often:
    handler: command
    schedule: {every: 1h}
    detect: {command: [seq, "20"], format: lines}
    execute: {command: [sh, -c, '[ "$1" != bad ] && sleep 1.2', sh, "{{.Params.item}}"]}
  ticks:
    handler: command
    schedule: {every: 10s}
    detect: {command: [printf, ""], format: lines}
    execute: {command: ["true"]}
  queues:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    lane: disk
    detect: {command: [printf, 'volume-9\\n'], format: lines}
    execute: {command: [sleep, "600"]}
`;

const ended = (jobType, n) => until(`${n} runs of ${jobType} that have ended`, async () => {
  const { runs } = await stage.get(`/runs?job_type=${jobType}`);
  return runs.length >= n && runs.every((run) => run.ended_at) && runs;
}, 90_000);

before(async () => {
  if (options.skip) return;
  stage = await Stage.up();
  const file = join(stage.dir, 'more.yaml');
  writeFileSync(file, `version: 1\nowner: more\nlanes: {disk: {exclusive: true}}\njob_types:\n${more}`);
  await stage.shell(`roundsman apply --config ${file}`);
});
after(() => stage?.down());

// rowsOf are the cells of the last runs, newest first.
const rowsOf = (page) => page.$$eval('[aria-label^="Last runs of"] tbody tr', (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));

test('the time that a job takes is one figure, in the facts and in the chart', options, async () => {
  await ended('often', 1);
  const { learned } = await stage.get('/job-types/often');
  const seconds = Number(/^([\d.]+)s$/.exec(learned.p95)[1]);
  assert.equal(learned.of, 20);
  assert.equal((await stage.get('/job-types/often/history')).runs[0].jobs.p95_ms, Math.round(seconds * 1000), 'the chart has the durations that were learned');
  await stage.shell('roundsman start often --wait');
  const page = await stage.page();
  await stage.open(page, 'job-types/often');
  const fact = await until('the fact', () => page.evaluate(() => [...document.querySelectorAll('main dt')].find((e) => e.textContent === 'Job takes')?.nextElementSibling.textContent));
  const [, figure] = /^95 of 100 within (1\.\d s), of the last 40$/.exec(fact) ?? assert.fail(fact);
  await until('it in the chart', () => page.$$eval('.trend .limit text', (all, figure) => all.some((e) => e.textContent === `95 of 100 ${figure}`), figure));
  await page.close();
});

test('each run has what started it', options, async () => {
  await ended('often', 1);
  const hour = (back) => new Date(Date.now() - back * 3_600_000).toISOString();
  await stage.shell(`roundsman start often --backfill ${hour(1)}..${hour(0)}`);
  await stage.shell('roundsman submit often:bad -p item=bad --as ticket-7 --wait').catch(() => undefined);
  await stage.shell('roundsman retry group/often-adhoc-ticket-7 --wait').catch(() => undefined);
  await ended('often', 4);
  const page = await stage.page();
  await stage.open(page, 'job-types/often');
  const journey = new Journey(stage, page);
  await journey.click('Run now', '.title');
  await journey.confirm('Run now');
  const starters = ['its first apply by ann (cli)', 'a backfill by ann (cli)', 'a submission by ann (cli)', 'a retry by ann (cli)'];
  const found = await until('what started each', async () => {
    const rows = await rowsOf(page);
    return starters.every((one) => rows.some((row) => row[2] === one)) && rows.some((row) => row[2] === 'ann (console)') && rows;
  }, 60_000);
  assert.ok(!found.some((row) => row[2] === 'its schedule'), JSON.stringify(found));
  assert.equal(await page.evaluate(() => [...document.querySelectorAll('main h2')].some((e) => /Started by its schedule/.test(e.textContent))), false);
  assert.match(await stage.shell('roundsman show often'), /a submission by ann \(cli\)/);
  await stage.open(page, 'job-types/ticks');
  await until('a run of its schedule, late by its time', async () => (await rowsOf(page)).some((row) => row[2] === 'its schedule' && /\d (ms|s)$/.test(row[4])), 60_000);
  await page.close();
});

test('a run that waits has the mark of waiting in all strips', options, async () => {
  await stage.openRun('slow');
  await stage.shell('roundsman start queues');
  await until('it waits', async () => (await stage.get('/runs?running=true&counts=true&job_type=queues')).runs[0]?.standing.state === 'waiting');
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'job-types?name=queues');
  await until('its mark in the list', () => page.$('.row .strip path.waiting.mark'));
  assert.match(await page.$eval('.row .strip-link', (e) => e.title), /^waiting, for \d/);
  await stage.open(page, 'job-types/queues');
  await until('its bar', () => page.$('.trend a.waiting'));
  assert.match(await page.$eval('.trend .glyphs', (e) => e.firstElementChild.className), /g-waiting/);
  await until('its state', async () => (await rowsOf(page))[0]?.[1] === 'waiting');
  await page.close();
});

test('the job that runs is in the times of its worker, whatever has begun since', options, async () => {
  const run = await stage.openRun('slow');
  await stage.shell(`roundsman start ticks --backfill ${new Date(Date.now() - 300_000).toISOString()}..${new Date().toISOString()}`);
  await until('25 newer runs', async () => (await stage.get('/runs?limit=25')).runs.every(({ workflow_id }) => workflow_id !== run), 60_000);
  const { items } = await stage.get(`/runs/${run.replaceAll('/', '~')}/items?state=running`);
  const page = await stage.page();
  await stage.open(page, `workers/${items[0].worker}`);
  await until('its row', () => page.evaluate(() => [...document.querySelectorAll('.tl-name')].some((e) => e.textContent === 'slow')));
  await page.close();
});

test('the calendar names a run to come as the next one, and one waiter waits', options, async () => {
  const page = await stage.page();
  await stage.open(page, 'calendar?type=ticks');
  await until('the next run', () => page.$('.title .says time'));
  for (let i = 0; i < 24; i++) {
    assert.match(await page.$eval('.title .says time', (e) => e.textContent), /^(in |now)/);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await stage.openRun('slow');
  await stage.shell('roundsman start queues').catch(() => undefined); // It may wait already.
  await stage.open(page, 'locks');
  await until('one waits', () => page.$eval('.title', (e) => /1 waits\s*for \d/.test(e.textContent)));
  await page.close();
});

const texts = (page, selector) => page.$$eval(selector, (all) => all.map((e) => e.textContent));

test('a job type whose run waits says so, and its instants of other years have the year', options, async () => {
  await stage.openRun('slow');
  await stage.shell('roundsman start queues').catch(() => undefined); // It may wait already.
  const page = await stage.page();
  await stage.open(page, 'job-types/queues');
  await until('what its run waits for', async () => (await texts(page, 'main h2')).some((text) => /^What its run waits for/.test(text)));
  await until('its state', () => page.$eval('.title .pill', (e) => e.textContent === 'waiting'));
  assert.match(await page.$eval('.title .says', (e) => e.textContent), /^It waits for its turn in lane disk/);
  assert.match((await texts(page, '.reasons li'))[0], /LANE_BUSY for \d+ \w+/);
  const instants = await texts(page, '.instants strong');
  assert.equal(instants.length, 5);
  for (const text of instants) assert.match(text, /^\w{3} 1 Jan 20\d\d, 00:00$/);
  await page.click('[aria-label^="Last runs of"] a');
  await until('the cause of the run, as a sentence', () => page.$eval('.title .says .sentence', (e) => e.textContent === 'it waits for its turn in lane disk'));
  assert.ok(!(await texts(page, 'main dt')).includes('Waits for'), 'the header has it');
  await page.close();
});

test('a job type whose last run failed has the error in its header', options, async () => {
  await stage.shell('roundsman start failing --wait').catch(() => undefined);
  const page = await stage.page();
  await stage.open(page, 'job-types/failing');
  await until('the error', () => page.$eval('.title .says', (e) => /^The last run: .*no such disk$/.test(e.textContent)));
  assert.match(await page.$eval('.lead', (e) => e.textContent), /One of two jobs fails/);
  await page.close();
});

test('a run that runs is no completed bar when one of its jobs has failed', options, async () => {
  const file = join(stage.dir, 'half.yaml');
  writeFileSync(file, `version: 1
owner: half
job_types:
  half:
    handler: command
    schedule: {cron: ["0 0 1 1 *"]}
    policy: {interactive: true, retry_limit: 0}
    detect: {command: [printf, 'bad\\ngood\\n'], format: lines}
    execute: {command: [sh, -c, '[ "$1" = good ] && sleep 600', sh, "{{.Params.item}}"]}
`);
  await stage.shell(`roundsman apply --config ${file}`);
  await stage.shell('roundsman start half');
  await until('a job that failed', async () => (await stage.get('/runs?running=true&counts=true&job_type=half')).runs[0]?.progress?.failed === 1);
  const page = await stage.page();
  await stage.open(page, 'job-types/half');
  await until('its bar', () => page.$('.trend a.running'));
  assert.match(await page.$eval('.trend .glyphs', (e) => e.firstElementChild.className), /g-partial/);
  await page.close();
});

test('the page of a job type fits 1,280 px and 390 px', options, async () => {
  const page = await stage.page();
  await stage.open(page, 'job-types/queues');
  const field = '.settings-of .setting select';
  await page.waitForSelector(field);
  assert.ok((await page.$eval(field, (e) => e.clientWidth)) >= 150, 'the choice can be read');
  await page.setViewport({ width: 390, height: 844 });
  await until('the settings behind the facts', async () => {
    const heads = (await texts(page, 'main h2')).map((text) => text.split(' ')[0]);
    return heads.indexOf('Settings') > heads.indexOf('Facts');
  });
  const room = await page.$eval('[aria-label^="Last runs of"]', (e) => [e.scrollWidth, e.clientWidth]);
  assert.ok(room[0] <= room[1], `the runs are not cut: ${room}`);
  await page.close();
});

test('the failures of the overview fit 1,280 px, with their buttons', options, async () => {
  await stage.shell('roundsman start failing --wait').catch(() => undefined);
  await stage.shell('roundsman submit often:bad -p item=bad --as a-ticket-with-a-name --wait').catch(() => undefined);
  const page = await stage.page();
  await stage.open(page, '');
  const table = '[aria-label="Runs that failed since yesterday"]';
  await until('the runs', async () => (await texts(page, `${table} button`)).length > 1);
  const room = await page.$eval(table, (e) => [e.scrollWidth, e.clientWidth]);
  assert.ok(room[0] <= room[1], `the table is not cut: ${room}`);
  await page.close();
});
