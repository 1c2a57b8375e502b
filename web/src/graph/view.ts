// Zoom and pan of a picture, by pointer, by one or two fingers, by wheel and by keyboard.
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

// View is the point of the picture at the upper left corner, and the scale.
export interface View {
  x: number;
  y: number;
  k: number;
}

export interface Size {
  width: number;
  height: number;
}

export interface Looking {
  view: View;
  size: Size;
  fitted: number;
  zoom: (factor: number, at?: { x: number; y: number }) => void;
  fit: () => void;
  pan: (dx: number, dy: number) => void;
  // center moves a point into the middle. It zooms in if the scale is below least.
  center: (x: number, y: number, least?: number) => void;
}

const slop = 4; // Pixels that a pointer may move within a click.
const step = 1.25;

// useView looks at a picture of this size. most is the largest scale, fits the largest one of the whole picture. begin returns
// the first view.
export function useView(box: RefObject<HTMLElement | null>, world: Size, most: number, begin?: ((fitted: View, size: Size) => View) | undefined, margin = 0, fits = most): Looking {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [chosen, setChosen] = useState<View>();
  const fitOf = (of: Size): View => {
    const k = Math.min((of.width - 2 * margin) / Math.max(world.width, 1), (of.height - 2 * margin) / Math.max(world.height, 1), fits);
    return { k: k || 1, x: (world.width - of.width / (k || 1)) / 2, y: (world.height - of.height / (k || 1)) / 2 };
  };
  const fitted = fitOf(size);
  const view = chosen ?? (begin && size.width > 0 ? begin(fitted, size) : fitted);
  const state = useRef({ view, size, fitted, world });
  state.current = { view, size, fitted, world };

  // inside keeps the picture in sight.
  const inside = ({ x, y, k }: View): View => {
    const { size: of, world: all } = state.current;
    const keep = (at: number, whole: number, shown: number) => (shown >= whole ? (whole - shown) / 2 : Math.min(Math.max(at, -shown / 4), whole - shown * 0.75));
    return { k, x: keep(x, all.width, of.width / k), y: keep(y, all.height, of.height / k) };
  };
  const set = useCallback((next: View) => {
    state.current.view = inside(next);
    setChosen(state.current.view);
  }, []);
  const zoom = useCallback((factor: number, at?: { x: number; y: number }) => {
    const { view: now, size: of, fitted: least } = state.current;
    const k = Math.min(Math.max(now.k * factor, Math.min(least.k, most)), most);
    const { x, y } = at ?? { x: of.width / 2, y: of.height / 2 };
    set({ k, x: now.x + x / now.k - x / k, y: now.y + y / now.k - y / k });
  }, [most]);
  const pan = useCallback((dx: number, dy: number) => {
    const { view: now } = state.current;
    set({ ...now, x: now.x + dx / now.k, y: now.y + dy / now.k });
  }, []);
  const fit = useCallback(() => set(state.current.fitted), []);
  const center = useCallback((x: number, y: number, least = 0) => {
    const { view: now, size: of } = state.current;
    const k = Math.min(Math.max(now.k, least), most);
    set({ k, x: x - of.width / 2 / k, y: y - of.height / 2 / k });
  }, [most]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setSize((old) => (old.width === element.clientWidth && old.height === element.clientHeight ? old : { width: element.clientWidth, height: element.clientHeight }));
    measure();
    const sized = new ResizeObserver(measure);
    sized.observe(element);
    return () => sized.disconnect();
  }, []);

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const fingers = new Map<number, { x: number; y: number }>();
    let moved = 0;
    const place = (event: PointerEvent | WheelEvent) => {
      const at = element.getBoundingClientRect();
      return { x: event.clientX - at.left, y: event.clientY - at.top };
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0 || (event.target as Element).closest('button, input, .mini')) return;
      if (fingers.size === 0) moved = 0;
      fingers.set(event.pointerId, place(event));
    };
    const move = (event: PointerEvent) => {
      if (event.buttons === 0) up(event); // It was released outside.
      const from = fingers.get(event.pointerId);
      if (!from) return;
      const to = place(event);
      const before = [...fingers.values()];
      moved += Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
      if (moved > slop && !element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, to);
      if (moved <= slop) return;
      const [a, b] = [...fingers.values()];
      const [c, d] = before;
      if (a && b && c && d) {
        const apart = (one: { x: number; y: number }, two: { x: number; y: number }) => Math.hypot(one.x - two.x, one.y - two.y);
        const middle = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
        pan((c.x + d.x) / 2 - middle.x, (c.y + d.y) / 2 - middle.y);
        zoom(apart(a, b) / Math.max(apart(c, d), 1), middle);
      } else pan(from.x - to.x, from.y - to.y);
    };
    const up = (event: PointerEvent) => void fingers.delete(event.pointerId);
    // A drag is no click.
    const click = (event: MouseEvent) => {
      if (moved <= slop) return;
      event.preventDefault();
      event.stopPropagation();
      moved = 0;
    };
    const wheel = (event: WheelEvent) => {
      const { view: now, fitted: whole } = state.current;
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(-event.deltaY / 300), place(event));
      } else if (now.k > whole.k * 1.01) {
        event.preventDefault(); // If the whole picture is in sight, the wheel scrolls the page.
        pan(event.shiftKey ? event.deltaY : event.deltaX, event.shiftKey ? 0 : event.deltaY);
      }
    };
    const listeners: [string, (event: never) => void, AddEventListenerOptions?][] = [
      ['pointerdown', down], ['pointermove', move], ['pointerup', up], ['pointercancel', up], ['click', click, { capture: true }], ['wheel', wheel, { passive: false }],
    ];
    for (const [name, listener, options] of listeners) element.addEventListener(name, listener as EventListener, options);
    return () => {
      for (const [name, listener, options] of listeners) element.removeEventListener(name, listener as EventListener, options);
    };
  }, [zoom, pan]);
  return { view, size, fitted: fitted.k, zoom, fit, pan, center };
}

// keyOf carries out a key that zooms or pans. It reports whether the key was one.
export function keyOf(event: KeyboardEvent, looking: Looking): boolean {
  const by = 80;
  const keys: Record<string, () => void> = {
    '+': () => looking.zoom(step), '=': () => looking.zoom(step), '-': () => looking.zoom(1 / step), 0: looking.fit,
    ...(event.shiftKey && { ArrowLeft: () => looking.pan(-by, 0), ArrowRight: () => looking.pan(by, 0), ArrowUp: () => looking.pan(0, -by), ArrowDown: () => looking.pan(0, by) }),
  };
  const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
  if (!act) return false;
  event.preventDefault();
  act();
  return true;
}

export { step };
