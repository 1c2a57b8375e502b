// The bar of selected rows, and the dialog of their action: the effect, the rows, and the result of each.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Act, ask, Input, type Values, verbOf } from '../action';
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
  // together are the actions of one request about all selected rows.
  together?: (rows: T[]) => Act[];
  // none is the reason that no row has an action.
  none?: string | undefined;
  // read returns the rows between two places of a list that is not loaded as a whole.
  read?: ((from: number, to: number) => Promise<T[]>) | undefined;
  // partial: more rows match than are loaded, and their number is not known.
  partial?: boolean | undefined;
  // part: more rows match than the table shows, and it reads no others.
  part?: boolean | undefined;
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
function verbsOf<T>(rows: T[], pick: Picking<T>): Verb<T>[] {
  const found = new Map<string, Verb<T>>();
  for (const row of rows) {
    for (const act of pick.acts(row)) {
      if (act.disabled !== undefined || (act.each?.fields ?? act.fields)?.some((f) => f.required)) continue;
      const label = verbOf(act);
      const verb = found.get(label) ?? { label, danger: act.danger ?? false, on: [] };
      verb.on.push({ row, act });
      found.set(label, verb);
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
  const verbs = verbsOf(rows, pick);
  const together = pick.together?.(rows) ?? [];
  const all = pick.part ? `Select the ${(total ?? 0).toLocaleString('en')} shown` : `Select all${total === undefined ? '' : ` ${total.toLocaleString('en')}`} that match`;
  return (
    <div class="bulk" role="group" aria-label="Selected rows">
      <strong role="status">{rows.length.toLocaleString('en')} selected</strong>
      {verbs.map((verb) => (
        <button key={verb.label} type="button" data-verb={verb.label} onClick={() => ask(over(verb, rows, pick))}>
          {verb.label} {verb.on.length.toLocaleString('en')}
        </button>
      ))}
      {together.map((act) =>
        act.disabled ? (
          <span key={act.label}>{act.disabled}</span>
        ) : (
          <button key={act.label} type="button" data-verb={verbOf(act)} onClick={() => ask(act)}>
            {act.label}
          </button>
        ),
      )}
      {verbs.length + together.length === 0 && <span>{pick.none ?? 'Nothing can be done with them together.'}</span>}
      {more && (
        <button type="button" onClick={() => void more()} disabled={busy}>
          {busy ? 'Reading…' : all}
        </button>
      )}
      <button type="button" class="end" onClick={clear}>
        Clear
      </button>
    </div>
  );
}

// atOnce is the number of requests in flight, as for updates of workflows.
const atOnce = 4;

interface Came<T> {
  of: Verb<T>['on'][number];
  name: string;
  ok: boolean;
  text: string;
  // again: the same request may succeed later.
  again: boolean;
}

// Sending has the results of the requests. It lives outside of the dialog, because the requests continue without it.
interface Sending<T> {
  came: Came<T>[] | undefined;
  running: boolean;
  stopped: boolean;
  told: () => void;
}

// sendAll sends the requests of an action. kept are the results of the others.
async function sendAll<T>(on: Verb<T>['on'], { name }: Picking<T>, values: Values, sending: Sending<T>, kept: Came<T>[] = []) {
  const queue = [...on];
  const done = [...kept];
  Object.assign(sending, { came: kept, running: true, stopped: false });
  sending.told();
  const next = async () => {
    for (let one = queue.shift(); one && !sending.stopped; one = queue.shift()) {
      try {
        await send(one.act.request(values));
        done.push({ of: one, name: name(one.row), ok: true, text: 'Done', again: false });
      } catch (cause) {
        const problem = cause instanceof Problem ? cause : undefined;
        done.push({ of: one, name: name(one.row), ok: false, text: [problem?.message ?? String(cause), problem?.code].filter(Boolean).join(' · '), again: problem?.retryable ?? false });
      }
      sending.came = [...done];
      sending.told();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
  sending.running = false;
  sending.told();
  void changed();
}

// over is the dialog about these rows.
function over<T>(verb: Verb<T>, rows: T[], pick: Picking<T>) {
  const on = new Set(verb.on.map(({ row }) => row));
  const left = rows.filter((row) => !on.has(row));
  const sending: Sending<T> = { came: undefined, running: false, stopped: false, told: () => {} };
  return { show: (close: () => void) => <Asked verb={verb} left={left} pick={pick} sending={sending} close={close} />, holds: () => sending.came !== undefined };
}

function Asked<T>({ verb, left, pick, sending, close }: { verb: Verb<T>; left: T[]; pick: Picking<T>; sending: Sending<T>; close: () => void }) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const [values, setValues] = useState<Values>({});
  const [, tell] = useState(0);
  const { came, running } = sending;
  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    sending.told = () => tell((n) => n + 1);
    sending.told();
    return () => {
      sending.told = () => {};
    };
  }, [sending]);
  const many = plural(verb.on.length, pick.noun);
  const act = verb.on[0]?.act;
  if (!act) return null;
  const submit = (event: Event) => {
    event.preventDefault();
    void sendAll(verb.on, pick, values, sending);
  };
  const refused = came?.filter((one) => !one.ok) ?? [];
  const again = running ? [] : refused.filter((one) => one.again);
  return (
    <dialog ref={dialog} class="many" onClose={() => (sending.running ? dialog.current?.showModal() : close())} aria-label={`${verb.label} ${many}?`}>
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
            <p>{act.each?.effect ?? (act.effect as ComponentChildren)}</p>
            <Names label={`To ${verb.label.toLowerCase()}`} of={verb.on.map(({ row }) => [pick.name(row), ''])} />
            {left.length > 0 && (
              <details class="left">
                <summary>
                  {plural(left.length, pick.noun)} {left.length === 1 ? 'is' : 'are'} left out: in {left.length === 1 ? 'its' : 'their'} state there is no {verb.label.toLowerCase()}.
                </summary>
                <Names label="Left out" of={left.map((row) => [pick.name(row), ''])} />
              </details>
            )}
            {(act.each?.fields ?? act.fields ?? []).map((f) => (
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
          {again.length > 0 && (
            <button
              type="button"
              class={verb.danger ? 'danger' : 'primary'}
              onClick={() =>
                void sendAll(
                  again.map((one) => one.of),
                  pick,
                  values,
                  sending,
                  came?.filter((one) => !again.includes(one)),
                )
              }
            >
              {verb.label} {again.length.toLocaleString('en')} again
            </button>
          )}
          <button
            type="button"
            autofocus={came === undefined}
            onClick={() => {
              sending.stopped = true;
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
        {found.length > listed && <li class="note">and {plural(found.length - listed, 'more entry', 'more entries')}: search for one</li>}
        {found.length === 0 && <li class="note">None of {of.length.toLocaleString('en')} matches.</li>}
      </ul>
    </div>
  );
}
