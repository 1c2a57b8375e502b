// Times: one unit, the chosen zone, no raw UTC.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sources } from './source.mjs';

let time;
let clocks;
let close;
before(() => new Promise((loaded) => {
  void sources(async (load) => {
    time = await load('/src/time.tsx');
    clocks = await load('/src/clock.ts');
    loaded();
    await new Promise((resolve) => { close = resolve; });
  });
}));
after(() => close());

const year = new Date().getUTCFullYear() === 2026 ? '' : ' 2026';
const [s, min, h, day] = [1000, 60_000, 3_600_000, 86_400_000];

test('a duration has one unit, which is kept up to 120 of it; days from 48 h', () => {
  for (const [ms, text] of [
    [0, '0 ms'], [999.9, '999 ms'], [s, '1 s'], [41.9 * s, '41 s'], [120.9 * s, '120 s'], [121 * s, '2 min'], [78 * min, '78 min'],
    [120 * min + 59 * s, '120 min'], [121 * min, '2 h'], [4 * h, '4 h'], [48 * h - 1, '47 h'], [48 * h, '2 days'], [12 * day + 5 * h, '12 days'],
    [4000 * day, '4,000 days'], [-90 * s, '-90 s'],
  ]) assert.equal(time.span(ms), text);
});

test('the clock is that of the control plane, and a late answer does not set it back', () => {
  const leads = (ms) => assert.ok(Math.abs(clocks.clock() - Date.now() - ms) < 3 * s, `${clocks.clock() - Date.now()} ms`);
  const dated = (ms, took) => clocks.heard(new Date(Date.now() + ms).toUTCString(), Date.now() - took);
  for (const [ms, took, lead] of [[0, 0, 0], [-20 * s, 30 * s, 0], [-2 * s, 0, 0], [h, 30 * s, h], [-h, 0, -h], [-h, 30 * s, 30 * s - h]]) {
    dated(ms, took);
    leads(lead);
  }
  clocks.heard(null, Date.now());
  leads(30 * s - h);
});

test('times are in the chosen zone, over the change to summer time too', () => {
  const at = '2026-11-24T01:51:14Z';
  assert.equal(time.exact(at, 'Europe/Berlin'), 'Tue 24 Nov 2026, 02:51:14 Berlin');
  assert.equal(time.brief(at, 'Europe/Berlin'), `Tue 24 Nov${year}, 02:51`);
  assert.equal(time.exact(at, 'America/New_York'), 'Mon 23 Nov 2026, 20:51:14 New York');
  assert.equal(time.exact('2026-09-03T23:59:59Z', 'UTC'), 'Thu 3 Sep 2026, 23:59:59 UTC');
  assert.equal(time.dayOf('2026-03-29T00:59:00Z', 'Europe/Berlin'), `Sun 29 Mar${year}`);
  assert.equal(time.brief('2001-01-01T00:00:00Z', 'UTC'), 'Mon 1 Jan 2001, 00:00', 'the year of another year');
  assert.equal(time.clockOf('2026-03-29T01:00:00Z', 'Europe/Berlin'), '03:00:00');
});

test('an instant in a text is written in the zone, the name of a run stays', () => {
  assert.equal(
    time.localized('the next attempt comes at 2026-11-24T01:51:14Z; attempt 2 failed', 'Europe/Berlin'),
    `the next attempt comes at Tue 24 Nov${year}, 02:51; attempt 2 failed`,
  );
  assert.equal(time.localized('not_before 2026-11-24T01:51:14.25+01:00.', 'UTC'), `not_before Tue 24 Nov${year}, 00:51.`);
  for (const name of ['group/scrub-2026-11-20T09:00:00Z', 'dag/x/2026-11-20T09:00:00Z', 'dag~x~2026-11-20T09:00:00Z', '2026-99-20T09:00:00Z']) {
    assert.equal(time.localized(name, 'Europe/Berlin'), name);
  }
});

test('a clock in a form is one of the chosen zone', () => {
  for (const [local, zone, at] of [
    ['2026-11-24T02:51', 'Europe/Berlin', '2026-11-24T01:51:00.000Z'], ['2026-07-01T00:00', 'America/New_York', '2026-07-01T04:00:00.000Z'],
    ['2026-10-25T02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'], ['2026-03-29T02:30', 'Europe/Berlin', '2026-03-29T01:30:00.000Z'],
    ['2026-11-24T02:51', 'UTC', '2026-11-24T02:51:00.000Z'], ['2026-11-24T02:51', 'Asia/Kolkata', '2026-11-23T21:21:00.000Z'],
  ]) assert.equal(time.instant(local, zone).toISOString(), at, `${local} ${zone}`);
  assert.equal(time.instant('nonsense'), undefined);
});
