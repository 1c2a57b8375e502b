// Colors and characters of a terminal as classes. Each color becomes one of eight roles that are legible in both
// themes.

export interface Style {
  fg?: number | undefined;
  bg?: number | undefined;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
}

export interface Span {
  text: string;
  style: Style;
}

// escape matches a terminal sequence: CSI with its end, OSC until BEL or ST, or two letters.
const escape = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;

// hidden matches invisible characters and those that change the text direction.
const hidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g;
const named = (letter: string) => `⟨U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;
const visible = (text: string) => text.replace(hidden, named);

// spansOf returns the parts of one line that begins with a style, and the style at its end.
export function spansOf(line: string, begin: Style): { spans: Span[]; end: Style } {
  const spans: Span[] = [];
  let style = begin;
  let at = 0;
  const add = (to: number) => {
    const text = visible(line.slice(at, to));
    if (text !== '') spans.push({ text, style });
  };
  for (const found of line.matchAll(escape)) {
    add(found.index);
    at = found.index + found[0].length;
    if (found[2] === 'm') style = styled(style, found[1] ?? '');
  }
  add(line.length);
  return { spans, end: style };
}

// styled applies the parameters of one SGR sequence to a style.
function styled(before: Style, text: string): Style {
  const codes = text.split(/[;:]/).map(Number);
  let style = { ...before };
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code === 39) style.fg = undefined;
    else if (code === 49) style.bg = undefined;
    else if (code === 38 || code === 48) {
      const whole = codes[i + 1] === 2;
      const color = whole ? nearest(codes.slice(i + 2, i + 5)) : ofPalette(codes[i + 2] ?? 0);
      if (code === 38) style.fg = color;
      else style.bg = color;
      i += whole ? 4 : 2;
    } else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 90;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 100;
  }
  return style;
}

// ofPalette maps one of the 256 colors: 16 of the terminal, a cube of six levels, grays.
function ofPalette(n: number): number {
  if (n < 16) return n % 8;
  if (n >= 232) return n < 244 ? 0 : 7;
  const level = (of: number) => (of === 0 ? 0 : 55 + 40 * of);
  return nearest([level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6)]);
}

// nearest returns the terminal color with the same hue: one bit each for red, green and blue.
function nearest([red = 0, green = 0, blue = 0]: number[]): number {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 32) return most < 128 ? 0 : 7;
  const bit = (of: number) => (of > most * 0.6 ? 1 : 0);
  return bit(red) + 2 * bit(green) + 4 * bit(blue);
}

export function classOf(style: Style): string | undefined {
  const names = [
    style.fg !== undefined && `a${style.fg}`,
    style.bg !== undefined && `b${style.bg}`,
    style.bold && 'strong',
    style.dim && 'dim',
    style.italic && 'italic',
    style.underline && 'underline',
    style.inverse && 'inverse',
  ].filter(Boolean);
  return names.length > 0 ? names.join(' ') : undefined;
}
