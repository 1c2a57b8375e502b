// The clock of the control plane: all times are told by it, and a browser's may be wrong.

// ahead is how far it is ahead of the browser's. Less than the second of the header and the
// way of an answer is no difference.
let ahead = 0;
const tolerated = 5000;

export const clock = () => Date.now() + ahead;

// heard reads the clock of an answer from its header.
export function heard(date: string | null) {
  const by = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(by)) ahead = Math.abs(by) < tolerated ? 0 : by;
}
