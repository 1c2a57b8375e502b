// Pictures of every page: light, dark and 390 px, as docs/console.md shows them.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { configuration, missing, Stage, until } from './stage.mjs';

const lacks = missing();
if (lacks) {
  console.log(`screenshots: skipped, ${lacks}`);
  process.exit(0);
}
const out = process.argv[2] ?? join(import.meta.dirname, '..', '..', 'docs', 'images', 'console');
// What is small enough to be kept with the documents.
const type = process.argv[3] ?? 'webp';
// One picture of each page: the names that the documents use.
const pictures = {
  overview: '', 'job-types': 'job-types', 'job-type': 'job-types/nightly', plan: 'plan', submit: 'submit/compact', runs: 'runs', dag: 'runs/dag~steps~pages', run: 'runs/SLOW',
  item: 'runs/SLOW/items/job-00001', workers: 'workers', worker: 'workers/node-a', locks: 'locks', calendar: 'calendar', ledger: 'calendar?view=past', audit: 'audit', access: 'access', doctor: 'doctor',
};
mkdirSync(out, { recursive: true });
// planned has a plan with drift on screen.
async function planned(page) {
  await page.$eval('#source', (area) => { area.value = ''; area.dispatchEvent(new Event('input', { bubbles: true })); });
  await page.focus('#source');
  await page.keyboard.sendCharacter(configuration.replace('version: 1', 'version: 1\nowner: dev').replace('Reads every block', 'Reads and verifies every block'));
  await page.evaluate(() => document.querySelector('button.primary').click());
  await until('the plan', () => page.$('.change'));
  await page.evaluate(() => document.querySelector('.change').scrollIntoView({ block: 'end' }));
}

const stage = await Stage.up();
try {
  await stage.runDAG('pages');
  await stage.openRun('slow');
  await stage.shell('roundsman jobtypes set slow every=8h');
  await until('a run that has ended', async () => (await stage.get('/job-types/failing')).recent?.some((run) => run.outcome), 60_000);
  for (const [name, options] of Object.entries({ light: { height: 800 }, dark: { dark: true, height: 800 }, 390: { width: 390, height: 844 } })) {
    const page = await stage.page({ ...options, ...(type === 'webp' ? { scale: 0.6 } : {}) });
    for (const [picture, route] of Object.entries(pictures)) {
      await stage.open(page, route);
      if (picture === 'plan') await planned(page);
      await page.screenshot({ path: join(out, `${picture}-${name}.${type}`), type, ...(type === 'webp' ? { quality: 20 } : {}) });
    }
    await page.close();
  }
} finally {
  await stage.down();
}
