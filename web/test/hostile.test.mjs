// Pages with data that nobody hopes for: names as long as they may be, letters that turn the
// direction of writing, markup in messages, nothing at all, and a browser whose clock is wrong.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { configuration, key, missing, Stage, until } from './stage.mjs';

const skip = missing();
const long = 'volume-'.repeat(9).slice(0, 60);
const markup = '<img src=x onerror="document.title=1"><b>bold</b> \u202Egnp.exe\u202C';
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  page = await stage.page({ width: 1280, height: 800 });
  const file = join(stage.dir, 'hostile.yaml');
  writeFileSync(file, `version: 1
owner: hostile
job_types:
  ${long}:
    handler: command
    description: ${JSON.stringify(markup.repeat(20))}
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: [printf, ${JSON.stringify(`${markup}\\n${'k'.repeat(900)}\\n`)}], format: lines}
    execute: {command: [sh, -c, 'echo "$1" >&2; exit 3', sh, "{{.Params.item}}"]}
  empty:
    handler: command
    schedule: {every: 365d, first_run: scheduled}
    detect: {command: ["true"], format: lines}
    execute: {command: ["true"]}
`);
  await stage.shell(`roundsman apply --config ${file}`);
  for (const name of [long, 'empty']) {
    await stage.shell(`roundsman start jobtype/${name}`);
    await until(`a run of ${name} has ended`, async () => (await stage.get(`/job-types/${name}`)).recent?.some((run) => run.outcome), 60_000);
  }
});
after(() => stage?.down());

// sound says that a page fits, obeys its policy, and took no text for markup.
async function sound(page, route) {
  await stage.open(page, route);
  const found = await page.evaluate(() => ({
    wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
    images: document.querySelectorAll('img, main b:not([class])').length,
    title: document.title,
    violations: window.violations,
    text: document.body.innerText,
  }));
  assert.deepEqual({ ...found, title: '', text: '' }, { wide: 0, images: 0, title: '', violations: [], text: '' }, route);
  assert.doesNotMatch(found.text, /NaN|undefined|Invalid Date|\[object|-\d+ s ago/, route);
  assert.deepEqual(page.faults, [], route);
  return found.text;
}

test('names, messages and emptiness', { skip, timeout: 600_000 }, async () => {
  const runs = Object.fromEntries(await Promise.all([long, 'empty'].map(async (name) => [name, (await stage.get(`/job-types/${name}`)).recent[0].workflow_id])));
  const { items } = await stage.get(`/runs/${key(runs[long])}/items`);
  assert.equal(items.length, 2);
  await Promise.all([360, 1280].map(async (width) => {
    const own = await stage.page({ width, height: 800, context: await stage.browser.createBrowserContext() });
    await own.evaluateOnNewDocument(() => Object.defineProperty(document, 'hidden', { get: () => false })); // Another one is in front of it.
    for (const route of ['', 'job-types', `job-types/${long}`, 'job-types/empty', `submit/${long}`, 'runs', `runs/${key(runs[long])}`, `runs/${key(runs.empty)}`,
      ...items.map((item) => `runs/${key(runs[long])}/items/${item.id}`), 'audit', `audit?job_type=${long}`, `audit?object=${encodeURIComponent(markup)}`, 'calendar', `calendar?type=${long}`,
      `calendar?view=past&type=empty`, `runs/${encodeURIComponent(markup)}`, `job-types/${encodeURIComponent(markup)}`, `workers/${encodeURIComponent(markup)}`, `runs?name=${encodeURIComponent(markup)}`]) {
      await sound(own, route);
    }
    await own.browserContext().close();
  }));
});

test('a clock of the browser that is twenty days behind', { skip, timeout: 600_000 }, async () => {
  const behind = await page.evaluateOnNewDocument(() => {
    const now = Date.now;
    Date.now = () => now() - 20 * 86_400_000;
  });
  for (const route of ['', 'runs', 'workers', 'workers/node-a', 'audit', 'runs/SLOW']) {
    assert.doesNotMatch(await sound(page, route), /\bin (19|20) d/, route);
  }
  await page.removeScriptToEvaluateOnNewDocument(behind.identifier);
});
