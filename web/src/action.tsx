// An action is a button that opens a dialog with its effect, its fields, and equivalent lines for a
// shell.
import type { ComponentChildren } from 'preact';
import { useSyncExternalStore } from 'preact/compat';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { curl, type Request, send } from './api';
import { login } from './connection';
import { changed, useGet } from './data';
import { inField } from './keys';
import type { Me } from './types';
import { Copy, Failure } from './ui';

export interface Field {
  name: string;
  label: string;
  kind?: 'text' | 'number' | 'checkbox' | 'datetime-local' | 'textarea';
  value?: string;
  hint?: string;
  required?: boolean;
  choices?: string[];
}

export type Values = Record<string, string>;

// Effect is an effect that depends on the values, and may have inputs of its own.
export type Effect = (values: Values, set: (values: Values) => void) => ComponentChildren;

// None is the reason for a missing line.
export interface None {
  none: string;
}

export interface Act {
  label: string;
  // verb names the action if its label has a number of this row. It groups rows and has a key.
  verb?: string;
  // title is the question in the dialog's heading.
  title: string;
  effect: ComponentChildren | Effect;
  // each is for a dialog about many rows, where effect is about one alone.
  each?: { effect: string; fields: Field[] };
  fields?: Field[];
  request: (values: Values) => Request;
  // Equivalent lines for a shell. Temporal's own tools lack some actions.
  roundsman: (values: Values) => string;
  temporal?: (values: Values) => string | None;
  danger?: boolean;
  small?: boolean;
  primary?: boolean;
  disabled?: string | undefined;
  // confirm is the label of the dialog's button if it depends on the values.
  confirm?: (values: Values) => string;
  done?: (answer: unknown) => ComponentChildren;
  // The text of the fields and the outcome, for a dialog that comes back.
  typed?: Values;
  came?: Came;
}

interface Came {
  done?: ComponentChildren;
  error?: unknown;
}

export const verbOf = (act: Act) => act.verb ?? act.label;

// Over is a dialog of its own kind. It stays over a change of the page while it holds.
export interface Over {
  show: (close: () => void) => ComponentChildren;
  holds: () => boolean;
}

// The action of the open dialog is not part of the page, whose rows may disappear while an operator types.
let asked: Act | Over | undefined;
// late are actions with an outcome to show after their dialog was closed.
const late: Act[] = [];
let visit = 0;
const listeners = new Set<() => void>();
export const ask = (act: Act | Over | undefined) => {
  asked = act && { ...act };
  for (const listener of listeners) listener();
};
// typed is when somebody last typed, or went to a field.
let typed = 0;
for (const one of ['input', 'focusin']) {
  addEventListener(one, () => {
    typed = Date.now();
  });
}
const typing = 4000;
// The dialog of a late action opens after any other dialog and after the typing into a field.
function tell() {
  if (late.length === 0) return;
  if (asked || document.querySelector('dialog[open]') || (inField(document.activeElement) && Date.now() - typed < typing)) setTimeout(tell, 200);
  else ask(late.shift());
}
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

export function Action(act: Act) {
  return (
    <button
      type="button"
      class={`${act.danger ? 'danger' : act.primary ? 'primary' : ''} ${act.small ? 'small' : ''}`}
      onClick={() => ask(act)}
      disabled={act.disabled !== undefined}
      title={act.disabled}
    >
      {act.label}
    </button>
  );
}

const closed = () => ask(undefined);

// forgetDialogs is for the next person at this tab.
export function forgetDialogs() {
  visit++;
  late.length = 0;
  closed();
}

// Dialog shows the action as it was offered. A change of the page closes it; a log-in does not.
export function Dialog({ page }: { page: string }) {
  const act = useSyncExternalStore(subscribe as never, () => asked);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(
    () => () => {
      if (!login.snapshot() && (!asked || !('holds' in asked) || !asked.holds())) closed();
    },
    [page],
  );
  useLayoutEffect(() => dialog.current?.showModal(), [act]);
  if (!act) return null;
  // The event of a closed dialog comes later, and another one may be open then.
  const left = () => asked === act && closed();
  if ('show' in act) return <>{act.show(left)}</>;
  return (
    <dialog key={act} ref={dialog} onClose={left} aria-label={act.title}>
      <Form act={act} close={() => dialog.current?.close()} />
    </dialog>
  );
}

function Form({ act, close }: { act: Act; close: () => void }) {
  const id = useId();
  const [values, setValues] = useState<Values>(act.typed ?? Object.fromEntries((act.fields ?? []).map((f) => [f.name, f.value ?? ''])));
  act.typed = values;
  const [busy, setBusy] = useState(false);
  const [{ done, error }, setCame] = useState<Came>(act.came ?? {});
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setCame({});
    const began = visit;
    let came: Came;
    try {
      const answer = await send(act.request(values));
      void changed();
      came = { done: act.done?.(answer) };
    } catch (error) {
      came = { error }; // The fields keep their text.
    }
    const silent = came.done === undefined && came.error === undefined;
    act.came = came;
    if (form.current) {
      setBusy(false);
      setCame(came);
      if (silent) close();
      return;
    }
    if (asked === act) closed(); // There is a log-in in its place.
    if (silent || began !== visit) return;
    late.push(act);
    tell();
  };
  if (done !== undefined) {
    return (
      <form method="dialog">
        <h2>{act.title}</h2>
        <div role="status">{done}</div>
        <div class="buttons">
          <button type="submit" autofocus>
            Close
          </button>
        </div>
      </form>
    );
  }
  return (
    <form ref={form} onSubmit={submit}>
      <h2>{act.title}</h2>
      <p>{typeof act.effect === 'function' ? act.effect(values, setValues) : act.effect}</p>
      {(act.fields ?? []).map((f) => (
        <div class="field" key={f.name}>
          <label for={`${id}${f.name}`}>{f.label}</label>
          <Input field={f} id={`${id}${f.name}`} value={values[f.name] ?? ''} set={(value) => setValues({ ...values, [f.name]: value })} />
          {f.hint && <small id={`${id}${f.name}hint`}>{f.hint}</small>}
        </div>
      ))}
      {error !== undefined && <Failure error={error} />}
      <div class="buttons">
        <button type="submit" class={act.danger ? 'danger' : 'primary'} disabled={busy}>
          {busy ? 'Working…' : (act.confirm?.(values) ?? act.label)}
        </button>
        <button type="button" autofocus={act.came?.error !== undefined} onClick={close}>
          Leave it
        </button>
      </div>
      <Lines act={act} values={values} />
    </form>
  );
}

export function Input({ field, id, value, set }: { field: Field; id: string; value: string; set: (value: string) => void }) {
  const hint = field.hint ? `${id}hint` : undefined;
  if (field.kind === 'checkbox') {
    return (
      <input
        id={id}
        type="checkbox"
        checked={value === 'true'}
        aria-describedby={hint}
        onChange={(e) => set(e.currentTarget.checked ? 'true' : '')}
      />
    );
  }
  if (field.choices) {
    return (
      <select id={id} value={value} aria-describedby={hint} onChange={(e) => set(e.currentTarget.value)}>
        {field.choices.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    );
  }
  if (field.kind === 'textarea') {
    return (
      <textarea
        id={id}
        rows={4}
        value={value}
        required={field.required ?? false}
        aria-describedby={hint}
        onInput={(e) => set(e.currentTarget.value)}
      />
    );
  }
  return (
    <input
      id={id}
      {...({ type: field.kind ?? 'text' } as { type: 'text' })}
      value={value}
      required={field.required ?? false}
      aria-describedby={hint}
      autocomplete="off"
      onInput={(e) => set(e.currentTarget.value)}
    />
  );
}

// Lines are the shell lines equivalent to the button.
function Lines({ act, values }: { act: Act; values: Values }) {
  const me = useGet<Me>('/me', false);
  const temporal = act.temporal?.(values);
  const request = curl(act.request(values), me.data?.auth);
  return (
    <details class="lines">
      <summary>The same in a shell</summary>
      <Line text={act.roundsman(values)} />
      {typeof temporal === 'string' && <Line text={temporal} />}
      {typeof temporal === 'object' && <p class="note">Not with temporal alone: {temporal.none}.</p>}
      <Line text={request} />
    </details>
  );
}

export const Line = ({ text }: { text: string }) => (
  <div class="line">
    <code>{text}</code>
    <Copy of={text} />
  </div>
);
