// The columns of a table that somebody has hidden, kept in the browser for each table.
import { useState } from 'preact/hooks';
import { Menu } from '../menu';
import { store, stored } from '../stored';

const key = (table: string) => `roundsman.columns.${table}`;

export function useHidden(table: string): [Set<string>, (name: string, hidden: boolean) => void] {
  const [names, set] = useState(() => read(table));
  const hide = (name: string, hidden: boolean) => {
    const next = new Set(names);
    if (hidden) next.add(name);
    else next.delete(name);
    set(next);
    store(key(table), JSON.stringify([...next]));
  };
  return [names, hide];
}

function read(table: string): Set<string> {
  try {
    const kept: unknown = JSON.parse(stored(key(table)) ?? '[]');
    return new Set(Array.isArray(kept) ? kept.map(String) : []);
  } catch {
    return new Set();
  }
}

export function ColumnMenu({ of, hidden, hide }: { of: string[]; hidden: Set<string>; hide: (name: string, hidden: boolean) => void }) {
  return (
    <Menu look="columns" name="Columns">
      {of.map((name) => (
        <label key={name}>
          <input type="checkbox" checked={!hidden.has(name)} onChange={(event) => hide(name, !event.currentTarget.checked)} /> {name}
        </label>
      ))}
    </Menu>
  );
}
