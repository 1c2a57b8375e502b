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
  ['Home', 'The first row, or line of an output, of what has the focus'],
  ['End', 'The last one; an output is followed again'],
  ['Enter', 'The next line of an output with the text that is searched'],
  ['Esc', 'Close what is on top'],
];

const typed = (event: KeyboardEvent) => event.target instanceof HTMLElement && event.target.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') !== null;

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
    if (typed(event) || event.ctrlKey || event.metaKey || event.altKey) return;
    const second = Date.now() - began < patience;
    began = 0;
    if (event.key === '/' || event.key === '?') {
      event.preventDefault();
      open(event.key === '/' ? 'search' : 'sheet');
    } else if (second) {
      const path = Object.keys(chords).find((one) => chords[one] === `G ${event.key.toUpperCase()}`);
      if (path !== undefined) go(path);
    } else if (event.key === 'g') began = Date.now();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}
