// From an event to the page that somebody else has open, on a busy machine: 95 of 100 within a second. Only make web-figures runs it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { burn, loaded, runnable } from './load.mjs';
import { missing, Stage, until } from './stage.mjs';

const skip = missing() || (!process.env.FULL && 'a measurement of minutes: make web-figures');
const load = Number(process.env.LOAD ?? 15);
const samples = Number(process.env.SAMPLES ?? 40);
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
});
after(() => stage?.down());

const post = async (path, body = {}) => {
  const response = await fetch(`${stage.base}api/v1${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
};
const at = (all, share) => [...all].sort((a, b) => a - b)[Math.ceil(all.length * share) - 1];
const told = (all) => `median ${at(all, 0.5)} ms, 95 of 100 within ${at(all, 0.95)} ms, longest ${Math.max(...all)} ms`;

// seen is when the page says something, by the clock that this process has, too.
const seen = (page, selector, text, there = true) =>
  page.waitForFunction((s, t, is) => ([...document.querySelectorAll(s)].some((e) => e.textContent.includes(t)) === is ? Date.now() : false), { polling: 'mutation' }, selector, text, there).then((handle) => handle.jsonValue());

test('an event is on an open page', { skip, timeout: 1_800_000 }, async () => {
  const [first, second] = [await stage.page(), await stage.page()];
  await stage.open(first, 'workers');
  await stage.open(second, 'workers');
  const quench = burn(load);
  const took = { cordon: [], answer: [], end: [] };
  const threads = [];
  try {
    await until('the load', () => runnable() >= load, 60_000);
    for (let i = 0; i < samples; i++) {
      const is = i % 2 === 0;
      threads.push(runnable());
      const began = Date.now();
      const shown = seen(second, '.state', 'cordoned', is);
      await post(`/workers/node-b/${is ? 'cordon' : 'uncordon'}`);
      const answered = Date.now();
      const when = await shown;
      took.cordon.push(when - began);
      took.answer.push(Math.max(when - answered, 0));
    }
    // The end of a job: the next one of a chain ends when its file is there.
    const file = join(stage.dir, 'chain.yaml');
    const task = (i) => `  - {id: t${i}, ${i > 0 ? `needs: t${i - 1}, ` : ''}command: [sh, -c, 'while [ ! -e "$1" ]; do sleep 0.1; done', sh, ${join(stage.dir, `go-${i}`)}]}`;
    writeFileSync(file, `version: 1\nname: chain\ntasks:\n${Array.from({ length: samples }, (_, i) => task(i)).join('\n')}\n`);
    await stage.shell(`roundsman start ${file} --as ends`);
    await stage.open(second, 'runs/dag~chain~ends');
    for (let i = 0; i < samples; i++) {
      await until(`t${i} runs`, async () => (await stage.get(`/runs/dag~chain~ends/items/t${i}`)).state === 'running', 120_000);
      threads.push(runnable());
      const shown = seen(second, 'main dl', `${i + 1} of ${samples}`);
      writeFileSync(join(stage.dir, `go-${i}`), '');
      const when = await shown;
      took.end.push(when - Date.parse((await stage.get(`/runs/dag~chain~ends/items/t${i}`)).ended_at));
    }
  } finally {
    await quench();
  }
  console.log(`cordoned, from the request: ${told(took.cordon)}; from its answer: ${told(took.answer)}; end of a job, from its time in the run: ${told(took.end)}; ${samples} of each, ${loaded()}, ${Math.min(...threads)} to ${Math.max(...threads)} threads that run`);
  for (const of of ['answer', 'end']) assert.ok(at(took[of], 0.95) <= 1000, `${of}: ${told(took[of])}`);
  assert.deepEqual(second.faults, []);
});
