// The buttons for zoom and fit. The scale of a map is relative to whole.
import { type Looking, step } from './view';

export const Zoom = ({ looking, whole = 1 }: { looking: Looking; whole?: number }) => (
  <div class="zoom" role="group" aria-label="Zoom">
    <button type="button" tabIndex={-1} aria-label="Zoom out" title="Zoom out: -" onClick={() => looking.zoom(1 / step)}>
      −
    </button>
    <span>{Math.round((looking.view.k / whole) * 100).toLocaleString('en')} %</span>
    <button type="button" tabIndex={-1} aria-label="Zoom in" title="Zoom in: +" onClick={() => looking.zoom(step)}>
      +
    </button>
    <button type="button" tabIndex={-1} aria-label="Show all" title="Show all: 0" onClick={looking.fit}>
      <svg class="fit" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3" />
      </svg>
    </button>
  </div>
);
