// Journeys of an operator from the first page that tables, forms and output carry: three clicks and one search at most.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Journey } from './journey.mjs';
import { key, missing, Stage, until } from './stage.mjs';

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
let stage;
let page;
let journey;

before(async () => {
  if (options.skip) return;
  stage = await Stage.up('', configuration);
  // What is applied later is not started at once, as `dev` does with its configuration: 41 runs fewer.
  const later = join(stage.dir, 'later.yaml');
  writeFileSync(later, `version: 1\nowner: later\njob_types:\n${ones(8, 49)}\n`);
  await stage.shell(`roundsman apply --config ${later}`);
  const file = join(stage.dir, 'many.yaml');
  writeFileSync(file, `version: 1\nname: many\nhold_on_failure: 8h\ntasks:\n  - {id: first, noop: true}\n  - {id: each, needs: first, noop: true, for_each: [${Array.from({ length: tasks - 2 }, (_, i) => i)}]}\n  - {id: torn, needs: first, command: [sh, -c, "echo page 17 is torn >&2; exit 3"]}\n`);
  await stage.shell(`roundsman dag run ${file} --as one --detach`);
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
    return field.asElement()?.click({ count: 3 }).then(() => true, () => false); // The page may be drawn again meanwhile.
  });
  journey.clicks += 1;
  await page.keyboard.type('2h');
  await journey.click(await until('a button to apply it', () => page.$eval('.settings-of .primary:not(:disabled)', (e) => e.textContent)));
  await until('the effect', async () => (await stage.get('/job-types/one-07')).spec.schedule.every === '2h');
  console.log(`change one setting: ${journey.short()}`);
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
  assert.match(await other.$eval('.asof', (e) => e.textContent), /As of /);
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
  console.log(`select 50 rows and act: ${journey.short()}`);
});
