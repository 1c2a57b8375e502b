// A map: a cell per item on a canvas, with the gestures of a graph. Failed cells are drawn last.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isFailed, loudness, type Role } from '../design/state';
import { Minimap } from './minimap';
import { colorOf, loud, useTheme } from './roles';
import { keyOf, type Size, useView } from './view';
import { Zoom } from './zoom';

// Places are the cells of the items, in units of one cell.
interface Places extends Size {
  x: Float32Array;
  y: Float32Array;
  // at returns the item in a cell.
  at: (x: number, y: number) => number | undefined;
  // step returns the item that a key leads to.
  step: (from: number, key: string) => number | undefined;
  // lines has pairs of items.
  lines?: Uint32Array | undefined;
  // marked items are on the critical path, in its order.
  marked?: number[] | undefined;
}

interface CellsProps {
  places: Places;
  // states has a byte for each item: an index into roles.
  states: Uint8Array;
  roles: Role[];
  label: string;
  height: number;
  // active is the item with the keyboard.
  active: number | undefined;
  choose: (item: number) => void;
  open: (item: number) => void;
  tell: (item: number) => ComponentChildren;
  goal?: { item: number; n: number } | undefined;
  mini?: boolean;
}

const least = 4; // Pixels of a loud cell.
const largest = 44;
const rim = 16; // Pixels between the cells and the frame.

export function Cells({ places, states, roles, label, height, active, choose, open, tell, goal, mini }: CellsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [over, setOver] = useState<number>();
  const looking = useView(frame, places, largest, undefined, rim);
  const { view, size } = looking;
  const groups = useMemo(() => {
    const by: number[][] = roles.map(() => []);
    for (let i = 0; i < states.length; i++) by[states[i] ?? 0]?.push(i);
    return by.map((items, at) => ({ role: roles[at], items })).filter(({ items }) => items.length > 0).sort((a, b) => loudness(a.role) - loudness(b.role));
  }, [states, roles]);
  const centered = useRef(0);
  useEffect(() => {
    if (!goal || goal.n === centered.current || size.width === 0) return;
    centered.current = goal.n;
    looking.center((places.x[goal.item] ?? 0) + 0.5, (places.y[goal.item] ?? 0) + 0.5, 8);
  }, [goal, size.width]);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || size.width === 0) return;
    const drawn = requestAnimationFrame(() => {
      const dots = devicePixelRatio || 1;
      if (element.width !== Math.round(size.width * dots) || element.height !== Math.round(height * dots)) {
        element.width = Math.round(size.width * dots);
        element.height = Math.round(height * dots);
      }
      context.setTransform(dots, 0, 0, dots, 0, 0);
      context.clearRect(0, 0, size.width, height);
      const styles = getComputedStyle(element);
      const { x: left, y: top, k } = view;
      const [right, bottom] = [left + size.width / k, top + height / k];
      const side = k > 3 ? k - Math.min(k * 0.2, 3) : k;
      if (places.lines && k >= 3) drawLines(context, styles, places, view, side);
      for (const { role, items } of groups) {
        const color = colorOf(styles, role);
        const big = loud(role);
        const wide = big ? Math.max(side, least) : side;
        const out = (wide - side) / 2;
        for (const pass of big ? ['--surface', color] : [color]) {
          const halo = big && pass === '--surface' ? 1 : 0;
          context.fillStyle = halo ? styles.getPropertyValue('--surface') : pass;
          for (const item of items) {
            const [x, y] = [places.x[item] ?? 0, places.y[item] ?? 0];
            if (x + 1 < left || x > right || y + 1 < top || y > bottom) continue;
            context.fillRect((x - left) * k - out - halo, (y - top) * k - out - halo, wide + halo * 2, wide + halo * 2);
          }
        }
      }
      if (active !== undefined) {
        context.strokeStyle = styles.getPropertyValue('--focus');
        context.lineWidth = 2;
        context.strokeRect(((places.x[active] ?? 0) - left) * k - 2, ((places.y[active] ?? 0) - top) * k - 2, Math.max(side, least) + 4, Math.max(side, least) + 4);
      }
      element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
    });
    return () => cancelAnimationFrame(drawn);
  }, [groups, places, view, size, active, theme, height]);
  const under = (event: MouseEvent) => {
    const box = event.currentTarget as HTMLElement;
    const at = box.getBoundingClientRect();
    const [x, y] = [view.x + (event.clientX - at.left) / view.k, view.y + (event.clientY - at.top) / view.k];
    // A loud cell may be larger than its place.
    const reach = Math.ceil(least / 2 / view.k);
    if (view.k < least) {
      for (let dy = -reach; dy <= reach; dy++) {
        for (let dx = -reach; dx <= reach; dx++) {
          const item = places.at(Math.floor(x) + dx, Math.floor(y) + dy);
          if (item !== undefined && isFailed(roles[states[item] ?? 0])) return item;
        }
      }
    }
    return places.at(Math.floor(x), Math.floor(y));
  };
  const press = (event: KeyboardEvent) => {
    if (keyOf(event, looking)) return;
    if (event.key === 'Enter' && active !== undefined) {
      event.preventDefault();
      open(active);
      return;
    }
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? states.length - 1 : active === undefined && event.key.startsWith('Arrow') ? 0 : places.step(active ?? 0, event.key);
    if (to === undefined || to < 0 || to >= states.length) return;
    event.preventDefault();
    choose(to);
    const [x, y] = [(places.x[to] ?? 0) + 0.5, (places.y[to] ?? 0) + 0.5];
    if (x < view.x || y < view.y || x > view.x + size.width / view.k || y > view.y + height / view.k) looking.center(x, y);
  };
  const tip = over !== undefined && size.width > 0 ? { left: ((places.x[over] ?? 0) + 0.5 - view.x) * view.k, top: ((places.y[over] ?? 0) + 1 - view.y) * view.k + 8 } : undefined;
  return (
    <div class={`graph cells ${view.k > looking.fitted * 1.01 ? 'zoomed' : ''}`} ref={frame} style={{ height: `${height}px` }}>
      <canvas
        ref={canvas}
        tabIndex={0}
        data-keys="f"
        role="application"
        aria-roledescription="map"
        aria-label={label}
        onMouseMove={(event) => setOver(under(event))}
        onMouseLeave={() => setOver(undefined)}
        onClick={(event) => {
          const item = under(event);
          if (item !== undefined) open(item);
        }}
        onKeyDown={press}
      />
      {tip && over !== undefined && (
        <div class="maptip" style={{ left: `${Math.min(Math.max(tip.left, 90), size.width - 90)}px`, top: `${Math.min(tip.top, height - 48)}px` }}>
          {tell(over)}
        </div>
      )}
      {(mini ?? true) && <Zoom looking={looking} whole={looking.fitted} />}
      {view.k > looking.fitted * 1.01 && (
        <Minimap
          world={places}
          looking={looking}
          of={groups}
          paint={(context, scale) => {
            const styles = getComputedStyle(document.documentElement);
            const edge = Math.max(scale, 0.5);
            for (const { role, items } of groups) {
              context.fillStyle = colorOf(styles, role);
              const side = loud(role) ? Math.max(edge, 2) : edge;
              for (const item of items) context.fillRect((places.x[item] ?? 0) * scale, (places.y[item] ?? 0) * scale, side, side);
            }
          }}
        />
      )}
    </div>
  );
}


function drawLines(context: CanvasRenderingContext2D, styles: CSSStyleDeclaration, places: Places, view: { x: number; y: number; k: number }, side: number) {
  const { lines = new Uint32Array(), marked = [] } = places;
  const x = (item: number) => ((places.x[item] ?? 0) - view.x) * view.k + side / 2;
  const y = (item: number) => ((places.y[item] ?? 0) - view.y) * view.k + side / 2;
  const curve = (from: number, to: number) => {
    const middle = (x(from) + x(to)) / 2;
    context.moveTo(x(from), y(from));
    context.bezierCurveTo(middle, y(from), middle, y(to), x(to), y(to));
  };
  context.strokeStyle = styles.getPropertyValue('--line-2');
  context.globalAlpha = Math.min(600 / Math.max(lines.length, 1) + 0.15, 0.9);
  context.lineWidth = 1;
  context.beginPath();
  for (let i = 0; i + 1 < lines.length; i += 2) curve(lines[i] ?? 0, lines[i + 1] ?? 0);
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = styles.getPropertyValue('--ink');
  context.lineWidth = 2.25;
  context.beginPath();
  for (let i = 1; i < marked.length; i++) curve(marked[i - 1] ?? 0, marked[i] ?? 0);
  context.stroke();
}

// grid places items in rows, as they are numbered.
export function grid(n: number, columns: number): Places {
  const [x, y] = [new Float32Array(n), new Float32Array(n)];
  for (let i = 0; i < n; i++) {
    x[i] = i % columns;
    y[i] = Math.floor(i / columns);
  }
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  return {
    x, y, width: columns, height: Math.max(Math.ceil(n / columns), 1),
    at: (cx, cy) => (cx >= 0 && cx < columns && cy >= 0 && cy * columns + cx < n ? cy * columns + cx : undefined),
    step: (from, key) => (steps[key] === undefined ? undefined : Math.min(Math.max(from + (steps[key] ?? 0), 0), n - 1)),
  };
}

const gap = 3; // Cells between two layers.

// layered places tasks in columns by their layer. A wide layer has several columns.
export function layered(layers: Uint32Array, aspect: number, lines?: Uint32Array, marked?: number[]): Places {
  const n = layers.length;
  const counts: number[] = [];
  for (let i = 0; i < n; i++) counts[layers[i] ?? 0] = (counts[layers[i] ?? 0] ?? 0) + 1;
  // The number of rows with which the picture has the aspect of the screen.
  const widthOf = (rows: number) => counts.reduce((all, count) => all + Math.ceil(count / rows) + gap, -gap);
  let [low, high] = [1, Math.max(...counts, 1)];
  while (low < high) {
    const rows = (low + high) >> 1;
    if (widthOf(rows) / rows > aspect) low = rows + 1;
    else high = rows;
  }
  const rows = low;
  const starts: number[] = [];
  let width = 0;
  for (const [layer, count] of counts.entries()) {
    starts[layer] = width;
    width += Math.ceil((count ?? 0) / rows) + gap;
  }
  const [x, y, filled] = [new Float32Array(n), new Float32Array(n), new Array<number>(counts.length).fill(0)];
  const cells = new Int32Array(Math.max(width * rows, 1)); // Numbers from 1; 0 is no task.
  for (let i = 0; i < n; i++) {
    const layer = layers[i] ?? 0;
    const k = filled[layer] ?? 0;
    filled[layer] = k + 1;
    const high = Math.min(counts[layer] ?? 1, rows);
    x[i] = (starts[layer] ?? 0) + Math.floor(k / rows);
    y[i] = Math.floor((rows - high) / 2) + (k % rows);
    cells[(y[i] ?? 0) * width + (x[i] ?? 0)] = i + 1;
  }
  const at = (cx: number, cy: number) => (cx < 0 || cx >= width || cy < 0 || cy >= rows ? undefined : (cells[cy * width + cx] ?? 0) - 1 >= 0 ? (cells[cy * width + cx] ?? 0) - 1 : undefined);
  return {
    x, y, width: Math.max(width - gap, 1), height: rows, at, lines, marked,
    step: (from, key) => {
      const [cx, cy] = [x[from] ?? 0, y[from] ?? 0];
      if (key === 'ArrowDown' || key === 'ArrowUp') {
        const next = key === 'ArrowDown' ? 1 : -1;
        for (let to = from + next; to >= 0 && to < n; to += next) if (layers[to] === layers[from]) return to;
        return from;
      }
      const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
      if (by === 0) return undefined;
      for (let to = cx + by; to >= 0 && to < width; to += by) {
        for (let off = 0; off < rows; off++) {
          const found = at(to, cy + off) ?? at(to, cy - off);
          if (found !== undefined) return found;
        }
      }
      return from;
    },
  };
}
