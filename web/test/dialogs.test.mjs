// The log-in, and every dialog and menu that a button opens: by axe, in both themes at three widths.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, sound, Stage, themes, until } from './stage.mjs';

const options = { skip: missing(), timeout: 900_000 };
let stage;
let page;

before(async () => {
  if (options.skip) return;
  stage = await Stage.up('access: {keys: true}\n');
  await stage.runDAG('asked');
  page = await stage.page();
  await page.goto(stage.base);
  await page.waitForSelector('#key');
});
after(() => stage?.down());

const widths = [1440, 1024, 390];

// judged returns the faults of what a selector finds, each with its width and theme.
async function judged(within, at = widths) {
  const found = [];
  for (const width of at) {
    await page.setViewport({ width, height: 800 });
    for (const features of themes) {
      await page.emulateMediaFeatures(features);
      const faults = await sound(page, within, width !== widths[0] && features !== themes[0]);
      const wide = await page.$eval(within, (e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth);
      found.push(...[...faults, ...(wide ? ['it is wider than its frame'] : [])].map((fault) => `${width} px, ${features[0].value}: ${fault}`));
    }
  }
  await page.setViewport({ width: widths[0], height: 800 });
  return found;
}

const closed = async () => {
  await page.keyboard.press('Escape');
  await until('no dialog', async () => !(await page.$('dialog[open]')));
};

test('the log-in, also refused', options, async () => {
  assert.deepEqual(await judged('body'), []);
  await page.type('#key', 'rmk_none');
  await page.keyboard.press('Enter');
  await page.waitForSelector('main [role=alert]');
  assert.deepEqual(await judged('body'), []);
  await page.$eval('#key', (e) => e.select());
  await page.type('#key', stage.key);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.work, main section');
});

// press clicks the nth button of a page, folds included, and returns its text. Log out is the one that acts without a dialog.
const press = (n) => page.evaluate(async (n) => {
  for (const fold of document.querySelectorAll('main details')) fold.open = true;
  const button = [...document.querySelectorAll('main button:not(:disabled, [role=tab], [aria-pressed], .copy)')].filter((e) => e.checkVisibility() && e.textContent !== 'Log out')[n];
  button?.click();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return button?.textContent.trim();
}, n);

test('dialogs of all pages', options, async () => {
  const [seen, all] = [[], {}];
  for (const route of ['', 'job-types/compact', 'job-types/slow', 'runs/dag~steps~asked', 'runs/dag~steps~asked/items/go-ahead', 'runs/dag~steps~asked/items/broken', 'runs/SLOW', 'runs/SLOW/items/job-00001', 'workers/node-a', 'locks', 'audit', 'access', 'submit/compact']) {
    await stage.open(page, route);
    const at = page.url();
    for (let n = 0, text = ''; n < 60; n++) {
      if (page.url() !== at) await stage.open(page, route);
      text = await press(n);
      if (text === undefined) break;
      const dialog = await page.$('dialog[open]');
      const kind = text.replace(/\d+/g, 'n');
      if (!dialog) continue;
      if (!seen.includes(kind)) {
        seen.push(kind);
        if (process.env.TELL) console.log(route, kind);
        await until('its preview', () => page.evaluate(() => !document.querySelector('dialog[open] [aria-busy=true]')));
        await page.$$eval('dialog[open] details', (folds) => { for (const fold of folds) fold.open = true; });
        const found = await judged('dialog[open]').catch((cause) => [`${cause.message}; at ${page.url()}`]);
        if (found.length > 0) all[`${text} of #/${route}`] = found;
      }
      await closed();
    }
  }
  console.log(`${seen.length} dialogs: ${seen.join(', ')}`);
  assert.deepEqual(all, {});
  for (const kind of ['Run now', 'Pause', 'Backfill', 'Approve', 'Reject', 'Retry', 'Skip', 'Cancel', 'Drain', 'Cordon', 'Resize', 'Create a key', 'Run the job']) assert.ok(seen.some((one) => one.startsWith(kind)), `no dialog ${kind}`);
});

test('search, keys, selected rows and menus', options, async () => {
  await stage.open(page, 'job-types');
  await page.keyboard.press('/');
  await page.waitForSelector('.palette[open] input');
  await page.keyboard.type('compact');
  await page.waitForSelector('.palette[open] .hit');
  assert.deepEqual(await judged('.palette[open]'), []);
  await closed();
  await page.keyboard.press('?');
  await page.waitForSelector('.shortcuts[open]');
  assert.deepEqual(await judged('.shortcuts[open]'), []);
  await closed();
  await page.click('[aria-label="Select all of Job types"]');
  await page.waitForSelector('.bulk button');
  await page.$eval('.bulk button', (e) => e.click());
  await page.waitForSelector('dialog.many[open]');
  assert.deepEqual(await judged('dialog.many[open]'), []);
  await closed();
  // A narrow table has no columns.
  for (const [menu, at] of [['.settings', widths], ['main details.columns', widths.slice(0, 2)]]) {
    await page.$eval(`${menu} summary`, (e) => e.click());
    await page.waitForSelector(`${menu}[open]`);
    assert.deepEqual(await judged(menu, at), [], menu);
    await page.keyboard.press('Escape');
  }
  assert.deepEqual(page.faults, []);
});
