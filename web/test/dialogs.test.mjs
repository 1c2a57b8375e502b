// The log-in, and every dialog and menu that a button opens: by axe, at two looks; FULL=1: in both
// themes at three widths.
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

// A quick run has the widest in light colors and the narrowest in dark ones.
const looks = widths.flatMap((width) => themes.map((features) => ({ width, features }))).filter((_, n, all) => process.env.FULL || n === 0 || n === all.length - 1);

// judged returns the faults of what a selector finds, each with its width and theme. A narrow screen may lack it.
async function judged(within, least = 0) {
  const found = [];
  for (const { width, features } of looks) {
    if (width < least) continue;
    await page.setViewport({ width, height: 800 });
    await page.emulateMediaFeatures(features);
    const faults = await sound(page, within);
    const wide = await page.$eval(within, (e) => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth);
    found.push(...[...faults, ...(wide ? ['it is wider than its frame'] : [])].map((fault) => `${width} px, ${features[0].value}: ${fault}`));
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

// press clicks a button of a kind that was not tried yet, folds included, and returns its kind. Log out is the one that acts
// without a dialog.
const press = (tried) => page.evaluate(async (tried) => {
  for (const fold of document.querySelectorAll('main details')) fold.open = true;
  const kindOf = (e) => e.textContent.trim().replace(/\d+/g, 'n');
  const button = [...document.querySelectorAll('main button:not(:disabled, [role=tab], [aria-pressed], .copy)')].find((e) => e.checkVisibility() && kindOf(e) !== 'Log out' && !tried.includes(kindOf(e)));
  const kind = button && kindOf(button);
  button?.click();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return kind;
}, tried);

test('dialogs of all pages', options, async () => {
  const [seen, all] = [[], {}];
  for (const route of ['', 'job-types/compact', 'job-types/slow', 'runs/dag~steps~asked', 'runs/dag~steps~asked/items/go-ahead', 'runs/dag~steps~asked/items/broken', 'runs/SLOW', 'runs/SLOW/items/job-00001', 'workers/node-a', 'locks', 'audit', 'access', 'submit/compact']) {
    await stage.open(page, route);
    const at = page.url();
    for (const tried = [...seen]; ; ) {
      if (page.url() !== at) await stage.open(page, route);
      const kind = await press(tried);
      if (kind === undefined) break;
      tried.push(kind);
      if (!(await page.$('dialog[open]'))) continue;
      seen.push(kind);
      if (process.env.TELL) console.log(route, kind);
      await until('its preview', () => page.evaluate(() => !document.querySelector('dialog[open] [aria-busy=true]')));
      await page.$$eval('dialog[open] details', (folds) => { for (const fold of folds) fold.open = true; });
      const found = await judged('dialog[open]').catch((cause) => [`${cause.message}; at ${page.url()}`]);
      if (found.length > 0) all[`${kind} of #/${route}`] = found;
      await closed();
    }
  }
  console.log(`${seen.length} dialogs: ${seen.join(', ')}`);
  assert.deepEqual(all, {});
  for (const kind of ['Run now', 'Pause', 'Backfill', 'Approve', 'Reject', 'Retry', 'Skip', 'Cancel', 'Drain', 'Cordon', 'Resize', 'Create a key', 'Run the job']) assert.ok(seen.some((one) => one.startsWith(kind)), `no dialog ${kind}`);
});

test('a dialog that opens before the event of the closed one stays open', options, async () => {
  await stage.open(page, 'workers/node-a');
  const button = async (name) => page.waitForSelector(`main ::-p-xpath(//button[normalize-space()='${name}'])`);
  const [cordon, drain] = [await button('Cordon'), await button('Drain')];
  await cordon.evaluate((e) => e.click());
  await page.waitForSelector('dialog[open]');
  await drain.evaluate(async (next) => {
    const open = document.querySelector('dialog[open]');
    const told = new Promise((done) => open.addEventListener('close', done));
    open.close();
    next.click();
    await told;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
  assert.match(await page.$eval('dialog[open]', (e) => e.ariaLabel).catch(() => 'no dialog'), /^Drain/);
  await closed();
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
  for (const [menu, least] of [['.settings'], ['main details.columns', 1024]]) {
    await (await page.waitForSelector(`${menu} summary`)).evaluate((e) => e.click()); // A narrow page had no columns a moment ago.
    await page.waitForSelector(`${menu}[open]`);
    assert.deepEqual(await judged(menu, least), [], menu);
    await page.keyboard.press('Escape');
  }
  assert.deepEqual(page.faults, []);
});
