// What the audit page offers to put back, and why it does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './source.mjs';

const { putBack, settingsOf } = await sources((load) => load('/src/acts/back.ts'));

const entry = (seq, action, object, more = {}) => ({ seq, kind: 'operator', action, object, job_type: '', before: '', after: '', ...more });
const line = (...entries) => {
  const back = putBack(entries[0], entries.toSorted((a, b) => b.seq - a.seq));
  return back.none ?? back.roundsman({});
};

test('each thing goes back to what it was', () => {
  assert.equal(line(entry(1, 'pool.resize', 'pool/db', { before: 'size: 3', after: 'size: 7 (resized)' })), 'roundsman set pool/db size=');
  assert.equal(line(entry(1, 'pool.resize', 'pool/db', { before: 'size: 5 (resized)', after: 'size: 3' })), 'roundsman set pool/db size=5');
  assert.equal(line(entry(1, 'worker.resize', 'worker/n', { before: 'detect: 1; execute: 4', after: 'detect: 1; execute: 7 (resized)' })), 'roundsman set n max_execute=');
  assert.equal(line(entry(1, 'worker.resize', 'worker/n', { before: 'detect: 2; execute: 4 (resized)', after: '' })), 'roundsman set n max_execute=4 max_detect=2');
  assert.equal(line(entry(1, 'worker.uncordon', 'worker/n', { before: 'CORDONED', after: 'ONLINE' })), 'roundsman pause n');
  assert.equal(line(entry(1, 'run.pause', 'group/a')), 'roundsman resume group/a');
  const set = { job_type: 'scrub', before: 'policy.retry_limit: 2; policy.max_runtime: 2h; schedule: every 8h offset 10m', after: 'policy.retry_limit: 0; policy.max_runtime: 1h; schedule: every 4h' };
  for (const action of ['jobtype.set', 'apply.update', 'apply.drift', 'apply.restore']) {
    assert.equal(line(entry(1, action, 'jobtype/scrub', set)), 'roundsman set scrub retry_limit=2 max_runtime=2h every=8h');
  }
  const kept = { job_type: 'scrub', before: 'handler: command', after: 'handler: scrub', restorable: true };
  for (const action of ['apply.update', 'apply.drift', 'apply.delete', 'apply.restore']) {
    assert.equal(line(entry(7, action, 'jobtype/scrub', kept)), 'roundsman set scrub --restore 7');
  }
});

test('what cannot be put back says why', () => {
  const was = { before: 'size: 3', after: 'size: 7 (resized)' };
  assert.equal(line(entry(1, 'pool.resize', 'pool/db', was), entry(2, 'pool.resize', 'pool/db', was)), 'changed again since');
  assert.equal(line(entry(1, 'worker.cordon', 'worker/n'), entry(2, 'worker.resize', 'worker/n')), 'roundsman resume n');
  assert.equal(line(entry(1, 'run.cancel', 'group/a')), 'what ended has ended');
  assert.equal(line(entry(1, 'dag.approve', 'dag/a/b')), 'what follows has begun');
  assert.equal(putBack(entry(1, 'pool.resize', 'pool/db', was), [entry(9, 'run.pause', 'group/a')]).none, 'look without filters');
  assert.equal(line(entry(1, 'apply.update', 'jobtype/scrub', { before: 'handler: command', after: 'handler: scrub' })), 'not kept: apply the former file');
  assert.equal(line(entry(1, 'apply.delete', 'jobtype/scrub')), 'not kept: apply the former file');
});

test('only settings that can be set by themselves are read', () => {
  assert.deepEqual(settingsOf('policy.interactive: true; policy.on_deadline: drain', ''), { interactive: true, on_deadline: 'drain' });
  for (const [before, after] of [
    ['', ''],
    ['policy.retry_limit: 2; description: Moves; volumes', ''],
    ['policy.on_deadline: (none)', ''],
    ['policy.retry_limit: 2; policy.max_runt…', ''],
    ['schedule: cron 0 2 * * *', 'schedule: every 8h'],
    ['schedule: every 8h', 'schedule: cron 0 2 * * *'],
    ['schedule: every 8h or cron 0 2 * * *', 'schedule: every 8h'],
  ]) {
    assert.equal(settingsOf(before, after), undefined, before);
  }
});
