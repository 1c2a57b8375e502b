// The bar of selected rows, and the dialog that acts on them: what will happen, to which rows, and what came of each.
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Act, Input, type Values } from '../action';
import { Problem, send } from '../api';
import { changed } from '../data';
import { plural } from '../words';

// Picking makes the rows of a table selectable.
export interface Picking<T> {
  // of names the filter. Another filter has another selection.
  of: string;
  noun: string;
  name: (row: T) => string;
  // acts are the actions that the API offers for a row.
  acts: (row: T) => Act[];
  // read returns the rows between two places of a list that is not loaded as a whole.
  read?: ((from: number, to: number) => Promise<T[]>) | undefined;
  // partial: more rows match than are loaded, and their number is not known.
  partial?: boolean | undefined;
  failed?: (row: T) => boolean;
}

// mostPicked bounds a selection, which is sent row by row.
export const mostPicked = 10_000;

interface Verb<T> {
  label: string;
  danger: boolean;
  on: { row: T; act: Act }[];
}

// verbsOf are the actions that at least one of the rows offers, with the rows of each. An action that needs an input
// of its own is not for many.
export function verbsOf<T>(rows: T[], pick: Picking<T>): Verb<T>[] {
  const found = new Map<string, Verb<T>>();
  for (const row of rows) {
    for (const act of pick.acts(row)) {
      if (act.disabled !== undefined || act.fields?.some((f) => f.required)) continue;
      const verb = found.get(act.label) ?? { label: act.label, danger: act.danger ?? false, on: [] };
      verb.on.push({ row, act });
      found.set(act.label, verb);
    }
  }
  return [...found.values()].sort((a, b) => Number(a.danger) - Number(b.danger));
}

export function Bulk<T>({
  rows,
  pick,
  busy,
  more,
  total,
  clear,
}: {
  rows: T[];
  pick: Picking<T>;
  busy: boolean;
  more: (() => Promise<void>) | undefined;
  total: number | undefined;
  clear: () => void;
}) {
  const [asked, ask] = useState<{ verb: Verb<T>; left: T[] }>();
  const verbs = verbsOf(rows, pick);
  return (
    <div class="bulk" role="group" aria-label="Selected rows">
      <strong role="status">{rows.length.toLocaleString('en')} selected</strong>
      {verbs.map((verb) => (
        <button
          key={verb.label}
          type="button"
          data-verb={verb.label}
          onClick={() => ask({ verb, left: rows.filter((row) => !verb.on.some((one) => one.row === row)) })}
        >
          {verb.label} {verb.on.length.toLocaleString('en')}
        </button>
      ))}
      {verbs.length === 0 && <span>Nothing can be done with them together.</span>}
      {more && (
        <button type="button" onClick={() => void more()} disabled={busy}>
          {busy ? 'Reading…' : `Select all${total === undefined ? '' : ` ${total.toLocaleString('en')}`} that match`}
        </button>
      )}
      <button type="button" class="end" onClick={clear}>
        Clear
      </button>
      {asked && <Asked verb={asked.verb} left={asked.left} pick={pick} close={() => ask(undefined)} />}
    </div>
  );
}

// atOnce is the number of requests in flight, as for updates of workflows.
const atOnce = 4;

interface Came {
  name: string;
  ok: boolean;
  text: string;
}

function Asked<T>({ verb, left, pick, close }: { verb: Verb<T>; left: T[]; pick: Picking<T>; close: () => void }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>({});
  const [came, setCame] = useState<Came[]>();
  const [running, run] = useState(false);
  const stop = useRef(false);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => () => void (stop.current = true), []);
  const many = plural(verb.on.length, pick.noun);
  const act = verb.on[0]?.act;
  if (!act) return null;
  const submit = async (event: Event) => {
    event.preventDefault();
    run(true);
    const queue = [...verb.on];
    const done: Came[] = [];
    setCame([]);
    const next = async () => {
      for (let one = queue.shift(); one && !stop.current; one = queue.shift()) {
        const name = pick.name(one.row);
        try {
          await send(one.act.request(values));
          done.push({ name, ok: true, text: 'Done' });
        } catch (cause) {
          const problem = cause instanceof Problem ? cause : undefined;
          done.push({ name, ok: false, text: [problem?.message ?? String(cause), problem?.code].filter(Boolean).join(' · ') });
        }
        setCame([...done]);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, next));
    run(false);
    await changed();
  };
  const refused = came?.filter((one) => !one.ok) ?? [];
  return (
    <dialog ref={dialog} class="many" onClose={close} aria-label={`${verb.label} ${many}?`}>
      <form onSubmit={submit}>
        <h2>{came ? `${verb.label}: ${many}` : `${verb.label} ${many}?`}</h2>
        {came ? (
          <>
            <progress max={verb.on.length} value={came.length} aria-label="Progress" />
            <p role="status">
              {running ? `${came.length.toLocaleString('en')} of ${verb.on.length.toLocaleString('en')} were sent.` : summary(verb.on.length, came.length, refused.length)}
            </p>
            {refused.length > 0 && <Names label="Refused" of={refused.map((one) => [one.name, one.text])} />}
            {!running && came.length > refused.length && (
              <details>
                <summary>{(came.length - refused.length).toLocaleString('en')} done</summary>
                <Names label="Done" of={came.filter((one) => one.ok).map((one) => [one.name, one.text])} />
              </details>
            )}
          </>
        ) : (
          <>
            <p>{act.each ?? act.effect}</p>
            <Names label={`To ${verb.label.toLowerCase()}`} of={verb.on.map(({ row }) => [pick.name(row), ''])} />
            {left.length > 0 && (
              <details class="left">
                <summary>
                  {plural(left.length, pick.noun)} {left.length === 1 ? 'is' : 'are'} left out: in {left.length === 1 ? 'its' : 'their'} state there is no {verb.label.toLowerCase()}.
                </summary>
                <Names label="Left out" of={left.map((row) => [pick.name(row), ''])} />
              </details>
            )}
            {(act.fields ?? []).map((f) => (
              <div class="field" key={f.name}>
                <label for={`${id}${f.name}`}>{f.label}</label>
                <Input field={f} id={`${id}${f.name}`} value={values[f.name] ?? ''} set={(value) => setValues({ ...values, [f.name]: value })} />
                {f.hint && <small id={`${id}${f.name}hint`}>{f.hint}</small>}
              </div>
            ))}
          </>
        )}
        <div class="buttons">
          {came === undefined && (
            <button type="submit" class={verb.danger ? 'danger' : 'primary'}>
              {verb.label} {verb.on.length.toLocaleString('en')}
            </button>
          )}
          <button
            type="button"
            autofocus={came === undefined}
            onClick={() => {
              stop.current = true;
              if (!running) dialog.current?.close();
            }}
          >
            {came === undefined ? 'Leave it' : running ? 'Stop' : 'Close'}
          </button>
        </div>
        {came === undefined && (
          <details class="lines">
            <summary>The same in a shell</summary>
            <pre tabIndex={0}>{verb.on.map((one) => one.act.roundsman(values)).join('\n')}</pre>
          </details>
        )}
      </form>
    </dialog>
  );
}

function summary(all: number, sent: number, refused: number): string {
  const done = sent - refused;
  return [`${done.toLocaleString('en')} of ${all.toLocaleString('en')} done.`, refused > 0 && `${refused.toLocaleString('en')} refused.`, sent < all && `${(all - sent).toLocaleString('en')} not sent.`]
    .filter(Boolean)
    .join(' ');
}

// searched is the number of entries above which a list has a search; listed the number shown at once.
const searched = 10;
const listed = 200;

function Names({ label, of }: { label: string; of: [string, string][] }) {
  const [text, find] = useState('');
  const found = text === '' ? of : of.filter((one) => one.join(' ').toLowerCase().includes(text.toLowerCase()));
  return (
    <div class="list">
      {of.length > searched && (
        <input type="search" aria-label={`Search: ${label}`} placeholder={`Search ${of.length.toLocaleString('en')}`} value={text} onInput={(event) => find(event.currentTarget.value)} />
      )}
      <ul aria-label={label} tabIndex={0}>
        {found.slice(0, listed).map(([name, why]) => (
          <li key={name}>
            <span>{name}</span> {why !== '' && <small>{why}</small>}
          </li>
        ))}
        {found.length > listed && <li class="note">and {plural(found.length - listed, 'more entry').replace('entrys', 'entries')}: search for one</li>}
        {found.length === 0 && <li class="note">None of {of.length.toLocaleString('en')} matches.</li>}
      </ul>
    </div>
  );
}
