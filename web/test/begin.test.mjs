// A page asks for its parts at once, and computes its layout once for each rendering.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { missing, Stage, until } from './stage.mjs';

const skip = missing();
const options = { skip, timeout: 600_000 };
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.shared();
});
after(() => stage?.down());

test('the jobs of a run are requested before the run has answered', options, async () => {
  const run = (await stage.openRun('slow')).replaceAll('/', '~'); // As links have it.
  const page = await stage.page();
  await stage.open(page, 'doctor');
  await page.setRequestInterception(true);
  const asked = [];
  page.on('request', (request) => {
    if (request.url().includes('/events?')) return; // It stays without an answer.
    asked.push(request.url().replace(`${stage.base}api/v1`, ''));
    void request.continue();
  });
  await page.evaluate((to) => { location.hash = `#/runs/${to}`; }, run);
  await until('the request of the run itself', () => asked.includes(`/runs/${run}`));
  assert.ok(asked.indexOf(`/runs/${run}/items?limit=100`) >= 0 && asked.indexOf(`/runs/${run}/items?limit=100`) < asked.indexOf(`/runs/${run}`), asked.join('\n'));
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('the preview of a retry is there before somebody asks for it', options, async () => {
  const page = await stage.page();
  await stage.open(page, '');
  await until('its module', () => page.evaluate(() => performance.getEntriesByType('resource').some(({ name }) => /\/retry-[^/]*\.js$/.test(name))));
  await page.close();
});

test('a table reads all widths before it sets one', options, async () => {
  const page = await stage.page();
  await page.evaluateOnNewDocument(() => {
    window.layouts = 0;
    let written = false;
    const { get } = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'offsetWidth');
    Object.defineProperty(HTMLElement.prototype, 'offsetWidth', {
      get() {
        if (written) window.layouts += 1;
        written = false;
        return get.call(this);
      },
    });
    const style = Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'style');
    Object.defineProperty(HTMLElement.prototype, 'style', {
      ...style,
      get() {
        if (this.matches('.rows-head > *')) {
          written = true;
          queueMicrotask(() => { written = false; });
        }
        return style.get.call(this);
      },
    });
  });
  await stage.open(page, 'job-types');
  await page.waitForFunction(() => [...document.querySelectorAll('.rows-head > *')].some((head) => head.style.minWidth !== ''));
  const layouts = await page.evaluate(() => window.layouts);
  assert.ok(layouts <= 1, `${layouts} reads after a write`);
  assert.deepEqual(page.faults, []);
  await page.close();
});
