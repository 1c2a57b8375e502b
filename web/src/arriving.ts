// A page arrives until none of its parts loads any more. Meanwhile arriving.css shows a part when all above it have
// their places.
import './arriving.css';
import { connection } from './connection';

// patience is how long a page waits for its slowest part, in milliseconds.
const patience = 2000;

// settle is how long the last part takes to be in its place, in milliseconds.
const settle = 300;

// arrive marks the new page of an element as arriving. It returns a function that ends this. A failure, a lost
// connection, a key or a press ends it at once.
export function arrive(main: HTMLElement): () => void {
  main.classList.add('arriving');
  const over = new AbortController();
  let settled: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(settled);
    if (connection.snapshot().lost || main.querySelector('.failure')) end();
    else settled = main.querySelector('.loading') ? undefined : setTimeout(end, settle);
  };
  const watch = new MutationObserver(look);
  const unwatch = connection.subscribe(look);
  const late = setTimeout(end, patience);
  function end() {
    main.classList.remove('arriving');
    watch.disconnect();
    unwatch();
    over.abort();
    clearTimeout(late);
    clearTimeout(settled);
  }
  for (const by of ['keydown', 'pointerdown']) addEventListener(by, end, { capture: true, signal: over.signal });
  watch.observe(main, { childList: true, subtree: true });
  look();
  return end;
}
