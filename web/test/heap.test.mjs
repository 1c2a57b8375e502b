// A tab that stays open keeps nothing of the pages and the changes that it has shown.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { key, missing, Stage, until } from './stage.mjs';

const skip = missing() || (!process.env.FULL && 'a measurement of minutes: make web-figures');
const rounds = Number(process.env.ROUNDS ?? 6);
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  await stage.runDAG('kept');
});
after(() => stage?.down());

// counted is what a page holds after garbage collection.
async function counted(session) {
  for (let i = 0; i < 3; i++) await session.send('HeapProfiler.collectGarbage');
  const { nodes, jsEventListeners } = await session.send('Memory.getDOMCounters');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return { nodes, listeners: jsEventListeners, heap: usedSize };
}

test('navigation and changes leave nothing behind', { skip, timeout: 900_000 }, async () => {
  const page = await stage.page();
  const session = await page.createCDPSession();
  await session.send('HeapProfiler.enable');
  await stage.open(page, '');
  const run = key(await stage.openRun('slow'));
  const pages = ['job-types', 'job-types/compact', 'runs', `runs/${run}`, `runs/${run}/items/job-00001`, 'runs/dag~steps~kept', 'workers', 'workers/node-a', 'locks', 'calendar', 'audit', 'doctor', 'plan', 'submit/compact', ''];
  const counts = async () => {
    await page.waitForNetworkIdle({ idleTime: 300, concurrency: 1 });
    return counted(session);
  };
  const round = async () => {
    for (const path of pages) {
      await page.evaluate((to) => { location.hash = `#/${to}`; }, path);
      await page.waitForFunction((to) => document.querySelector('main h1') && !document.querySelector('main > [aria-busy]') && location.hash === `#/${to}`, {}, path);
    }
  };
  for (let i = 0; i < 3; i++) await round(); // Caches and parts that are loaded later are filled.
  const few = await counts();
  console.log(`after ${3 * pages.length} navigations: ${JSON.stringify(few)}`);
  let many = few;
  for (let i = 1; i <= rounds; i++) {
    await round();
    if (i % 3 > 0) continue;
    many = await counts();
    console.log(`after ${i * pages.length} more: ${JSON.stringify(many)}`);
  }
  // One page has 300 nodes: if each were kept, there would be 27,000 more.
  assert.ok(many.nodes <= few.nodes * 1.5 + 1000, `${few.nodes}, then ${many.nodes} nodes`);
  assert.ok(many.listeners <= few.listeners * 1.5 + 100, `${few.listeners}, then ${many.listeners} listeners`);
  assert.ok(many.heap <= few.heap * 2, `${few.heap}, then ${many.heap} bytes`);

  // Changes of one worker reach the list by the stream.
  await page.evaluate(() => { location.hash = '#/workers'; });
  await page.waitForSelector('[aria-label=Workers] .row');
  const before = await counts();
  for (let i = 0; i < rounds; i++) {
    for (const [verb, is] of [['cordon', true], ['uncordon', false]]) {
      await fetch(`${stage.base}api/v1/workers/node-b/${verb}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
      await until(verb, () => page.$$eval('.state', (all, there) => all.some((e) => e.textContent.includes('cordoned')) === there, is));
    }
  }
  const later = await counts();
  console.log(`before ${2 * rounds} changes: ${JSON.stringify(before)}, after them: ${JSON.stringify(later)}`);
  assert.ok(later.nodes <= before.nodes * 1.3 + 300, `${before.nodes}, then ${later.nodes} nodes`);
  assert.ok(later.listeners <= before.listeners * 1.3 + 50, `${before.listeners}, then ${later.listeners} listeners`);
  assert.ok(later.heap <= before.heap * 2, `${before.heap}, then ${later.heap} bytes`);
  assert.deepEqual(page.faults, []);
  await page.close();
});

const minutes = Number(process.env.MINUTES ?? 0);

test('tabs that stay open do not grow', { skip: skip || (minutes === 0 && 'MINUTES=60 keeps them open for an hour'), timeout: (minutes + 10) * 60_000 }, async () => {
  const tabs = [];
  for (const route of ['', 'runs/SLOW', 'job-types/compact']) {
    const page = await stage.page();
    await stage.open(page, route);
    tabs.push({ route, page, session: await page.createCDPSession(), held: [] });
  }
  for (const { session } of tabs) await session.send('HeapProfiler.enable');
  const samples = 12;
  for (let sample = 0; sample <= samples; sample++) {
    const end = Date.now() + (sample > 0 ? (minutes * 60_000) / samples : 0);
    while (Date.now() < end) {
      await stage.shell('roundsman start compact --wait').catch((cause) => assert.match(cause.message, /still runs/));
      await new Promise((then) => setTimeout(then, 5000));
    }
    for (const tab of tabs) {
      tab.held.push(await counted(tab.session));
      console.log(`${new Date().toISOString()} #/${tab.route}: ${JSON.stringify(tab.held.at(-1))}`);
    }
  }
  for (const { route, page, held } of tabs) {
    // The first third fills caches.
    const [early, late] = [held[samples / 3], held[samples]];
    assert.ok(late.heap <= early.heap * 1.25 + 500_000 && late.nodes <= early.nodes * 1.5 + 500, `#/${route}: ${JSON.stringify(early)}, then ${JSON.stringify(late)}`);
    assert.deepEqual(page.faults, []);
    await page.close();
  }
});
