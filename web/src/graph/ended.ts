// useSettled reads an answer about a run. The stream updates it while the run is open. It is read again at the end,
// since the last update may be older. A large answer has no stream: it is read at the end.
import { useEffect, useRef } from 'preact/hooks';
import { client, useGet } from '../data';

export function useSettled<T>(path: string | undefined, open: boolean, streamed = true) {
  const found = useGet<T>(path, open && streamed);
  const was = useRef(open);
  useEffect(() => {
    if (was.current && !open && path !== undefined) void client.invalidateQueries({ queryKey: [path] });
    was.current = open;
  }, [open, path]);
  return found;
}
