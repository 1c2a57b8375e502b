// No button, link or field is cut: neither at the edge of the window nor at that of a table that scrolls.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, routes, Stage } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  await stage.runDAG('pages');
  // Pages with every kind of button: keys, a job type and a worker that somebody stopped.
  await stage.shell('roundsman keys create ci --role viewer --expires 90d');
  await stage.shell('roundsman keys create storage-team --role operator --job-types scrub*,rebalance,snapshot_cleanup*');
  await stage.shell('roundsman pause compact -r "new disks"');
  await stage.shell('roundsman pause node-b -r "new disk at 06:00"');
});
after(() => stage?.down());

// cuts lists the controls of which a part is outside. A name that ends with an ellipsis is cut on purpose; pictures are panned.
const cuts = (page) => page.evaluate(() => {
  const found = [];
  for (const e of document.querySelectorAll('body :is(a, button, select, input, summary, textarea)')) {
    if (!e.checkVisibility() || e.closest('.skip, .rows.small > .rows-head, .graph, .timeline, .cells, .strip, dialog, [hidden]')) continue;
    let { left, right, width } = e.getBoundingClientRect();
    if (width === 0 || getComputedStyle(e).opacity === '0') continue;
    const name = `${e.localName} ${(e.textContent || e.getAttribute('aria-label') || e.labels?.[0]?.textContent || '').trim().slice(0, 30)}`;
    for (let box = e.parentElement; box; box = box.parentElement) {
      const { overflowX, textOverflow } = getComputedStyle(box);
      if (overflowX === 'visible') continue;
      const from = box === document.documentElement ? 0 : box.getBoundingClientRect().left + box.clientLeft;
      const to = from + box.clientWidth;
      if (textOverflow !== 'ellipsis' && (right > to + 1 || left < from - 1)) found.push(`${name}: ${Math.round(Math.max(right - to, from - left))} px in ${box.className || box.localName}`);
      [left, right] = [Math.max(left, from), Math.min(right, to)];
    }
    if (right > innerWidth + 1 || left < -1) found.push(`${name}: ${Math.round(Math.max(right - innerWidth, -left))} px of the window`);
  }
  return [...new Set(found)];
});

test('no control is cut at 1,440, 1,024 and 390 px', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440, height: 900 });
  const cut = {};
  for (const route of routes) {
    for (const width of [1440, 1024, 390]) {
      await page.setViewport({ width, height: 900 });
      if (width === 1440) await stage.open(page, route);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      const found = await cuts(page);
      if (found.length > 0) cut[`#/${route} at ${width} px`] = found;
    }
  }
  assert.deepEqual(cut, {});
  await page.close();
});

test('no label of a time axis is below another, or below the clock', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 1440, height: 900 });
  const found = [];
  for (const route of ['calendar', 'calendar?view=past', 'workers/node-a']) {
    for (let width = 1440; width >= 360; width -= 30) {
      await page.setViewport({ width, height: 900 });
      if (width === 1440) await stage.open(page, route);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      found.push(...await page.$$eval('.tl-axis', (all, at) => all.flatMap((axis) => {
        const boxes = [...axis.children].map((e) => [e.getBoundingClientRect(), e.textContent]).sort(([a], [b]) => a.left - b.left);
        return boxes.slice(1).flatMap(([box, text], i) => (boxes[i][0].right > box.left ? [`${at}: ${boxes[i][1]}, ${text}`] : []));
      }), `#/${route} at ${width} px`));
    }
  }
  assert.deepEqual(found, []);
  await page.close();
});

test('at 390 px the tabs of settings are one line', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 390, height: 844 });
  await stage.open(page, 'job-types/compact');
  const tops = await page.$$eval('.tabs.under [role=tab]', (all) => all.map((e) => e.getBoundingClientRect().top));
  assert.deepEqual([tops.length > 3, new Set(tops).size], [true, 1]);
  await page.close();
});

test('a job is submitted from a list of job types, whose names open their forms', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 390, height: 844 });
  await stage.open(page, 'submit');
  await page.waitForFunction(() => /Compacts the volumes/.test(document.querySelector('[role=grid]')?.textContent));
  const of = await page.$$eval('[role=grid] a', (all) => all.map((e) => e.hash));
  assert.deepEqual(of.sort(), ['compact', 'failing', 'nightly', 'slow'].map((name) => `#/submit/${name}`));
  await page.type('.filters input', 'garbage');
  await page.waitForFunction(() => document.querySelectorAll('[role=grid] a').length === 1);
  await page.click('[role=grid] a');
  await page.waitForSelector('#priority');
  await page.close();
});
