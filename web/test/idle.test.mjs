// An overview that stays open costs little, also where runs end all the time. FULL=1 has 30 runs of each job type and
// 20 workers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fill, up } from './full.mjs';
import { missing, until } from './stage.mjs';
import { Wire } from './wire.mjs';

const skip = missing() || (!process.env.FULL && 'a measurement of minutes: make web-figures');
let stage;

before(async () => {
  if (skip) return;
  stage = await up();
  await fill(stage, process.env.FULL ? {} : { runs: 0, workers: 2 });
});
after(() => stage?.down());

// minute ends after four comments of a stream, of which one comes every 15 s.
async function minute() {
  const control = new AbortController();
  const { body } = await fetch(`${stage.base}api/v1/events?topic=server`, { signal: control.signal });
  let comments = 0;
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    comments += (text.match(/^: /gm) ?? []).length;
    if (comments === 4) break;
  }
  control.abort();
}

// loaded waits until an overview has all its parts.
async function loaded(page) {
  await until('all parts', () => page.evaluate(() => document.querySelector('.tile .value')?.textContent === '100' && document.querySelector('.timeline') && !document.querySelector('[aria-busy]')), 60_000)
    .catch(async (cause) => { throw new Error(await page.evaluate(() => document.querySelector('main').innerText.slice(0, 3000)), { cause }); });
  await page.waitForNetworkIdle({ idleTime: 1000, concurrency: 1 });
}

test('an overview takes at most 50 KB per minute, and shows what happens', { skip, timeout: 600_000 }, async () => {
  const wire = await Wire.before(stage.http);
  const page = await stage.page();
  page.asked = [];
  page.on('request', (request) => request.url().startsWith(wire.base) && page.asked.push(request.url().slice(wire.base.length)));
  await page.goto(wire.base);
  await loaded(page);
  const load = wire.bytes;
  page.asked.length = 0;
  await minute();
  const bytes = wire.bytes - load;
  assert.ok(bytes <= 50_000, `${bytes} bytes in a minute`);
  // One job type runs every five seconds: that is 17,000 runs a day.
  const busy = setInterval(() => void fetch(`${stage.base}api/v1/job-types/backup-ams/run`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }).catch(() => {}), 5000);
  await minute().finally(() => clearInterval(busy));
  console.log(`overview of 100 job types: ${Math.round(load / 1000)} kB to load, ${Math.round(bytes / 1000)} kB in a minute, ${Math.round((wire.bytes - load - bytes) / 1000)} kB in one with a run every 5 s`);
  assert.deepEqual(page.asked.filter((path) => path !== 'favicon.svg' && !path.includes('/events?')), [], 'nothing is polled');
  await stage.shell('roundsman pause backup-ber -r "the array is being replaced"');
  await until('a pause, by a patch', () => page.$$eval('.work .what', (all) => all.some((e) => e.textContent.includes('backup-ber'))));
  assert.deepEqual(page.faults, []);
  await page.close();
  wire.close();
});

test('a hidden tab takes nothing', { skip, timeout: 600_000 }, async () => {
  const wire = await Wire.before(stage.http);
  const page = await stage.page();
  let streams = 0;
  page.on('request', (request) => request.url().includes('/events?') && streams++);
  page.on('requestfailed', (request) => request.url().includes('/events?') && streams--);
  page.on('requestfinished', (request) => request.url().includes('/events?') && streams--);
  await page.goto(wire.base);
  await loaded(page);
  await until('its stream', () => streams === 1);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await until('the end of its stream', () => streams === 0);
  const bytes = wire.bytes;
  await minute();
  assert.equal(wire.bytes - bytes, 0);
  await page.evaluate(() => {
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await until('its stream again', () => streams === 1);
  await page.close();
  wire.close();
});
