// The height of rows: 34 px, 28 px when somebody chose compact, 44 px for fingers.
import { useSyncExternalStore } from 'preact/compat';
import { store, stored } from '../stored';

const key = 'roundsman.density';
const listeners = new Set<() => void>();

export function density(): string {
  return document.documentElement.dataset.density ?? '';
}

// applyDensity puts the stored choice into force when the console starts.
export function applyDensity() {
  if (stored(key) === 'compact') document.documentElement.dataset.density = 'compact';
}

export function setDensity(value: string) {
  if (value === '') delete document.documentElement.dataset.density;
  else document.documentElement.dataset.density = value;
  store(key, value);
  height = 0;
  for (const listener of listeners) listener();
}

export const useDensity = () =>
  useSyncExternalStore(
    ((listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    }) as never,
    density,
  );

// height is read once for each choice, since a read computes all styles of the page.
let height = 0;
matchMedia('(pointer: coarse)').addEventListener('change', () => {
  height = 0;
});

export function useRowHeight(): number {
  useDensity();
  height ||= Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 34;
  return height;
}
