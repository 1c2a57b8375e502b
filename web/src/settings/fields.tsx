// Fields of a form, by the schema of the setting. Only the server checks the values.
import { useId, useRef, useState } from 'preact/hooks';
import type { Schema } from '../types';
import { Broken } from '../names';
import { resolved } from '../schema';
import { plural } from '../words';
import { inside, listed, type Patch, type Path, set, textOf, typed, typeOf, valueOf } from './values';

export interface Form {
  schema: Schema;
  // inForce are the settings from the server, patch the edited ones.
  inForce: Patch;
  patch: Patch;
  change: (patch: Patch) => void;
  // faults are the server's, by the path of the setting.
  faults: { path: string; message: string }[];
}

const faultsAt = (form: Form, path: Path) => {
  const own = path.join('.');
  return form.faults.filter((one) => one.path === own || one.path.startsWith(`${own}[`) || one.path.startsWith(`${own}.`));
};

export function Fields({ form, path, of, skip = [] }: { form: Form; path: Path; of: Schema | undefined; skip?: string[] }) {
  const names = Object.keys(of?.properties ?? {}).filter((name) => !skip.includes(name));
  const first = (name: string) => (typed(form.patch, [...path, name]) || inside(form.inForce, [...path, name]) !== undefined || of?.required?.includes(name) ? 0 : 1);
  // A field keeps its place while it is typed into.
  const order = useRef<{ names: string[]; written: number } | undefined>(undefined);
  if (order.current?.names.length !== names.length) {
    const ranked = names.map((name, i) => [first(name), i, name] as const).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    order.current = { names: ranked.map((one) => one[2]), written: ranked.filter((one) => one[0] === 0).length };
  }
  const { written } = order.current;
  const show = (name: string) => {
    const inner = of?.properties?.[name];
    return inner && <Setting key={name} form={form} path={[...path, name]} schema={resolved(inner, of?.$defs ? of : form.schema)} />;
  };
  const others = order.current.names.slice(written);
  // A fold with a changed or a faulty setting is open. It stays open, since closing would take the focus away.
  const open = useRef(false);
  open.current ||= others.some((name) => typed(form.patch, [...path, name]) || faultsAt(form, [...path, name]).length > 0);
  return (
    <>
      {order.current.names.slice(0, written).map(show)}
      {others.length > 0 && (
        <details class="defaults" open={open.current}>
          <summary>{plural(others.length, 'setting')} at {others.length === 1 ? 'its' : 'their'} default</summary>
          {others.map(show)}
        </details>
      )}
    </>
  );
}

export function Setting({ form, path, schema, label }: { form: Form; path: Path; schema: Schema; label?: string }) {
  const id = useId();
  const change = typed(form.patch, path);
  const before = inside(form.inForce, path);
  const value = change ? change.value : before;
  const faults = faultsAt(form, path);
  const name = label ?? schema.title ?? path.at(-1) ?? '';
  const hint = [schema.description, change && `was ${before === undefined ? `the default${schema.default === undefined ? '' : `, ${String(schema.default)}`}` : textOf(before).replaceAll('\n', ' ')}`];
  return (
    <div class={change ? 'setting changed' : 'setting'}>
      <label for={id}><Broken name={name} /></label>
      <div>
        <Input
          id={id}
          schema={schema}
          value={value}
          bad={faults.length > 0}
          set={(text) => form.change(set(form.patch, path, valueOf(text, schema), form.inForce))}
        />
        {hint.some(Boolean) && <small id={`${id}hint`}>{hint.filter(Boolean).join(' · ')}</small>}
        {faults.map((one) => (
          <p key={one.message} class="wrong" role="alert">
            {one.path === path.join('.') ? '' : `${one.path.slice(path.join('.').length).replace(/^\./, '')}: `}
            {one.message}
          </p>
        ))}
      </div>
    </div>
  );
}

interface InputProps {
  id: string;
  schema: Schema;
  value: unknown;
  bad: boolean;
  set: (text: string) => void;
}

function Input({ id, schema, value, bad, set: write }: InputProps) {
  const described = { id, 'aria-describedby': `${id}hint`, 'aria-invalid': bad };
  const usual = schema.default === undefined ? '' : String(schema.default);
  const choices = schema.enum ?? (typeOf(schema) === 'boolean' ? [true, false] : undefined);
  const text = textOf(value);
  if (choices) {
    const words: Record<string, string> = { true: 'yes', false: 'no' };
    return (
      <select {...described} value={text} onChange={(event) => write(event.currentTarget.value)}>
        <option value="">{usual === '' ? 'the default' : `the default, ${words[usual] ?? usual}`}</option>
        {choices.map((one) => (
          <option key={String(one)} value={String(one)}>
            {words[String(one)] ?? String(one)}
          </option>
        ))}
      </select>
    );
  }
  if (listed(schema) || ['array', 'object', undefined].includes(typeOf(schema))) return <Lines {...described} text={text} write={write} hint={listed(schema) ? 'one per line' : 'as JSON'} />;
  return (
    <input
      {...described}
      value={text}
      placeholder={usual}
      autocomplete="off"
      inputMode={typeOf(schema) === 'integer' ? 'numeric' : 'text'}
      onInput={(event) => write(event.currentTarget.value)}
    />
  );
}

// Lines keeps the text as typed while it has the focus, since a half-written value has another form.
function Lines({ text, write, hint, ...rest }: { id: string; text: string; write: (text: string) => void; hint: string; 'aria-describedby': string; 'aria-invalid': boolean }) {
  const [own, setOwn] = useState<string>();
  return (
    <textarea
      {...rest}
      rows={Math.min(Math.max((own ?? text).split('\n').length, 1), 12)}
      value={own ?? text}
      placeholder={hint}
      onFocus={() => setOwn(text)}
      onBlur={() => setOwn(undefined)}
      onInput={(event) => {
        setOwn(event.currentTarget.value);
        write(event.currentTarget.value);
      }}
    />
  );
}

const blank: Record<string, Record<string, string>> = { windows: { from: '22:00', to: '06:00' }, blackouts: { from: '2026-12-24T12:00', to: '2026-12-27T06:00' } };

const times = ['days', 'from', 'to', 'timezone', 'note'];

// Windows are lists of objects, which a patch replaces as a whole.
export function Windows({ form, name }: { form: Form; name: 'windows' | 'blackouts' }) {
  const change = typed(form.patch, [name]);
  const list = ((change ? change.value : form.inForce[name]) ?? []) as Record<string, unknown>[];
  const write = (next: Record<string, unknown>[]) => form.change(set(form.patch, [name], next.length === 0 ? null : next, form.inForce));
  const item = resolved((form.schema.properties?.[name] as Schema | undefined)?.items ?? {}, form.schema);
  return (
    <fieldset>
      <legend>{name === 'windows' ? 'Windows: runs start only then' : 'Blackouts: nothing starts then'}</legend>
      {list.map((one, i) => (
        <fieldset key={i} class="window">
          <legend>{`${name === 'windows' ? 'Window' : 'Blackout'} ${i + 1}`}</legend>
          {times.flatMap((key) => (item.properties?.[key] ? [[key, item.properties[key]] as const] : [])).map(([key, of]) => {
            const faults = form.faults.filter((fault) => fault.path.startsWith(`${name}[${i}].${key}`));
            return (
              <Plain
                key={key}
                label={key}
                schema={resolved(of, form.schema)}
                value={one[key]}
                faults={faults}
                write={(text) => {
                  const next = { ...one };
                  const value = valueOf(text, resolved(of, form.schema));
                  if (value === null) delete next[key];
                  else next[key] = value;
                  write(list.map((other, at) => (at === i ? next : other)));
                }}
              />
            );
          })}
          <button type="button" class="small" onClick={() => write(list.filter((_, at) => at !== i))}>
            Remove
          </button>
        </fieldset>
      ))}
      {form.faults
        .filter((fault) => fault.path === name)
        .map((fault) => (
          <p key={fault.message} class="wrong" role="alert">
            {fault.message}
          </p>
        ))}
      <button type="button" class="small" onClick={() => write([...list, { ...blank[name] }])}>
        {name === 'windows' ? 'Add a window' : 'Add a blackout'}
      </button>
    </fieldset>
  );
}

function Plain({ label, schema, value, faults, write }: { label: string; schema: Schema; value: unknown; faults: { message: string }[]; write: (text: string) => void }) {
  const id = useId();
  return (
    <div class="setting">
      <label for={id}>{label}</label>
      <div>
        <Input id={id} schema={schema} value={value} bad={faults.length > 0} set={write} />
        {schema.description && <small id={`${id}hint`}>{schema.description}</small>}
        {faults.map((one) => (
          <p key={one.message} class="wrong" role="alert">
            {one.message}
          </p>
        ))}
      </div>
    </div>
  );
}
