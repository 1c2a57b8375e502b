// Paths of runs and their items in the API and in the console.
import { segment } from './api';
import { href, inPath } from './route';
import type { Run } from './types';

export const runPath = (id: string) => `/runs/${segment(inPath(id))}`;
export const itemPath = (run: string, id: string) => `${runPath(run)}/items/${segment(inPath(id))}`;
export const itemHref = (run: string, id: string) => href('runs', inPath(run), 'items', id);

export const isOpen = (run: Run) => run.standing.open;
