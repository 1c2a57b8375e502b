// A page on which nothing happens requests nothing, and nothing on it moves.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { comments, quiet } from './quiet.mjs';
import { missing, Stage, until } from './stage.mjs';

const skip = missing();
let stage;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
});
after(() => stage?.down());

test('an idle page requests nothing again, and stands still', { skip, timeout: 900_000 }, async () => {
  await stage.runDAG('idle');
  await stage.openRun('slow');
  const over = async () => (await stage.get('/runs?running=true')).runs.every((run) => /slow|idle/.test(run.workflow_id));
  await until('the other runs have ended', over);
  const idle = ['', 'job-types', 'job-types/compact', 'submit/compact', 'runs', 'runs?kind=dag&name=steps', 'runs/SLOW', 'runs/SLOW/items/job-00001', 'runs/dag~steps~idle', 'runs/dag~steps~idle/items/go-ahead', 'workers', 'workers/node-a', 'locks', 'calendar', 'calendar?view=past', 'audit', 'audit?kind=operator', 'access', 'doctor'];
  const left = idle.values();
  const waiting = [];
  const wait = async (route, page) => {
    // asked is what it requests until three comments have come, which is half a minute at least.
    const asked = async () => {
      page.asked.length = 0;
      await page.evaluate(() => { window.comments = window.moves.length = 0; });
      await comments(page, 3);
      return [...page.asked];
    };
    // The time of a run that has just begun grows by pixels each second.
    const still = ['', 'job-types', 'job-types/compact', 'submit/compact'].includes(route);
    // Where the machine is slow, the last parts load later, and a request that failed is repeated. A run that is due moves what shows
    // it. A page that polls or moves by itself is never quiet.
    const last = {};
    const quietly = async () => {
      last.requests = await asked();
      last.moves = still ? (await page.evaluate(() => window.moves)).map((one) => one.slice(0, 80)) : [];
      return last.requests.length === 0 && last.moves.length <= 5;
    };
    await until('a quiet page', quietly, 150_000).catch(() => assert.fail(`#/${route}: ${JSON.stringify(last)}`));
    await page.browserContext().close();
  };
  await Promise.all(Array.from({ length: 4 }, async () => {
    for (const route of left) waiting.push(wait(route, await quiet(stage, route)));
  }));
  await Promise.all(waiting);
});
