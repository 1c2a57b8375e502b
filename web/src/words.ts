// Words with numbers.
export const plural = (n: number, what: string, many = `${what}s`) => `${n.toLocaleString('en')} ${n === 1 ? what : many}`;

// changed is a setting before and after, with its name once.
export function changed(before = '', after = ''): string {
  const [name = ''] = /^[\w.]+: (?=[^:]*$)/.exec(before) ?? [];
  return [before, name && after.startsWith(name) ? after.slice(name.length) : after].filter(Boolean).join(' → ');
}

export const upper = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());
