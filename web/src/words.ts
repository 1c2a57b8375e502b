// Words with numbers.
export const plural = (n: number, what: string, many = `${what}s`) => `${n.toLocaleString('en')} ${n === 1 ? what : many}`;

export const upper = (text: string) => text.replace(/^./, (letter) => letter.toUpperCase());
