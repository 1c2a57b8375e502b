// The tokens of the roles on a canvas.
import type { Role } from './state';

// cells are many and small, so waiting and skipped items are quiet.
export const cells: Record<Role, string> = {
  failed: '--failed',
  timeout: '--failed',
  partial: '--failed',
  person: '--person',
  paused: '--person',
  waiting: '--waiting-quiet',
  running: '--running',
  done: '--done-quiet',
  skipped: '--idle-quiet',
  upstream: '--idle',
  canceled: '--idle',
  plan: '--idle-quiet',
  unknown: '--line-2',
};

// bars stand alone on the ground of a row, as their links do, which have styles.
export const bars: Record<Role, string> = { ...cells, waiting: '--waiting', skipped: '--idle-line', upstream: '--idle-line', plan: '--idle', unknown: '--idle' };
