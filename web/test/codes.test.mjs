// Every code of the API on every page that shows causes: each has its button, or says who can act.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;

before(async () => {
  if (options.skip) return;
  stage = await Stage.shared();
});
after(() => stage?.down());

// recorded has the reasons of the golden file of the API, with their actions.
const recorded = JSON.parse(readFileSync(new URL('../../internal/engine/explain/testdata/reasons.json', import.meta.url), 'utf8'));
const documented = [...readFileSync(new URL('../../docs/explain.md', import.meta.url), 'utf8').matchAll(/^\| `([A-Z_]+)` \|/gm)].map((found) => found[1]);

test('every code has its button beside it, or says who can act', options, async () => {
  assert.deepEqual(new Set(recorded.map((reason) => reason.code)), new Set(documented));
  const all = recorded.map((reason, i) => ({ ...reason, object: reason.object ? `${reason.object}` : `${i}`, of: undefined }));
  const open = async () => {
    const shown = await stage.page({ width: 1440, context: await stage.browser.createBrowserContext() });
    await shown.evaluateOnNewDocument(() => Object.defineProperty(document, 'hidden', { get: () => false })); // Others are in front of it.
    await shown.setRequestInterception(true);
    shown.on('request', (request) => {
      const path = decodeURIComponent(request.url().replace(/.*\/api\/v1/, ''));
      const answer = (body) => request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify(body) });
      if (path.startsWith('/events')) return request.abort();
      if (path.startsWith('/explain')) return answer({ kind: 'run', name: 'x', state: 'waiting', reasons: all });
      if (path.startsWith('/needs')) return answer({ needs: all.map((reason) => ({ kind: 'run', name: `x ${reason.code}`, ...reason })), total: all.length, standing: { state: `${all.length} need you`, role: 'person' }, as_of: new Date().toISOString() });
      return request.continue();
    });
    return shown;
  };
  const run = key(await stage.runDAG('codes'));
  const slow = key(await stage.openRun('slow'));
  const job = (await stage.get(`/runs/${slow}/items`)).items[0].id;
  const routes = ['', 'job-types/compact', `runs/${slow}`, `runs/${slow}/items/${job}`, `runs/${run}?task=2`, `runs/${run}/items/go-ahead`, 'workers/node-a', 'locks?why=compact'];
  const look = async () => {
    for (let route = routes.shift(); route !== undefined; route = routes.shift()) {
      const shown = await open();
      await shown.goto(`${stage.base}#/${route}`);
      const rows = route === '' ? 'section.ask .work > li' : '.reasons > li, .title .says > div'; // Of a worker the header has one.
      const lacking = await until(`all codes on ${route}`, async () => {
        const found = await shown.$$eval(rows, (all) => all.map((row) => {
          const button = [...row.querySelectorAll('.remedies > button, .remedies > a.button[href="#/plan"]')].length > 0;
          return { code: row.querySelector('.code').textContent, helped: button || /Who can end it: \w/.test(row.querySelector('.actor')?.textContent ?? '') };
        }));
        const codes = new Set(found.map((row) => row.code));
        return documented.every((code) => codes.has(code)) && { rows: found.filter((row) => !row.helped) };
      }, 60_000);
      assert.deepEqual(lacking.rows, [], route);
      await shown.browserContext().close();
    }
  };
  // Without its stream, a page waits before it requests each part. More than two on a busy machine do not load in time.
  await Promise.all([look(), look()]);
});

test('a code in a list has its buttons in a dialog', options, async () => {
  const at = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString();
  const tick = { job_type: 'compact', at: at(-60), state: 'skipped', code: 'PAUSED', text: 'it was paused' };
  const before = { ...tick, at: at(-120), state: 'missed', code: 'LANE_BUSY' };
  const standing = { state: 'paused', role: 'paused', open: true, operations: [], code: 'PAUSED', cause: 'new disks' };
  const run = { workflow_id: 'group/compact-2026-11-24T02:40:00Z', run_id: 'x', kind: 'group', job_type: 'compact', standing, status: 'Running', started_at: at(-9) };
  const answers = {
    '/runs?': { runs: [run], as_of: at(0) },
    '/forecast': { ticks: [{ ...tick, at: at(60) }], job_types: [{ job_type: 'compact', due: 1, of: 1, runs: 0, skipped: 1 }], as_of: at(0), until: at(9000) },
    '/ledger': { ticks: [tick, before], counts: { skipped: 1, missed: 1 }, as_of: at(0), from: at(-9000) },
    '/explain': { kind: 'run', name: 'compact', state: 'paused', reasons: [recorded.find((reason) => reason.code === 'PAUSED')] },
  };
  const page = await stage.page({ width: 1440 });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const path = decodeURIComponent(request.url().replace(/.*\/api\/v1/, ''));
    if (path.startsWith('/events')) return request.abort();
    const body = Object.entries(answers).find(([begin]) => path.startsWith(begin))?.[1];
    return body ? request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify(body) }) : request.continue();
  });
  for (const [route, within] of [['runs', '[aria-label=Runs] .row'], ['calendar', '[aria-label=Forecast] .row'], ['calendar?view=past', '[aria-label=Ledger] .row'], ['job-types/compact', '.dropped']]) {
    await page.goto(`${stage.base}#/${route}`);
    const code = await page.waitForSelector(`${within} button.code`);
    assert.equal(await code.evaluate((e) => e.textContent), 'PAUSED', route);
    await code.evaluate((e) => { e.focus(); e.click(); });
    await until(`its buttons on ${route}`, () => page.$('dialog[open] .reasons .remedies > button'));
    await page.click('dialog[open] .remedies > button');
    await until('the dialog of the action', () => page.$eval('dialog[open]', (e) => e.querySelector('.lines') !== null && !e.querySelector('.reasons')));
    await page.keyboard.press('Escape');
    await until('no dialog', async () => !(await page.$('dialog[open]')));
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'PAUSED', 'the focus is where it was');
  }
  assert.deepEqual(page.faults.filter((fault) => !/ERR_FAILED/.test(fault)), []);
  await page.close();
});
