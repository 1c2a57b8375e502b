// Bars on a canvas, for rows with more bars than a page can have elements.
import { bars } from '../design/paints';
import { type Box, isLoud, type Packed, yOf } from './layout';

interface Place {
  width: number;
  height: number;
  top: number;
}

function hatch(context: CanvasRenderingContext2D, color: string): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const on = tile.getContext('2d');
  if (!on) return null;
  on.strokeStyle = color;
  on.beginPath();
  for (const shift of [-6, 0, 6]) {
    on.moveTo(shift, 6);
    on.lineTo(shift + 6, 0);
  }
  on.stroke();
  return context.createPattern(tile, 'repeat');
}

// paint draws the rows in view. The boxes of a row come in the order of their loudness, so the rows are drawn in two
// turns: no quiet bar of a later row covers the halo of a failed one.
export function paint(canvas: HTMLCanvasElement, drawn: { row: Packed; boxes: Box[] }[], { width, height, top }: Place) {
  const scale = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext('2d');
  if (!context) return;
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const fills = new Map<string, string>(Object.entries(bars).map(([role, name]) => [role, color(name)]));
  const [ground, idle, faint] = [color('--surface'), color('--idle'), color('--line-2')];
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const hatched = hatch(context, idle);
  for (const loud of [false, true]) {
    for (const { row, boxes } of drawn) {
      for (const { bar, lane, x, width } of boxes) {
        if (isLoud(bar.role) !== loud) continue;
        const y = row.top - top + yOf(row, lane);
        if (bar.look === 'closed') {
          context.fillStyle = hatched ?? idle;
          context.fillRect(x, row.top - top + 1, width, row.height - 2);
          continue;
        }
        if (loud) {
          context.fillStyle = ground;
          context.fillRect(x - 1, y - 1, width + 2, row.bar + 2);
        }
        if (bar.look === 'plan') {
          context.strokeStyle = bar.role === 'skipped' ? faint : idle;
          context.strokeRect(x + 0.5, y + 0.5, Math.max(width - 1, 1), row.bar - 1);
          continue;
        }
        context.fillStyle = bar.look === 'forecast' ? (hatched ?? idle) : (fills.get(bar.role) ?? idle);
        context.fillRect(x, y, width, row.bar);
      }
    }
  }
}
