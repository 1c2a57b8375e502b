// One cache for all pages. Data are fetched once for all parts of a page, and stay while the server does
// not answer.
import { QueryClient, useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, sendTagged } from './api';
import { gone, stream, topicOf } from './stream';

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

// slow is the polling interval while the event stream is down.
const slow = 30_000;
setInterval(() => {
  if (!stream.up && !document.hidden) void client.refetchQueries({ type: 'active' }, { cancelRefetch: false });
}, slow);

// useTopic follows the topic of a request while live and passes its newest picture to show. After a change of the path the
// old topic is still followed until the next frame, so each topic has the show of its own path.
function useTopic<T>(path: string | undefined, live: boolean, show: (data: T) => void) {
  const topic = live ? topicOf(path) : undefined;
  useEffect(() => {
    if (!topic) return;
    return stream.watch(topic, ({ data, problem }) => {
      if (data !== undefined) show(data as T);
      else void client[gone(problem) ? 'resetQueries' : 'invalidateQueries']({ queryKey: [path] }); // The query has the reason.
    });
  }, [topic, path]);
  return topic;
}

// useAtOnce sends a request while its page is rendered; a query itself sends it after the paint, a frame later.
function useAtOnce<T>(path: string | undefined, asked: { queryKey: unknown[]; queryFn: (of: { signal: AbortSignal }) => Promise<T>; staleTime?: number }) {
  const begun = useRef<string | undefined>(undefined);
  if (path === undefined || begun.current === path) return;
  begun.current = path;
  void client.prefetchQuery(asked);
}

// useGet returns the answer to a request, and its updates from the stream while live.
export function useGet<T>(path: string | undefined, live = true) {
  const topic = useTopic<T>(path, live, (data) => client.setQueryData([path], data));
  const asked = {
    queryKey: [path],
    queryFn: ({ signal }: { signal: AbortSignal }) => (topic ? stream.picture<T>(topic, path ?? '', signal) : get<T>(path ?? '', signal)),
  };
  useAtOnce(path, asked);
  return useQuery<T, Error>({
    ...asked,
    enabled: path !== undefined,
    placeholderData: (before: unknown, query: unknown) => (samePage(query, path) ? (before as T) : undefined) as never,
  } as never);
}

// samePage reports whether two paths are the same list with other filters. Its old rows stay until the new
// ones arrive. Those of `single` are about one thing, person or key: another query is about another one.
const single = /^\/(explain|access|items)\?/;
function samePage(query: unknown, path: string | undefined): boolean {
  const before = (query as { queryKey?: unknown[] } | undefined)?.queryKey?.[0];
  return typeof before === 'string' && !single.test(before) && before.split('?')[0] === path?.split('?')[0];
}

// changed refetches all data on screen, since an action may change more than its target. It waits for those of path only:
// others may take long.
export async function changed(path?: string) {
  void client.invalidateQueries();
  if (path !== undefined) await client.refetchQueries({ queryKey: [path] }, { cancelRefetch: false });
}

// useList reads a list page by page while the user scrolls. The stream updates the first page. A change of the first page
// refetches the later pages after a fetch in progress: under steady changes a canceled fetch would never finish.
export function useList<P extends { next?: string }>(path: string) {
  const key = [path, 'pages'];
  const pageAt = (cursor: string) => `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
  const due = useRef('');
  const reread = async () => {
    if (due.current === path) return;
    due.current = path;
    if (client.isFetching({ queryKey: key }) > 0) await client.refetchQueries({ queryKey: key }, { cancelRefetch: false }); // It joins that one.
    if (due.current === path) due.current = '';
    void client.invalidateQueries({ queryKey: key });
  };
  const topic = useTopic<P>(path, true, (first) => {
    const shown = client.getQueryData<{ pages: P[] }>(key)?.pages.length ?? 0;
    if (shown > 1 || (shown > 0 && client.isFetching({ queryKey: key }) > 0)) void reread();
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

// still is the delay before the stream follows a page of a window, so that scrolling does not open a stream
// for each page.
const still = 1000;

// again is the delay before a part of a list is read again after an error.
export const again = 2000;

// fresh is the age up to which a part of a list that is shown again is not read again: the stream follows it.
const fresh = 5000;

// partOf is the request for a part of a list.
const partOf = (path: string, size: number, part: number) => `${path}${path.includes('?') ? '&' : '?'}limit=${size}${part === 0 ? '' : `&from=${part * size}`}`;

const readPart = <T>(part: string) => ({
  queryKey: [part],
  queryFn: ({ signal }: { signal: AbortSignal }) => {
    if (!stream.up) stream.aside(part);
    return sendTagged<WindowPage<T>['answer']>({ method: 'GET', path: part }, signal);
  },
  staleTime: fresh,
});

// useFirst reads the first part of a list before its place on the page is known.
export const useFirst = (path: string | undefined, size: number) => useAtOnce(path, readPart(partOf(path ?? '', size, 0)));

export type Windowed<T> = ReturnType<typeof useWindow<T>>;

// useWindow reads the visible pages of a list at any scroll position. The stream follows them while live.
// ahead prefetches the last page. The rows of other filters stay until the new ones arrive.
export function useWindow<T>(path: string, size: number, ahead: boolean, live = true) {
  const [[first, last], setShown] = useState<[number, number]>([0, 0]);
  const soon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const at = (page: number) => partOf(path, size, page);
  const found = useQueries({
    queries: Array.from({ length: last - first + 1 }, (_, i) => ({
      ...readPart<T>(at(first + i)),
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
        ({ data, problem }) => {
          if (data !== undefined) client.setQueryData([page], { answer: data, tag: '' });
          else if (gone(problem)) void client.resetQueries({ queryKey: [page] });
        },
        still,
        client.getQueryData<WindowPage<T>>([page])?.tag,
      ),
    );
    return () => {
      for (const end of ends) end();
    };
  }, [path, first, last, live, here]);
  const was = useRef({ path, live });
  useEffect(() => {
    // The end may be known before the last picture of the list. The path of each part begins with that of the first one.
    if (was.current.path === path && was.current.live && !live) void client.invalidateQueries({ predicate: ({ queryKey }) => String(queryKey[0]).startsWith(at(0)) });
    was.current = { path, live };
  }, [path, live]);
  const total = found.find((page) => page.data)?.data?.answer.total ?? client.getQueryData<WindowPage<T>>([at(0)])?.answer.total;
  const end = at(Math.floor(Math.max((total ?? 1) - 1, 0) / size));
  useEffect(() => {
    if (!ahead || total === undefined) return;
    // The end is the only jump target that can be predicted.
    void client.prefetchQuery({ ...readPart<T>(end), staleTime: 60_000 });
  }, [end, ahead, total === undefined]);
  const rows: (T | undefined)[] = new Array(total ?? 0).fill(undefined);
  for (const [i, page] of found.entries()) {
    for (const [k, item] of (page.data?.answer.items ?? []).entries()) if ((first + i) * size + k < rows.length) rows[(first + i) * size + k] = item;
  }
  const show = (from: number, to: number) => {
    const next: [number, number] = [Math.floor(from / size), Math.floor(Math.max(to, from) / size)];
    clearTimeout(soon.current);
    if (next[0] === first && next[1] === last) return;
    const here = Array.from({ length: next[1] - next[0] + 1 }, (_, i) => at(next[0] + i)).every((page) => client.getQueryData([page]) !== undefined);
    if (here) setShown(next);
    else soon.current = setTimeout(() => setShown(next), 40); // The user may be scrolling past it.
  };
  const list = path.split('?')[0];
  const kept = useRef<{ list: string | undefined; rows: (T | undefined)[]; total: number }>(undefined);
  if (total !== undefined) kept.current = { list, rows, total };
  const error = total === undefined ? found[0]?.error : undefined;
  const old = total === undefined && !error && kept.current?.list === list ? kept.current : undefined;
  return { data: total === undefined ? old?.rows : rows, error, isPending: total === undefined && !error, isPlaceholderData: old !== undefined, total: total ?? old?.total, show };
}
