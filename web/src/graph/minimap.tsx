// A small picture of the whole, with a frame around the part in sight.
import { useEffect, useRef } from 'preact/hooks';
import { useTheme } from './roles';
import type { Looking, Size } from './view';

const most = { width: 116, height: 46 };

export function Minimap({ world, looking, paint, of }: { world: Size; looking: Looking; paint: (context: CanvasRenderingContext2D, scale: number) => void; of: unknown }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = useRef<HTMLCanvasElement | undefined>(undefined);
  const scale = Math.min(most.width / Math.max(world.width, 1), most.height / Math.max(world.height, 1));
  const [width, height] = [Math.max(Math.round(world.width * scale), 4), Math.max(Math.round(world.height * scale), 4)];
  const { view, size } = looking;
  const theme = useTheme();
  useEffect(() => {
    const picture = document.createElement('canvas');
    const dots = devicePixelRatio || 1;
    picture.width = width * dots;
    picture.height = height * dots;
    const context = picture.getContext('2d');
    if (!context) return;
    context.scale(dots, dots);
    paint(context, scale);
    whole.current = picture;
  }, [of, width, height, theme]);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || !canvas.current || !whole.current) return;
    const dots = devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.current.width, canvas.current.height);
    context.drawImage(whole.current, 0, 0);
    context.scale(dots, dots);
    const styles = getComputedStyle(canvas.current);
    context.strokeStyle = styles.getPropertyValue('--focus');
    context.fillStyle = styles.getPropertyValue('--c-band');
    const frame: [number, number, number, number] = [
      Math.max(view.x * scale, 0.5), Math.max(view.y * scale, 0.5),
      Math.min((size.width / view.k) * scale, width - 1), Math.min((size.height / view.k) * scale, height - 1),
    ];
    context.fillRect(...frame);
    context.strokeRect(...frame);
  });
  const to = (event: PointerEvent) => {
    if (event.buttons === 0 && event.type !== 'pointerdown') return;
    const at = (event.currentTarget as HTMLElement).getBoundingClientRect();
    looking.center((event.clientX - at.left) / scale, (event.clientY - at.top) / scale);
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
  };
  const dots = devicePixelRatio || 1;
  return <canvas class="mini" ref={canvas} width={width * dots} height={height * dots} style={{ width: `${width}px`, height: `${height}px` }} aria-hidden="true" onPointerDown={to} onPointerMove={to} />;
}
