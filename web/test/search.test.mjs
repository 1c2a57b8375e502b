// Somebody who types slowly: the answer to each letter arrives before the next one. The field keeps its focus and its text.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing();
const options = { skip, timeout: 600_000 };
let stage;
let job;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  await stage.runDAG('searched');
  await stage.shell('roundsman pause compact -r "new disks"');
  job = (await stage.get(`/runs/${key(await stage.openRun('slow'))}/items`)).items[0].dedupe_key;
});
after(() => stage?.down());

// focused puts the focus on the field of a label and keeps it for later.
const focused = (page, label) => page.evaluate((label) => {
  window.field = [...document.querySelectorAll('main .choice')].find((e) => e.firstChild.textContent === label).querySelector('input');
  window.field.focus();
}, label);

// typed types a letter, and returns when the address has the text and the answer is there.
async function typed(page, param, letter, text) {
  await page.keyboard.press(letter);
  await until(`a search for ${text}`, () => page.evaluate((param, text) => (new URLSearchParams(location.hash.split('?')[1]).get(param) ?? '') === text && !document.querySelector('[aria-busy]'), param, text.trim()));
}

const look = (page) => page.evaluate(() => ({ focus: document.activeElement === window.field, shown: window.field.isConnected && window.field.checkVisibility(), text: window.field.value }));

// Address, table, label of the field, its part of the address, text.
const fields = () => [
  ['runs/SLOW', 'Jobs', 'Key or number', 'find', job],
  ['runs/dag~steps~searched?view=list', 'Tasks', 'Task', 'find', 'broken'],
  ['audit', 'Audit log', 'Actor', 'actor', 'ann'],
  ['audit', 'Audit log', 'Object begins with', 'object', 'jobtype'],
  ['audit', 'Audit log', 'Job type', 'job_type', 'compact'],
  ['runs', 'Jobs by key', 'Job by its key', 'key', job],
  ['runs', 'Runs', 'Job type', 'name', 'slow'],
  ['job-types', 'Job types', 'Name, handler or lane', 'name', 'night'],
  ['workers', 'Workers', 'Name, host or label', 'name', 'node-a'],
  ['calendar', 'Forecast', 'Job type', 'type', 'nightly'],
];

test('a slow typist keeps the focus and the text, and the list is filtered', options, async () => {
  const page = await stage.page({ width: 1440 });
  const lost = [];
  for (const [route, table, label, param, text] of fields()) {
    await stage.open(page, route);
    await focused(page, label);
    for (let i = 1; i <= text.length; i++) {
      await typed(page, param, text[i - 1], text.slice(0, i)).catch(() => undefined);
      const now = await look(page);
      if (now.focus && now.shown && now.text === text.slice(0, i)) continue;
      lost.push(`${route}, ${label}, after ${text.slice(0, i)}: ${JSON.stringify(now)}`);
      break;
    }
    if (lost.at(-1)?.startsWith(`${route}, ${label},`)) continue;
    await until(`${label}: only rows with ${text}`, () => page.$$eval(`[aria-label="${table}"] :is(.row, tbody tr)`, (all, text) => all.length > 0 && all.every((e) => e.textContent.includes(text)), text));
  }
  assert.deepEqual(lost, []);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('a space at the end of a search is no reason to take it away', options, async () => {
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'audit');
  await focused(page, 'Actor');
  let text = '';
  for (const letter of 'a b') {
    text += letter;
    await typed(page, 'actor', letter, text);
    assert.equal((await look(page)).text, text);
  }
  await page.evaluate(() => { location.hash = '#/audit?actor=ann'; });
  await until('the actor of the address', async () => (await look(page)).text === 'ann');
  await page.close();
});

test('a fold of filters on a telephone stays open under the finger', options, async () => {
  const page = await stage.page({ width: 390, height: 844 });
  await stage.open(page, 'audit');
  await page.click('.filters summary');
  await focused(page, 'Actor');
  for (const [letter, text] of [['a', 'a'], ['n', 'an'], ['Backspace', 'a'], ['Backspace', '']]) {
    await typed(page, 'actor', letter, text);
    assert.deepEqual(await look(page), { focus: true, shown: true, text });
  }
  await page.close();
});

test('an answer that fails leaves the field', options, async () => {
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'runs/SLOW');
  await focused(page, 'Key or number');
  await page.setRequestInterception(true);
  page.on('request', (request) => (/\/items\?.*find=x/.test(request.url()) ? request.respond({ status: 500, contentType: 'application/problem+json', body: '{"status":500,"detail":"it cannot be read"}' }) : request.continue()));
  await page.keyboard.press('x');
  await until('the failure', () => page.$eval('.failure', (e) => /it cannot be read/.test(e.textContent)));
  assert.deepEqual(await look(page), { focus: true, shown: true, text: 'x' });
  await page.close();
});

test('the audit log has each entry between its newest and the ones that were read before', options, async () => {
  // Two of the same action in a row would be one entry.
  const act = async (times) => {
    for (let i = 0; i < times; i++) for (const verb of ['cordon', 'uncordon']) await fetch(`${stage.base}api/v1/workers/node-b/${verb}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  };
  const kept = async () => (await stage.audit()).length;
  await act(60);
  const page = await stage.page({ width: 1440 });
  await stage.open(page, 'audit?kind=operator');
  const note = (n) => until(`${n} entries`, () => page.$eval('.tabled', (e, text) => e.textContent.includes(text), `${n} of `));
  await page.focus('[aria-label="Audit log"]');
  await page.keyboard.press('End');
  const before = await kept();
  assert.ok(before > 100, `${before} entries are more than the first page`);
  await note(before);
  await act(5);
  await note(before + 10);
  assert.equal(await kept(), before + 10);
  assert.deepEqual(page.faults, []);
  await page.close();
});

test('older entries that cannot be read are asked for again, but not at once', options, async () => {
  const page = await stage.page({ width: 1440 });
  // The first requests for older entries fail. asked is their number when a timer ends that is shorter than the pause.
  await page.evaluateOnNewDocument(() => {
    const real = window.fetch;
    window.count = 0;
    window.fetch = (...given) => {
      if (!/\/audit\?.*cursor=/.test(given[0]?.url ?? given[0])) return real(...given);
      window.count++;
      if (window.count === 1) setTimeout(() => { window.asked = window.count; }, 1000);
      if (window.asked !== undefined) return real(...given);
      return Promise.resolve(new Response('{"status":500,"detail":"it cannot be read"}', { status: 500, headers: { 'Content-Type': 'application/problem+json' } }));
    };
  });
  await stage.open(page, 'audit?kind=operator');
  await page.focus('[aria-label="Audit log"]');
  await page.keyboard.press('End');
  await until('all entries', async () => page.$eval('.tabled', (e, text) => e.textContent.includes(text), `${(await stage.audit()).length} of `));
  assert.equal(await page.evaluate(() => window.asked), 1);
  await page.close();
});
