// The output of an attempt as read so far, and its lines.
import { type Span, type Style, spansOf } from './ansi';

// Read is a part of an output: a range of bytes and its text.
export interface Read {
  offset: number;
  next: number;
  text: string;
}

export interface Line {
  plain: string;
  spans: Span[];
}

const bytes = new TextEncoder();
const text = new TextDecoder();

// cut removes bytes from the beginning of a part. It returns undefined if its text has replacement characters.
function cut(part: Read, n: number): Read | undefined {
  const all = bytes.encode(part.text);
  if (all.length !== part.next - part.offset) return undefined;
  return { offset: part.offset + n, next: part.next, text: text.decode(all.subarray(n)) };
}

function until(part: Read, end: number): Read | undefined {
  const all = bytes.encode(part.text);
  if (all.length !== part.next - part.offset) return undefined;
  return { offset: part.offset, next: end, text: text.decode(all.subarray(0, end - part.offset)) };
}

// joined appends a part. It returns undefined if there is a gap, or if the joint cannot be located.
export function joined(read: Read | undefined, part: Read): Read | undefined {
  if (!read || read.next === read.offset) return { offset: part.offset, next: part.next, text: part.text };
  if (part.offset >= read.offset && part.next <= read.next) return read;
  const later = part.next > read.next;
  if (later ? part.offset > read.next : part.next < read.offset) return undefined;
  if (later) {
    const rest = part.offset === read.next ? part : cut(part, read.next - part.offset);
    return rest && { offset: read.offset, next: rest.next, text: read.text + rest.text };
  }
  const rest = part.next === read.offset ? part : until(part, read.offset);
  return rest && { offset: rest.offset, next: read.next, text: rest.text + read.text };
}

// most is the number of characters kept while output is followed: 1 MiB, and half of it after a cut.
export const most = 1 << 20;

// shortened drops the beginning of a text that is too long.
export function shortened(read: Read): Read {
  if (read.text.length <= most) return read;
  const at = read.text.indexOf('\n', read.text.length - most / 2) + 1;
  if (at === 0) return read;
  return { offset: read.offset + bytes.encode(read.text.slice(0, at)).length, next: read.next, text: read.text.slice(at) };
}

// longest is the number of characters shown of a line.
const longest = 4000;

// linesOf returns the lines of a text. For a line overwritten with \r it returns the last version.
export function linesOf(text: string): Line[] {
  if (text === '') return [];
  const lines: Line[] = [];
  let style: Style = {};
  for (const raw of (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')) {
    const whole = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const last = whole.slice(whole.lastIndexOf('\r') + 1);
    for (let at = 0; at === 0 || at < last.length; at += longest) {
      const { spans, end } = spansOf(last.slice(at, at + longest), style);
      style = end;
      lines.push({ plain: spans.map((span) => span.text).join(''), spans });
    }
  }
  return lines;
}

// found returns the indices of the lines that contain a text.
export function found(lines: Line[], text: string): number[] {
  if (text === '') return [];
  const lower = text.toLowerCase();
  return lines.flatMap((line, i) => (line.plain.toLowerCase().includes(lower) ? [i] : []));
}

// lookOf returns the mark of a line that calls itself an error or a warning.
export function lookOf({ plain }: Line): 'error' | 'warn' | undefined {
  if (/\b(error|fatal|panic)\b/i.test(plain)) return 'error';
  return /\bwarn(ing)?\b/i.test(plain) ? 'warn' : undefined;
}
