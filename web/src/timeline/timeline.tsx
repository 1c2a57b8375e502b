// Rows of bars over time. Zoom: Ctrl and the wheel, + and -, 0 for all. Pan: the wheel, [ and ], Shift and a drag, one
// finger. A drag chooses a time, Esc gives it up. The arrows go from bar to bar, Enter opens one.
import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isFailed } from '../design/state';
import { useTheme } from '../graph/roles';
import { param, setParams, useRoute } from '../route';
import { clockOf, useNow, useZone, zoneOf } from '../time';
import { type Chosen, zoomInLink, zoomOf } from './brush';
import { type Bar, type Box, boxes, hit, isLoud, layout, lengthOf, overlaps, type Packed, panned, type Row, shown, steady, ticks, timeAt, type View, within, xOf, yOf, zoomed } from './layout';
import { paint } from './paint';
import { offsetOf } from './zone';
import './timeline.css';

// mostElements is the number of bars in view above which all are drawn on a canvas.
const mostElements = 120;
// mostListed bounds the list for readers that stands beside a canvas.
const mostListed = 12;
const axis = 28;

interface Props {
  label: string;
  rows: Row[];
  whole: View;
  // brush is the chosen time, which filters a table.
  brush?: Chosen;
  // most is the height of the rows in pixels, above which they scroll.
  most?: number;
  foot?: ComponentChildren;
}

export function Timeline({ label, rows, whole, brush, most = 312, foot }: Props) {
  const clock = useNow();
  const theme = useTheme();
  useZone();
  const body = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, name: 140 });
  const linked = useRoute().params.get('zoom');
  const [own, setOwn] = useState<View>();
  const chosen = linked ? zoomOf(linked) : own;
  const [top, setTop] = useState(0);
  const [at, setAt] = useState<{ row: string; bar: string }>();
  const [over, setOver] = useState<{ row: string; bar: string }>();
  const [drag, setDrag] = useState<View>();
  const view = chosen ? within(chosen, whole) : whole;
  const now = steady(clock, lengthOf(view));

  useLayoutEffect(() => {
    const element = body.current;
    if (!element) return;
    const measure = () => {
      const name = Number.parseFloat(getComputedStyle(element).getPropertyValue('--tl-name')) || 140;
      setSize({ name, width: Math.max(element.clientWidth - name, 0) });
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // While something lasts its lane is taken, so the layout follows the clock in steps of ten seconds only.
  const slow = Math.floor(now / 10_000) * 10_000;
  const packed = useMemo(() => layout(rows, slow), [rows, slow]);
  const high = Math.min(packed.height, most);
  const drawn = useMemo(() => shown(packed.rows, top, high).map((row) => ({ row, boxes: boxes(row, view, size.width, now) })), [packed, top, high, view.from, view.to, size.width, now]);
  const count = drawn.reduce((sum, { boxes }) => sum + boxes.length, 0);
  const onCanvas = count > mostElements;
  const offset = offsetOf(zoneOf());
  const marks = ticks(view, size.width, offset, size.width < 500 ? 54 : 84);

  const state = useRef({ view, whole, size, top, brush, drawn });
  state.current = { view, whole, size, top, brush, drawn };

  const setView = useCallback((next: View | undefined) => {
    setOwn(next);
    if (param('zoom')) setParams({ zoom: '' });
  }, []);
  const move = useCallback((next: View) => {
    const { whole } = state.current;
    setView(lengthOf(next) >= lengthOf(whole) * 0.9999 ? undefined : next);
  }, []);
  useEffect(() => {
    if (linked) setOwn(undefined); // Without the link, all is shown.
  }, [linked]);

  usePointer(body, state, { move, setDrag, setOver });

  useLayoutEffect(() => {
    if (canvas.current && onCanvas) paint(canvas.current, drawn, { width: size.width, height: high, top });
  }, [onCanvas, drawn, theme]);

  const find = (which: { row: string; bar: string } | undefined): { row: Packed; box: Box } | undefined => {
    const row = which && packed.rows.find((one) => one.row.id === which.row);
    const box = row && boxes(row, view, size.width, now).find((one) => one.bar.id === which.bar);
    return row && box ? { row, box } : undefined;
  };
  const active = find(at);
  const hovered = find(over) ?? active;

  const keys = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = stepped(event, { packed: packed.rows, view, whole, at, now });
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    if (next.view) move(next.view);
    if (next.at) {
      setAt(next.at);
      const row = packed.rows.find((one) => one.row.id === next.at?.row);
      const scroll = body.current;
      if (row && scroll) scroll.scrollTop = Math.min(Math.max(scroll.scrollTop, row.top + row.height - high), row.top);
    }
    if (next.open && active?.box.bar.href) location.hash = active.box.bar.href;
    if (next.brush !== undefined) brush?.set(next.brush || undefined);
  };

  const band = drag ?? brush?.view;
  const line = now >= view.from && now <= view.to ? xOf(view, size.width, now) : undefined;
  const badge = line === undefined ? undefined : Math.min(Math.max(line, 24), size.width - 24);
  return (
    <div class="timeline" data-zoom={zoomInLink(chosen)}>
      <div class="tl-tools">
        {foot}
        <span class="tl-zoom">
          {brush?.view && (
            <button type="button" class="small" onClick={() => brush.set(undefined)}>
              All times
            </button>
          )}
          <button type="button" class="small" tabIndex={-1} aria-label={`${label}: show more time`} title="Show more time (-)" onClick={() => move(zoomed(view, whole, 2, (view.from + view.to) / 2))}>
            −
          </button>
          <button type="button" class="small" tabIndex={-1} aria-label={`Fit: ${label}`} title="Show all (0)" disabled={!chosen} onClick={() => setView(undefined)}>
            Fit
          </button>
          <button type="button" class="small" tabIndex={-1} aria-label={`${label}: show less time`} title="Show less time (+)" onClick={() => move(zoomed(view, whole, 0.5, (view.from + view.to) / 2))}>
            +
          </button>
        </span>
      </div>
      <div class="tl-axis" style={{ height: `${axis}px` }} aria-hidden="true">
        {marks.map((mark) => {
          const x = xOf(view, size.width, mark.at);
          const half = letter * mark.label.length;
          if (x < 16 || x > size.width - half - 4 || (badge !== undefined && Math.abs(x - badge) < half + 34)) return null;
          return (
            <span key={mark.at} style={{ left: `${size.name + x}px` }}>
              {mark.label}
            </span>
          );
        })}
        {badge !== undefined && <span class="tl-clock" style={{ left: `${size.name + badge}px` }}>{clockOf(new Date(clock)).slice(0, 5)}</span>}
      </div>
      <div class="tl-frame" style={{ height: `${high}px` }}>
        <div
          class="tl-body"
          ref={body}
          role="application"
          aria-roledescription="timeline"
          aria-label={`${label}. Arrow keys go from bar to bar, Enter opens one, + and - zoom${brush ? ', B filters the table by the time in view' : ''}.`}
          tabIndex={0}
          onKeyDown={keys}
          onScroll={(event) => setTop(event.currentTarget.scrollTop)}
          onBlur={() => setAt(undefined)}
        >
          <div class="tl-rows" style={{ height: `${packed.height}px` }}>
            {marks.map((mark) => (
              <i key={mark.at} class="tl-line" style={{ left: `${size.name + xOf(view, size.width, mark.at)}px` }} />
            ))}
            {drawn.map(({ row, boxes }) => (
              <div key={row.row.id} class="tl-row" style={{ top: `${row.top}px`, height: `${row.height}px` }}>
                <Name row={row.row} />
                <div class="tl-track">{!onCanvas && boxes.map((box) => <One key={box.bar.id} box={box} row={row} on={active?.box.bar === box.bar} />)}</div>
              </div>
            ))}
            {onCanvas && hovered && (
              <div class="tl-row tl-above" style={{ top: `${hovered.row.top}px`, height: `${hovered.row.height}px` }}>
                <div class="tl-track">
                  <One box={hovered.box} row={hovered.row} on />
                </div>
              </div>
            )}
            {band && (
              <div
                class="tl-brush"
                style={{ left: `${size.name + Math.max(xOf(view, size.width, band.from), 0)}px`, width: `${Math.max(Math.min(xOf(view, size.width, band.to), size.width) - Math.max(xOf(view, size.width, band.from), 0), 0)}px` }}
              />
            )}
            {line !== undefined && <div class="tl-now" style={{ left: `${size.name + line}px` }} />}
          </div>
        </div>
        {onCanvas && <canvas class="tl-canvas" ref={canvas} style={{ left: `${size.name}px`, width: `${size.width}px`, height: `${high}px` }} aria-hidden="true" />}
        {hovered && (
          <p class="tl-tip" style={tipPlace(hovered, size, top, high)} aria-hidden="true">
            {hovered.box.bar.text}
          </p>
        )}
      </div>
      <p class="tl-unseen" role="status">
        {active?.box.bar.text}
      </p>
      {onCanvas && <Listed drawn={drawn} count={count} />}
    </div>
  );
}

function tipPlace({ row, box }: { row: Packed; box: Box }, size: { width: number; name: number }, top: number, high: number) {
  const x = size.name + Math.max(box.x, 0);
  const below = row.top - top + row.height + 4;
  const place: Record<string, string> = below > high - 24 ? { bottom: `${high - (row.top - top) + 2}px` } : { top: `${below}px` };
  if (box.x > size.width / 2) place.right = `${Math.max(size.width - box.x - box.width, 4)}px`;
  else place.left = `${x}px`;
  return place;
}

// letter is half the width of a letter of the axis.
const letter = 3.5;

// whole is the length of a name that fits on a telephone.
const whole = 12;

// Name is cut in the middle: names often differ at their ends.
function Name({ row }: { row: Row }) {
  const text = row.name.length <= whole ? row.name : (
    <>
      <span>{row.name.slice(0, -6)}</span>
      <span>{row.name.slice(-6)}</span>
    </>
  );
  return row.href ? (
    <a class="tl-name" href={row.href} title={row.name} tabIndex={-1}>
      {text}
    </a>
  ) : (
    <span class="tl-name" title={row.name}>
      {text}
    </span>
  );
}

function One({ box, row, on }: { box: Box; row: Packed; on: boolean }) {
  const { bar } = box;
  const place = { left: `${box.x}px`, width: `${box.width}px`, top: `${yOf(row, box.lane)}px`, height: `${row.bar}px` };
  if (bar.look === 'closed') return <i class="tl-bar closed" style={{ left: place.left, width: place.width }} />;
  const look = `tl-bar ${bar.look} ${bar.role}${box.width >= 18 && row.bar >= 12 ? ` g-${bar.role}` : ''}${on ? ' on' : ''}`;
  const short = bar.short && box.width > bar.short.length * 7 + 24 && row.bar >= 12 ? bar.short : undefined;
  if (!bar.href) {
    return (
      <span class={look} style={place} role="img" aria-label={bar.text} data-bar={bar.id}>
        {short}
      </span>
    );
  }
  return (
    <a class={look} style={place} href={bar.href} aria-label={bar.text} tabIndex={-1} draggable={false} data-bar={bar.id}>
      {short}
    </a>
  );
}

// Listed is for screen readers in place of the canvas: the most urgent bars in view.
function Listed({ drawn, count }: { drawn: { row: Packed; boxes: Box[] }[]; count: number }) {
  const bars = drawn.flatMap(({ row, boxes }) => boxes.map(({ bar }) => ({ row, bar }))).filter(({ bar }) => bar.look !== 'closed');
  const first = [...bars.filter(({ bar }) => isLoud(bar.role)), ...bars.filter(({ bar }) => !isLoud(bar.role))].slice(0, mostListed);
  return (
    <ul class="tl-unseen" aria-label="Bars in view">
      {first.map(({ row, bar }) => (
        <li key={`${row.row.id} ${bar.id}`}>{bar.text}</li>
      ))}
      {count > mostListed && <li>{(count - mostListed).toLocaleString('en')} more; zoom in, or use the table</li>}
    </ul>
  );
}

interface Stepping {
  packed: Packed[];
  view: View;
  whole: View;
  at: { row: string; bar: string } | undefined;
  now: number;
}

interface Step {
  view?: View;
  at?: { row: string; bar: string };
  open?: boolean;
  brush?: View | false;
}

// stepped returns the effect of a key.
function stepped(event: KeyboardEvent, { packed, view, whole, at, now }: Stepping): Step | undefined {
  const middle = (view.from + view.to) / 2;
  const half = lengthOf(view) / 2;
  switch (event.key) {
    case '+':
    case '=':
      return { view: zoomed(view, whole, 0.5, middle) };
    case '-':
      return { view: zoomed(view, whole, 2, middle) };
    case '0':
      return { view: whole };
    case '[':
      return { view: panned(view, whole, -half) };
    case ']':
      return { view: panned(view, whole, half) };
    case 'Enter':
      return { open: true };
    case 'b':
    case 'B':
      return { brush: view };
    case 'Escape':
      return { brush: false };
  }
  if (event.shiftKey && (event.key === 'ArrowLeft' || event.key === 'ArrowRight')) return { view: panned(view, whole, (event.key === 'ArrowLeft' ? -half : half) / 2) };
  const rows = packed.filter((row) => row.bars.some((bar) => bar.look !== 'closed'));
  const index = rows.findIndex((row) => row.row.id === at?.row);
  const bars = (row: Packed | undefined) => (row?.bars ?? []).filter((bar) => bar.look !== 'closed');
  const current = bars(rows[index]).find((bar) => bar.id === at?.bar);
  const to = (row: Packed | undefined, bar: Bar | undefined): Step | undefined => row && bar && { at: { row: row.row.id, bar: bar.id }, ...(overlaps(bar, view, now) ? {} : { view: panned(view, whole, bar.from - middle) }) };
  const nearest = (row: Packed | undefined): Step | undefined => {
    const time = current?.from ?? view.from;
    return to(row, bars(row).reduce<Bar | undefined>((best, bar) => (best && Math.abs(best.from - time) <= Math.abs(bar.from - time) ? best : bar), undefined));
  };
  switch (event.key) {
    case 'ArrowDown':
      return nearest(rows[current ? Math.min(index + 1, rows.length - 1) : 0]);
    case 'ArrowUp':
      return nearest(rows[current ? Math.max(index - 1, 0) : 0]);
    case 'ArrowLeft':
    case 'ArrowRight': {
      if (!current) return nearest(rows[0]);
      const all = bars(rows[index]);
      const step = all.indexOf(current) + (event.key === 'ArrowLeft' ? -1 : 1);
      return to(rows[index], all[Math.min(Math.max(step, 0), all.length - 1)]);
    }
    case 'Home':
      return to(rows[Math.max(index, 0)], bars(rows[Math.max(index, 0)])[0]);
    case 'End':
      return to(rows[Math.max(index, 0)], bars(rows[Math.max(index, 0)]).at(-1));
    case 'f':
    case 'F': {
      const failed = rows.flatMap((row) => bars(row).filter((bar) => isFailed(bar.role)).map((bar) => ({ row, bar })));
      const here = failed.findIndex(({ row, bar }) => row.row.id === at?.row && bar.id === at?.bar);
      const next = failed[(here + 1) % Math.max(failed.length, 1)];
      return to(next?.row, next?.bar);
    }
  }
  return undefined;
}

interface Current {
  view: View;
  whole: View;
  size: { width: number; name: number };
  top: number;
  brush: Chosen | undefined;
  drawn: { row: Packed; boxes: Box[] }[];
}

interface Moves {
  move: (view: View) => void;
  setDrag: (view: View | undefined) => void;
  setOver: (over: { row: string; bar: string } | undefined) => void;
}

// slack is the distance in pixels that makes a drag.
const slack = 4;

// usePointer handles wheel, drags and fingers. The listeners read the newest state through a reference.
function usePointer(body: { current: HTMLDivElement | null }, state: { current: Current }, { move, setDrag, setOver }: Moves) {
  useEffect(() => {
    const element = body.current;
    if (!element) return;
    const xIn = (event: { clientX: number }) => event.clientX - element.getBoundingClientRect().left - state.current.size.name;
    const time = (event: { clientX: number }) => timeAt(state.current.view, state.current.size.width, xIn(event));
    const fingers = new Map<number, { x: number }>();
    let start: { x: number; view: View; pan: boolean; moved: boolean; id: number } | undefined;
    let apart = 0;
    let dragged = false;

    const wheel = (event: WheelEvent) => {
      const { view, whole, size } = state.current;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        move(zoomed(view, whole, 2 ** (Math.min(Math.max(event.deltaY, -120), 120) / 120), time(event)));
        return;
      }
      const rowsFit = element.scrollHeight <= element.clientHeight + 1;
      const by = event.deltaX !== 0 ? event.deltaX : event.shiftKey || rowsFit ? event.deltaY : 0;
      const next = panned(view, whole, (by / Math.max(size.width, 1)) * lengthOf(view));
      if (by === 0 || Math.abs(next.from - view.from) < lengthOf(view) / 1e6) return; // The page scrolls on.
      event.preventDefault();
      move(next);
    };

    const hitAt = (event: { clientX: number; clientY: number }): { row: Packed | undefined; box: Box | undefined } => {
      const { size, drawn, top } = state.current;
      const y = event.clientY - element.getBoundingClientRect().top + top;
      const row = drawn.find((one) => y >= one.row.top && y < one.row.top + one.row.height);
      const x = xIn(event);
      return { row: row?.row, box: row && x >= 0 && x <= size.width ? hit(row.row, row.boxes, x, y - row.row.top) : undefined };
    };
    const over = (event: PointerEvent) => {
      const { row, box } = hitAt(event);
      setOver(row && box ? { row: row.row.id, bar: box.bar.id } : undefined);
    };

    const down = (event: PointerEvent) => {
      if (event.button !== 0 || xIn(event) < 0) return;
      dragged = false;
      fingers.set(event.pointerId, { x: event.clientX });
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()];
        apart = Math.abs((a?.x ?? 0) - (b?.x ?? 0));
        setDrag(undefined);
        start = undefined;
        return;
      }
      start = { x: event.clientX, view: state.current.view, pan: event.shiftKey || event.pointerType === 'touch' || !state.current.brush, moved: false, id: event.pointerId };
    };

    const moved = (event: PointerEvent) => {
      if (event.buttons === 0 && fingers.size > 0) up(event); // It was released outside.
      const finger = fingers.get(event.pointerId);
      if (finger) finger.x = event.clientX;
      const { view, whole, size } = state.current;
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()];
        const now = Math.abs((a?.x ?? 0) - (b?.x ?? 0));
        if (apart > 0 && now > 0) move(zoomed(view, whole, apart / now, time({ clientX: ((a?.x ?? 0) + (b?.x ?? 0)) / 2 })));
        apart = now;
        return;
      }
      if (!start) {
        if (event.pointerType !== 'touch') over(event);
        return;
      }
      const by = event.clientX - start.x;
      if (!start.moved && Math.abs(by) < slack) return;
      if (!start.moved) {
        start.moved = true;
        element.setPointerCapture(start.id);
        setOver(undefined);
      }
      if (start.pan) move(panned(start.view, whole, (-by / Math.max(size.width, 1)) * lengthOf(start.view)));
      else setDrag(ordered(time({ clientX: start.x }), time(event)));
    };

    const up = (event: PointerEvent) => {
      fingers.delete(event.pointerId);
      const was = start;
      start = undefined;
      setDrag(undefined);
      if (!was?.moved) return;
      dragged = true;
      if (!was.pan && event.type === 'pointerup') {
        const { whole, brush } = state.current;
        const band = ordered(time({ clientX: was.x }), time(event));
        brush?.set({ from: Math.max(band.from, whole.from), to: Math.min(band.to, whole.to) });
      }
    };
    const leave = () => setOver(undefined);
    // A tap on the canvas has no link under it yet. The end of a drag is no click.
    const click = (event: MouseEvent) => {
      const was = dragged;
      dragged = false;
      if (was) event.preventDefault();
      if (was || (event.target as HTMLElement).closest('a')) return;
      const { row, box } = hitAt(event);
      if (row && box?.bar.href) location.hash = box.bar.href;
    };

    element.addEventListener('wheel', wheel, { passive: false });
    element.addEventListener('pointerdown', down);
    element.addEventListener('pointermove', moved);
    element.addEventListener('pointerup', up);
    element.addEventListener('pointercancel', up);
    element.addEventListener('pointerleave', leave);
    element.addEventListener('click', click);
    return () => {
      element.removeEventListener('wheel', wheel);
      element.removeEventListener('pointerdown', down);
      element.removeEventListener('pointermove', moved);
      element.removeEventListener('pointerup', up);
      element.removeEventListener('pointercancel', up);
      element.removeEventListener('pointerleave', leave);
      element.removeEventListener('click', click);
    };
  }, []);
}

const ordered = (a: number, b: number): View => ({ from: Math.min(a, b), to: Math.max(a, b) });
