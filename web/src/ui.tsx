// The building blocks of all pages.
import { type ComponentChildren, Fragment, toChildArray, type VNode } from 'preact';
import { useSyncExternalStore } from 'preact/compat';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from './api';
import { Crumbs } from './design/bar';
import { icon, Pill, type Role, roleOf, State } from './design/state';
import { plain } from './marked';
import { Menu } from './menu';
import { Said } from './names';
import { Middle } from './table/text';
import { plural } from './words';

export { State };

// Head is the content of a page's header except its name.
export interface Head {
  state?: { word: string; role?: Role | undefined } | undefined;
  age?: ComponentChildren;
  cause?: ComponentChildren;
  // icon is the role of the tab's icon if it differs from the role of the state.
  icon?: Role | undefined;
  // id is copied by a button beside the name.
  id?: string | undefined;
}

// Page has the common header: name, state, age, cause and actions. The first action is the primary one.
export function Page({
  title,
  crumbs = [],
  head = {},
  actions,
  children,
}: {
  title: string;
  crumbs?: [string, string][];
  head?: Head;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}) {
  const role = head.state && (head.state.role ?? roleOf(head.state.word));
  useEffect(() => {
    document.title = `${plain(title)} · Roundsman`;
  }, [title]);
  const mark = head.icon ?? role;
  useEffect(() => icon(mark), [mark]);
  return (
    <>
      <Crumbs of={crumbs} title={title} />
      <div class="title">
        <div class="named">
          <h1 tabIndex={-1}>{title}</h1>
          {head.id && <Copy of={head.id} />}
          {head.state && <Pill word={head.state.word} role={role} />}
          {head.age !== undefined && <small>{head.age}</small>}
        </div>
        {head.cause && <div class="says">{typeof head.cause === 'string' ? <Said text={head.cause} /> : head.cause}</div>}
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

// Copy puts a text into the clipboard. A page without TLS has none: the text is selected where it stands before the
// button, or in the button's place.
export function Copy({ of }: { of: string }) {
  const [did, setDid] = useState<'Copy' | 'Copied' | 'shown'>('Copy');
  const copy = async (event: MouseEvent) => {
    const before = (event.currentTarget as HTMLElement).previousElementSibling;
    try {
      await navigator.clipboard.writeText(of);
      setDid('Copied');
    } catch {
      if (before?.textContent === of) getSelection()?.selectAllChildren(before);
      else setDid('shown');
    }
  };
  if (did === 'shown') {
    return (
      <code class="copied" tabIndex={-1} ref={(e) => { e?.focus(); e && getSelection()?.selectAllChildren(e); }}>
        {of}
      </code>
    );
  }
  return (
    <button type="button" class="small copy" onClick={copy} onBlur={() => setDid((now) => (now === 'Copied' ? 'Copy' : now))} title={of} aria-label={`${did}: ${of.slice(0, 60)}`}>
      {did}
    </button>
  );
}

// Section is a card. One without content folds into one line.
export function Section({
  title,
  note,
  look,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  // look marks a section with failures, or with states that need a person.
  look?: 'alarm' | 'ask' | undefined;
  children?: ComponentChildren;
}) {
  return (
    <section class={look}>
      <h2>
        {title} {note !== undefined && <small>{note}</small>}
      </h2>
      {children}
    </section>
  );
}

// Empty gives advice in place of missing data.
export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

// Aloud is announced by screen readers when it changes.
export const Aloud = ({ children }: { children: ComponentChildren }) => (
  <p class="aloud" role="status">
    {children}
  </p>
);

export function Failure({ error, what }: { error: unknown; what?: string }) {
  const problem = error instanceof Problem ? error : undefined;
  return (
    <div class="failure" role="alert">
      <strong>{what ?? 'It did not work'}</strong>: {problem?.message ?? String(error)}{' '}
      {problem && problem.code !== '' && <code>{problem.code}</code>}
      {problem?.remedy && <p>{problem.remedy.replaceAll('`', '')}</p>}
      {problem && problem.errors.length > 0 && (
        <ul>
          {problem.errors.map((fault) => (
            <li key={`${fault.location}${fault.line}${fault.message}`}>
              {fault.line ? `line ${fault.line}: ` : ''}
              {fault.location ? `${fault.location}: ` : ''}
              {fault.message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

// Answer is a request with its answer. Placeholder data are those of other filters.
export interface Answer<T> {
  data: T | undefined;
  error: unknown;
  isPending: boolean;
  isPlaceholderData?: boolean;
}

// Loaded shows the data of a query or its error. Old data stay; data of other filters are marked busy until the new
// data arrive. height is the room kept for the first data, so that the page below does not move. A slow part delays
// nothing below.
export function Loaded<T>({
  of,
  what,
  height,
  slow,
  children,
}: {
  of: Answer<T>;
  what: string;
  height?: number | undefined;
  slow?: boolean;
  children: (data: T) => ComponentChildren;
}) {
  if (of.data !== undefined) {
    return (
      <div class="loaded" aria-busy={of.isPlaceholderData || undefined}>
        {children(of.data)}
      </div>
    );
  }
  if (of.error) return <Failure error={of.error} what={`${what} cannot be shown`} />;
  return (
    <p class={slow ? 'empty' : 'empty loading'} aria-busy="true" style={{ minHeight: height && `${height}px` }}>
      Loading {what.toLowerCase()}…
    </p>
  );
}

// Awaited stands for a part that is only shown if there is something to show.
export const Awaited = () => <i class="loading" aria-busy="true" hidden />;

// AwaitedCause stands for a cause of a header that is there, so it keeps room for it.
export const AwaitedCause = () => <div class="loading room" aria-busy="true" />;

export interface Column<T> {
  name: string;
  show: (row: T) => ComponentChildren;
  number?: boolean;
  // Narrow screens hide optional columns, and windows below 1,280 px full ones. Wide columns share the remaining width.
  optional?: boolean;
  full?: boolean;
  wide?: boolean;
  // width applies to Rows. Default 8rem.
  width?: string;
  // sort is the name of the order by this column, for sortable Rows. With a value, rows in memory are sorted by it;
  // otherwise the server sorts.
  sort?: string;
  value?: (row: T) => string | number | undefined;
  // second stands in the lines below the name on narrow screens, where it is never cut.
  second?: boolean;
}

// Sorting is the order of rows in the API's form, with its setter.
export interface Sorting {
  by: string;
  set: (by: string) => void;
}

// Table is an ordinary table; Rows is for thousands of rows.
export function Table<T>({
  rows,
  columns,
  id,
  label,
  empty,
  stacked,
}: {
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  label: string;
  empty: ComponentChildren;
  // stacked shows the cells of a row below each other on narrow screens.
  stacked?: boolean;
}) {
  if (rows.length === 0) return <Empty>{empty}</Empty>;
  return (
    <div class={stacked ? 'scroll stacked' : 'scroll'} role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.name} scope="col" class={classOf(c)}>
                {c.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={id(row)}>
              {columns.map((c, i) => (
                <td key={c.name} class={classOf(c)} data-label={i > 0 ? c.name : undefined}>
                  {c.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function classOf<T>(c: Column<T>): string | undefined {
  const names = [c.number && 'number', c.optional && 'optional', c.full && 'full', c.wide && 'wide'].filter(Boolean);
  return names.length > 0 ? names.join(' ') : undefined;
}

function useMedia(query: string): () => boolean {
  const list = matchMedia(query);
  const listen = (changed: () => void) => {
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  };
  return () => useSyncExternalStore(listen as never, () => list.matches);
}
export const useNarrow = useMedia('(max-width: 48rem)');
export const useOneColumn = useMedia('(max-width: 1023px)');
export const useMedium = useMedia('(max-width: 1279px)');

// Heading is the name of a column. A click sorts by it, a second click reverses the order, a third restores the
// default.
export function Heading<T>({ of, sorting }: { of: Column<T>; sorting?: Sorting | undefined }) {
  if (!sorting || !of.sort) {
    return (
      <span role="columnheader" class={classOf(of)}>
        {of.name}
      </span>
    );
  }
  const by = of.sort;
  const order = sorting.by === by ? 'ascending' : sorting.by === `-${by}` ? 'descending' : 'none';
  const next = { none: by, ascending: `-${by}`, descending: '' }[order];
  return (
    <span role="columnheader" aria-sort={order} class={classOf(of)}>
      <button type="button" class="sort" onClick={() => sorting.set(next)}>
        {of.name}
      </button>
    </span>
  );
}

// Cause shows an error in one line. Its last 40 letters fit into the narrowest column: the cause is at the end.
export const Cause = ({ of }: { of: string }) => <Middle of={of.replace(/\s+/g, ' ').trim()} look="cause" last={40} whole={44} title={of} />;

// Facts are names and values.
export function Facts({ of }: { of: [string, ComponentChildren][] }) {
  return (
    <dl>
      {of
        .filter(([, value]) => value !== undefined && value !== '' && value !== null && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function Meter({ used, of, label }: { used: number; of: number; label: string }) {
  return (
    <span class="meter">
      <meter min={0} max={Math.max(of, 1)} value={used} aria-label={label} />
      <span class="number">
        {used.toLocaleString('en')} of {of.toLocaleString('en')}
      </span>
    </span>
  );
}

// Filters stand in one line. The last rare ones are in a menu until they are set: a filter in use is always shown. A
// telephone shows the first one and folds the others, until one of them is set: a fold that closes takes the focus away.
export function Filters({ set, rare = 0, children }: { set: boolean; rare?: number; children: ComponentChildren }) {
  const all = toChildArray(children) as VNode<{ value?: string }>[];
  const [first, ...others] = all;
  const open = useRef(set);
  open.current ||= set;
  // An open menu keeps its filters: one that moved would take the focus along.
  const [kept, keep] = useState<number[]>();
  const folded = kept ?? all.flatMap((one, i) => (i >= all.length - rare && !one.props.value ? [i] : []));
  const shown = (which: boolean) => all.map((one, i) => folded.includes(i) === which && <Fragment key={i}>{one}</Fragment>);
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {useNarrow() && others.length > 1 ? (
        <>
          {first}
          <details open={open.current}>
            <summary>{plural(others.length, 'more filter')}</summary>
            <div class="filters">{others}</div>
          </details>
        </>
      ) : (
        <>
          {shown(false)}
          {folded.length > 0 && (
            <Menu look="columns more" name={plural(folded.length, 'more filter')} onOpen={(open) => keep(open ? folded : undefined)}>
              {shown(true)}
            </Menu>
          )}
        </>
      )}
    </form>
  );
}

// Choice is a filter with its value in the address.
export function Choice({ label, value, of, set }: { label: string; value: string; of: [string, string][]; set: (value: string) => void }) {
  return (
    <label class="choice">
      {label}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {of.map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// typing is the delay in milliseconds between the last key and a search.
const typing = 250;

// Find is a search with its text in the address. It begins when the user pauses. A value from
// elsewhere replaces the text. The field's own value does not, since the text may be longer by now.
export function Find({ label, value, set }: { label: string; value: string; set: (value: string) => void }) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    if (value === sent.current) return;
    clearTimeout(soon.current);
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => () => clearTimeout(soon.current), []);
  return (
    <label class="choice">
      {label}
      <input
        type="search"
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value;
          setText(typed);
          clearTimeout(soon.current);
          soon.current = setTimeout(() => {
            sent.current = typed.trim();
            set(sent.current);
          }, typing);
        }}
      />
    </label>
  );
}

export const Json = ({ of }: { of: unknown }) => <pre>{JSON.stringify(of, null, 2)}</pre>;
