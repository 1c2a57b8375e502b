// Letters that cannot be seen are named, without a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sources } from './source.mjs';

test('fillers, separators and tags have names; emoji and other scripts stay', () =>
  sources(async (load) => {
    const { plain } = await load('/src/marked.ts');
    for (const [letter, name] of [
      ['\u2028', 'U+2028'], ['\u2029', 'U+2029'], ['\u180e', 'U+180E'], ['\u3164', 'U+3164'], ['\u115f', 'U+115F'], ['\uffa0', 'U+FFA0'], ['\u{e0041}', 'U+E0041'], ['\u202e', 'U+202E'],
    ])
      assert.equal(plain(`disk${letter}7`), `disk⟨${name}⟩7`);
    for (const text of ['disk-7', '한국어', '😀 Größe', 'a\tb\nc']) assert.equal(plain(text), text);
  }));
