// The graph of a run of a DAG. The server places the boxes. A large graph is a map with a selectable square per
// task.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Action } from '../action';
import { actsOnItem } from '../acts/items';
import { query } from '../api';
import { useGet } from '../data';
import { Explain } from '../explain';
import { runHref, setParams } from '../route';
import { isOpen, itemHref, runPath } from '../runs';
import type { Drawing, RunGraph, Snapshot } from '../types';
import { Empty, Loaded, Section, State } from '../ui';
import { plural } from '../words';

const words = (state: string) => state.replaceAll('_', ' ');

export function Graph({ run, chosen }: { run: Snapshot; chosen: string }) {
  const open = isOpen(run);
  const found = useGet<RunGraph>(`${runPath(run.workflow_id)}/graph`, open);
  return (
    <Section title="Graph" note={found.data && `${plural(found.data.tasks, 'task')}${note(found.data)}`}>
      <Loaded of={found} what="The graph">
        {(graph) => (
          <>
            <Legend of={graph.counts} />
            {graph.tasks === 0 && <Empty>It has no task yet.</Empty>}
            {graph.drawing && <Picture drawing={graph.drawing} run={run} />}
            {graph.map && <Map graph={graph} chosen={chosen} />}
          </>
        )}
      </Loaded>
      {chosen !== '' && <Task run={run} at={Number(chosen)} open={open} />}
    </Section>
  );
}

function note({ drawing, tasks }: RunGraph): string {
  return drawing && drawing.boxes.length < tasks ? ` in ${plural(drawing.boxes.length, 'box').replace('boxs', 'boxes')}` : '';
}

function Legend({ of }: { of: Record<string, number> }) {
  return (
    <p class="counts">
      {Object.entries(of).map(([state, n]) => (
        <span key={state} class="key">
          <span class={`swatch task-${state}`} aria-hidden="true" /> {n.toLocaleString('en')} {words(state)}
        </span>
      ))}
    </p>
  );
}

const lineHeight = 16;

// Picture draws boxes and lines. Each box links to its task, or to the list of its fan-out's tasks.
function Picture({ drawing, run, label = 'Graph of the tasks' }: { drawing: Drawing; run: Snapshot; label?: string }) {
  return (
    <div class="scroll graph" role="region" aria-label={label} tabIndex={0}>
      <svg width={drawing.width} height={drawing.height} viewBox={`0 0 ${drawing.width} ${drawing.height}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 L8 4 L0 8 z" class="arrow" />
          </marker>
        </defs>
        {drawing.edges.map((edge) => (
          <path key={`${edge.from} ${edge.to}`} class="edge" d={edge.path} marker-end="url(#arrow)" />
        ))}
        {drawing.boxes.map((box) => (
          <a key={box.id} href={box.tasks > 1 ? `${runHref(run.workflow_id)}?id=${encodeURIComponent(box.id)}` : itemHref(run.workflow_id, box.id)}>
            <title>{[...box.lines, box.note].filter(Boolean).join(' ')}</title>
            <rect class={`task-${box.state}`} x={box.x} y={box.y} width={box.width} height={box.height} rx="6" />
            {box.lines.map((text, i) => (
              <text key={i} class={i === 0 ? 'first' : ''} x={box.x + box.width / 2} y={box.y + box.height / 2 + (i - (box.lines.length - 1) / 2) * lineHeight + 4}>
                {text}
              </text>
            ))}
          </a>
        ))}
      </svg>
    </div>
  );
}

// colorsOf returns the theme's colors of the states as red, green and blue.
function colorsOf(states: string[]): [number, number, number][] {
  const probe = document.createElement('span');
  document.body.append(probe);
  const found = states.map((state): [number, number, number] => {
    probe.className = `swatch task-${state}`;
    const [r = 0, g = 0, b = 0] = (getComputedStyle(probe).backgroundColor.match(/\d+/g) ?? []).map(Number);
    return [r, g, b];
  });
  probe.remove();
  return found;
}

const height = 420;

// Map has a square per task in declaration order, from left to right.
function Map({ graph, chosen }: { graph: RunGraph; chosen: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const [over, setOver] = useState<number>();
  const bytes = useMemo(() => Uint8Array.from(atob(graph.map ?? ''), (c) => c.charCodeAt(0)), [graph.map]);
  const side = Math.max(Math.min(Math.floor(Math.sqrt((width * height) / Math.max(bytes.length, 1))), 16), 1);
  const columns = Math.max(Math.floor(width / side), 1);
  const rows = Math.ceil(bytes.length / columns);
  const at = Number(chosen) - 1;
  useEffect(() => {
    const box = canvas.current?.parentElement;
    if (!box) return;
    const sized = new ResizeObserver(() => setWidth(box.clientWidth));
    const themed = new MutationObserver(() => setTheme((n) => n + 1));
    sized.observe(box);
    themed.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      sized.disconnect();
      themed.disconnect();
    };
  }, []);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || width === 0 || rows === 0) return;
    const colors = colorsOf(graph.states);
    const image = context.createImageData(columns * side, rows * side);
    const gap = side > 3 ? 1 : 0;
    for (let i = 0; i < bytes.length; i++) {
      const [r, g, b] = colors[bytes[i] ?? 0] ?? [0, 0, 0];
      const [left, top] = [(i % columns) * side, Math.floor(i / columns) * side];
      for (let y = top; y < top + side - gap; y++) {
        for (let x = left; x < left + side - gap; x++) {
          const p = (y * columns * side + x) * 4;
          image.data[p] = r;
          image.data[p + 1] = g;
          image.data[p + 2] = b;
          image.data[p + 3] = 255;
        }
      }
    }
    context.putImageData(image, 0, 0);
    if (at >= 0) {
      context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--text');
      context.lineWidth = 2;
      context.strokeRect((at % columns) * side - 2, Math.floor(at / columns) * side - 2, side + 4, side + 4);
    }
  }, [bytes, graph.states, width, columns, rows, side, at, theme]);
  const choose = (i: number) => {
    if (i >= 0 && i < bytes.length) setParams({ task: String(i + 1) });
  };
  const under = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const i = Math.floor((event.clientY - box.top) / side) * columns + Math.floor((event.clientX - box.left) / side);
    return i >= 0 && i < bytes.length ? i : undefined;
  };
  const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
  const press = (event: KeyboardEvent) => {
    const to = event.key === 'Home' ? 0 : event.key === 'End' ? bytes.length - 1 : steps[event.key] === undefined ? undefined : Math.max(at, 0) + (steps[event.key] ?? 0);
    if (to === undefined) return;
    event.preventDefault();
    choose(Math.min(Math.max(to, 0), bytes.length - 1));
  };
  const told = over ?? (at >= 0 ? at : undefined);
  return (
    <div class="map">
      <canvas
        ref={canvas}
        width={columns * side}
        height={rows * side}
        tabIndex={0}
        role="img"
        aria-label={`Map of ${plural(bytes.length, 'task')} by their states. Choose one with the arrow keys.`}
        onMouseMove={(event) => setOver(under(event))}
        onMouseLeave={() => setOver(undefined)}
        onClick={(event) => choose(under(event) ?? -1)}
        onKeyDown={press}
      />
      <p class="note" aria-live="polite">
        {told === undefined ? 'Click on a square for its task, or choose one with the arrow keys.' : `Task ${(told + 1).toLocaleString('en')}: ${words(graph.states[bytes[told] ?? 0] ?? '')}`}
      </p>
    </div>
  );
}

// Task is the selected task of a map with its neighbors.
function Task({ run, at, open }: { run: Snapshot; at: number; open: boolean }) {
  const found = useGet<RunGraph>(`${runPath(run.workflow_id)}/graph${query({ at })}`, open);
  return (
    <Loaded of={found} what={`Task ${at}`}>
      {({ task, drawing, omitted }) =>
        task && (
          <div class="chosen">
            <h3>
              <a href={itemHref(run.workflow_id, task.id)}>{task.id}</a> <State word={task.state} />{' '}
              <button type="button" class="small" onClick={() => setParams({ task: '' })}>
                Close
              </button>
            </h3>
            {task.error && <p>{task.error}</p>}
            <Explain thing={`${run.workflow_id}/${task.id}`} />
            <p class="actions">
              {actsOnItem(task).map((act) => (
                <Action key={act.label} {...act} />
              ))}
            </p>
            {drawing && <Picture drawing={drawing} run={run} label={`${task.id} and the tasks next to it`} />}
            {(omitted ?? 0) > 0 && <p class="note">{plural(omitted ?? 0, 'more task')} next to it left out.</p>}
          </div>
        )
      }
    </Loaded>
  );
}
