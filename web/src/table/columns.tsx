// The columns of a table that somebody has hidden, kept in the browser for each table. A view that was handed over has its own
// in its address.
import { useMemo, useState } from 'preact/hooks';
import { Menu } from '../menu';
import { param, setParams } from '../route';
import { store, stored } from '../stored';

const key = (table: string) => `roundsman.columns.${table}`;

export function useHidden(table: string): [Set<string>, (name: string, hidden: boolean) => void] {
  const linked = param('hidden');
  const [own, set] = useState(() => read(table));
  const names = useMemo(() => (linked === null ? own : new Set(linked.split(','))), [linked, own]);
  const hide = (name: string, hidden: boolean) => {
    const next = new Set(names);
    if (hidden) next.add(name);
    else next.delete(name);
    if (linked !== null) return setParams({ hidden: listed(next) });
    set(next);
    store(key(table), JSON.stringify([...next]));
  };
  return [names, hide];
}

// listed is the value in an address. Without a hidden column it is not empty, which would be no value.
export const listed = (hidden: Set<string>) => [...hidden].join() || '-';

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
