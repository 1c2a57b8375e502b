// The lines for a shell that stand next to each button.
import { quote } from '../api';

// flag is an option of roundsman, if it has a value.
export const flag = (name: string, text: string | undefined) => (text ? ` --${name} ${quote(text)}` : '');

// filled leaves out what is empty, as the API and the messages do.
export function filled(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false));
}

const input = (values: Record<string, unknown>) => {
  const some = filled(values);
  return Object.keys(some).length === 0 ? '' : ` --input ${quote(JSON.stringify(some))}`;
};

// signal and update are messages to a workflow, sent by Temporal's own command line.
// Temporal itself records who sends them.
export const signal = (workflow: string, name: string, values: Record<string, unknown> = {}) =>
  `temporal workflow signal --workflow-id ${quote(workflow)} --name ${name}${input(values)}`;

export const update = (workflow: string, name: string, values: Record<string, unknown>) =>
  `temporal workflow update execute --workflow-id ${quote(workflow)} --name ${name}${input(values) || " --input '{}'"}`;

export const schedule = (verb: string, jobType: string, flags = '') => `temporal schedule ${verb} --schedule-id ${quote(`jobtype/${jobType}`)}${flags}`;
