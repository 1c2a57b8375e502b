// Choices and texts kept by the browser. Private windows may have no storage: then they last until the page is closed.
type Place = 'localStorage' | 'sessionStorage';

export function stored(key: string, place: Place = 'localStorage'): string | null {
  try {
    return window[place].getItem(key);
  } catch {
    return null;
  }
}

// store keeps a text; undefined removes it.
export function store(key: string, text: string | undefined, place: Place = 'localStorage') {
  try {
    if (text === undefined) window[place].removeItem(key);
    else window[place].setItem(key, text);
  } catch {
    // See above.
  }
}
