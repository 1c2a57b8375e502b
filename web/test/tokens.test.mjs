// The colors of both themes without a browser: what is written in them can be read.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const css = readFileSync(new URL('../src/design/tokens.css', import.meta.url), 'utf8');
const colorsAfter = (selector) => Object.fromEntries([...css.slice(css.indexOf(selector)).split('}')[0].matchAll(/--([\w-]+):\s*(#\w{6})/g)].map(([, name, color]) => [name, color]));
const themes = { light: colorsAfter('[data-theme="light"]'), dark: colorsAfter('[data-theme="dark"]') };

// lightness is the relative luminance of WCAG.
function lightness(color) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
const contrast = (a, b) => {
  const [more, less] = [lightness(a), lightness(b)].sort((x, y) => y - x);
  return (more + 0.05) / (less + 0.05);
};

const states = ['failed', 'person', 'waiting', 'running', 'done', 'idle'];
const grounds = ['canvas', 'surface', 'sunken', 'hover', 'selected'];

test('words have a contrast of 4.5 to their grounds, signs one of 3, in both themes', () => {
  const low = [];
  for (const [theme, colors] of Object.entries(themes)) {
    const holds = (least, word, ground) => {
      if (contrast(colors[word], colors[ground]) < least) low.push(`${theme}: ${word} on ${ground} ${contrast(colors[word], colors[ground]).toFixed(2)}`);
    };
    for (const ground of [...grounds, ...states.map((state) => `${state}-soft`)]) for (const word of ['ink', 'ink-2', 'ink-3', 'link']) holds(4.5, word, ground);
    for (const state of states) {
      holds(4.5, `${state}-on`, state);
      for (const ground of [...grounds, `${state}-soft`]) holds(4.5, `${state}-ink`, ground);
      for (const ground of [...grounds, `${state}-soft`]) holds(3, state, ground);
    }
    for (const mark of ['line-control', 'focus', 'c-1', 'c-2', 'c-3', 'c-4', 'c-5']) holds(3, mark, 'surface');
    holds(4.5, 'ink-on', 'primary');
    holds(4.5, 'c-axis', 'surface');
  }
  assert.deepEqual(low, []);
});

test('the dark theme of the system is the chosen one', () => {
  assert.deepEqual(colorsAfter('prefers-color-scheme: dark'), themes.dark);
});
