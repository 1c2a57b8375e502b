// Completion of YAML from a JSON Schema: the place of the cursor in the document, and the keys or values
// allowed there.
import { resolved } from '../schema';
import type { Schema } from '../types';

interface Full extends Schema {
  $id?: string;
  const?: unknown;
  examples?: unknown[];
  anyOf?: Full[];
  allOf?: Full[];
  oneOf?: Full[];
  if?: Full;
  then?: Full;
}

// Place is a schema with the resource in which its references are looked up.
interface Place {
  schema: Full;
  root: Full;
}

interface Offer {
  label: string;
  detail?: string;
  info?: string;
  // apply is inserted; a key brings its colon.
  apply: string;
}

export interface At {
  // path of the object or list in which the cursor stands.
  path: string[];
  // key is set if the cursor is behind "key: ".
  key?: string | undefined;
  // word is the text before the cursor that a completion replaces.
  word: string;
  // siblings are the keys of the object, with their values on one line.
  siblings: Map<string, string>;
  // parents are the siblings of each object on the path.
  parents: Map<string, string>[];
}

const written = /^(\s*)((?:- +)*)(?:("[^"]*"|'[^']*'|[^\s#:[\]{},"'-][^:#{}[\],]*?)\s*:(?:\s+(.*)|$))?/;
const bare = (text: string) => text.replace(/^["']|["']$/g, '').trim();

interface Line {
  // spaces before the first dash, and the column of the key.
  spaces: number;
  column: number;
  item: boolean;
  key?: string | undefined;
  value: string;
}

function read(line: string): Line {
  const [whole = '', spaces = '', dashes = '', key, value = ''] = written.exec(line) ?? [];
  const column = spaces.length + dashes.length;
  return { spaces: spaces.length, column, item: dashes !== '', key: key === undefined ? undefined : bare(key), value: key === undefined ? line.slice(whole.length) : value };
}

const empty = (line: string) => /^\s*(#|$)/.test(line);

// at reads the place of the end of a text. A flow mapping is read on its line only.
export function at(text: string): At {
  const lines = text.split('\n');
  const line = lines.pop() ?? '';
  const flow = flowOf(line);
  const own = read(flow ? line.slice(0, flow.from) : line);
  const where: At = { path: [], word: own.value, siblings: new Map(), parents: [] };
  const add = (key: string, siblings: Map<string, string>) => {
    where.path.unshift(key);
    where.parents.unshift(siblings);
  };
  if (flow) {
    Object.assign(where, { key: flow.key, word: flow.word, siblings: flow.siblings });
    for (const key of [...flow.path].reverse()) add(key, new Map());
    if (own.key !== undefined) add(own.key, around(lines, own));
  } else {
    if (own.key !== undefined) where.key = own.key;
    where.siblings = around(lines, own);
  }
  let column = own.column;
  // list is the column of the dashes while the parent of a list is looked for.
  let list: number | undefined;
  const enter = (of: Line) => {
    column = of.column;
    list = undefined;
    if (!of.item) return;
    add('[]', new Map());
    list = of.spaces;
  };
  enter(own);
  for (let i = lines.length - 1; i >= 0 && (list !== undefined || column > 0); i--) {
    const above = lines[i] ?? '';
    if (empty(above)) continue;
    const of = read(above);
    if (list === undefined && of.item && of.column === column) enter(of);
    else if (of.key !== undefined && (list === undefined ? of.column < column : of.column <= list)) {
      add(of.key, around(lines.slice(0, i), of));
      enter(of);
    }
  }
  return where;
}

// around lists the keys above a line in the same object.
function around(lines: string[], of: Line): Map<string, string> {
  const siblings = new Map<string, string>();
  if (of.item) return siblings;
  for (let i = lines.length - 1; i >= 0; i--) {
    const above = lines[i] ?? '';
    if (empty(above)) continue;
    const one = read(above);
    if (one.column < of.column) break;
    if (one.key !== undefined && one.column === of.column) {
      siblings.set(one.key, bare(one.value));
      if (one.item) break;
    }
  }
  return siblings;
}

// flowOf reads an open flow mapping at the end of a line, like `policy: {retry_limit: 3, max`.
function flowOf(line: string): { from: number; path: string[]; key: string | undefined; word: string; siblings: Map<string, string> } | undefined {
  const open: number[] = [];
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '{') open.push(i);
    else if (line[i] === '}') open.pop();
    else if (line[i] === '#' && /\s/.test(line[i - 1] ?? ' ')) return undefined;
  }
  const from = open[0];
  const last = open.at(-1);
  if (from === undefined || last === undefined) return undefined;
  const path = open.slice(1).map((inner) => bare(/([\w-]+)\s*:\s*$/.exec(line.slice(0, inner))?.[1] ?? ''));
  const parts = line.slice(last + 1).split(',');
  const siblings = new Map(parts.slice(0, -1).map((part) => [bare(part.split(':')[0] ?? ''), bare(part.split(':')[1] ?? '')] as [string, string]));
  const current = (parts.at(-1) ?? '').trimStart();
  const colon = /^([\w-]+)\s*:\s+(.*)$/.exec(current);
  return { from, path, key: colon?.[1], word: colon ? (colon[2] ?? '') : current, siblings };
}

function resolve({ schema, root }: Place): Place {
  const own = schema.$id ? schema : root;
  return { schema: resolved(schema, own), root: own };
}

// every lists a schema with those that apply besides it. A condition holds for the siblings.
function every(place: Place, siblings: Map<string, string>): Place[] {
  const { schema, root } = resolve(place);
  const more = [...(schema.allOf ?? []), ...(schema.anyOf ?? [])].filter((one) => {
    const wanted = Object.entries(one.if?.properties ?? {});
    return wanted.every(([key, of]) => siblings.get(key) === String((of as Full).const));
  });
  return [{ schema, root }, ...more.flatMap((one) => every({ schema: one.then ?? one, root }, siblings))];
}

function step(places: Place[], key: string, siblings: Map<string, string>): Place[] {
  return places.flatMap((place) =>
    every(place, siblings).flatMap(({ schema, root }) => {
      const next = key === '[]' ? schema.items : (schema.properties?.[key] ?? schema.additionalProperties);
      return typeof next === 'object' ? [{ schema: next as Full, root }] : [];
    }),
  );
}

const typeOf = (schema: Full) => (Array.isArray(schema.type) ? schema.type.filter((one) => one !== 'null').join(' or ') : schema.type);

// offers lists the keys or values allowed at the place.
export function offers(schema: Schema, where: At): Offer[] {
  let places: Place[] = [{ schema: schema as Full, root: schema as Full }];
  for (const [i, key] of where.path.entries()) places = step(places, key, where.parents[i] ?? new Map());
  const here = places.flatMap((place) => every(place, where.siblings));
  if (where.key !== undefined) {
    const values = step(places, where.key, where.siblings).flatMap((place) => every(place, new Map()));
    return values.flatMap(({ schema: of }) => {
      const all = [...(of.enum ?? []), ...(of.const === undefined ? [] : [of.const]), ...(of.examples ?? []), ...(of.type === 'boolean' ? [true, false] : [])];
      return all.map((value) => ({ label: String(value), apply: String(value), ...(of.default === value ? { detail: 'default' } : {}), ...(of.description ? { info: of.description } : {}) }));
    });
  }
  const found = new Map<string, Offer>();
  for (const { schema: of, root } of here) {
    for (const [name, inner] of Object.entries(of.properties ?? {})) {
      if (where.siblings.has(name) || typeof inner !== 'object') continue;
      const whole = resolve({ schema: inner as Full, root }).schema;
      const detail = whole.default !== undefined ? `default ${JSON.stringify(whole.default).replaceAll('"', '')}` : (whole.enum?.join(' | ') ?? typeOf(whole));
      const before = found.get(name);
      const description = whole.description ?? whole.title ?? before?.info;
      found.set(name, { label: name, apply: `${name}: `, ...(detail ? { detail } : {}), ...(description ? { info: description } : {}) });
    }
  }
  return [...found.values()];
}
