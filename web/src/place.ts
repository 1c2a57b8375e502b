// Where somebody was on each page of the browser's history: *back* shows that again.
// A page that is opened by a link begins at its top.
const places = new Map<string, Map<string, number>>();
let named = 0;

// entry names the place in the history. A new one has no name yet.
function entry(): string {
  const { place } = (history.state ?? {}) as { place?: string };
  if (place !== undefined) return place;
  named += 1;
  const name = `${Date.now()} ${named}`;
  history.replaceState({ ...history.state, place: name }, '');
  return name;
}

// current is the entry whose page is on screen. Until then what moves is the page before.
let current = '';

export function arrived() {
  current = entry();
}

// keepPlace remembers how far something was scrolled.
export function keepPlace(what: string, top: number) {
  if (entry() !== current) return;
  const kept = places.get(current) ?? new Map<string, number>();
  places.set(current, kept.set(what, top));
}

// placeOf is how far it was scrolled when this page was left.
export const placeOf = (what: string): number => places.get(entry())?.get(what) ?? 0;

const page = ' page';

// keepPage remembers how far the page itself is scrolled, until the answer is called.
export function keepPage(): () => void {
  history.scrollRestoration = 'manual';
  const moved = () => keepPlace(page, scrollY);
  addEventListener('scroll', moved, { passive: true });
  return () => removeEventListener('scroll', moved);
}

const moves = ['wheel', 'touchmove', 'keydown', 'pointerdown', 'hashchange'];
const patience = 3000; // Milliseconds for the parts of a page to come.

// toPlace scrolls the page to where it was, as soon as it is long enough again, unless
// somebody moves it meanwhile.
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
