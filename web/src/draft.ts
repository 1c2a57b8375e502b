// Typed text that survives a reload and a restart of the server. It belongs to this tab.
import { useState } from 'preact/hooks';
import { store, stored } from './stored';

const name = (key: string) => `roundsman.draft.${key}`;
const kept = new Map<string, unknown>();

function draftOf<T>(key: string): T | undefined {
  if (kept.has(key)) return kept.get(key) as T;
  try {
    return JSON.parse(stored(name(key), 'sessionStorage') ?? '') as T;
  } catch {
    return undefined; // Nothing is kept, or another version kept it.
  }
}

export function keepDraft<T>(key: string, value: T | undefined) {
  if (value === undefined) kept.delete(key);
  else kept.set(key, value);
  store(name(key), value === undefined ? undefined : JSON.stringify(value), 'sessionStorage');
}

// sentDraft forgets a draft that was sent, unless another one was typed since.
export function sentDraft<T>(key: string, value: T) {
  if (JSON.stringify(draftOf(key)) === JSON.stringify(value)) keepDraft(key, undefined);
}

// forgetDrafts is for the next person at this tab.
export function forgetDrafts() {
  kept.clear();
  try {
    for (const one of Object.keys(sessionStorage)) if (one.startsWith(name(''))) sessionStorage.removeItem(one);
  } catch {
    // There was nowhere to keep them.
  }
}

// useDraft is a state that is kept; undefined forgets it.
export function useDraft<T>(key: string): [T | undefined, (value: T | undefined) => void] {
  const [value, setValue] = useState<T | undefined>(() => draftOf<T>(key));
  return [
    value,
    (next) => {
      keepDraft(key, next);
      setValue(next);
    },
  ];
}
