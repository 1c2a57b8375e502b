// Pictures of the console for docs/console.md and the README: one night of an installation, see night.mjs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { access, begin, configuration } from './night.mjs';
import { missing, Stage, until } from './stage.mjs';

const lacks = missing();
if (lacks) {
  console.log(`screenshots: skipped, ${lacks}`);
  process.exit(0);
}
const out = process.argv[2] ?? join(import.meta.dirname, '..', '..', 'docs', 'images', 'console');
// What is small enough to be kept with the documents.
const type = process.argv[3] ?? 'webp';
mkdirSync(out, { recursive: true });

const stage = await Stage.up(access, configuration);
try {
  await begin(stage);
  const run = `runs/${stage.scrub}`;
  // The names that the documents use.
  const pictures = {
    overview: '', runs: 'runs', run, dag: 'runs/dag~release~v1.14', item: `${run}/items/job-00137`, 'job-types': 'job-types', 'job-type': 'job-types/pg_dump', workers: 'workers', worker: 'workers/node-c',
    locks: 'locks?lane=disk-io', calendar: 'calendar', ledger: 'calendar?view=past', plan: 'plan', submit: 'submit/pg_dump', audit: 'audit', access: 'access', doctor: 'doctor',
  };
  const looks = [
    ['light', { width: 1440, height: 960 }, Object.keys(pictures)],
    ['dark', { width: 1440, height: 960, dark: true }, ['overview', 'run', 'dag', 'job-type']],
    ['390', { width: 390, height: 844, scale: 2 }, ['overview', 'run', 'dag', 'workers']],
  ];
  const shot = (of, name) => of.screenshot({ path: join(out, `${name}.${type}`), type, ...(type === 'webp' ? { quality: 60 } : {}) });
  for (const [look, options, names] of looks) {
    const page = await stage.page(options);
    if (look === 'light') {
      await stage.open(page, 'runs');
      await shot(page, 'login-light');
    }
    await logIn(stage, page);
    for (const name of names) {
      await stage.open(page, pictures[name]);
      if (name === 'plan') await planned(page);
      await until('all parts', () => page.evaluate(() => !document.querySelector('[aria-busy=true]')));
      await shot(page, `${name}-${look}`);
    }
    if (look === 'light') {
      await stage.open(page, 'job-types/pg_dump');
      await edited(page);
      await shot(await page.$('section:has(.settings-of)'), 'settings-light');
    }
    await page.close();
  }
} finally {
  await stage.down();
}

// logIn enters the key of an administrator.
async function logIn(stage, page) {
  await stage.open(page, '');
  if (!(await page.$('#key'))) return;
  await page.type('#key', stage.key);
  await page.keyboard.press('Enter');
  await until('the overview', () => page.$('main:not(.outside) h1'));
}

// planned plans a change of one job type.
async function planned(page) {
  const press = async (name) => (await page.waitForFunction((name) => [...document.querySelectorAll('main button')].find((e) => e.textContent === name && !e.disabled), {}, name)).click();
  await press('Load what is in force');
  const text = await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot.querySelector('.cm-content:not(:empty)'));
  await until('what is in force', () => text.evaluate((e) => /job_types/.test(e.textContent)));
  await text.focus();
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
  await page.keyboard.sendCharacter(configuration.replace('version: 1', 'version: 1\nowner: dev').replace('every: 12h', 'every: 8h').replace('concurrency: 48', 'concurrency: 24'));
  await press('Plan');
  await until('the plan', () => page.evaluate(() => /What it would change/.test(document.querySelector('main').textContent)));
}

// edited changes two settings of the form, which it does not apply.
async function edited(page) {
  await page.evaluate(() => [...document.querySelectorAll('[role=tab]')].find((e) => e.textContent === 'Policy').click());
  for (const [name, value] of [['max_runtime', '2h'], ['retry_limit', '3']]) {
    const field = await page.waitForFunction((name) => [...document.querySelectorAll('.setting label')].find((e) => e.textContent === name)?.control, {}, name);
    await field.evaluate((e) => { e.closest('details:not([open])')?.querySelector('summary').click(); e.select(); });
    await field.type(value);
  }
  await until('the difference', () => page.$('.settings-of .diff'));
}
