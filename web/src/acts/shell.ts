// Shell lines shown with each button.
import { quote } from '../api';

// flag returns an option of roundsman, or nothing for an empty value.
export const flag = (name: string, text: string | undefined) => (text ? ` --${name} ${quote(text)}` : '');

// filled removes empty values, as the API and the messages do.
export function filled(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false));
}

const input = (values: Record<string, unknown>) => {
  const some = filled(values);
  return Object.keys(some).length === 0 ? '' : ` --input ${quote(JSON.stringify(some))}`;
};

// signal and update return messages to a workflow with Temporal's command line. Temporal records their
// sender.
export const signal = (workflow: string, name: string, values: Record<string, unknown> = {}) =>
  `temporal workflow signal --workflow-id ${quote(workflow)} --name ${name}${input(values)}`;

export const update = (workflow: string, name: string, values: Record<string, unknown>) =>
  `temporal workflow update execute --workflow-id ${quote(workflow)} --name ${name}${input(values) || " --input '{}'"}`;

export const schedule = (verb: string, jobType: string, flags = '') => `temporal schedule ${verb} --schedule-id ${quote(`jobtype/${jobType}`)}${flags}`;
