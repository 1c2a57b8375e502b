// A page arrives until none of its parts loads any more. Meanwhile arriving.css shows a part when all above it have
// their places.
import './arriving.css';

// patience is how long a page waits for its slowest part, in milliseconds.
const patience = 10_000;

// settle is how long the last part takes to be in its place, in milliseconds.
const settle = 300;

// arrive marks the new page of an element as arriving. It returns a function that ends this.
export function arrive(main: HTMLElement): () => void {
  main.classList.add('arriving');
  let settled: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(settled);
    settled = main.querySelector('.loading') ? undefined : setTimeout(end, settle);
  };
  const watch = new MutationObserver(look);
  const late = setTimeout(end, patience);
  function end() {
    main.classList.remove('arriving');
    watch.disconnect();
    clearTimeout(late);
    clearTimeout(settled);
  }
  watch.observe(main, { childList: true, subtree: true });
  look();
  return end;
}
