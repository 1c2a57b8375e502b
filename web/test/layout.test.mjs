// The geometry of timelines, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './source.mjs';

const hour = 3_600_000;
const at = (text) => Date.parse(text);

test('the geometry of a timeline', async (t) => {
  const { layout, zone } = await sources(async (load) => ({ layout: await load('/src/timeline/layout.ts'), zone: await load('/src/timeline/zone.ts') }));
  const { within, zoomed, panned, ticks, pack, boxOf, boxes, shown, hit, rounded, steady, wholeUntil, xOf, timeAt, yOf } = layout;
  const whole = { from: 0, to: 10 * hour };

  await t.test('a zoom keeps the time at the pointer, and ends at the whole', () => {
    const near = zoomed(whole, whole, 0.5, 2 * hour);
    assert.equal(near.to - near.from, 5 * hour);
    assert.equal(xOf(near, 1000, 2 * hour), xOf(whole, 1000, 2 * hour));
    assert.deepEqual(zoomed(near, whole, 100, 2 * hour), whole);
    let view = whole;
    for (let i = 0; i < 100; i++) view = zoomed(view, whole, 0.5, 10 * hour);
    assert.ok(view.to - view.from >= 99 && view.to <= whole.to + 1e-6, JSON.stringify(view));
  });

  await t.test('what follows the clock stands still until it moves by a pixel', () => {
    const seconds = Array.from({ length: 600 }, (_, i) => at('2026-11-24T19:10:00Z') + i * 1000);
    for (const length of [hour, 18 * hour, 24 * 7 * hour]) {
      const places = new Set(seconds.map((now) => steady(now, length)));
      assert.ok(places.size <= (600_000 / length) * 2000 + 2, `${places.size} places`);
      assert.ok(seconds.every((now) => steady(now, length) <= now && steady(now, length) > now - length / 1000));
    }
    const from = at('2026-11-24T09:10:00Z');
    assert.ok(new Set(seconds.map((now) => wholeUntil(from, now).to)).size <= 40);
    assert.equal(wholeUntil(from, from).to, from);
  });

  await t.test('a pan stops at the ends', () => {
    assert.deepEqual(panned({ from: hour, to: 2 * hour }, whole, -5 * hour), { from: 0, to: hour });
    assert.deepEqual(panned({ from: hour, to: 2 * hour }, whole, 50 * hour), { from: 9 * hour, to: 10 * hour });
    assert.deepEqual(within({ from: -5 * hour, to: 50 * hour }, whole), whole);
    assert.equal(timeAt(whole, 1000, xOf(whole, 1000, 3 * hour)), 3 * hour);
  });

  await t.test('ticks are round times of the zone', () => {
    const berlin = zone.offsetOf('Europe/Berlin');
    const night = ticks({ from: at('2026-11-24T19:10:00Z'), to: at('2026-11-25T07:00:00Z') }, 1000, berlin);
    assert.deepEqual(night.map((tick) => tick.label).slice(0, 4), ['21:00', '22:00', '23:00', 'Wed 25 Nov']);
    assert.equal(night[0].at, at('2026-11-24T20:00:00Z'));
    const nepal = ticks({ from: at('2026-11-24T19:10:00Z'), to: at('2026-11-24T23:00:00Z') }, 400, zone.offsetOf('Asia/Kathmandu'));
    assert.ok(nepal.every((tick) => /:00$/.test(tick.label)), JSON.stringify(nepal));
  });

  await t.test('ticks over both changes of summer time are in order and still round', () => {
    const berlin = zone.offsetOf('Europe/Berlin');
    for (const day of ['2026-03-29', '2026-10-25']) {
      const list = ticks({ from: at(`${day}T00:00:00Z`) - 3 * hour, to: at(`${day}T06:00:00Z`) }, 1200, berlin);
      const format = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
      for (const [i, tick] of list.entries()) {
        if (/^\d/.test(tick.label)) assert.equal(format.format(tick.at), tick.label, `${day} ${i}`);
        if (i > 0) assert.ok(tick.at > list[i - 1].at);
      }
      assert.ok(list.length >= 7, `${list.length}`);
    }
  });

  await t.test('milliseconds to months have labels with room between them', () => {
    for (const length of [500, 5000, 60_000, hour, 24 * hour, 30 * 24 * hour]) {
      const list = ticks({ from: at('2026-11-24T19:10:00.123Z'), to: at('2026-11-24T19:10:00.123Z') + length }, 900, () => 0);
      assert.ok(list.length >= 1 && list.length <= 12, `${length}: ${list.length}`);
    }
    assert.deepEqual(ticks(whole, 0, () => 0), []);
  });

  await t.test('labels of a narrow axis do not touch: those with seconds and dates are wider', () => {
    const half = (tick) => tick.label.length * 3.5;
    for (const length of [1000, 60_000, 280_000, hour, 24 * hour, 54 * hour, 7 * 24 * hour, 30 * 24 * hour]) {
      for (let width = 200; width < 500; width += 10) {
        const view = { from: at('2026-11-24T19:10:00Z'), to: at('2026-11-24T19:10:00Z') + length };
        const list = ticks(view, width, () => 0, 54);
        for (const [i, tick] of list.entries()) {
          if (i > 0) assert.ok(xOf(view, width, tick.at) - xOf(view, width, list[i - 1].at) >= half(tick) + half(list[i - 1]), `${list[i - 1].label}, ${tick.label} on ${width} px`);
        }
      }
    }
  });

  const bar = (id, from, to, role = 'done', look = 'past') => ({ id, from, to, role, look, text: id });

  await t.test('bars at once have lanes of their own', () => {
    const packed = pack([bar('a', 0, 10), bar('b', 5, 15), bar('c', 10, 20), bar('open', 12, undefined), bar('closed', 0, 99, 'plan', 'closed')], 30);
    assert.deepEqual(packed.bars.map((one, i) => `${one.id}${packed.lanes[i]}`), ['a0', 'closed0', 'b1', 'c0', 'open2']);
    assert.equal(packed.count, 3);
    const all = pack(Array.from({ length: 500 }, (_, i) => bar(`${i}`, 0, 10)), 0);
    assert.equal(all.count, 24, 'a row does not grow without an end');
  });

  await t.test('a failed bar among many is wide enough, and drawn last', () => {
    const tiny = boxOf(bar('f', 5 * hour, 5 * hour + 1, 'failed'), 0, whole, 1000, 0);
    assert.equal(tiny.width, 4);
    assert.ok(Math.abs(tiny.x + tiny.width / 2 - 500) < 0.01);
    const { rows } = layout.layout([{ id: 'r', name: 'r', bars: [bar('f', hour, hour, 'failed'), ...Array.from({ length: 9999 }, (_, i) => bar(`d${i}`, i * 3600, i * 3600 + 1000))] }], 0);
    const found = boxes(rows[0], whole, 1000, 0);
    assert.equal(found.length, 10_000);
    assert.equal(found.at(-1).bar.id, 'f');
    const some = boxes(rows[0], { from: 0, to: hour / 2 }, 1000, 0);
    assert.ok(some.length > 400 && some.length < 600, `${some.length}`);
    assert.ok(some.every((box) => box.x >= -3 && box.x + box.width <= 1003), 'bars end at the edges');
  });

  await t.test('only rows in view are shown', () => {
    const { rows, height } = layout.layout(Array.from({ length: 10_000 }, (_, i) => ({ id: `${i}`, name: `${i}`, bars: [bar(`${i}`, 0, 1)] })), 0);
    assert.equal(height, 260_000);
    const some = shown(rows, 130_000, 400);
    assert.deepEqual([some[0].row.id, some.length], ['5000', 16]);
    assert.deepEqual(shown(rows, 999_999_999, 400), []);
  });

  await t.test('the topmost bar is hit, a closed window is not', () => {
    const { rows } = layout.layout([{ id: 'r', name: 'r', bars: [bar('d', 0, 10 * hour), bar('closed', 0, 10 * hour, 'plan', 'closed')] }], 0);
    const found = boxes(rows[0], whole, 1000, 0);
    assert.equal(hit(rows[0], found, 500, yOf(rows[0], 0) + 3).bar.id, 'd');
    assert.equal(hit(rows[0], found, 500, rows[0].height + 9), undefined);
  });

  await t.test('values of an axis are round and begin at zero', () => {
    assert.deepEqual(rounded(84_000, 4, true), [0, 30_000, 60_000, 90_000]);
    assert.deepEqual(rounded(0.3, 4, false), [0, 0.1, 0.2, 0.3]);
    assert.deepEqual(rounded(3 * hour, 3, true), [0, hour, 2 * hour, 3 * hour]);
    for (const most of [1, 7, 999, 86_400_000 * 40]) assert.ok(rounded(most, 4, true).length <= 6, `${most}: ${rounded(most, 4, true)}`);
  });
});
