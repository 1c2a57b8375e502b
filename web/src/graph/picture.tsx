// Boxes and lines of a graph. The server places them. Only boxes in sight are elements; from far away boxes are one
// path for each role, and only the loud ones are elements.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { isFailed, type Role, spoken, State } from '../design/state';
import { span, useNow } from '../time';
import type { Box, Drawing } from '../types';
import { useNarrow } from '../ui';
import { plural } from '../words';
import { Minimap } from './minimap';
import { colorOf, loud } from './roles';
import { keyOf, type Looking, useView } from './view';
import { Zoom } from './zoom';

const near = 0.6; // The scale from which a box has its text.
const readable = 0.85;
const few = 60; // So many boxes are read one by one. Of more boxes the shape is seen first.
const letters = 16;

export const cut = (text: string, most: number) => {
  const all = [...text];
  return all.length <= most ? text : `${all.slice(0, Math.ceil(most / 2) - 1).join('')}…${all.slice(all.length - Math.floor(most / 2)).join('')}`;
};

const lasted = (box: Box, now: number) => (box.started_at ? span(Math.max((box.ended_at ? Date.parse(box.ended_at) : now) - Date.parse(box.started_at), 0)) : '');

// The second line of a box.
export function says(box: Box, now: number): string {
  const took = lasted(box, now);
  const join = (...parts: (string | false)[]) => parts.filter(Boolean).join(' · ');
  if (box.folds || box.rest || (box.run !== undefined && box.tasks > 0)) {
    const count = box.ended < box.tasks ? `${box.ended.toLocaleString('en')} of ${box.tasks.toLocaleString('en')}` : plural(box.tasks, 'task');
    return join(box.failed > 0 ? `${box.failed.toLocaleString('en')} failed, ${count}` : count, box.failed === 0 && took);
  }
  switch (box.role) {
    case 'failed':
      return (box.attempt ?? 0) > 0 ? plural(box.attempt ?? 0, 'attempt') : 'failed';
    case 'upstream':
      return 'not run';
    case 'plan':
      return 'not started';
    case 'waiting':
    case 'skipped':
    case 'canceled':
      return box.state;
    case 'person':
      return box.state === 'warning' ? `warning · ${took}` : join('approval', took);
  }
  return took || box.state;
}

const stacked = (box: Box) => box.folds || box.rest || box.kind === 'dag';

interface Acting {
  // open is called by a click or Enter, choose by a movement of the keyboard.
  open: (box: Box) => void;
  active: string;
  choose: (id: string) => void;
  chosen: number;
  href: (box: Box) => string;
  // goal is the box to bring into the middle; it counts the requests.
  goal?: { id: string; n: number } | undefined;
}

export function Picture({ drawing, label, acting }: { drawing: Drawing; label: string; acting: Acting }) {
  const frame = useRef<HTMLDivElement>(null);
  const narrow = useNarrow();
  const now = useNow();
  const gravest = drawing.boxes.find((box) => isFailed(box.role as Role)) ?? drawing.boxes.find((box) => box.role === 'person') ?? drawing.boxes[0];
  // Few boxes that are too small to read, and any on a narrow screen, begin at the gravest one.
  const looking = useView(frame, drawing, 1.6, (fitted, size) => {
    if (fitted.k >= near || !gravest || !(narrow || drawing.boxes.length <= few)) return fitted;
    const k = readable;
    return { k, x: Math.max(gravest.x + gravest.width / 2 - size.width / 2 / k, 0), y: Math.max(gravest.y + gravest.height / 2 - size.height / 2 / k, 0) };
  }, 0, 1);
  const { view, size } = looking;
  const centered = useRef(0);
  useEffect(() => {
    const { goal } = acting;
    if (!goal || goal.n === centered.current) return;
    // A goal with a dot at its end is the first task of a fan-out.
    const inside = goal.id.endsWith('.') ? drawing.boxes.filter((one) => one.id.startsWith(goal.id)) : [];
    const box = inside.find((one) => isFailed(one.role as Role)) ?? inside[0] ?? drawing.boxes.find((one) => one.id === goal.id);
    if (!box) return;
    centered.current = goal.n;
    looking.center(box.x + box.width / 2, box.y + box.height / 2, 0.9);
  }, [acting.goal, drawing]);
  const lines = useMemo(() => {
    const paths = { '': '', critical: '', blocked: '' };
    for (const edge of drawing.edges) paths[edge.blocked ? 'blocked' : edge.critical ? 'critical' : ''] += edge.path;
    return Object.entries(paths).filter(([, d]) => d !== '');
  }, [drawing.edges]);
  const far = view.k < near;
  const shown = drawing.boxes.filter(
    (box) =>
      (box.x + box.width + 8 > view.x && box.x < view.x + size.width / view.k && box.y + box.height + 8 > view.y && box.y < view.y + size.height / view.k && (!far || loud(box.role as Role))) ||
      box.id === acting.active,
  );
  const dots = useMemo(() => {
    const paths = new Map<string, string>();
    if (far) for (const box of drawing.boxes) paths.set(box.role, `${paths.get(box.role) ?? ''}M${box.x} ${box.y}h${box.width}v${box.height}h${-box.width}z`);
    return [...paths];
  }, [far, drawing.boxes]);
  const press = (event: KeyboardEvent) => {
    if (keyOf(event, looking)) return;
    const from = drawing.boxes.find((box) => box.id === acting.active);
    if (event.key === 'Enter' || event.key === ' ') {
      if (!from || event.target !== frame.current?.firstChild) return;
      event.preventDefault();
      acting.open(from);
      return;
    }
    const to = event.key === 'Home' ? drawing.boxes[0] : event.key === 'End' ? drawing.boxes.at(-1) : from ? next(drawing.boxes, from, event.key) : undefined;
    if (!event.key.startsWith('Arrow') && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    if (!to) return;
    acting.choose(to.id);
    bring(looking, to);
  };
  const height = Math.min(Math.max(drawing.height * Math.min(size.width / drawing.width || 1, 1) + 24, 160), Math.max(innerHeight * 0.7, 460));
  return (
    <div class={`graph ${view.k > looking.fitted * 1.01 ? 'zoomed' : ''}`} ref={frame} style={{ height: `${height}px` }}>
      {/* Attributes of SVG have no capital letters: a tabIndex has no effect. */}
      <svg
        width={size.width}
        height={height}
        role="application"
        aria-label={`${label}. Arrow keys move between boxes, Enter opens one, F finds the next failed one.`}
        aria-roledescription="graph"
        aria-activedescendant={acting.active === '' ? undefined : `box ${acting.active}`.replaceAll(' ', '-')}
        tabindex={0}
        onKeyDown={press}
        onFocus={() => acting.active === '' && gravest && acting.choose(gravest.id)}
      >
        <Glyphs />
        <g transform={`translate(${-view.x * view.k} ${-view.y * view.k}) scale(${view.k})`}>
          {lines.map(([name, d]) => (
            <path key={name} class={`edge ${name}`} d={d} />
          ))}
          {dots.map(([role, d]) => (
            <path key={role} class={`dot ${role}`} d={d} />
          ))}
          {shown.map((box) => (
            <One key={box.id} box={box} far={far} acting={acting} line={says(box, now)} />
          ))}
        </g>
      </svg>
      <Zoom looking={looking} />
      <Minimap
        world={drawing}
        looking={looking}
        of={drawing.boxes}
        paint={(context, scale) => {
          const styles = getComputedStyle(document.documentElement);
          for (const box of [...drawing.boxes].sort((a, b) => Number(loud(a.role as Role)) - Number(loud(b.role as Role)))) {
            context.fillStyle = colorOf(styles, box.role as Role);
            context.fillRect(box.x * scale, box.y * scale, Math.max(box.width * scale, loud(box.role as Role) ? 4 : 1), Math.max(box.height * scale, loud(box.role as Role) ? 4 : 1));
          }
        }}
      />
    </div>
  );
}

function One({ box, far, acting, line }: { box: Box; far: boolean; acting: Acting; line: string }) {
  const many = stacked(box);
  // The name that is read begins with the text that is seen.
  const [name, under] = [cut(box.id, letters), cut(line, letters + 7)];
  return (
    <a
      id={`box ${box.id}`.replaceAll(' ', '-')}
      class={`node ${box.role} ${acting.active === box.id ? 'active' : ''} ${acting.chosen === box.at && !many ? 'sel' : ''}`}
      {...({ transform: `translate(${box.x} ${box.y})` } as object)}
      href={acting.href(box)}
      tabindex={-1}
      aria-label={[`${name} ${under}`, spoken(box.state), name !== box.id && box.id, box.note].filter(Boolean).join(', ')}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        acting.open(box);
      }}
    >
      {many && <rect class="back" x="5" y="5" width={box.width} height={box.height} rx="5" />}
      <rect class="box" width={box.width} height={box.height} rx="5" />
      {!far && <use href={`#gl-${box.role}`} x="10" y="9" width="15" height="15" />}
      {!far && (
        <text class="t" x="32" y="20">
          {name}{' '}
        </text>
      )}
      {!far && (
        <text class="u" x="32" y="36">
          {under}
        </text>
      )}
      {many && box.tasks > 0 && box.ended < box.tasks && <rect class="bar" x="1" y={box.height - 4} height="3" width={Math.max(((box.width - 2) * box.ended) / box.tasks, 1)} />}
    </a>
  );
}

// next returns the nearest box in the direction of a key.
export function next(boxes: Box[], from: Box, key: string): Box | undefined {
  const directions: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const [dx, dy] = directions[key] ?? [0, 0];
  let best: Box | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const box of boxes) {
    const [x, y] = [box.x + box.width / 2 - from.x - from.width / 2, box.y + box.height / 2 - from.y - from.height / 2];
    const along = x * dx + y * dy;
    if (box === from || along <= 1) continue;
    const far = along + Math.abs(x * dy + y * dx) * 2.5;
    if (far < least) [best, least] = [box, far];
  }
  return best;
}

// bring moves the view if a box is not in sight.
function bring({ view, size, center }: Looking, box: Box) {
  const margin = 12 / view.k;
  const inX = box.x - margin >= view.x && box.x + box.width + margin <= view.x + size.width / view.k;
  const inY = box.y - margin >= view.y && box.y + box.height + margin <= view.y + size.height / view.k;
  if (!inX || !inY) center(box.x + box.width / 2, box.y + box.height / 2);
}

// Glyphs are the signs of the roles, each defined once.
function Glyphs() {
  const line = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.7, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' } as const;
  // The color of the mark in a filled sign is that of the box.
  const on = { ...line, stroke: 'var(--glyph-on)' } as const;
  const full = { fill: 'currentColor', stroke: 'none' } as const;
  const ring = (d: string, dash?: string) => (
    <>
      <circle cx="8" cy="8" r="6.2" {...line} stroke-dasharray={dash} />
      <path d={d} {...line} />
    </>
  );
  const octagon = (d: string) => (
    <>
      <path d="M5.2 1h5.6L15 5.2v5.6L10.8 15H5.2L1 10.8V5.2z" {...full} />
      <path d={d} {...on} />
    </>
  );
  const all: Record<string, ComponentChildren> = {
    failed: octagon('M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2'),
    timeout: octagon('M8 4.4V8l2.4 1.6'),
    unknown: ring('M6.2 6.4a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.7.5-.7 1M8 11.3v.1', '2.4 2.2'),
    person: (
      <>
        <path d="M8 .4L15.6 8 8 15.6.4 8z" {...full} />
        <path d="M8 4.6v4M8 11v.2" {...on} />
      </>
    ),
    running: (
      <>
        <path d="M8 1.8A6.2 6.2 0 0 1 14.2 8" {...line} />
        <circle cx="8" cy="8" r="2.6" {...full} />
      </>
    ),
    waiting: ring('M8 4.6V8l2.3 1.5'),
    done: <path d="M3 8.6l3.2 3.2L13 4.8" {...line} />,
    skipped: <path d="M3.5 4l4.5 4-4.5 4M9 4l4.5 4L9 12" {...line} />,
    upstream: ring('M6 6l4 4M10 6l-4 4', '2.4 2.2'),
    canceled: ring('M3.8 12.2l8.4-8.4'),
    plan: <circle cx="8" cy="8" r="5.4" {...line} stroke-dasharray="1.2 2.6" />,
  };
  return (
    <defs>
      {Object.entries(all).map(([role, sign]) => (
        <symbol key={role} id={`gl-${role}`} viewBox="0 0 16 16">
          {sign}
        </symbol>
      ))}
    </defs>
  );
}

// List has the boxes as rows, with one tab stop.
export function List({ drawing, label, acting }: { drawing: Drawing; label: string; acting: Acting }) {
  const now = useNow();
  const list = useRef<HTMLUListElement>(null);
  const at = Math.max(drawing.boxes.findIndex((box) => box.id === acting.active), 0);
  const press = (event: KeyboardEvent) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: drawing.boxes.length - 1 }[event.key];
    const box = to === undefined ? undefined : drawing.boxes[Math.min(Math.max(to, 0), drawing.boxes.length - 1)];
    if (!box) return;
    event.preventDefault();
    acting.choose(box.id);
    list.current?.querySelectorAll('a')[drawing.boxes.indexOf(box)]?.focus();
  };
  return (
    <ul class="boxes" aria-label={label} ref={list} onKeyDown={press}>
      {drawing.boxes.map((box, i) => (
        <li key={box.id}>
          <a
            href={acting.href(box)}
            tabIndex={i === at ? 0 : -1}
            aria-current={acting.chosen === box.at && !stacked(box) ? 'true' : undefined}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey) return;
              event.preventDefault();
              acting.open(box);
            }}
            onFocus={() => acting.choose(box.id)}
          >
            <State word={box.state} role={box.role as Role} /> {box.id}
          </a>
          <small>{[says(box, now), box.critical && 'critical path'].filter(Boolean).join(' · ')}</small>
        </li>
      ))}
    </ul>
  );
}
