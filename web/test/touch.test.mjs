// Two fingers zoom timelines, graphs and maps; one finger pans what is zoomed.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { missing, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.shared();
  await stage.runDAG('touched');
  const wide = join(stage.dir, 'wide.yaml');
  writeFileSync(wide, `version: 1
name: wide
tasks:
  - {id: go, approval: {prompt: "Begin?"}}
  - {id: load, needs: go, command: ["true"], for_each: [${Array.from({ length: 400 }, (_, i) => i).join(',')}]}
`);
  await stage.shell(`roundsman start ${wide} --as touched`);
});
after(() => stage?.down());

// touched sends the events of fingers that go from one list of points to another.
async function touched(session, from, to) {
  const points = (t) => from.map(([x, y], i) => ({ x: x + (to[i][0] - x) * t, y: y + (to[i][1] - y) * t, id: i }));
  for (let i = 1; i <= from.length; i++) await session.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: points(0).slice(0, i) });
  for (let i = 1; i <= 8; i++) await session.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: points(i / 8) });
  await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
}

test('a finger hits every button, field and fold', { skip, timeout: 600_000 }, async () => {
  const page = await stage.page({ width: 390, height: 844, scale: 1 });
  await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
  await stage.shell('roundsman pause compact -r "new disks"');
  const small = {};
  for (const route of ['', 'runs', 'runs?state=failed', 'runs/dag~steps~touched', 'runs/dag~wide~touched?view=map', 'job-types/compact', 'workers/node-a', 'locks', 'calendar', 'audit']) {
    await stage.open(page, route);
    const found = await page.$$eval('main :is(button, .button, select, input:not([type=checkbox]), .filters summary)', (all) => all.filter((e) => e.checkVisibility() && !e.closest('.rows-head, .choice') && e.getBoundingClientRect().height < 40).map((e) => `${e.textContent.trim() || e.className}: ${Math.round(e.getBoundingClientRect().height)} px`));
    if (found.length > 0) small[route] = found;
  }
  assert.deepEqual(small, {});
  await stage.shell('roundsman resume compact');
  await page.close();
});

// Address, the picture, and what a zoom and a pan change in it.
const pictures = [
  ['calendar', '.tl-body', () => [...document.querySelectorAll('.tl-axis > :not(.tl-clock)')].map((e) => e.textContent).join()],
  ['runs/dag~steps~touched', '.graph svg', () => document.querySelector('.graph svg > g').getAttribute('transform')],
  ['runs/dag~wide~touched?view=map', '.cells canvas', () => document.querySelector('.cells canvas').toDataURL()],
];

for (const [route, selector, look] of pictures) {
  test(`${selector} follows fingers`, { skip, timeout: 600_000 }, async () => {
    const page = await stage.page({ width: 390, height: 844, scale: 1 });
    await page.setViewport({ width: 390, height: 844, hasTouch: true, isMobile: true });
    const session = await page.createCDPSession();
    await stage.open(page, route);
    await page.waitForSelector(selector);
    await page.$eval(selector, (e) => e.scrollIntoView({ block: 'center' }));
    const { x, y, width, height } = await (await page.$(selector)).boundingBox();
    const [cx, cy] = [x + width / 2, y + height / 2];
    const first = await page.evaluate(look);
    await touched(session, [[cx - 20, cy], [cx + 20, cy]], [[cx - 90, cy], [cx + 90, cy]]);
    const zoomed = await until('a zoom by two fingers', async () => {
      const now = await page.evaluate(look);
      return now !== first && now;
    });
    await touched(session, [[cx, cy]], [[cx - 80, cy]]);
    await until('a pan by one finger', async () => (await page.evaluate(look)) !== zoomed);
    assert.equal(await page.evaluate(() => visualViewport.scale), 1, 'the page itself is not zoomed');
    assert.match(page.url(), new RegExp(`${route.replace('?', '\\?')}$`), 'a drag opens nothing');
    assert.deepEqual(page.faults, []);
    await page.close();
  });
}
