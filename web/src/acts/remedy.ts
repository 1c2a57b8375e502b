// Actions listed by the API. The console builds their dialogs and has no list of its own.
import type { Act, Field } from '../action';
import { type Method, quote, segment } from '../api';
import type { Remedy } from '../types';
import { retryRun } from './runs';

// actOf returns the dialog of an action. Its inputs become fields.
export function actOf(action: Remedy): Act {
  const { request } = action;
  const inputs = action.inputs ?? [];
  const { item, key, name, id, pool, run } = action.arguments ?? {};
  return {
    label: action.label,
    title: `${action.label} ${item ?? key ?? name ?? id ?? pool ?? run ?? ''}?`,
    // The API offers a retry only of runs of DAGs.
    effect: action.operation === 'retry-run' && run ? retryRun({ workflow_id: run, kind: 'dag' }).effect : (action.effect ?? ''),
    danger: action.danger ?? false,
    fields: inputs.map((input): Field => ({ name: input.name, label: input.label, kind: input.kind, required: input.required ?? false })),
    request: (values) => {
      let path = request?.path ?? '';
      const body: Record<string, unknown> = { ...request?.body };
      for (const input of inputs) {
        const value = values[input.name] ?? '';
        if (input.body && value !== '') body[input.body] = input.kind === 'number' ? Number(value) : input.kind === 'checkbox' ? value === 'true' : value;
        else path = path.replace(`{${input.name}}`, segment(value.replaceAll('/', '~')));
      }
      return { method: (request?.method ?? 'POST') as Method, path, body };
    },
    roundsman: (values) => {
      let line = action.command;
      for (const input of inputs) {
        const value = values[input.name] ?? '';
        if (value === '') continue;
        if (input.flag) line += ` ${input.flag}${input.kind === 'checkbox' ? '' : ` ${quote(value)}`}`;
        else if (input.word) line = line.replace(new RegExp(`(^|[ =/])${input.word}$|(^|[ =/])${input.word}(?= )`), (_, a = '', b = '') => `${a || b}${quote(value)}`);
      }
      return line;
    },
  };
}
