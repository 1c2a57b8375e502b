// Typed values as a merge patch over the settings in force.
import type { Schema } from '../types';

export type Path = string[];
export type Patch = Record<string, unknown>;

const isObject = (value: unknown): value is Patch => typeof value === 'object' && value !== null && !Array.isArray(value);

// inside returns the value at a path; undefined without one.
export function inside(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((of, key) => (isObject(of) ? of[key] : undefined), value);
}

// typed reports whether a patch has a value at a path, and returns it. A null means that the setting is left out.
export function typed(patch: Patch, path: Path): { value: unknown } | undefined {
  let of: unknown = patch;
  for (const key of path) {
    if (!isObject(of) || !(key in of)) return undefined;
    of = of[key];
  }
  return { value: of };
}

const equal = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

// set returns a patch with a value at a path. A value as in force needs no patch.
export function set(patch: Patch, path: Path, value: unknown, inForce: unknown): Patch {
  const [key = '', ...rest] = path;
  const next = { ...patch };
  if (rest.length === 0) {
    if (equal(value, inside(inForce, [key]))) delete next[key];
    else next[key] = value ?? null;
    return next;
  }
  const own = set(isObject(patch[key]) ? patch[key] : {}, rest, value, inside(inForce, [key]));
  if (Object.keys(own).length === 0) delete next[key];
  else next[key] = own;
  return next;
}

// leaves counts the changed settings of a patch.
export function leaves(patch: Patch): number {
  return Object.values(patch).reduce<number>((sum, value) => sum + (isObject(value) ? Math.max(leaves(value), 1) : 1), 0);
}

export const typeOf = (schema: Schema) => (Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type);

// textOf shows a value in a field.
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'))) return value.join('\n');
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

// valueOf reads the text of a field. Text that does not fit the schema is sent as it is, for the server to refuse.
export function valueOf(text: string, schema: Schema): unknown {
  if (text === '') return null;
  switch (typeOf(schema)) {
    case 'integer':
    case 'number':
      return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'array':
    case 'object':
    case undefined: {
      if (listed(schema) && !/^\s*\[/.test(text)) return text.split('\n').filter((line) => line !== '');
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    }
  }
  return text;
}

// listed reports whether a setting is a list of texts, which is written one per line.
export const listed = (schema: Schema): boolean => {
  const choices = (schema as { anyOf?: Schema[] }).anyOf ?? [schema];
  return choices.some((one) => typeOf(one) === 'array' && (one.items === undefined || typeOf(one.items) === 'string'));
};
