// Words of pages are those of the API: what it names is linked, what people and programs wrote stays as it is.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const options = { skip: missing(), timeout: 600_000 };
let stage;

before(async () => {
  if (options.skip) return;
  stage = await Stage.shared();
});
after(() => stage?.down());

// answered is a page whose answers a function may change. It has no stream.
async function answered(route, change) {
  const page = await stage.page({ width: 1440, context: await stage.browser.createBrowserContext() });
  await page.evaluateOnNewDocument(() => Object.defineProperty(document, 'hidden', { get: () => false })); // Others are in front of it.
  await page.setRequestInterception(true);
  page.on('request', async (request) => {
    const path = decodeURIComponent(request.url().replace(/.*\/api\/v1/, ''));
    if (path.startsWith('/events')) return request.abort();
    if (!request.url().includes('/api/v1/') || request.method() !== 'GET') return request.continue();
    const real = await fetch(request.url());
    const text = await real.text();
    const body = real.ok ? change(path, JSON.parse(text)) : undefined;
    return request.respond({ status: real.status, contentType: real.headers.get('content-type'), body: body ? JSON.stringify(body) : text }).catch(() => {});
  });
  await page.goto(`${stage.base}#/${route}`);
  return page;
}

const scrub = 'group/scrub-2026-11-24T02:40:00Z';
const soon = 60_000;

test('a sentence has links to the runs that the API names in it', options, async () => {
  const slow = key(await stage.openRun('slow'));
  const reason = (more) => ({ code: 'CLAIM_HELD', detail: `held by ${scrub}/job-00001`, remedy: '', actions: [], actor: 'nobody', ...more });
  const page = await answered(`runs/${slow}`, (path) => path.startsWith('/explain') && { kind: 'run', name: 'x', state: 'waiting', reasons: [reason({ object: 'a', runs: [{ run: scrub, item: 'job-00001' }] }), reason({ object: 'b' })] });
  const found = await until('both reasons', () => page.$$eval('.reasons > li', (all) => all.length === 2 && all.map((li) => [...li.querySelectorAll('a.run')].map((a) => a.title))), soon);
  assert.deepEqual(found, [[`${scrub}/job-00001`], []]);
  await page.browserContext().close();
});

test('a reason that names several workers has a link to each', options, async () => {
  const slow = key(await stage.openRun('slow'));
  const reason = { code: 'PER_WORKER_LIMIT', object: 'node-a, node-b, …', targets: [{ worker: 'node-a' }, { worker: 'node-b' }], detail: 'its limit is reached', remedy: '', actions: [], actor: 'nobody' };
  const page = await answered(`runs/${slow}`, (path) => path.startsWith('/explain') && { kind: 'run', name: 'x', state: 'waiting', reasons: [reason, { ...reason, code: 'LANE_BUSY', object: 'tape', targets: [{ lane: 'tape' }] }] });
  const found = await until('both reasons', () => page.$$eval('.reasons > li', (all) => all.length === 2 && all.map((li) => [li.innerText.split(':')[0], ...[...li.querySelectorAll('a')].map((a) => a.hash)])), soon);
  assert.deepEqual(found, [['node-a, node-b, …', '#/workers/node-a', '#/workers/node-b'], ['tape', '#/locks']]);
  await page.browserContext().close();
});

test('a note without an author and an error of a program keep their letters', options, async () => {
  const note = 'eBPF probes are loaded';
  const page = await answered('', (path, body) => {
    if (path.startsWith('/job-types')) body.job_types.forEach((type, i) => { type.standing = { state: 'paused', stopped: true, code: 'PAUSED', detail: i === 0 ? note : 'by ann', quoted: i === 0 }; });
    return body;
  });
  const letters = await until('the notes', () => page.$$eval('.work > li .why', (all) => {
    const letter = (begins) => all.filter((e) => e.textContent.startsWith(begins)).map((e) => getComputedStyle(e, '::first-letter').textTransform)[0];
    return letter('by ann') && letter('eBPF') && [letter('by ann'), letter('eBPF')];
  }), soon);
  assert.deepEqual(letters, ['uppercase', 'none']);
  await page.browserContext().close();
  await stage.openRun('slow');
  await stage.shell('roundsman start compact');
  await until('two runs', async () => (await stage.get('/runs')).runs.length > 1, soon);
  const runs = await answered('runs', (path, body) => {
    if (path.startsWith('/runs?')) body.runs.forEach((run, i) => { run.standing = { ...run.standing, code: undefined, cause: i === 0 ? note : 'it waits', quoted: i === 0 }; });
    return body;
  });
  const causes = await until('the causes', () => runs.$$eval('.row', (all) => all.some((e) => /it waits/i.test(e.textContent)) && all.map((e) => e.textContent).join(' | ')), soon);
  assert.match(causes, /eBPF probes/);
  assert.match(causes, /It waits/);
  await runs.browserContext().close();
});

test('jobs of a lost page have the button beside their cause', options, async () => {
  const slow = key(await stage.openRun('slow'));
  const actions = [{ operation: 'run-job-type', label: 'Run now', command: 'roundsman start slow', effect: 'It starts.', arguments: { name: 'slow' }, request: { method: 'POST', path: '/job-types/slow/trigger' } }];
  const page = await answered(`runs/${slow}`, (path, body) => {
    if (path.split('?')[0] === `/runs/${decodeURIComponent(slow)}`) return { ...body, progress: { ...body.progress, total: 9, ended: 7, failed: 7 } };
    if (path.endsWith('/failures'))
      return { ...body, failed: 7, causes: [{ message: 'the page is lost', count: 7, example: { message: '', dedupe_key: '', job_id: 'job-00001' }, workers: [], workers_total: 0, items: [{ id: 'job-00001' }], remedy: 'find them, then `roundsman start slow`', hint: 'find them', actions }] };
    return body;
  });
  const [cause] = await until('the cause', () => page.$$eval('.causes > li', (all) => all.length === 1 && all.map((li) => ({ text: li.innerText, buttons: [...li.querySelectorAll('.remedies > button')].map((b) => b.textContent) }))), soon);
  assert.deepEqual(cause.buttons, ['Run now']);
  assert.match(cause.text, /Find them/);
  await page.browserContext().close();
});

test('a check has the hint of the API, not its remedy with the commands', options, async () => {
  const page = await answered('doctor', (path, body) => {
    if (path.startsWith('/doctor')) return { ok: true, passed: 0, warnings: 2, checks: [{ name: 'clocks', verdict: 'warn', found: 'these are off', fix: 'synchronise `ntp`', hint: 'synchronise' }, { name: 'storage', verdict: 'warn', found: 'full', fix: '`df -h`' }] };
    return body;
  });
  const rows = await until('the checks', () => page.$$eval('main section.ask .work > li', (all) => all.length === 2 && all.map((li) => [...li.querySelectorAll('.fix')].map((e) => e.textContent))), soon);
  assert.deepEqual(rows, [['synchronise'], []]);
  await page.browserContext().close();
});

test('a change of settings is named by the API', options, async () => {
  const at = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  const runs = [30, 20, 10].map((ago) => ({ workflow_id: `group/compact-${at(ago).slice(0, 19)}Z`, state: 'completed', role: 'done', started_at: at(ago), ended_at: at(ago - 1), jobs: { total: 3, failed: 0, p50_ms: 200, p95_ms: 400, of: 3 } }));
  const page = await answered('job-types/compact', (path, body) => {
    if (path.startsWith('/job-types/compact/history')) return { ...body, runs, counts: { completed: 3 }, changes: [{ seq: 1, at: at(15), by: 'ann', action: 'jobtype.set', before: 'a: 1', after: 'a: 2', brief: 'brief by the API', change: 'a, from 1 to 2' }] };
    if (path.startsWith('/audit')) return { ...body, entries: body.entries.slice(0, 1).map((entry) => ({ ...entry, before: 'a: 1', after: 'a: 2', change: 'a, from 1 to 2', detail: '' })) };
    return body;
  });
  const mark = await until('the mark', () => page.$eval('.trend .changes a', (e) => [e.textContent, e.title]), soon);
  assert.equal(mark[0], 'ann: brief by the API');
  assert.match(mark[1], /: a, from 1 to 2$/);
  await page.browserContext().close();
});

test('an object is a link to the thing that the API names', options, async () => {
  const entry = (seq, object, target) => ({ seq, at: new Date().toISOString(), kind: 'operator', actor: 'ann', from: 'x', action: 'run.cancel', did: 'canceled', code: '', job_type: '', object, before: '', after: '', detail: '', count: 1, target });
  const page = await answered('audit', (path) => path.startsWith('/audit') && { kept: 3, dropped: 0, keeps: 10, as_of: new Date().toISOString(), entries: [entry(1, scrub), entry(2, 'a', { run: scrub, item: 'job-00001' }), entry(3, 'b', { worker: 'node-a' })] });
  const links = await until('three entries', () => page.$$eval('[aria-label="Audit log"] .row', (all) => all.length === 3 && all.map((e) => [...e.querySelectorAll('a')].map((a) => a.title || a.hash))), soon);
  assert.deepEqual(links, [['#/workers/node-a'], [`${scrub}/job-00001`], []]);
  await page.browserContext().close();
});

test('a forecast has the column Of if an instant has a cause', options, async () => {
  const at = (minutes) => new Date(Date.now() + minutes * 60_000).toISOString();
  for (const cause of [undefined, { code: 'OVERLAP', text: 'overlaps the run before', object: 'b', run: scrub }]) {
    const tick = (minutes, more) => ({ job_type: 'compact', at: at(minutes), state: 'runs', begins_at: at(minutes), ends_at: at(minutes + 1), ...more });
    const page = await answered('calendar', (path) => path.startsWith('/forecast') && { as_of: at(0), until: at(10_000), ticks: [tick(5), tick(9, cause)], job_types: [{ job_type: 'compact', of: 1, due: 2, runs: 2, skipped: 0 }] });
    const found = await until('two instants', () => page.$eval('[aria-label=Forecast]', (e) => e.querySelectorAll('.row').length === 2 && { heads: [...e.querySelectorAll('[role=columnheader]')].map((one) => one.textContent), runs: [...e.querySelectorAll('a.run')].map((a) => a.title) }), soon);
    assert.equal(found.heads.includes('Of'), Boolean(cause));
    assert.deepEqual(found.runs, cause ? [scrub] : []);
    await page.browserContext().close();
  }
});

test('the cause of a job type and of a worker stands once, in the header, and other causes below it', options, async () => {
  // The audit log on the page has what other files of this stage did: none of them says so.
  const [cause, other] = ['new shelves by ann', 'the other cause'];
  const reason = (code, object, detail) => ({ code, object, detail, remedy: 'wait', actions: [], actor: 'ann', since: new Date(Date.now() - 60_000).toISOString() });
  for (const [route, code, object] of [['job-types/compact', 'PAUSED', 'compact'], ['workers/node-a', 'WORKER_CORDONED', 'node-a']]) {
    const page = await answered(route, (path, body) => {
      if (path.startsWith('/explain')) return { kind: 'x', name: object, state: 'x', reasons: [reason('RETRY_BUDGET', 'b', other), reason(code, object, cause)] };
      return path === '/job-types/compact' ? { ...body, standing: { state: 'paused', stopped: true, code, detail: 'by ann' } } : undefined;
    });
    const found = await until('both causes', () => page.$eval('main', (main, other) => main.innerText.includes(other) && {
      header: main.querySelector('.title .says').innerText, first: main.querySelector('.stack section').innerText, times: main.innerText.toLowerCase().split('new shelves').length - 1,
    }, other), soon);
    assert.match(found.header, new RegExp(`^N${cause.slice(1)} ${code}.*Who can end it: ann`, 's'), route);
    assert.match(found.first, new RegExp(`^Why .*${other} RETRY_BUDGET`, 's'), route);
    assert.equal(found.times, 1, route);
    await page.browserContext().close();
  }
});

test('a question stands once, in the header with its buttons, above the results of its needs', options, async () => {
  const run = key(await stage.runDAG('question'));
  const page = await stage.page({ width: 1440 });
  await stage.open(page, `runs/${run}/items/go-ahead`);
  await until('the question', () => page.$eval('.title .says', (e) => e.textContent === 'Both nodes are upgraded. Go live? AWAITING_APPROVAL'), soon);
  await until('what was done before', () => page.$eval('[aria-label="What was done before"]', (e) => /^check.*completed$/.test(e.textContent)), soon);
  const found = await page.$eval('main', (e) => ({ asked: e.innerText.split('Go live?').length - 1, buttons: [...e.querySelectorAll('button')].filter((b) => b.textContent === 'Approve').length }));
  assert.deepEqual(found, { asked: 1, buttons: 1 });
  await page.close();
});
