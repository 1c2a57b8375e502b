// Runs are named by their job type or DAG and their start. The id is in the tooltip, for the keyboard too, and in the
// copy button of the page.
import { Fragment } from 'preact';
import { clock } from './clock';
import { runHref } from './route';
import { itemHref } from './runs';
import { localized, partsOf, useZone } from './time';
import './names.css';

// The start is a part of the id: 2026-11-27T02:40:00Z, or 20261127T024000 and random digits.
const started = /^(.*?)[-/](?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)|(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)-([0-9a-f]+))(.*)$/;
const infixes: Record<string, string> = { detect: 'dry run', adhoc: 'submitted' };
const week = 6 * 86_400_000;

// runName is scrub Tue 02:40. Seconds are left out of a full minute; a run that may share its second with another has
// the first of its random digits.
export function runName(id: string): string {
  const bare = id.replace(/^(group|dag)\//, '');
  const [, of = '', iso, year, month, day, hour, minute, second, unique, inside = ''] = started.exec(bare) ?? [];
  const at = iso ?? (year && `${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (!at || Number.isNaN(Date.parse(at))) return bare.replace('/', ' ').replace(/-(adhoc|detect)-/, (_, infix: string) => ` ${infixes[infix]} `);
  const p = partsOf(new Date(at));
  const age = clock() - Date.parse(at);
  const date = Math.abs(age) < week ? p.weekday : `${p.day} ${p.month}${Math.abs(age) < 50 * week ? '' : ` ${p.year}`}`;
  const [, name = of, infix = ''] = /^(.*)-(adhoc|detect)$/.exec(of) ?? [];
  return `${name} ${date} ${p.hour}:${p.minute}${p.second === '00' ? '' : `:${p.second}`}${infix && ` ${infixes[infix]}`}${unique ? ` ${unique.slice(0, 4)}` : ''}${inside}`;
}

// RunName links a run, or one of its items.
export function RunName({ id, item, bold }: { id: string; item?: string | undefined; bold?: boolean }) {
  useZone();
  return (
    <a class={bold ? 'run strong' : 'run'} href={item ? itemHref(id, item) : runHref(id)} title={item ? `${id}/${item}` : id}>
      {item && `${item} of `}
      {runName(id)}
    </a>
  );
}

// named matches runs and their items in a text of the API.
const named = /(?:group\/[\w.-]+?-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|group\/[\w.-]+-(?:adhoc|detect)-[\w.-]*\w|dag\/[\w.-]+\/[\w.-]*\w)(?:\/[\w./-]*\w)?/g;

export const isRun = (object: string) => /^(group|dag)\//.test(object);

// Said is a text of the API: its runs are links, its instants are in the chosen zone.
export function Said({ text }: { text: string }) {
  useZone();
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const { 0: found, index } of text.matchAll(named)) {
    const run = /^(group\/[^/]+|dag\/[^/]+\/[^/]+)(?:\/(.+))?$/.exec(found);
    if (!run?.[1]) continue;
    parts.push(localized(text.slice(at, index)), <RunName id={run[1]} item={run[2]} />);
    at = index + found.length;
  }
  parts.push(localized(text.slice(at)));
  return (
    <>
      {parts.map((part, i) => (
        <Fragment key={i}>{part}</Fragment>
      ))}
    </>
  );
}
