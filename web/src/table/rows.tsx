// Rows is a table of any number of rows. Only the visible ones are elements. It is one stop of the Tab key.
// Arrows, J and K move in it.
import { defaultKeyExtractor, useVirtualizer } from '@tanstack/react-virtual';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, verbOf } from '../action';
import { keepPlace, keepState, placeOf, stateOf } from '../place';
import { param } from '../route';
import { type Answer, classOf, type Column, Empty, Heading, Loaded, type Sorting, useMedium, useNarrow } from '../ui';
import { Bulk, mostPicked, type Picking } from './bulk';
import { ColumnMenu, listed, useHidden } from './columns';
import { useRowHeight } from './density';
import { hideTip, showTip } from './tip';
import './table.css';

interface Rowed<T> {
  // Rows not loaded yet are undefined.
  rows: (T | undefined)[];
  columns: Column<T>[];
  id: (row: T) => string;
  label: string;
  empty: ComponentChildren;
  total?: number | undefined;
  onEnd?: () => void;
  // onShown reports the visible rows.
  onShown?: (first: number, last: number) => void;
  sorting?: Sorting | undefined;
  // pick makes rows selectable.
  pick?: Picking<T>;
  // of is the request of the rows. Its wait and its error stand below the tools, which stay.
  of?: Answer<unknown>;
  // tools stand above the table; note is at their end.
  tools?: ComponentChildren;
  note?: ComponentChildren;
}

const headHeight = 33;

// At is the row with the keyboard, by id, since rows move in a live list.
interface At {
  id: string;
  index: number;
}

interface Picked<T> {
  of: string;
  rows: Map<string, T>;
  anchor: number;
}

export function Rows<T>({ rows: given, columns: all, id, label, empty, total, onEnd, onShown, sorting, pick, of, tools, note }: Rowed<T>) {
  const small = useNarrow();
  const height = useRowHeight();
  const [hidden, hide] = useHidden(label);
  const medium = useMedium();
  const columns = small ? all.filter((c) => !c.optional || c.second) : all.filter((c, i) => i === 0 || !(hidden.has(c.name) || (medium && c.full)));
  const rows = sorted(given, all, sorting?.by ?? '');
  const scroll = useRef<HTMLDivElement>(null);
  // A control that is gone, such as *Show all*, leaves the focus to the rows, as soon as there are some.
  const tabled = useRef<HTMLDivElement>(null);
  const left = useRef(false);
  const within = tabled.current?.contains(document.activeElement);
  useLayoutEffect(() => {
    left.current = document.activeElement === document.body && (within || left.current);
    if (left.current) scroll.current?.focus({ preventScroll: true });
  });
  // bar is the height of a horizontal scroll bar, if there is one.
  const [bar, setBar] = useState(0);
  useLayoutEffect(() => setBar((scroll.current?.offsetHeight ?? 0) - (scroll.current?.clientHeight ?? 0)));
  const [begin] = useState(() => placeOf(label));
  const linked = param('row') ?? '';
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => (small ? 68 : height),
    // Only rows that are measured need their ids: a function that is new makes it go through all rows.
    getItemKey: small ? (i) => (rows[i] === undefined ? i : id(rows[i])) : defaultKeyExtractor,
    overscan: 1,
    // The head stands above the rows, a horizontal scroll bar below them.
    scrollPaddingEnd: (small ? 0 : headHeight) + bar,
    initialOffset: begin,
    // The height of its style: the first rendering has the rows.
    initialRect: { width: 0, height: innerHeight * 0.7 },
  });
  const measured = useRef([height, small]);
  useEffect(() => {
    if (measured.current[0] === height && measured.current[1] === small) return;
    measured.current = [height, small];
    virtual.measure();
  }, [height, small]);
  const items = virtual.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => onShown?.(first, last), [first, last, onShown]);
  useEffect(() => {
    if (last >= rows.length - 1) onEnd?.();
  }, [last, rows.length, onEnd]);

  const old = of?.isPlaceholderData || undefined;
  const [at, setAt] = useState<At | undefined>(() => (linked === '' ? stateOf<At>(`at ${label}`) : { id: linked, index: -1 }));
  const current = indexOf(rows, id, at);
  const [picked, setPicked] = useState<Picked<T>>(() => stateOf<Picked<T>>(`picked ${label}`) ?? { of: '', rows: new Map(), anchor: -1 });
  const [busy, setBusy] = useState(false);
  // The same text twice is announced twice, by another element.
  const [said, setSaid] = useState({ text: '', n: 0 });
  const say = (text: string) => setSaid(({ n }) => ({ text, n: n + 1 }));
  const chosen: Map<string, T> = pick && picked.of === pick.of ? picked.rows : new Map();
  const anchor = pick && picked.of === pick.of ? picked.anchor : -1;

  const settle = (next: Map<string, T>, from: number) => {
    if (!pick) return;
    const value = { of: pick.of, rows: next, anchor: from };
    keepState(`picked ${label}`, value);
    setPicked(value);
  };
  // taken are the rows between two places. Those that are not loaded are read first.
  const taken = async (from: number, to: number): Promise<T[]> => {
    const here = rows.slice(from, to);
    if (here.length >= to - from && !here.includes(undefined)) return here as T[];
    setBusy(true);
    try {
      return (await pick?.read?.(from, to)) ?? here.filter((row) => row !== undefined);
    } catch (cause) {
      say(`The rows cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
      return [];
    } finally {
      setBusy(false);
    }
  };
  // between returns the rows from one place to another. Rows that move during a read could enter the
  // selection unseen.
  const between = async (a: number, b: number): Promise<T[] | undefined> => {
    const ends = [rows[a], rows[b]];
    const found = await taken(a, b + 1);
    const moved = [found[0], found.at(-1)].some((row, i) => ends[i] !== undefined && (row === undefined || id(row) !== id(ends[i])));
    if (!moved) return found;
    if (found.length > 0) say('The list changed while its rows were read. Nothing more is selected: select again.');
    return undefined;
  };
  const toggle = (i: number) => {
    const row = rows[i];
    if (row === undefined) return;
    const next = new Map(chosen);
    if (!next.delete(id(row))) next.set(id(row), row);
    settle(next, i);
  };
  const range = async (to: number) => {
    const from = anchor < 0 ? Math.max(current, 0) : anchor;
    const [a, b] = [Math.min(from, to), Math.max(from, to)];
    const found = await between(a, b);
    if (!found) return;
    const next = new Map(chosen);
    for (const row of found) next.set(id(row), row);
    settle(next, from);
  };
  const everything = async () => {
    const found = await taken(0, Math.max(total ?? 0, pick?.partial ? mostPicked : rows.length));
    const next = new Map(found.slice(0, mostPicked).map((row) => [id(row), row]));
    settle(next, -1);
    if (found.length >= mostPicked) say(`The first ${mostPicked.toLocaleString('en')} are selected.`);
    else if (found.length > 0 && next.size < (total ?? 0)) say(`The list changed while its rows were read: ${next.size.toLocaleString('en')} of ${(total ?? 0).toLocaleString('en')} are selected. Select all again.`);
  };
  const move = (to: number) => {
    const index = Math.min(Math.max(to, 0), rows.length - 1);
    const row = rows[index];
    const next = { id: row === undefined ? '' : id(row), index };
    keepState(`at ${label}`, next);
    setAt(next);
    virtual.scrollToIndex(index, { align: 'auto' });
    return index;
  };
  const element = (i: number) => scroll.current?.querySelector<HTMLElement>(`.row[aria-rowindex="${i + 2}"]`);
  const verb = (word: string) => {
    const row = rows[current];
    if (row === undefined && chosen.size === 0) return;
    const button = scroll.current?.parentElement?.querySelector<HTMLElement>(`.bulk button[data-verb="${word}"]`);
    const act = chosen.size > 0 || row === undefined ? undefined : [...(pick?.acts(row) ?? []), ...(pick?.together?.([row]) ?? [])].find((one) => verbOf(one) === word);
    if (chosen.size > 0 && button) button.click();
    else if (act) ask(act);
    else say(`${word} is not possible here.${word === 'Retry' && pick?.none ? ` ${pick.none}` : ''}`);
  };
  const nextFailed = () => {
    const failed = (row: T | undefined) => row !== undefined && pick?.failed?.(row) === true;
    const i = rows.findIndex((row, n) => n > current && failed(row));
    if (i >= 0) move(i);
    else say(rows.includes(undefined) || pick?.partial ? 'No failed row follows among those that are loaded. The filter finds all.' : 'No failed row follows.');
  };
  const press = (event: KeyboardEvent) => {
    if (event.target !== scroll.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (said.text !== '') say('');
    const page = Math.max(Math.floor((scroll.current?.clientHeight ?? 0) / height) - 2, 1);
    const steps: Record<string, number> = { ArrowDown: 1, j: 1, J: 1, ArrowUp: -1, k: -1, K: -1, PageDown: page, PageUp: -page };
    const step = steps[event.key];
    const choose = () => (event.shiftKey ? void range(Math.max(current, 0)) : toggle(Math.max(current, 0)));
    const keys: Record<string, () => void> = {
      Home: () => jump(0),
      End: () => jump(rows.length - 1),
      Enter: () => element(current)?.querySelector('a')?.click(),
      f: nextFailed,
      a: () => verb('Approve'),
      r: () => verb('Retry'),
      ...(pick && {
        x: choose,
        ' ': choose,
        ...(chosen.size > 0 && { Escape: () => settle(new Map(), -1) }),
      }),
    };
    if (step !== undefined) {
      event.preventDefault();
      const from = current < 0 ? (step > 0 ? first - 1 : last + 1) : current;
      const to = move(from + step);
      if (event.shiftKey && pick) void rangeFrom(current < 0 ? to : current, to);
      return;
    }
    const act = keys[event.key] ?? keys[event.key.toLowerCase()]; // With Caps Lock, f is F.
    if (act) {
      event.preventDefault();
      act();
    }
  };
  // Shift with an arrow selects from the row where it began.
  const rangeFrom = async (from: number, to: number) => {
    const start = anchor < 0 ? from : anchor;
    const [a, b] = [Math.min(start, to), Math.max(start, to)];
    const next = new Map(chosen);
    const left = rows[from];
    if (left !== undefined && (from < a || from > b)) next.delete(id(left));
    const found = await between(a, b);
    if (!found) return;
    for (const row of found) next.set(id(row), row);
    settle(next, start);
  };
  // A smooth scroll to the end would load all pages on the way.
  const jump = (to: number) => {
    move(to);
    if (scroll.current) scroll.current.scrollTo({ top: to === 0 ? 0 : scroll.current.scrollHeight, behavior: 'instant' });
  };
  const click = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>('.row');
    if (target.closest('a, button, input, select, summary') || !row) return;
    const i = Number(row.getAttribute('aria-rowindex')) - 2;
    if (String(getSelection() ?? '') !== '' && !event.shiftKey) return; // Somebody marks a text.
    const item = rows[i];
    if (item === undefined) return;
    setAt({ id: id(item), index: i });
    scroll.current?.focus({ preventScroll: true });
    if (!pick) return;
    if (event.shiftKey) void range(i);
    else if (target.closest('.pick')) toggle(i);
  };

  // The row of a link comes into view when it is known.
  const [found, setFound] = useState(linked === '');
  useEffect(() => {
    if (found || rows.length === 0) return;
    const i = rows.findIndex((row) => row !== undefined && id(row) === linked);
    if (i < 0) return;
    setFound(true);
    move(i);
  }, [rows.length, found, linked]);
  // The row with the keyboard stays in sight if the user sorts. What somebody else changes scrolls nothing.
  const order = sorting?.by;
  const was = useRef({ order, seen: false });
  useEffect(() => {
    if (was.current.order !== order && old) return; // These rows are still in the order before.
    if (was.current.order !== order && was.current.seen) virtual.scrollToIndex(current, { align: 'auto' });
    was.current = { order, seen: current >= first && current <= last };
  });
  const live = scroll.current && document.activeElement === scroll.current;
  useEffect(() => {
    if (!live || current < 0) return;
    hideTip();
    const frame = requestAnimationFrame(() => showTip(element(current))); // The page may scroll to the row first.
    return () => cancelAnimationFrame(frame);
  }, [current, live, first, last]);
  useEffect(() => hideTip, []);
  // The table is one stop of the Tab key; the row with the keyboard lets it into its links.
  useLayoutEffect(() => {
    if (!pick) return;
    for (const link of scroll.current?.querySelectorAll<HTMLElement>('.row a, .row button') ?? []) {
      const to = link.closest('.row.at') ? 0 : -1;
      if (link.getAttribute('tabindex') !== String(to)) link.tabIndex = to;
    }
  });
  useWidths(scroll, `${label} ${columns.map((c) => c.name).join(' ')} ${small}`, small);

  const strip = (tools !== undefined || pick !== undefined || sorting !== undefined) && (
    <div class="table-tools">
      {tools}
      <span class="end">
        {note}
        {!small && <ColumnMenu of={all.slice(1).filter((c) => !(medium && c.full)).map((c) => c.name)} hidden={hidden} hide={hide} />}
      </span>
    </div>
  );
  const loaded = useMemo(() => new Map(chosen.size > 0 ? rows.flatMap((row): [string, T][] => (row === undefined ? [] : [[id(row), row]])) : []), [rows, chosen.size > 0]);
  const bulk = pick && chosen.size > 0 && (
    <Bulk
      rows={[...chosen].map(([key, row]) => loaded.get(key) ?? row)}
      pick={pick}
      busy={busy}
      more={chosen.size < Math.max(total ?? 0, rows.length) || pick.partial === true ? everything : undefined}
      total={total ?? (pick.partial ? undefined : rows.length)}
      clear={() => settle(new Map(), -1)}
    />
  );
  if (rows.length === 0) {
    return (
      <div class="tabled" ref={tabled} aria-busy={old}>
        {strip}
        {bulk}
        {of && of.data === undefined ? <Loaded of={of} what={label}>{() => null}</Loaded> : <Empty>{old ? 'Searching…' : empty}</Empty>}
      </div>
    );
  }
  const least = columns.map((c) => (c.wide ? 'minmax(12rem, 1fr)' : c.width ? `fit-content(${c.width})` : 'max-content'));
  const grid = small ? {} : { gridTemplateColumns: [pick && 'max-content', ...least].filter(Boolean).join(' ') };
  const whole = `${(small ? virtual.getTotalSize() : rows.length * height + headHeight) + bar}px`;
  return (
    <div class="tabled" ref={tabled} aria-busy={old}>
      {strip}
      {bulk}
      <div
        class={small ? 'rows small' : 'rows'}
        ref={scroll}
        data-keys="j k x f a r"
        data-hidden={listed(hidden)}
        onKeyDown={press}
        onClick={click}
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
        onBlur={hideTip}
        onFocus={(event) => event.target === scroll.current && current >= 0 && showTip(element(current))}
        onScroll={(event) => keepPlace(label, event.currentTarget.scrollTop)}
        role="grid"
        aria-label={label}
        aria-rowcount={(total ?? rows.length) + 1}
        aria-multiselectable={pick ? true : undefined}
        aria-activedescendant={current >= first && current <= last ? `${label.replaceAll(' ', '-')}-${current}` : undefined}
        aria-busy={busy || undefined}
        tabIndex={0}
        style={{ height: `min(70vh, ${whole})`, ...grid }}
      >
        <div class="rows-head" role="row" aria-rowindex={1}>
          {pick && (
            <span role="columnheader" class="pick">
              <input
                type="checkbox"
                aria-label={pick.part ? `Select the shown ones of ${label}` : `Select all of ${label}`}
                checked={chosen.size > 0 && chosen.size >= rows.length}
                onChange={(event) => (event.currentTarget.checked ? void everything() : settle(new Map(), -1))}
              />
            </span>
          )}
          {columns.map((c) => (
            <Heading key={c.name} of={c} sorting={sorting} />
          ))}
        </div>
        <div class="rows-body" role="rowgroup" style={{ paddingTop: `${items[0]?.start ?? 0}px`, paddingBottom: `${virtual.getTotalSize() - (items.at(-1)?.end ?? 0)}px` }}>
          {items.map((item) => {
            const row = rows[item.index];
            return (
              <div
                class={item.index === current ? 'row at' : 'row'}
                role="row"
                id={`${label.replaceAll(' ', '-')}-${item.index}`}
                aria-rowindex={item.index + 2}
                aria-selected={pick ? row !== undefined && chosen.has(id(row)) : undefined}
                data-index={item.index}
                data-row={item.index === current && row !== undefined ? id(row) : undefined}
                key={row === undefined ? item.index : id(row)}
                ref={small ? virtual.measureElement : undefined}
                style={small ? undefined : { height: `${height}px` }}
              >
                {pick && <span role="gridcell" class="pick" />}
                {columns.map((c, i) => (
                  <span key={c.name} role="gridcell" class={[classOf(c), i === 0 && 'name', c.second && 'second'].filter(Boolean).join(' ') || undefined}>
                    {row === undefined ? <span class="faint">…</span> : c.show(row)}
                  </span>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      <span class={said.text === '' ? 'spoken' : 'note'} role="status">
        <span key={said.n}>{said.text}</span>
      </span>
    </div>
  );
}

function indexOf<T>(rows: (T | undefined)[], id: (row: T) => string, at: At | undefined): number {
  if (!at) return -1;
  const here = rows[at.index];
  if (at.id === '' || (here !== undefined && id(here) === at.id)) return Math.min(at.index, rows.length - 1);
  const moved = rows.findIndex((row) => row !== undefined && id(row) === at.id);
  return moved >= 0 ? moved : Math.min(at.index, rows.length - 1);
}

// sorted sorts rows in memory by a column with values; the order of other columns is the server's. Rows without a
// value come last in both directions.
export function sorted<T>(rows: (T | undefined)[], columns: Column<T>[], by: string): (T | undefined)[] {
  const down = by.startsWith('-');
  const value = columns.find((c) => c.sort === by.replace(/^-/, ''))?.value;
  if (!value) return rows;
  const keyed = rows.map((row) => ({ row, of: row === undefined ? undefined : value(row) }));
  const missing = (of: string | number | undefined) => of === undefined || of === '' || Number.isNaN(of);
  keyed.sort((a, b) => {
    if (missing(a.of) || missing(b.of)) return Number(missing(a.of)) - Number(missing(b.of));
    const order = typeof a.of === 'number' && typeof b.of === 'number' ? a.of - b.of : String(a.of).localeCompare(String(b.of), 'en', { numeric: true });
    return down ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

// useWidths keeps the widest width that each column had, so that columns stand still while rows scroll by.
function useWidths(scroll: { current: HTMLDivElement | null }, of: string, small: boolean) {
  const kept = useRef<{ of: string; widths: number[] }>({ of: '', widths: [] });
  useLayoutEffect(() => {
    const heads = [...(scroll.current?.querySelectorAll<HTMLElement>('.rows-head > :not(.wide)') ?? [])];
    if (kept.current.of !== of) {
      kept.current = { of, widths: [] };
      for (const head of heads) head.style.minWidth = '';
    }
    if (small) return;
    const now = heads.map((head) => head.offsetWidth); // All are read before one is written: each read after a write is a layout.
    for (const [i, head] of heads.entries()) {
      if ((now[i] ?? 0) <= (kept.current.widths[i] ?? 0)) continue;
      kept.current.widths[i] = now[i] ?? 0;
      head.style.minWidth = `${now[i]}px`;
    }
  });
}
