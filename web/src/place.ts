// Scroll positions of the pages in the browser's history, restored by *back*. A page opened by a link begins at its
// top.
const places = new Map<string, Map<string, number>>();
let named = 0;

// entry returns the name of the entry in the history, and names a new one.
function entry(): string {
  const { place } = (history.state ?? {}) as { place?: string };
  if (place !== undefined) return place;
  named += 1;
  const name = `${Date.now()} ${named}`;
  history.replaceState({ ...history.state, place: name }, '');
  return name;
}

// current is the entry of the visible page. Until it changes, scroll events belong to the page before.
let current = '';

export function arrived() {
  current = entry();
}

// keepPlace stores a scroll position.
export function keepPlace(what: string, top: number) {
  if (entry() !== current) return;
  const kept = places.get(current) ?? new Map<string, number>();
  places.set(current, kept.set(what, top));
}

// placeOf returns the scroll position from when this page was left.
export const placeOf = (what: string): number => places.get(entry())?.get(what) ?? 0;

// keepState and stateOf hold other things of a page, such as its selected rows.
const states = new Map<string, Map<string, unknown>>();

export function keepState(what: string, value: unknown) {
  const kept = states.get(entry()) ?? new Map<string, unknown>();
  states.set(entry(), kept.set(what, value));
}

export const stateOf = <T>(what: string) => states.get(entry())?.get(what) as T | undefined;

// forgetPlaces is for the next person at this tab.
export function forgetPlaces() {
  places.clear();
  states.clear();
}

const page = ' page';

// keepPage stores the scroll position of the page. It returns a function that stops this.
export function keepPage(): () => void {
  history.scrollRestoration = 'manual';
  const moved = () => keepPlace(page, scrollY);
  addEventListener('scroll', moved, { passive: true });
  return () => removeEventListener('scroll', moved);
}

const moves = ['wheel', 'touchmove', 'keydown', 'pointerdown', 'hashchange'];
const patience = 3000; // Milliseconds for the parts of a page to load.

// toPlace restores the scroll position as soon as the page is long enough, unless the user scrolls first.
export function toPlace() {
  const top = placeOf(page);
  scrollTo(0, top);
  arrived();
  if (top === 0) return;
  const end = () => {
    grown.disconnect();
    clearTimeout(late);
    for (const event of moves) removeEventListener(event, end);
  };
  const grown = new ResizeObserver(() => scrollTo(0, top));
  const late = setTimeout(end, patience);
  for (const event of moves) addEventListener(event, end, { passive: true });
  grown.observe(document.body);
}
