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
