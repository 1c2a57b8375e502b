// Words with numbers.
export const plural = (n: number, what: string, many = `${what}s`) => `${n.toLocaleString('en')} ${n === 1 ? what : many}`;

export const upper = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());

// counted is the note of a list that begins with its newest or soonest rows. Only the rows that are shown are sorted.
export function counted(n: number, what: string, of: { partial: boolean; by: string; first?: 'newest' | 'soonest' }): string {
  const { partial, by, first = 'newest' } = of;
  const shown = n.toLocaleString('en');
  if (by !== '') return partial ? `the ${first} ${shown} of more are shown and sorted` : `${what}, sorted`;
  return `${partial ? `${shown} of more` : what}, ${first} first`;
}
