// One cache for all pages. What a page shows is fetched once, however many of its
// parts use it, and stays when the server is away.
import { QueryClient, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, sendTagged } from './api';
import { stream, topicOf } from './stream';

export const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      gcTime: 10 * 60_000,
      retry: false,
      refetchOnWindowFocus: true,
      networkMode: 'always',
      structuralSharing: true,
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

// slow is how often a page looks again at what no stream tells of: everything while no
// stream comes through, nothing while one does.
const slow = 30_000;
setInterval(() => {
  if (!stream.up && !document.hidden) void client.refetchQueries({ type: 'active' });
}, slow);

// useTopic follows the topic of a request while live, and has its newest picture told.
function useTopic<T>(path: string | undefined, live: boolean, show: (data: T) => void) {
  const topic = live ? topicOf(path) : undefined;
  const shown = useRef(show);
  shown.current = show;
  useEffect(() => {
    if (!topic) return;
    return stream.watch(topic, ({ data }) => {
      if (data !== undefined) shown.current(data as T);
      else void client.invalidateQueries({ queryKey: [path] }); // The query says why there is none.
    });
  }, [topic, path]);
  return topic;
}

// useGet shows what a request answers, and what it answers later, by the stream; once if
// it is not live.
export function useGet<T>(path: string | undefined, live = true) {
  const topic = useTopic<T>(path, live, (data) => client.setQueryData([path], data));
  return useQuery<T, Error>({
    queryKey: [path],
    queryFn: ({ signal }: { signal: AbortSignal }) => (topic ? stream.picture<T>(topic, path ?? '', signal) : get<T>(path ?? '', signal)),
    enabled: path !== undefined,
    placeholderData: (before: unknown, query: unknown) => (samePage(query, path) ? (before as T) : undefined) as never,
  } as never);
}

// samePage: other filters of the same list may show the old rows until the new are
// there; another thing may not.
function samePage(query: unknown, path: string | undefined): boolean {
  const before = (query as { queryKey?: unknown[] } | undefined)?.queryKey?.[0];
  return typeof before === 'string' && before.split('?')[0] === path?.split('?')[0];
}

// changed fetches again whatever is on screen: an action may change more than the
// thing it was done to.
export const changed = () => client.invalidateQueries();

// useList reads a list page by page, as far as somebody has scrolled. The first page comes
// by the stream; when it changes, those after it are read again.
export function useList<P extends { next?: string }>(path: string) {
  const key = [path, 'pages'];
  const pageAt = (cursor: string) => `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
  const topic = useTopic<P>(path, true, (first) => {
    const shown = client.getQueryData<{ pages: P[] }>(key)?.pages.length ?? 0;
    if (shown > 1) void client.invalidateQueries({ queryKey: key });
    else client.setQueryData(key, { pages: [first], pageParams: [''] });
  });
  const found = useInfiniteQuery<P, Error, { pages: P[] }, string[], string>({
    queryKey: key,
    queryFn: ({ signal, pageParam }) =>
      pageParam !== '' ? get<P>(pageAt(pageParam), signal) : topic ? stream.picture<P>(topic, path, signal) : get<P>(path, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.next || undefined,
    placeholderData: ((before: unknown, query: unknown) => (samePage(query, path) ? before : undefined)) as never,
  });
  const more = () => {
    if (found.hasNextPage && !found.isFetching) void found.fetchNextPage();
  };
  return { ...found, more };
}

interface WindowPage<T> {
  answer: { items: T[] | null; total: number };
  tag: string;
}

// still is how long a page of a window is on screen before the stream follows it: each
// scroll would open another one.
const still = 1000;

// again is when a part of a list is read again that could not be read.
const again = 2000;

// useWindow reads a list of which only a part is on screen, wherever somebody scrolls to:
// the pages that are shown are read, and followed by the stream while they are live; ahead
// reads the last one beforehand.
export function useWindow<T>(path: string, size: number, ahead: boolean, live = true) {
  const [[first, last], setShown] = useState<[number, number]>([0, 0]);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const at = (page: number) => `${path}${path.includes('?') ? '&' : '?'}limit=${size}${page === 0 ? '' : `&from=${page * size}`}`;
  const read = (page: string) => ({
    queryKey: [page],
    queryFn: ({ signal }: { signal: AbortSignal }) => sendTagged<WindowPage<T>['answer']>({ method: 'GET', path: page }, signal),
  });
  const found = useQueries({
    queries: Array.from({ length: last - first + 1 }, (_, i) => ({
      ...read(at(first + i)),
      // A part without rows is followed by no stream, and its list is on screen without an error.
      refetchInterval: (query: { state: { data?: unknown; status: string } }) => query.state.status === 'error' && query.state.data === undefined && first + i > 0 && again,
    })),
  });
  const here = found.every((page) => page.data !== undefined);
  useEffect(() => {
    if (!live || !here) return;
    const ends = Array.from({ length: last - first + 1 }, (_, i) => at(first + i)).map((page) =>
      stream.watch(
        page,
        ({ data }) => {
          if (data !== undefined) client.setQueryData([page], { answer: data, tag: '' });
        },
        still,
        client.getQueryData<WindowPage<T>>([page])?.tag,
      ),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [path, first, last, live, here]);
  const total = found.find((page) => page.data)?.data?.answer.total ?? client.getQueryData<WindowPage<T>>([at(0)])?.answer.total;
  const end = at(Math.floor(Math.max((total ?? 1) - 1, 0) / size));
  useEffect(() => {
    if (!ahead || total === undefined) return;
    // The way to the end is the one that is known beforehand.
    void client.prefetchQuery({ ...read(end), staleTime: 60_000 });
  }, [end, ahead, total === undefined]);
  const rows: (T | undefined)[] = new Array(total ?? 0).fill(undefined);
  for (const [i, page] of found.entries()) {
    for (const [k, item] of (page.data?.answer.items ?? []).entries()) if ((first + i) * size + k < rows.length) rows[(first + i) * size + k] = item;
  }
  const show = (from: number, to: number) => {
    const next: [number, number] = [Math.floor(from / size), Math.floor(Math.max(to, from) / size)];
    clearTimeout(soon.current);
    if (next[0] === first && next[1] === last) return;
    soon.current = setTimeout(() => setShown(next), 40); // Somebody may be dragging past it.
  };
  const failed = total === undefined ? found[0]?.error : undefined;
  return { data: total === undefined ? undefined : rows, error: failed, isPending: total === undefined && !failed, total, show };
}
