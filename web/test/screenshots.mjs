// Pictures of the console for docs/console.md and the README: one night of an installation, see night.mjs.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { begin, configuration } from './night.mjs';
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

const stage = await Stage.up('', configuration);
try {
  await begin(stage);
  const run = `runs/${stage.scrub}`;
  // The names that the documents use.
  const pictures = {
    overview: '', runs: 'runs', run, dag: 'runs/dag~release~v1.14', item: `${run}/items/job-00136`, 'job-types': 'job-types', 'job-type': 'job-types/pg_dump', workers: 'workers', worker: 'workers/node-c',
    locks: 'locks?lane=disk-io', calendar: 'calendar', ledger: 'calendar?view=past', plan: 'plan', submit: 'submit/pg_dump', audit: 'audit', access: 'access', doctor: 'doctor',
  };
  const looks = [
    ['light', { width: 1440, height: 960 }, Object.keys(pictures)],
    ['dark', { width: 1440, height: 960, dark: true }, ['overview', 'run', 'dag', 'job-type']],
    ['390', { width: 390, height: 844, scale: 2 }, ['overview', 'run', 'dag', 'workers']],
  ];
  for (const [look, options, names] of looks) {
    const page = await stage.page(options);
    for (const name of names) {
      await stage.open(page, pictures[name]);
      await until('all parts', () => page.evaluate(() => !document.querySelector('[aria-busy=true]')));
      await page.screenshot({ path: join(out, `${name}-${look}.${type}`), type, ...(type === 'webp' ? { quality: 60 } : {}) });
    }
    await page.close();
  }
} finally {
  await stage.down();
}
