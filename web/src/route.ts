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

// setParams changes filters without a new entry in the history.
export function setParams(changes: Record<string, string>) {
  const { parts, params } = parse(location.hash);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') params.delete(name);
    else params.set(name, value);
  }
  const search = params.toString();
  const next = `#/${parts.map(encodeURIComponent).join('/')}${search === '' ? '' : `?${search}`}`;
  history.replaceState(history.state, '', next);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

export function go(address: string) {
  location.hash = address;
}
