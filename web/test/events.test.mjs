// Events of a stream that is cut anywhere, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './source.mjs';

test('no event is lost, wherever its stream is cut', () =>
  sources(async (load) => {
    const { eventsOf } = await load('/src/events.ts');
    const events = [': comment', 'id: a=1\ndata: {"topic":"workers","data":["Größe","🔧"]}', 'data: {"topic":"workers","patch":[[0,2],"n–m"]}', ': ', 'id: b=2\ndata: {"topic":"/runs","data":{}}'];
    const bytes = new TextEncoder().encode(events.map((event) => `${event}\n\n`).join(''));
    const read = async (...cuts) => {
      const ended = eventsOf();
      const found = [];
      const chunks = [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i]));
      for await (const chunk of ReadableStream.from(chunks).pipeThrough(new TextDecoderStream())) found.push(...ended(chunk));
      return found;
    };
    for (let cut = 0; cut <= bytes.length; cut++) {
      assert.deepEqual(await read(cut), events, `cut at ${cut}`);
      assert.deepEqual(await read(cut, Math.min(cut + 1, bytes.length)), events, `a byte alone at ${cut}`);
    }
    assert.deepEqual(await read(...bytes.keys()), events, 'byte by byte');
    assert.deepEqual(eventsOf()('data: 1\n\ndata: 2\n'), ['data: 1'], 'an event that has not ended is not told');
  }));
