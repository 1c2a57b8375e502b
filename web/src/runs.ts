// Paths of runs and their items in the API and in the console.
import { segment } from './api';
import { clock } from './clock';
import { href, inPath } from './route';
import type { Run } from './types';

export const runPath = (id: string) => `/runs/${segment(inPath(id))}`;
export const itemPath = (run: string, id: string) => `${runPath(run)}/items/${segment(inPath(id))}`;
export const itemHref = (run: string, id: string) => href('runs', inPath(run), 'items', id);

export const isOpen = (run: Run) => run.standing.open;

// errorOf is the first error of a run that failed, or else its cause.
export const errorOf = (run: Run) => run.top_failure?.message || run.standing.cause;

const hour = 3_600_000;

// yesterday keeps the same address for an hour, so that viewers share one picture.
const yesterday = () => new Date(Math.floor(clock() / hour) * hour - 24 * hour).toISOString().replace(/\.\d+Z$/, 'Z');

// failedRuns are the runs that failed since yesterday.
export const failedRuns = () => `/runs?outcome=failed%2Ctimeout%2Cpartial&counts=true&limit=50&since=${encodeURIComponent(yesterday())}`;
