// Scroll positions and other things of the pages in the browser's history, restored by *back*. A page opened by a link
// begins at its top.
const kept = new Map<string, unknown>();

// current is the entry of the visible page, and address its link. Until they change, scroll events belong to the page
// before.
let current = 0;
let address = '';

// entry returns the name of the entry in the history, and names a new one. The address of the visible page may be opened
// again, as by a bookmark: the new entry has the same name.
function entry(): number {
  let { place } = (history.state ?? {}) as { place?: number };
  if (place === undefined) {
    place = location.href === address ? current : Math.random();
    history.replaceState({ place }, '');
  }
  return place;
}

export function arrived() {
  current = entry();
  address = location.href;
}

// keepState and stateOf hold things of a page, such as its selected rows.
export const keepState = (what: string, value: unknown) => kept.set(`${entry()} ${what}`, value);
export const stateOf = <T>(what: string) => kept.get(`${entry()} ${what}`) as T | undefined;

// keepPlace stores a scroll position.
export function keepPlace(what: string, top: number) {
  if (entry() === current) keepState(what, top);
}

// placeOf returns the scroll position from when this page was left.
export const placeOf = (what: string) => stateOf<number>(what) ?? 0;

// forgetPlaces is for the next person at this tab.
export const forgetPlaces = () => kept.clear();

const page = 'page';

// keepPage stores the scroll position of the page, until this tab ends.
export function keepPage() {
  history.scrollRestoration = 'manual';
  addEventListener('scroll', () => keepPlace(page, scrollY));
  addEventListener('popstate', entry); // An entry is named before its page is left.
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
