// SchemaForm shows settings by the handler's JSON Schema, with its labels, descriptions and defaults. With set
// it is editable. Only the server validates the result, with the same schema.
import { useId } from 'preact/hooks';
import { resolved } from './schema';
import type { Schema } from './types';
import { Json } from './ui';

interface Props {
  legend: string;
  schema: Schema | undefined;
  value: unknown;
  set?: (value: Record<string, unknown>) => void;
}

export function SchemaForm({ legend, schema, value, set }: Props) {
  if (value === undefined && (schema === undefined || set === undefined)) return null;
  const properties = Object.entries(schema?.properties ?? {});
  const values = (value ?? {}) as Record<string, unknown>;
  if (properties.length === 0 && set) {
    return (
      <div class="field">
        <label for="params">{legend}, as JSON</label>
        <JsonEditor id="params" value={Object.keys(values).length === 0 ? undefined : value} hint="params-hint" set={(changed) => set((changed ?? {}) as Record<string, unknown>)} />
        <small id="params-hint">
          An object with what the templates of the job type name: <code>{'{{.Params.item}}'}</code> is <code>{'{"item": "…"}'}</code>.
        </small>
      </div>
    );
  }
  if (properties.length === 0) {
    return (
      <fieldset>
        <legend>{legend}</legend>
        <Json of={value} />
      </fieldset>
    );
  }
  const unknown = Object.entries(values).filter(([name]) => schema?.properties?.[name] === undefined);
  return (
    <fieldset>
      <legend>{legend}</legend>
      {properties
        .filter(([name]) => set !== undefined || values[name] !== undefined)
        .map(([name, of]) => (
          <Property
            key={name}
            name={name}
            schema={resolved(of, schema)}
            value={values[name]}
            required={schema?.required?.includes(name) ?? false}
            set={set && ((changed) => set({ ...values, [name]: changed }))}
          />
        ))}
      {unknown.length > 0 && <Json of={Object.fromEntries(unknown)} />}
    </fieldset>
  );
}

function Property({
  name,
  schema,
  value,
  required,
  set,
}: {
  name: string;
  schema: Schema;
  value: unknown;
  required: boolean;
  set?: ((value: unknown) => void) | undefined;
}) {
  const id = useId();
  return (
    <div class="field">
      {set ? <label for={id}>{schema.title ?? name}</label> : <span class="label">{schema.title ?? name}</span>}
      {set ? <Editor id={id} schema={schema} value={value} required={required} set={set} /> : <Shown value={value} />}
      {schema.description && (
        <small id={`${id}hint`}>
          {schema.description}
          {schema.default !== undefined && ` Default: ${JSON.stringify(schema.default)}.`}
        </small>
      )}
    </div>
  );
}

function Shown({ value }: { value: unknown }) {
  if (Array.isArray(value) && value.every((one) => typeof one === 'string'))
    return <code class="value">{value.map((one) => (/\s/.test(one) ? JSON.stringify(one) : one)).join(' ')}</code>;
  if (typeof value === 'object') return <Json of={value} />;
  return <code class="value">{String(value)}</code>;
}

const typeOf = (schema: Schema) => (Array.isArray(schema.type) ? schema.type[0] : schema.type);

function Editor({
  id,
  schema,
  value,
  required,
  set,
}: {
  id: string;
  schema: Schema;
  value: unknown;
  required: boolean;
  set: (value: unknown) => void;
}) {
  const hint = schema.description ? `${id}hint` : undefined;
  if (schema.enum) {
    return (
      <select id={id} value={String(value ?? '')} aria-describedby={hint} onChange={(e) => set(e.currentTarget.value || undefined)}>
        <option value="">{required ? 'choose one' : 'the default'}</option>
        {schema.enum.map((one) => (
          <option key={String(one)}>{String(one)}</option>
        ))}
      </select>
    );
  }
  switch (typeOf(schema)) {
    case 'boolean':
      return (
        <input id={id} type="checkbox" checked={value === true} aria-describedby={hint} onChange={(e) => set(e.currentTarget.checked)} />
      );
    case 'integer':
    case 'number':
      return (
        <input
          id={id}
          type="number"
          value={value === undefined ? '' : String(value)}
          min={schema.minimum}
          max={schema.maximum}
          step={typeOf(schema) === 'number' ? 'any' : 1}
          required={required}
          aria-describedby={hint}
          onInput={(e) => set(e.currentTarget.value === '' ? undefined : Number(e.currentTarget.value))}
        />
      );
    case 'array':
    case 'object':
      return <JsonEditor id={id} value={value} hint={hint} set={set} />;
  }
  return (
    <input
      id={id}
      type="text"
      value={String(value ?? '')}
      required={required}
      aria-describedby={hint}
      onInput={(e) => set(e.currentTarget.value || undefined)}
    />
  );
}

function JsonEditor({ id, value, hint, set }: { id: string; value: unknown; hint: string | undefined; set: (value: unknown) => void }) {
  const read = (input: HTMLTextAreaElement) => {
    try {
      set(input.value.trim() === '' ? undefined : JSON.parse(input.value));
      input.setCustomValidity('');
    } catch (cause) {
      input.setCustomValidity(`This is no JSON: ${cause instanceof Error ? cause.message : cause}`);
    }
  };
  return (
    <textarea
      id={id}
      rows={3}
      aria-describedby={hint}
      defaultValue={value === undefined ? '' : JSON.stringify(value, null, 2)}
      onInput={(e) => read(e.currentTarget)}
    />
  );
}
