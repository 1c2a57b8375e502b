// useSettled reads an answer about a run. The stream updates it while the run is open, and it is read once more at the
// end. With streamed false it is read at the start and at the end only.
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
