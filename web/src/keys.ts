// The pages of the menu and the keys of the console. No single key changes a state.
// Each has its address, name, sign, and the name of the group that it begins.
export const pages: [string, string, string, string?][] = [
  ['', 'Overview', 'list'],
  ['runs', 'Runs', 'runs'],
  ['job-types', 'Job types', 'repeat'],
  ['workers', 'Workers', 'server', 'Fleet'],
  ['locks', 'Locks and pools', 'lock'],
  ['calendar', 'Calendar', 'cal', 'Plan'],
  ['plan', 'Plan and apply', 'diff'],
  ['audit', 'Audit', 'scroll', 'Record'],
  ['doctor', 'Doctor', 'pulse'],
  ['access', 'Access', 'key'],
];

// chords are the two letters that open a page.
export const chords: Record<string, string> = { '': 'G O', 'job-types': 'G J', runs: 'G R', workers: 'G W', locks: 'G L', calendar: 'G C', plan: 'G P', audit: 'G A', doctor: 'G D' };

export const keys: [string, string][] = [
  ['/', 'Search, or run a command'],
  ['Ctrl K', 'the same, also from a field'],
  ['?', 'This list'],
  ...pages.flatMap(([path, name]): [string, string][] => (chords[path] ? [[chords[path], name]] : [])),
  ['J', 'The next row of a table; also ↓'],
  ['K', 'The row before; also ↑'],
  ['X', 'Select the row; Shift with X, an arrow or a click selects up to it'],
  ['Enter', 'Open the row, or find the next line of an output'],
  ['A', 'Approve the row, the selected rows or the page: its dialog opens'],
  ['R', 'Retry them: its dialog opens'],
  ['F', 'The next failed row, square or line'],
  ['[', 'Earlier, in a timeline'],
  [']', 'Later'],
  ['+', 'Zoom in, in a timeline or graph'],
  ['-', 'Zoom out'],
  ['0', 'Show all of it'],
  ['Y', 'Copy a link to this view at this time'],
  ['Home', 'The first row, or line of an output, of what has the focus'],
  ['End', 'The last one; an output is followed again'],
  ['Esc', 'Close what is on top; clear a selection'],
];

// passed hands a key to the first part of the page that lists it in data-keys, with the focus.
function passed(event: KeyboardEvent): boolean {
  const name = event.key.toLowerCase();
  const parts = [...document.querySelectorAll<HTMLElement>('main [data-keys]')].filter((part) => part.dataset.keys?.split(' ').includes(name));
  const part = parts[0];
  if (!part || parts.some((one) => one.contains(event.target as Node))) return false;
  part.focus();
  part.dispatchEvent(new KeyboardEvent('keydown', { key: event.key, shiftKey: event.shiftKey, bubbles: true, cancelable: true }));
  return true;
}

// verbs are the keys that press a button of the page, or of the selected rows if there are any. Each opens a dialog.
const verbs: Record<string, RegExp> = { a: /^Approve\b/, r: /^Retry\b/ };

function pressed(key: string): boolean {
  // The header of Runs has a button for its last run, which is not the one of the row.
  const rows = document.activeElement?.closest('[role=grid]') ?? document.querySelector('main [role=grid][aria-label=Runs] .row.at');
  const within = document.querySelector('main .bulk') ?? (rows ? null : document.querySelector('main'));
  const button = [...(within?.querySelectorAll<HTMLButtonElement>('button:not(:disabled)') ?? [])].find((one) => verbs[key]?.test(one.textContent ?? ''));
  button?.click();
  return button !== undefined;
}

// inField reports whether an element takes text.
export const inField = (at: EventTarget | null) => at instanceof HTMLElement && at.closest('input:not([type=checkbox]), textarea, select, [contenteditable], .editor') !== null;

// patience is the time for the second letter of a chord in milliseconds.
const patience = 1500;

// listen calls the action of a key. It returns a function that stops it.
export function listen(open: (what: 'search' | 'sheet') => void, go: (path: string) => void): () => void {
  let began = 0;
  const press = (event: KeyboardEvent) => {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      open('search');
      return;
    }
    if (inField(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const second = Date.now() - began < patience;
    began = 0;
    if (event.key === '/' || event.key === '?') {
      event.preventDefault();
      open(event.key === '/' ? 'search' : 'sheet');
    } else if (second) {
      const path = Object.keys(chords).find((one) => chords[one] === `G ${event.key.toUpperCase()}`);
      if (path !== undefined) go(path);
    } else if (event.key === 'g') began = Date.now();
    else if (event.key === 'y') dispatchEvent(new Event('copy-link'));
    else if (event.key in verbs ? pressed(event.key) || passed(event) : event.key.length === 1 && passed(event)) event.preventDefault();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}
