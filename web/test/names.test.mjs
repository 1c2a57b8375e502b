// Names of runs, without a browser.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sources, web } from './source.mjs';

// layout is the form of the start in an id, as the program makes it.
function layout(file) {
  const [, found] = /Format\("(20060102[Tt]150405[^"]*)"\)/.exec(readFileSync(join(web, '..', file), 'utf8')) ?? [];
  assert.ok(found, `${file} makes no id of a start`);
  return (at) => {
    const [day, time] = at.toISOString().split('T');
    return found.replace('20060102', day.replaceAll('-', '')).replace('150405', time.slice(0, 8).replaceAll(':', '')).replace('.000', time.slice(8, 12));
  };
}
const submissions = ['internal/cli/runs/jobsubmit.go', 'internal/edge/api/authoring/submission.go'].map(layout);
const retry = layout('starter/rerun/rerun.go');
const dryRuns = ['internal/cli/jobtypes/run.go', 'internal/edge/api/jobtypes.go', 'internal/edge/api/authoring/plan.go'].map(layout);
const dag = layout('starter/dag.go');

test('a run is named by its type and its start, and no two have one name', () =>
  sources(async (load) => {
    const { setZone } = await load('/src/time.tsx');
    const { runName } = await load('/src/names.tsx');
    setZone('UTC');
    const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
    const weekday = new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', { weekday: 'short', timeZone: 'UTC' });
    const at = (time) => new Date(`${day}T${time}Z`);
    const names = new Map([
      [`group/scrub-${day}T02:40:00Z`, `scrub ${weekday} 02:40`],
      [`group/scrub-${day}T02:40:13Z`, `scrub ${weekday} 02:40:13`],
      [`group/scrub-2024-02-03T02:40:00Z`, 'scrub 3 Feb 2024 02:40'],
      [`group/scrub-${day}T02:40:00Z/job-00001`, `scrub ${weekday} 02:40/job-00001`],
      ...dryRuns.flatMap((id) => [
        [`group/log-rotate-detect-${id(at('02:40:00.125'))}`, `log-rotate ${weekday} 02:40:00.125 dry run`],
        [`group/log-rotate-detect-${id(at('02:40:00.126'))}`, `log-rotate ${weekday} 02:40:00.126 dry run`],
      ]),
      ...submissions.flatMap((id) => [
        [`group/log-rotate-adhoc-${id(at('02:40:01'))}-ab12cd34`, `log-rotate ${weekday} 02:40:01 submitted ab12`],
        [`group/log-rotate-adhoc-${id(at('02:40:01'))}-ff12cd34`, `log-rotate ${weekday} 02:40:01 submitted ff12`],
      ]),
      [`group/log-rotate-adhoc-retry-${retry(at('02:40:01'))}-ab12cd34`, `log-rotate ${weekday} 02:40:01 retry ab12`],
      [`group/log-rotate-adhoc-retry-${retry(at('02:40:01'))}-ab12cd34/job-00002`, `log-rotate ${weekday} 02:40:01 retry ab12/job-00002`],
      ['group/log-rotate-adhoc-retry-of-ann', 'log-rotate retry of-ann'],
      ['group/claims-adhoc-ticket-4711', 'claims submitted ticket-4711'],
      [`dag/release/${dag(at('02:40:00'))}-ab12cd34`, `release ${weekday} 02:40 ab12`],
      [`dag/release/${dag(at('02:40:00'))}-ff12cd34`, `release ${weekday} 02:40 ff12`],
      ['dag/release/v1.14', 'release v1.14'],
      ['dag/release/v1.14/inner', 'release v1.14/inner'],
    ]);
    for (const [id, name] of names) assert.equal(runName(id), name, id);
    assert.equal(new Set(names.values()).size, names.size);
  }));

test('the hour that winter time repeats is named by its offset', () =>
  sources(async (load) => {
    const { setZone } = await load('/src/time.tsx');
    const { runName } = await load('/src/names.tsx');
    for (const [zone, id, name] of [
      ['Europe/Berlin', '2024-10-26T23:59:59Z', 'scrub 27 Oct 2024 01:59:59'],
      ['Europe/Berlin', '2024-10-27T00:30:00Z', 'scrub 27 Oct 2024 02:30 +02:00'],
      ['Europe/Berlin', '2024-10-27T01:30:00Z', 'scrub 27 Oct 2024 02:30 +01:00'],
      ['Europe/Berlin', '2024-10-27T02:00:00Z', 'scrub 27 Oct 2024 03:00'],
      ['Europe/Berlin', '2024-03-31T00:30:00Z', 'scrub 31 Mar 2024 01:30'],
      ['Europe/Berlin', '2024-03-31T01:30:00Z', 'scrub 31 Mar 2024 03:30'],
      ['America/St_Johns', '2024-11-03T03:45:00Z', 'scrub 3 Nov 2024 01:15 -02:30'],
      ['America/St_Johns', '2024-11-03T04:45:00Z', 'scrub 3 Nov 2024 01:15 -03:30'],
      ['UTC', '2024-10-27T00:30:00Z', 'scrub 27 Oct 2024 00:30'],
    ]) {
      setZone(zone);
      assert.equal(runName(`group/scrub-${id}`), name, zone);
    }
  }));

const scrub = 'group/scrub-2026-11-24T02:40:00Z';

test('runs in sentences are links where the API names them, and nowhere else', () =>
  sources(async (load) => {
    const { withNames } = await load('/src/names.tsx');
    const text = `it waits for ${scrub}/job-00001, dag/release/v1. and ${scrub}`;
    const job = { run: scrub, item: 'job-00001' };
    assert.deepEqual(withNames(text, undefined), [text]);
    assert.deepEqual(withNames(text, [job, { run: 'dag/release/v1.' }, { run: scrub }]), ['it waits for ', job, ', ', { run: 'dag/release/v1.' }, ' and ', { run: scrub }, '']);
    assert.deepEqual(withNames(text, [{ run: 'group/other-1' }, job]), ['it waits for ', job, ', dag/release/v1. and ' + scrub]);
  }));
