// Journeys by keyboard alone. What the audit log says of the button is what it says of
// the command line that is shown next to it.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { configuration, key, missing, Stage, tabTo as tabOn, until } from './stage.mjs';

const skip = missing();
let stage;
let page;

before(async () => {
  if (skip) return;
  stage = await Stage.up();
  page = await stage.page();
});
after(() => stage?.down());

const tabTo = (name) => tabOn(page, name);

// act presses a button, fills in its dialog and confirms; it returns the line for a
// shell, and what the audit log says of an object whose name begins so.
async function act(route, button, fields = {}, object = '') {
  await stage.open(page, route);
  const verb = { Retry: 'rerun', 'Put back': '' }[button] ?? button.toLowerCase().split(' ')[0];
  // The list of a former filter may have such a button, too.
  if (object) {
    await until(`rows about ${object} alone`, () => page.evaluate((object) => {
      const rows = [...document.querySelectorAll('[aria-label="Audit log"] .row')];
      return rows.length > 0 && rows.every((row) => row.textContent.includes(object)) && !document.querySelector('[aria-busy]');
    }, object));
  }
  const last = (await stage.audit()).at(-1)?.seq ?? 0;
  await until(`a button ${button}`, () => page.evaluate((name) => [...document.querySelectorAll('main button')].some((b) => b.textContent === name && !b.disabled), button));
  await tabTo(button);
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  for (const [label, value] of Object.entries(fields)) {
    await tabTo(label);
    if (value === true) {
      await page.keyboard.press('Space');
      continue;
    }
    await page.keyboard.down('Control');
    await page.keyboard.press('a');
    await page.keyboard.up('Control');
    await page.keyboard.type(value);
  }
  await tabTo('The same in a shell');
  await page.keyboard.press('Enter');
  const lines = await page.$$eval('dialog .line code', (all) => all.map((one) => one.textContent));
  await page.keyboard.down('Shift');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.keyboard.up('Shift');
  await page.keyboard.press('Enter');
  await until(`${button} is done`, () => page.evaluate(() => !document.querySelector('dialog[open]') || document.querySelector('dialog [role=status], dialog [role=alert]')));
  const fault = await page.$('dialog [role=alert]');
  if (fault) throw new Error(await fault.evaluate((e) => e.textContent));
  await page.keyboard.press('Escape');
  const entries = await until(`an audit entry of ${verb}`, async () => {
    // The entry of what was done before may come late.
    const found = (await stage.audit(last)).filter((one) => one.action.includes(verb) && one.object.startsWith(object));
    return found.length > 0 && found;
  });
  assert.equal(entries[0].via, 'console', button);
  return { lines, entry: effect(entries[0]) };
}

// effect is what an entry says, but for the time and the way it came.
function effect({ action, job_type, object, before: was, after: is, actor, detail }) {
  const free = (text) => (text ?? '').replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME').replace(/\d{8}T\d{6}-[0-9a-f]+/g, 'TIME');
  return { action, job_type, object: free(object), before: free(was), after: free(is), actor, detail: free(detail) };
}

// sameInShell types a line and compares what the audit log says of it. The line may be
// about another run than the button was: [that of the button, that of the line].
async function sameInShell(shown, entry, [from, to] = ['', '']) {
  const renamed = (text) => (from === '' ? text : text.replaceAll(from, to).replaceAll(key(from), key(to)));
  const line = renamed(shown);
  const expected = effect({ ...entry, object: renamed(entry.object), before: renamed(entry.before), after: renamed(entry.after) });
  const last = (await stage.audit()).at(-1)?.seq ?? 0;
  await stage.shell(line);
  // Entries of what was done before may come late: the line's own is looked for.
  let entries = [];
  await until(`an audit entry of ${line}`, async () => {
    entries = (await stage.audit(last)).filter((one) => one.action === entry.action).map(effect);
    return entries.some((one) => isDeepStrictEqual(one, expected));
  }).catch(() => assert.deepEqual(entries[0], expected, line));
}

const stateOf = async (name) => (await stage.get(`/job-types/${name}`)).paused;

test('pause and resume a job type', { skip, timeout: 600_000 }, async () => {
  const paused = await act('job-types/compact', 'Pause', { Why: 'new disks' });
  assert.equal(paused.entry.action, 'jobtype.pause');
  assert.equal(await stateOf('compact'), true);
  await until('why, on the page', () => page.evaluate(() => /new disks/.test(document.body.innerText)));
  // Explain names the pause and offers its end; the chip is gone soon after.
  const resumed = await act('job-types/compact', 'Resume');
  assert.equal(await stateOf('compact'), false);
  await until('the chip is gone', () => page.evaluate(() => ![...document.querySelectorAll('.says .state')].some((e) => e.textContent === 'PAUSED')));
  await sameInShell(paused.lines[0], paused.entry);
  await sameInShell(resumed.lines[0], resumed.entry);
  await sameInShell(paused.lines.at(-1), paused.entry);
  await sameInShell(resumed.lines.at(-1), resumed.entry);
});

test('run a job type', { skip, timeout: 600_000 }, async () => {
  const ran = await act('job-types/compact', 'Run now');
  assert.equal(ran.entry.action, 'jobtype.run');
  await until('the end of its run', async () => {
    const { running, recent } = await stage.get('/job-types/compact');
    return (running ?? []).length === 0 && recent?.[0]?.outcome === 'completed'; // While it is open the line is refused.
  });
  await sameInShell(`${ran.lines[0]} --no-wait`.replace(' --no-wait', ''), ran.entry);
});

test('cordon, uncordon and drain a worker', { skip, timeout: 600_000 }, async () => {
  const worker = async () => (await stage.get('/workers/node-b')).state;
  const cordoned = await act('workers/node-b', 'Cordon', { Why: 'new disks' });
  assert.equal(await worker(), 'CORDONED');
  const back = await act('workers/node-b', 'Uncordon');
  assert.equal(await worker(), 'ONLINE');
  await sameInShell(cordoned.lines[0], cordoned.entry);
  await sameInShell(back.lines[0], back.entry);
  const drained = await act('workers/node-b', 'Drain', { Why: 'reboot' });
  assert.equal(await worker(), 'DRAINING');
  await act('workers/node-b', 'Uncordon');
  await sameInShell(drained.lines[0], drained.entry);
  await act('workers/node-b', 'Uncordon');
});

test('a dialog and what was typed into it outlive the row that asked', { skip, timeout: 600_000 }, async () => {
  await stage.open(page, 'workers/node-b');
  await tabTo('Cordon');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  await tabTo('Why');
  await page.keyboard.type('new disks');
  await stage.shell('roundsman pause node-b');
  await until('the button is gone', () => page.evaluate(() => ![...document.querySelectorAll('main button')].some((b) => b.textContent === 'Cordon')));
  assert.equal(await page.$eval('dialog[open] input', (input) => input.value), 'new disks');
  await page.keyboard.press('Escape');
  await until('it is closed', async () => !(await page.$('dialog')));
  await stage.shell('roundsman resume node-b');
});

test('put back what the audit log has', { skip, timeout: 600_000 }, async () => {
  await stage.shell('roundsman pause node-b');
  const back = await act('audit', 'Uncordon');
  assert.equal(back.entry.action, 'worker.uncordon');
  assert.equal((await stage.get('/workers/node-b')).state, 'ONLINE');
  await until('no button, since it is back', () => page.evaluate(() => ![...document.querySelectorAll('main button')].some((b) => b.textContent === 'Uncordon')));
});

test('put back what was resized and set', { skip, timeout: 600_000 }, async () => {
  const worker = async () => (await stage.get('/workers/node-b')).caps.max_execute;
  const [own, policy] = [await worker(), async () => (await stage.get('/job-types/compact/policy')).policy];
  const before = await policy();
  for (const [line, object] of [['set node-b max_execute=9', 'worker/node-b'], ['set pool/db size=7', 'pool/db'], ['set compact retry_limit=4 max_runtime=1h', 'jobtype/compact']]) {
    await stage.shell(`roundsman ${line}`);
    await stage.open(page, `audit?object=${encodeURIComponent(object)}`);
    await until('a button Put back', () => page.evaluate(() => [...document.querySelectorAll('main button')].some((b) => b.textContent === 'Put back')));
    await page.evaluate(() => [...document.querySelectorAll('main button')].find((b) => b.textContent === 'Put back').click());
    await page.waitForSelector('dialog[open]');
    assert.match(await page.$eval('dialog', (d) => d.textContent), /It is again: .*The entry changed it to: /);
    await page.keyboard.press('Escape');
    await until('it is closed', async () => !(await page.$('dialog')));
    const back = await act(`audit?object=${encodeURIComponent(object)}`, 'Put back', {}, object);
    await stage.shell(back.lines[0]); // It is so already: the line is understood, and changes nothing.
  }
  assert.equal(await worker(), own);
  assert.deepEqual(await policy(), before);
  await stage.open(page, 'job-types/compact');
  await until('who changed it', () => page.evaluate(() => /ann changed settings jobtype\.set/s.test(document.querySelector('main').innerText)));
  assert.match(await stage.shell('roundsman show compact'), /changed +.* by ann: jobtype\.set, policy\./);
  assert.ok(!(await stage.get('/pools')).pools.some((pool) => pool.operator));
  await stage.shell('roundsman cancel ' + (await stage.openRun('slow')) + ' --wait');
  await stage.open(page, 'audit');
  await until('why a run is not put back', () => page.evaluate(() => /an end is final/.test(document.querySelector('[aria-label="Audit log"]').textContent)));
});

test('put back what was applied, all of it', { skip, timeout: 600_000 }, async () => {
  const specOf = async (name) => (await stage.get(`/job-types/${name}`)).spec;
  const before = { compact: await specOf('compact'), failing: await specOf('failing') };
  const other = configuration.replace('version: 1', 'version: 1\nowner: dev').replace('compacted {{', 'squeezed {{').replace(/  failing:[^]*?(?=  nightly:)/, '');
  const file = join(stage.dir, 'other.yaml');
  writeFileSync(file, other);
  await stage.shell(`roundsman apply --config ${file} --prune`);
  assert.notDeepEqual(await specOf('compact'), before.compact);
  await assert.rejects(specOf('failing'));
  for (const [name, action] of [['compact', 'apply.update'], ['failing', 'apply.delete']]) {
    const route = `audit?object=jobtype/${name}`;
    await stage.open(page, route);
    await until(`the entry ${action}`, () => page.evaluate((action) => document.querySelector('[aria-label="Audit log"]')?.textContent.includes(action), action));
    const back = await act(route, 'Put back', {}, `jobtype/${name}`);
    assert.equal(back.entry.action, 'apply.restore');
    assert.match(back.lines[0], new RegExp(`^roundsman set ${name} --restore [0-9]+$`));
    assert.deepEqual(await specOf(name), before[name]);
    assert.match(await stage.shell(back.lines[0]), /it is so already/);
  }
});

test('resize a worker', { skip, timeout: 600_000 }, async () => {
  const resized = await act('workers/node-b', 'Resize', { 'Jobs at once': '7', Why: 'more memory' });
  assert.equal((await stage.get('/workers/node-b')).caps.max_execute, 7);
  assert.match(resized.entry.after, /7/);
  await stage.shell('roundsman set node-b max_execute=');
  await sameInShell(resized.lines[0], resized.entry);
});

test('forgive a key', { skip, timeout: 600_000 }, async () => {
  const mark = () => stage.shell('roundsman skip compact:volume-1');
  await mark();
  const forgiven = await act('job-types/compact', 'Forgive');
  assert.equal((await stage.get('/job-types/compact/keys')).total, 0);
  await mark();
  await sameInShell(forgiven.lines[0], forgiven.entry);
});

test('may I reboot this node?', { skip, timeout: 600_000 }, async () => {
  await stage.openRun('slow');
  await until('a job of slow', async () => {
    for (const id of ['node-a', 'node-b']) {
      if (((await stage.get(`/workers/${id}`)).report?.jobs ?? []).some((job) => job.job_type === 'slow' && !job.detection)) return id;
    }
    return false;
  }).then(async (id) => {
    await stage.open(page, `workers/${id}`);
    await until('the answer', () => page.evaluate(() => /Drain it first\./.test(document.body.innerText)));
    await stage.shell(`roundsman pause ${id} --reason reboot`);
    for (const run of (await stage.get('/runs?running=true')).runs) await stage.shell(`roundsman cancel ${run.workflow_id} --wait`);
    await until('that it may be rebooted', () => page.$eval('.verdict', (e) => /^Yes\./.test(e.textContent.trim()))).catch(async (cause) => { throw new Error(await page.$eval('main', (e) => e.innerText), { cause }); });
    await stage.shell(`roundsman resume ${id}`);
  });
});

test('cancel, pause and resume a run', { skip, timeout: 600_000 }, async () => {
  const first = await stage.openRun('slow');
  const run = `runs/${key(first)}`;
  const paused = await act(run, 'Pause', { Why: 'backup' });
  await until('the pause', async () => (await stage.get(`/${run}`)).paused);
  const resumed = await act(run, 'Resume');
  await until('its end', async () => !(await stage.get(`/${run}`)).paused);
  await sameInShell(paused.lines[0], paused.entry);
  await sameInShell(resumed.lines[0], resumed.entry);
  await sameInShell(paused.lines.at(-1), paused.entry);
  await sameInShell(resumed.lines.at(-1), resumed.entry);
  const canceled = await act(run, 'Cancel', { Why: 'new disks' });
  await until('the end of the run', async () => (await stage.get(`/${run}`)).outcome === 'canceled');
  await until('its outcome on the page', () => page.evaluate(() => document.querySelector('main dl .state')?.textContent === 'canceled'));
  for (const line of [canceled.lines[0], canceled.lines.at(-1)]) {
    const next = await stage.openRun('slow');
    await sameInShell(line, canceled.entry, [first, next]);
    await until('the end of the next run', async () => (await stage.get(`/runs/${key(next)}`)).outcome === 'canceled');
  }
});

test('who held a lane before', { skip, timeout: 600_000 }, async () => {
  const run = await stage.openRun('slow');
  await stage.shell(`roundsman cancel ${run} --wait`);
  await until('the release', async () => (await stage.get('/past-grants?lane=disk')).grants[0]?.workflow_id === run);
  await stage.open(page, 'locks?lane=disk');
  const shown = () => page.$eval('[aria-label="Held before"] .row', (e) => e.textContent);
  await until('the run', () => page.$eval('[aria-label="Held before"] .row a.run', (a, run) => a.title === run, run));
  assert.match(await shown(), /^lane disk/);
  assert.match(await stage.shell('roundsman resources lane/disk --past'), new RegExp(run));
});

test('cancel a job', { skip, timeout: 600_000 }, async () => {
  const run = await stage.openRun('slow');
  const job = (await stage.get(`/runs/${key(run)}/items?state=running`)).items[0].id;
  const canceled = await act(`runs/${key(run)}/items/${job}`, 'Cancel', { Why: 'in use' });
  assert.match(canceled.entry.object, new RegExp(`${job}$`));
  await until('the end of the job', async () => (await stage.get(`/runs/${key(run)}/items/${job}`)).state === 'canceled');
});

test('approve, reject, retry and skip a task', { skip, timeout: 600_000 }, async () => {
  const [first, second, third] = [await stage.runDAG('first'), await stage.runDAG('second'), await stage.runDAG('third')];
  const state = async (run, task) => (await stage.get(`/runs/${key(run)}/items/${task}`)).state;
  const approved = await act(`runs/${key(first)}/items/go-ahead`, 'Approve', { Why: 'agreed' });
  assert.equal(approved.entry.action, 'dag.approve');
  await until('the approval', async () => (await state(first, 'go-ahead')) === 'completed');
  await sameInShell(approved.lines[0], approved.entry, [first, second]);
  await sameInShell(approved.lines.at(-1), approved.entry, [first, third]);
  const retried = await act(`runs/${key(first)}/items/broken`, 'Retry');
  await until('another attempt that failed', async () => (await stage.get(`/runs/${key(first)}/items/broken`)).attempts.length > 1 && (await state(first, 'broken')) === 'failed');
  await sameInShell(retried.lines[0], retried.entry, [first, second]);
  const skipped = await act(`runs/${key(first)}/items/broken`, 'Skip', { Why: 'not needed' });
  await until('the end of the run', async () => (await stage.get(`/runs/${key(first)}`)).outcome === 'completed');
  await until('the failure again', async () => (await state(second, 'broken')) === 'failed');
  await sameInShell(skipped.lines[0], skipped.entry, [first, second]);
  const [fourth, fifth] = [await stage.runDAG('fourth'), await stage.runDAG('fifth')];
  const rejected = await act(`runs/${key(fourth)}/items/go-ahead`, 'Reject', { Why: 'not today' });
  await until('the rejection', async () => (await state(fourth, 'go-ahead')) === 'failed');
  await sameInShell(rejected.lines[0], rejected.entry, [fourth, fifth]);
});

test('approve from the first page', { skip, timeout: 600_000 }, async () => {
  const run = await stage.runDAG('first-page');
  const rows = () => page.$$eval('section.ask .work li', (all) => all.map((row) => `${row.querySelector('.what a')?.title} ${row.querySelector('.code')?.textContent}`));
  await stage.open(page, '');
  await until('its row', async () => (await rows()).includes(`${run} AWAITING_APPROVAL`));
  const approved = await act('', 'Approve', { Why: 'agreed' });
  const [, of] = /^(dag\/steps\/[^/]+)\/go-ahead$/.exec(approved.entry.object);
  await until('the approval', async () => (await stage.get(`/runs/${key(of)}/items/go-ahead`)).state === 'completed');
  await until('the row is gone', async () => !(await rows()).includes(`${of} AWAITING_APPROVAL`));
});

test('approve a task of a sub-DAG from the page of its parent', { skip, timeout: 600_000 }, async () => {
  const file = join(stage.dir, 'outer.yaml');
  writeFileSync(file, 'version: 1\nname: outer\ntasks:\n  - {id: one, dag: steps.yaml}\n  - {id: two, dag: steps.yaml}\n');
  await stage.shell(`roundsman start ${file} --as nested`);
  const gate = async (task) => (await stage.get(`/runs/${key(`dag/outer/nested/${task}`)}/items/go-ahead`)).state;
  for (const task of ['one', 'two']) await until(`an approval of ${task}`, async () => (await gate(task)) === 'running');
  await stage.open(page, 'runs/dag~outer~nested');
  await until('a button for each of the two', () => page.evaluate(() => [...document.querySelectorAll('main button')].filter((b) => b.textContent === 'Approve').length === 2))
    .catch(async (cause) => { throw new Error(page.faults.join('; ') + await page.evaluate(() => document.querySelector('main').innerHTML), { cause }); });
  const approved = await act('runs/dag~outer~nested', 'Approve', { Why: 'agreed' });
  assert.equal(approved.lines[0], 'roundsman approve dag/outer/nested/one/go-ahead --reason agreed');
  assert.match(approved.entry.object, /^dag\/outer\/nested\/one\/go-ahead$/);
  await until('the approval', async () => (await gate('one')) !== 'running');
  assert.equal(await gate('two'), 'running');
  // A path below the parent is the same task, in the API and in a shell.
  const answer = await fetch(`${stage.base}api/v1/runs/dag~outer~nested/items/two~go-ahead/approve`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' });
  assert.equal(answer.status, 200, await answer.text());
  await until('the other approval', async () => (await gate('two')) !== 'running');
  await stage.shell('roundsman cancel dag/outer/nested --wait');
});

test('add tasks to a run, release it and retry it with a preview', { skip, timeout: 600_000 }, async () => {
  const [first, second] = [await stage.runDAG('added'), await stage.runDAG('added-too')];
  const state = async (run, task) => (await stage.get(`/runs/${key(run)}/items/${task}`)).state;
  const added = await act(`runs/${key(first)}`, 'Add tasks', { 'Tasks, as in a DAG, with before besides needs': '- {id: again, needs: check, command: ["true"]}' });
  await until('the task that was added', async () => (await state(first, 'again')) === 'completed');
  await sameInShell(added.lines[0], added.entry, [first, second]);
  await until('the same in the other run', async () => (await state(second, 'again')) === 'completed');
  for (const run of [first, second]) await stage.shell(`roundsman reject ${run}/go-ahead`);
  for (const run of [first, second]) await until('a run that is held', async () => (await stage.get(`/runs/${key(run)}`)).phase === 'held');
  const released = await act(`runs/${key(first)}`, 'Release');
  await sameInShell(released.lines[0], released.entry, [first, second]);
  await until('its end', async () => (await stage.get(`/runs/${key(first)}`)).outcome === 'failed');

  await stage.open(page, `runs/${key(first)}`);
  await until('a button Retry', () => page.evaluate(() => [...document.querySelectorAll('main button')].some((b) => b.textContent === 'Retry 2 failed')));
  await tabTo('Retry 2 failed');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /Executed again/.test(document.querySelector('dialog')?.textContent ?? '')).catch(async (cause) => { throw new Error(await page.evaluate(() => document.activeElement?.outerHTML + document.body.innerText), { cause }); });
  const [again, kept] = await page.$$eval('dialog .preview ul', (all) => all.map((one) => [...one.children].map((row) => row.textContent).join(' ')));
  assert.match(await page.$eval('dialog .preview', (e) => e.textContent), /Taken over from steps added: 2/);
  for (const task of ['broken', 'go-ahead', 'after']) assert.match(again, new RegExp(`\\b${task}\\b`));
  assert.match(kept, /check/);
  await tabTo('Retry 2 failed');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog [role=status] a');
  const next = await page.$eval('dialog [role=status] a', (a) => a.title);
  assert.equal((await stage.get(`/runs/${key(next)}/items/check`)).from_run, first);
  await page.keyboard.press('Escape');
});

test('retry a run of a job type with a preview', { skip, timeout: 600_000 }, async () => {
  await stage.shell('roundsman start failing');
  const ended = await until('a run of which one of two jobs failed', async () => (await stage.get('/job-types/failing')).recent?.find((run) => run.outcome === 'partial'));
  const first = ended.workflow_id;
  await stage.open(page, `runs/${key(first)}`);
  await until('a button Retry', () => page.evaluate(() => [...document.querySelectorAll('main button')].some((b) => b.textContent === 'Retry 1 failed')));
  await tabTo('Retry 1 failed');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => /Executed again/.test(document.querySelector('dialog')?.textContent ?? ''));
  const shown = await page.$eval('dialog', (dialog) => dialog.textContent);
  assert.match(shown, /A new run of failing executes 1 job\. 1 job done before does not run again\./);
  assert.match(shown, /Executed again: 1bad.*no such disk/s);
  await tabTo('Retry 1 failed');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog [role=status] a');
  const next = await page.$eval('dialog [role=status] a', (a) => a.title);
  await until('the end of the retry', async () => (await stage.get(`/runs/${key(next)}`)).outcome === 'failed');
  const { items } = await stage.get(`/runs/${key(next)}/items`);
  assert.deepEqual(items.map(({ dedupe_key, state }) => [dedupe_key, state]), [['bad', 'failed']]);
  assert.equal((await stage.get(`/runs/${key(next)}`)).resumes, first);
  await page.keyboard.press('Escape');
});
