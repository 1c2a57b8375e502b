// The output of an item's attempts. Only visible lines are elements. The output is followed while it grows, can be
// searched, and is read backwards in parts.
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { base, get, query } from '../api';
import { useGet } from '../data';
import { roleOf } from '../design/state';
import { setParams } from '../route';
import { itemPath } from '../runs';
import { Both } from '../time';
import type { ItemDetail, Printed } from '../types';
import { Awaited, Empty, Failure, Section, State } from '../ui';
import { plural, upper } from '../words';
import { classOf, type Span } from './ansi';
import { found, joined, type Line, linesOf, lookOf, most, type Read, shortened } from './lines';
import './output.css';

// step is the number of bytes read per step backwards.
const step = 256 * 1024;

export function Output({ item, attempt }: { item: ItemDetail; attempt: number }) {
  const path = `${itemPath(item.run.workflow_id, item.id)}/output`;
  const last = item.attempt ?? 0;
  const live = !item.standing.ended && (attempt === 0 || attempt === last);
  const address = `${path}${query({ attempt: attempt || undefined })}`;
  const printed = useGet<Printed>(address, live);
  const { refetch } = printed;
  const was = useRef(live);
  useEffect(() => {
    if (was.current && !live) void refetch(); // Its end may have come after the last picture.
    was.current = live;
  }, [live]);
  const part = printed.data;
  const numbers = (item.attempts ?? []).map((one) => one.number);
  const shown = part?.attempt ?? (attempt || last);
  const ended = (item.attempts ?? []).find((one) => one.number === shown);
  const viewed = part !== undefined && part.text !== '';
  const attempts = numbers.length > 1 && (
    <div class="seg" role="group" aria-label="Attempt">
      {numbers.map((number) => (
        <button key={number} type="button" aria-pressed={number === shown} onClick={() => setParams({ attempt: number === last ? '' : String(number) })}>
          Attempt {number}
        </button>
      ))}
    </div>
  );
  return (
    <Section title="Output" note={part?.from === 'result' ? 'as its result has it' : undefined}>
      {!viewed && attempts}
      {printed.isPending && <Awaited />}
      {printed.error && !part && <Failure error={printed.error} what="The output cannot be shown" />}
      {part?.note && <p class="note">{part.note}</p>}
      {part && part.text === '' && !part.note && <Empty>{part.running ? 'It has printed nothing yet.' : 'It has printed nothing.'}</Empty>}
      {viewed && (
        <Viewer key={`${address} ${part.attempt} ${part.from}`} part={part} path={path} failed={item.state === 'failed'} attempts={attempts} end={ended?.ended_as && <AttemptEnd of={ended} />} />
      )}
    </Section>
  );
}

const whole = ({ offset, next, text }: Printed): Read => ({ offset, next, text });

// useRead returns the followed part of an attempt's output, with earlier parts.
function useRead(part: Printed, path: string) {
  const [read, setRead] = useState<Read>(() => whole(part));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const now = useRef(read);
  now.current = read;
  const fetched = useCallback((offset: number) => get<Printed>(`${path}${query({ attempt: part.attempt, offset })}`), [path, part.attempt]);
  useEffect(() => {
    let gone = false;
    // A gap between the parts is read, unless it is longer than the kept text.
    const follow = async () => {
      let next = joined(now.current, part);
      while (!next && part.offset - now.current.next < most) {
        const missing = await fetched(now.current.next);
        if (gone) return;
        if (missing.next <= now.current.next) break;
        now.current = joined(now.current, missing) ?? missing;
        next = joined(now.current, part);
      }
      setRead(shortened(next ?? whole(part)));
    };
    follow().catch(() => !gone && setRead(whole(part))); // The new part matters more than the gap.
    return () => {
      gone = true;
    };
  }, [part]);
  const earlier = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const before = await fetched(Math.max(now.current.offset - step, 0));
      setRead((read) => joined(read, before) ?? before);
    } catch (cause) {
      setError(cause);
    } finally {
      setBusy(false);
    }
  };
  return { read, earlier, busy, error };
}

const AttemptEnd = ({ of }: { of: NonNullable<ItemDetail['attempts']>[number] }) => (
  <>
    <State word={upper(of.ended_as ?? '')} role={roleOf(of.ended_as ?? '') ?? 'unknown'} />
    {of.ended_at && (
      <>
        {' '}
        <Both at={of.ended_at} />
      </>
    )}
  </>
);

const lineHeight = 20;

const isError = (line: Line) => lookOf(line) === 'error';

export function Viewer({ part, path, failed, attempts, end }: { part: Printed; path: string; failed: boolean; attempts: ComponentChildren; end: ComponentChildren }) {
  const { read, earlier, busy, error } = useRead(part, path);
  const [wrap, setWrap] = useState(true);
  const [follow, setFollow] = useState(part.running ?? false);
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  // bad is the line of the error that F jumped to. told is the announcement of that error.
  const [bad, setBad] = useState(-1);
  const [told, setTold] = useState('');
  const [copied, setCopied] = useState(false);
  const lines = useMemo(() => linesOf(read.text), [read.text]);
  const hits = useMemo(() => found(lines, search), [lines, search]);
  const scroll = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => lineHeight,
    overscan: 8,
  });
  const first = useRef(true);
  useEffect(() => {
    if (lines.length === 0) return;
    const error = first.current && failed && !follow ? lines.findIndex(isError) : -1;
    setBad((old) => Math.max(old, error));
    if (error >= 0) virtual.scrollToIndex(error, { align: 'center' });
    else if (follow || first.current) virtual.scrollToIndex(lines.length - 1, { align: 'end' });
    first.current = false;
  }, [lines, follow, wrap]);
  // The visible lines keep their position when earlier ones are added.
  const start = useRef({ offset: read.offset, count: lines.length });
  useEffect(() => {
    const added = lines.length - start.current.count;
    if (read.offset < start.current.offset && added > 0) {
      virtual.scrollToIndex(added, { align: 'start' });
      setBad((old) => (old < 0 ? old : old + added));
    } else if (read.offset > start.current.offset) setBad(-1); // The beginning was dropped.
    start.current = { offset: read.offset, count: lines.length };
  }, [read.offset, lines.length]);
  useEffect(() => virtual.measure(), [wrap]);
  const moved = (event: Event) => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget as HTMLElement;
    const end = scrollHeight - scrollTop - clientHeight < lineHeight;
    if (scrollTop < top.current && !end) setFollow(false);
    top.current = scrollTop;
  };
  const nextError = () => {
    const errors = lines.flatMap((line, i) => (isError(line) ? [i] : []));
    const next = Math.max(errors.findIndex((line) => line > bad), 0);
    const line = errors[next];
    setTold(line === undefined ? 'No line of what is shown is an error.' : `${next + 1} of ${plural(errors.length, 'error')}`);
    if (line === undefined) return;
    setBad(line);
    setFollow(false);
    virtual.scrollToIndex(line, { align: 'center' });
  };
  const jump = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() === 'f' && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      nextError();
    }
    if (event.key !== 'End' && event.key !== 'Home') return;
    event.preventDefault();
    if (event.key === 'End' && part.running) setFollow(true);
    else if (event.key === 'Home') setFollow(false);
    virtual.scrollToIndex(event.key === 'End' ? lines.length - 1 : 0, { align: event.key === 'End' ? 'end' : 'start' });
  };
  const go = (to: number) => {
    if (hits.length === 0) return;
    const next = (to + hits.length) % hits.length;
    setAt(next);
    setFollow(false);
    virtual.scrollToIndex(hits[next] ?? 0, { align: 'center' });
  };
  const write = (text: string) => {
    setSearch(text);
    setAt(0);
    const [hit] = found(lines, text);
    if (hit === undefined) return;
    setFollow(false);
    virtual.scrollToIndex(hit, { align: 'center' });
  };
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(lines.map((line) => line.plain).join('\n'));
      setCopied(true);
    } catch {
      setCopied(false); // The text can be selected.
    }
  };
  const current = hits[Math.min(at, hits.length - 1)];
  const items = virtual.getVirtualItems();
  return (
    <div class="viewer">
      <form
        class="tools"
        onSubmit={(event) => {
          event.preventDefault();
          go(at + 1);
        }}
      >
        {attempts}
        <input type="search" aria-label="Search the output" placeholder="Search" value={search} onInput={(event) => write(event.currentTarget.value)} />
        {search !== '' && (
          <>
            <span class="number" role="status">
              {hits.length === 0 ? 'Not in what is shown' : `${Math.min(at, hits.length - 1) + 1} of ${plural(hits.length, 'line')}`}
            </span>
            <button type="button" class="small" disabled={hits.length === 0} onClick={() => go(at - 1)}>
              Previous
            </button>
            <button type="submit" class="small" disabled={hits.length === 0}>
              Next
            </button>
          </>
        )}
        <span class="end">
          {part.running && (
            <button type="button" class="small" aria-pressed={follow} onClick={() => setFollow(!follow)}>
              Follow
            </button>
          )}
          <button type="button" class="small" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>
            Wrap
          </button>
          <button type="button" class="small" onClick={copy}>
            {copied ? 'Copied' : 'Copy'}
          </button>
          {part.from === 'worker' && (
            <a class="button small" href={`${base}${path}/text${query({ attempt: part.attempt })}`} download>
              Download
            </a>
          )}
        </span>
      </form>
      {read.offset > 0 && (
        <p class="gap">
          <span>{part.from === 'worker' ? `${size(read.offset)} before this are not shown.` : `Only the last ${size(read.next - read.offset)} were kept.`}</span>{' '}
          {part.from === 'worker' && (
            <button type="button" class="small" disabled={busy} onClick={earlier}>
              {busy ? 'Working…' : `Show ${size(Math.min(step, read.offset))} more`}
            </button>
          )}
        </p>
      )}
      {error !== undefined && <Failure error={error} what="What was printed before cannot be shown" />}
      <div
        class={`log ${wrap ? 'wrap' : ''}`}
        ref={scroll}
        role="region"
        aria-label={`Output of attempt ${part.attempt ?? 1}`}
        tabIndex={0}
        data-keys="f"
        onScroll={moved}
        onKeyDown={jump}
        style={{ height: `min(60vh, ${Math.max(virtual.getTotalSize(), lineHeight) + 14}px)` }}
      >
        <div class="log-body" style={{ height: `${virtual.getTotalSize()}px` }}>
          {items.map((one) => {
            const line = lines[one.index];
            return (
              line && (
                <div
                  key={one.index}
                  data-index={one.index}
                  ref={wrap ? virtual.measureElement : undefined}
                  class={['ln', lookOf(line), one.index === bad && told !== '' && 'at'].filter(Boolean).join(' ')}
                  style={{ transform: `translateY(${one.start}px)` }}
                >
                  {read.offset === 0 && <span class="no">{one.index + 1}</span>}
                  <span class="text">
                    <Spans of={line} search={search} current={one.index === current} />
                  </span>
                </div>
              )
            );
          })}
        </div>
      </div>
      <p class="foot">
        <span>{part.running ? (follow ? 'Following. Scroll up to stop.' : 'Not following. End follows again.') : end || 'It prints no more.'}</span>
        <span role="status">{told}</span>
        <span class="number">{said(read, lines)}</span>
      </p>
    </div>
  );
}

const said = (read: Read, lines: Line[]) =>
  read.offset === 0 ? `${plural(lines.length, 'line')}, ${size(read.next)}` : `The last ${size(read.next - read.offset)} of ${size(read.next)}`;

export const size = (bytes: number): string =>
  bytes < 1024 ? plural(bytes, 'byte') : bytes < 1 << 20 ? `${Math.round(bytes / 1024).toLocaleString('en')} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;

function Spans({ of, search, current }: { of: Line; search: string; current: boolean }) {
  if (search === '' || !of.plain.toLowerCase().includes(search.toLowerCase())) {
    return (
      <>
        {of.spans.map((span, i) => (
          <Piece key={i} of={span} />
        ))}
      </>
    );
  }
  const [lower, plain] = [search.toLowerCase(), of.plain.toLowerCase()];
  const marked: [number, number][] = [];
  for (let i = plain.indexOf(lower); i >= 0; i = plain.indexOf(lower, i + lower.length)) marked.push([i, i + lower.length]);
  const pieces: { span: Span; mark: boolean }[] = [];
  let at = 0;
  for (const span of of.spans) {
    let from = at;
    const end = at + span.text.length;
    for (const [begin, stop] of [...marked, [end, end] as [number, number]]) {
      const [b, e] = [Math.min(Math.max(begin, from), end), Math.min(Math.max(stop, from), end)];
      if (b > from) pieces.push({ span: { ...span, text: span.text.slice(from - at, b - at) }, mark: false });
      if (e > b) pieces.push({ span: { ...span, text: span.text.slice(b - at, e - at) }, mark: true });
      from = Math.max(from, e);
    }
    at = end;
  }
  return (
    <>
      {pieces.map(({ span, mark }, i) =>
        mark ? (
          <mark key={i} class={current ? 'current' : undefined}>
            {span.text}
          </mark>
        ) : (
          <Piece key={i} of={span} />
        ),
      )}
    </>
  );
}

function Piece({ of }: { of: Span }) {
  const look = classOf(of.style);
  return look === undefined ? <>{of.text}</> : <span class={look}>{of.text}</span>;
}
