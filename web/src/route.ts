// The address of a page follows the #, with its filters: #/runs?kind=dag. So every page has a link at any mount path.
import { useMemo, useSyncExternalStore } from 'preact/compat';

const subscribe = (changed: () => void) => {
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
};
const hash = () => location.hash;

export interface Route {
  // parts of the path: ['job-types', 'scrub'].
  parts: string[];
  params: URLSearchParams;
}

export function parse(text: string): Route {
  const [path = '', search = ''] = text.replace(/^#?\/?/, '').split('?', 2);
  const parts = path.split('/').filter((part) => part !== '');
  return { parts: parts.map(decode), params: new URLSearchParams(search) };
}

// param is a parameter of the address. Tests of modules have none.
export const param = (name: string): string | null => parse(globalThis.location?.hash ?? '').params.get(name);

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function useRoute(): Route {
  const text = useSyncExternalStore(subscribe as never, hash);
  return useMemo(() => parse(text), [text]);
}

export const href = (...parts: string[]) => `#/${parts.map(encodeURIComponent).join('/')}`;

// inPath writes an id with slashes as one segment of a path, as the API reads it, since proxies mangle an escaped
// slash.
export const inPath = (id: string) => id.replaceAll('/', '~');
export const runHref = (workflowID: string) => href('runs', inPath(workflowID));

// hrefWith is the address of this page with other filters.
export function hrefWith(changes: Record<string, string>): string {
  const { parts, params } = parse(location.hash);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') params.delete(name);
    else params.set(name, value);
  }
  const search = params.toString();
  return `${href(...parts)}${search === '' ? '' : `?${search}`}`;
}

// setParams changes filters without a new entry in the history.
export function setParams(changes: Record<string, string>) {
  history.replaceState(history.state, '', hrefWith(changes));
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function go(address: string) {
  location.hash = address;
}
