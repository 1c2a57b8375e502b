// Runs are named by their job type or DAG and their start. The id is in the tooltip, for the keyboard too, and in the
// copy button of the page.
import { type ComponentChildren, Fragment } from 'preact';
import { clock } from './clock';
import { href, runHref } from './route';
import { itemHref } from './runs';
import { Middle } from './table/text';
import { localized, partsOf, useZone, zoneOf } from './time';
import { offsetOf } from './timeline/zone';
import { upper } from './words';
import './names.css';

// The start is a part of the id: 2026-11-27T02:40:00Z, 20261127T024000 and random digits, or 20261127t024000.123.
const started = /^(.*?)[- ](?:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)|(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(\d\d)(?:-([0-9a-f]+)|(\.\d{3})))((?:\/.*)?)$/;
const infixes: Record<string, string> = { detect: 'dry run', adhoc: 'submitted', 'adhoc-retry': 'retry' };
const infixed = /^(.*?)-(adhoc-retry|adhoc|detect)(?:-(.*))?$/;
const week = 6 * 86_400_000;

// runName is scrub Tue 02:40. Seconds are left out of a full minute; a run that may share its second with another has
// the first of its random digits, or its milliseconds. In the hour that winter time repeats, the offset is added.
export function runName(id: string): string {
  const bare = id.replace(/^group\//, '').replace(/^dag\/([^/]+)\//, '$1 ');
  const [, of = '', iso, year, month, day, hour, minute, second, unique, ms = '', inside = ''] = started.exec(bare) ?? [];
  const at = Date.parse(iso ?? `${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const [, name = of, infix = '', rest] = (id.startsWith('group/') && infixed.exec(Number.isNaN(at) ? bare : of)) || [];
  const kind = infix && ` ${infixes[infix]}`;
  if (Number.isNaN(at)) return rest ? `${name}${kind} ${rest}` : bare;
  const p = partsOf(new Date(at));
  const age = Math.abs(clock() - at);
  const date = age < week ? p.weekday : `${p.day} ${p.month}${age < 50 * week ? '' : ` ${p.year}`}`;
  return `${name} ${date} ${p.hour}:${p.minute}${p.second === '00' && !ms ? '' : `:${p.second}${ms}`}${repeated(at)}${kind}${unique ? ` ${unique.slice(0, 4)}` : ''}${inside}`;
}

// repeated is the offset of an instant whose local time there is twice.
function repeated(at: number): string {
  const hour = 3_600_000;
  const offsetAt = offsetOf(zoneOf());
  const offset = offsetAt(at);
  if (offset - offsetAt(at + hour) !== hour && offsetAt(at - hour) - offset !== hour) return '';
  const minutes = Math.abs(offset) / 60_000;
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  return ` ${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

export const itemName = (id: string, item: string | undefined) => (item ? `${item} of ${runName(id)}` : runName(id));

// RunName links a run, or one of its items. In a row of a list it is cut in the middle.
export function RunName({ id, item, bold, row }: { id: string; item?: string | undefined; bold?: boolean; row?: boolean }) {
  useZone();
  const [name, path] = [itemName(id, item), item ? `${id}/${item}` : id];
  return (
    <a class={bold ? 'run strong' : 'run'} href={item ? itemHref(id, item) : runHref(id)} title={path}>
      {row ? <Middle of={name} last={20} whole={24} title={path} /> : name}
    </a>
  );
}

// Broken is a name that may begin a new line behind each point and underscore.
export const Broken = ({ name }: { name: string }) => (
  <>
    {name.split(/(?<=[._])/).map((part, i) => (
      <Fragment key={i}>
        {i > 0 && <wbr />}
        {part}
      </Fragment>
    ))}
  </>
);

// Mention is a thing with a page that the API names in a text.
export type Mention = { [K in 'run' | 'item' | 'worker' | 'lane' | 'pool' | 'object']?: string | undefined };

// withNames cuts a text at the things that the API names in it.
export function withNames(text: string, named: Mention[] | undefined): (string | Mention)[] {
  const parts: (string | Mention)[] = [];
  let at = 0;
  for (const one of named ?? []) {
    const path = one.item ? `${one.run}/${one.item}` : (one.run ?? one.worker ?? granted(one));
    const found = text.indexOf(path, at);
    if (found < 0) continue;
    parts.push(text.slice(at, found), one);
    at = found + path.length;
  }
  return [...parts, text.slice(at)];
}

const granted = ({ lane, pool, object }: Mention) => lane ?? pool ?? object ?? '';

function Named({ of }: { of: Mention }) {
  if (of.run) return <RunName id={of.run} item={of.item} />;
  return of.worker ? <a href={href('workers', of.worker)}>{of.worker}</a> : <a href={href('locks')}>{granted(of)}</a>;
}

// A sentence of the API has links for its runs, and its instants are in the chosen zone. The output of a program is shown
// unchanged.
export function Said({ text, runs }: { text: string; runs?: Mention[] | undefined }) {
  useZone();
  return (
    <>
      {withNames(text, runs).map((part, i) => (
        <Fragment key={i}>{typeof part === 'string' ? localized(part) : <Named of={part} />}</Fragment>
      ))}
    </>
  );
}

// lookOf is the look of a text that begins a line: a sentence, but the text of a person or a program keeps its letters.
export const lookOf = ({ quoted }: { quoted?: boolean | undefined }) => (quoted ? '' : 'sentence');

// Cited is a sentence in a cell: its code, or its button, stands behind it.
export function Cited({ text, code, quoted, children }: { text: string; code: string | undefined; quoted?: boolean | undefined; children?: ComponentChildren }) {
  useZone();
  const said = localized(quoted ? text : upper(text));
  return said === '' ? null : (
    <span title={code ? `${said} ${code}` : said}>
      {said} {children ?? (code && <span class="code">{code}</span>)}
    </span>
  );
}

// Prose shows text between backticks as code.
export function Prose({ text }: { text: string }) {
  return <>{text.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : localized(part)))}</>;
}
